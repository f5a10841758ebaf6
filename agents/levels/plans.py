"""How long to knock early: the plan of a hand, what a level believes its plans are worth, and the record it keeps of one opponent.

A plan is a number of own turns: within them the level knocks as soon as it may, after them it plays for gin. Which plan is better shows
in the results of whole hands. So a level holds a belief about the points a hand that each plan brings against an opponent: a normal
distribution over all plans at once, in which neighbouring plans are correlated, updated by the score of every hand (a Kalman filter of
five numbers). Each hand's plan is drawn by that belief (Thompson sampling): what is uncertain is tried, what fails is dropped.

As installed a level believes in the plan of its strength: a beginner knocks whenever it can.
"""

from __future__ import annotations

import numpy as np

from agents.bots.hand_kernels import unit
from ginenv.jit import kernel, mix

# Own turns in which a hand is ended by a knock as soon as that is legal; 0 plays for gin from the start.
TURNS = (99, 7, 4, 2, 0)
NUM_PLANS = len(TURNS)
_BELIEF_FIELDS = [("mean", np.float64, (NUM_PLANS,)), ("cov", np.float64, (NUM_PLANS, NUM_PLANS))]
BELIEF = np.dtype(_BELIEF_FIELDS, align=True)
# What is kept of one opponent: hands played, hands and points by the plan they were played with, and the belief.
RECORD = np.dtype([("hands", np.int32), ("plans", np.float64, (NUM_PLANS, 2)), *_BELIEF_FIELDS], align=True)
# Standard deviation of a hand's points around what its plan is worth.
HAND_NOISE = 27.0
# How much better or worse an opponent may be than expected, whatever the plan, in points a hand.
OPPONENT_SPREAD = 8.0
# Length scale of the correlation between plans, in places of the list.
_REACH = 1.2
# Opponents change: a belief grows uncertain by this much a hand (points, standard deviation).
DRIFT = 0.06


def first_belief(mean: np.ndarray, doubt: float) -> np.ndarray:
    """The belief before the first hand: ``BELIEF[1]``.

    Args:
        mean: ``[P]``, points a hand that each plan is expected to bring beyond the others.
        doubt: standard deviation of these expectations.
    """
    belief = np.zeros(1, BELIEF)
    belief["mean"] = mean
    steps = np.arange(NUM_PLANS)
    alike = np.exp(-np.square(steps[:, None] - steps[None]) / (2 * _REACH**2))
    belief["cov"] = doubt**2 * alike + OPPONENT_SPREAD**2
    return belief


@kernel
def observe(b, plan, points, noise, drift):
    """Updates a belief (a ``BELIEF`` or ``RECORD``) by the points of a hand that was played by a plan.

    Args:
        b: the belief.
        plan: of the hand.
        points: of the hand.
        noise: standard deviation of a hand's points around what its plan is worth.
        drift: standard deviation of how much a plan's worth changes from hand to hand, in points.
    """
    total = b.cov[plan, plan] + noise * noise
    miss = (points - b.mean[plan]) / total
    column = b.cov[:, plan].copy()
    for k in range(NUM_PLANS):
        b.mean[k] += column[k] * miss
        for j in range(NUM_PLANS):
            b.cov[k, j] -= column[k] * column[j] / total
    for k in range(NUM_PLANS):
        b.cov[k, k] += drift * drift


@kernel
def learn_hands(views, records, rows, plans):
    """Adds finished hands to records: final view ``k``, of a hand played by ``plans[k]``, to ``records[rows[k]]``."""
    for k in range(views.shape[0]):
        record = records[rows[k]]
        points = np.float64(views[k].points)
        record.hands += 1
        record.plans[plans[k], 0] += 1
        record.plans[plans[k], 1] += points
        observe(record, plans[k], points, HAND_NOISE, DRIFT)


@kernel
def _normal(word):
    """A standard normal number of a random word (twelve uniform numbers added: good to three standard deviations)."""
    total = -6.0
    for _ in range(12):
        word = mix(word)
        total += unit(word)
    return total


@kernel
def draw_plan(b, boldness, word):
    """The best plan of one draw from a belief.

    Args:
        b: a ``BELIEF`` or ``RECORD``.
        boldness: factor on its standard deviations; 0 takes the best mean.
        word: uint64.
    """
    lower = np.zeros((NUM_PLANS, NUM_PLANS))
    best = -1e18
    chosen = 0
    draws = np.empty(NUM_PLANS)
    for k in range(NUM_PLANS):
        for j in range(k + 1):
            total = b.cov[k, j]
            for m in range(j):
                total -= lower[k, m] * lower[j, m]
            if j == k:
                lower[k, k] = np.sqrt(max(total, 1e-9))
            else:
                lower[k, j] = total / lower[j, j]
        word = mix(word + np.uint64(k))
        draws[k] = _normal(word)
        value = b.mean[k]
        for j in range(k + 1):
            value += boldness * lower[k, j] * draws[j]
        if value > best:
            best = value
            chosen = k
    return chosen


@kernel
def draw_plans(seed, views, records, rows, boldness, plans):
    """Writes the plan of each hand in play, which follows from the hand's luck and from the record when the hand began."""
    for i in range(views.shape[0]):
        word = mix(views[i].hand_luck ^ mix(np.uint64(seed)))
        plans[i] = draw_plan(records[rows[i]], boldness, word)


def better(belief: np.ndarray, plan: int, other: int) -> tuple[float, float]:
    """By how many points a hand a belief (``BELIEF[1]``) puts a plan above another, and the standard deviation of that."""
    mean, cov = belief["mean"][0], belief["cov"][0]
    variance = cov[plan, plan] + cov[other, other] - 2 * cov[plan, other]
    return float(mean[plan] - mean[other]), float(max(variance, 1e-9)) ** 0.5
