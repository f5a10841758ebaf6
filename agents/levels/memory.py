"""What a level keeps in mind of one opponent, and how far it trusts it: one record of numbers, updated after every hand.

The record holds the counts of the opponent's habits (older hands fade), the belief about plans, and a governor: before a hand's counts
are added, what the personal rates and what the population's rates would have foretold of it are compared. The level plays what it
learned of habits only while the personal rates foretell better; when they begin to fail, since the opponent changed or pretends, it
falls back to what it knows of opponents in general, and forgets most of what it had counted.
"""

from __future__ import annotations

import numpy as np

from agents.levels.habits import COUNTS, NUM_HABITS, count
from agents.levels.plans import DRIFT, HAND_NOISE, NUM_PLANS, observe
from ginenv.jit import kernel

RECORD = np.dtype(
    [
        ("hits", np.float32, (NUM_HABITS,)),
        ("chances", np.float32, (NUM_HABITS,)),
        ("hands", np.int32),  # played against this opponent
        ("gain", np.float32),  # how much better the personal rates foretold the last hands than the population's
        ("scatter", np.float32),  # variance of the terms that ``gain`` adds up, faded alike
        ("plans", np.float64, (NUM_PLANS, 2)),  # hands and points by the plan they were played with
        ("mean", np.float64, (NUM_PLANS,)),  # of the belief about plans
        ("cov", np.float64, (NUM_PLANS, NUM_PLANS)),
        ("failures", np.int32),  # how often what was learned stopped to foretell
    ],
    align=True,
)
# A hand keeps this share of its weight with every hand that follows: what counts is the last hundred or two.
FADE = 0.993
# The same for the governor's comparison, which has to notice a change within some ten hands.
GAIN_FADE = 0.85
# Hands until the comparison says anything.
MIN_HANDS = 6
# Standard deviations of doubt before what was learned is set aside.
DOUBT = 2.5


@kernel
def foretells(record):
    """Whether the personal rates have foretold the last hands no worse than the population's."""
    return record.gain > -DOUBT * np.sqrt(record.scatter + 1e-9)


@kernel
def learn(v, record, fresh, mean, prior, within, plan, shift):
    """Adds a finished hand to what is known of an opponent.

    Args:
        v: its final view.
        record: a ``RECORD``.
        fresh: a ``COUNTS`` record to work in.
        mean: ``float32[H]``, the population's rates.
        prior: ``float32[H]``, imagined chances at them.
        within: ``float32[H]``, variance of one chance.
        plan: the hand was played with.
        shift: what the opponent's habits foretold of that plan, beyond the belief.
    """
    for k in range(NUM_HABITS):
        fresh.hits[k] = 0
        fresh.chances[k] = 0
    count(v, fresh)
    term = 0.0
    for k in range(NUM_HABITS):
        chances = fresh.chances[k]
        if chances > 0:
            rate = (record.hits[k] + prior[k] * mean[k]) / (record.chances[k] + prior[k])
            seen = fresh.hits[k] / chances
            spread = within[k] / chances
            term += (seen - mean[k]) ** 2 / spread - (seen - rate) ** 2 / spread
    # One hand's outliers must not decide.
    term = min(10.0, max(-10.0, term))
    if record.hands >= MIN_HANDS:
        record.gain = GAIN_FADE * record.gain + term
        record.scatter = GAIN_FADE * GAIN_FADE * record.scatter + term * term
    fade = FADE
    if record.hands >= MIN_HANDS and not foretells(record):
        record.failures += 1
        record.gain = 0.0
        record.scatter = 0.0
        fade = 0.15
    for k in range(NUM_HABITS):
        record.hits[k] = fade * record.hits[k] + fresh.hits[k]
        record.chances[k] = fade * record.chances[k] + fresh.chances[k]
    record.hands += 1
    points = np.float64(v.points)
    record.plans[plan, 0] += 1
    record.plans[plan, 1] += points
    observe(record, plan, points - shift, HAND_NOISE, DRIFT)


@kernel
def learn_all(views, records, rows, fresh, mean, prior, within, plans, shifts):
    """``learn`` for a batch: view ``k`` goes to ``records[rows[k]]``."""
    for k in range(views.shape[0]):
        learn(views[k], records[rows[k]], fresh[0], mean, prior, within, plans[k], shifts[k, plans[k]])


def counts_of(records: np.ndarray) -> np.ndarray:
    """The counts in ``RECORD[n]`` as ``COUNTS[n]``."""
    counts = np.zeros(records.shape, COUNTS)
    counts["hits"], counts["chances"] = records["hits"], records["chances"]
    return counts
