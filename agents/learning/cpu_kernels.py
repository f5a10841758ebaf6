"""Compiled parts of a gradient step on the CPU: the gradients of all losses by the networks' outputs.

``agents.learning.losses`` says the same in torch, for other devices; a test holds both together. Element-wise operations over 107
actions, of which some ten are legal, cost as much there as the matrix products; here only legal actions are looked at.

``batch`` is a flat ``Batch`` and ``rows`` are indices into it everywhere; ``gradient`` and ``sums`` are written (``sums`` added to).
"""

from __future__ import annotations

import numpy as np

from agents.learning.losses import MOST_ODDS
from ginenv.actions import KNOCK, NUM_ACTIONS, STOCK
from ginenv.jit import ctz, kernel

# What ``sums`` holds.
POLICY, ENTROPY, KL, CLIPPED, BELIEF, NEXT, VALUE = range(7)
NUM_SUMS = 7


@kernel
def _legal_actions(masks, found):
    count = 0
    for k in range(3):
        first = 0 if k == 0 else (KNOCK if k == 1 else STOCK)
        rest = masks[k]
        while rest:
            found[count] = first + ctz(rest)
            rest &= rest - 1
            count += 1
    return count


@kernel
def _soften(logits, found, choices, weight):
    """Writes exp(logit - best) of the legal actions; returns what the softmax comes to.

    Returns:
        Sums over discards, over knocks and over all, the best logit, and the entropy.
    """
    best = logits[found[0]]
    for k in range(1, choices):
        best = max(best, logits[found[k]])
    knocks = 0.0
    discards = 0.0
    others = 0.0
    tilted = 0.0
    for k in range(choices):
        action = found[k]
        above = np.float64(logits[action]) - best
        weight[k] = np.exp(above)
        tilted += weight[k] * above
        if action < KNOCK:
            discards += weight[k]
        elif action < STOCK:
            knocks += weight[k]
        else:
            others += weight[k]
    total = knocks + discards + others
    return discards, knocks, total, best, np.log(total) - tilted / total


@kernel
def _action_slope(logp, step, weights, sums):
    """The slope of the clipped surrogate, or of the surprise at a teacher's action, by the action's log-probability."""
    log_ratio = logp - step.logp
    ratio = np.exp(log_ratio)
    sums[KL] += ratio - 1 - log_ratio
    sums[CLIPPED] += abs(ratio - 1) > weights.clip
    if weights.cloning:
        sums[POLICY] -= logp
        return -1.0
    gain = ratio * step.advantage
    bounded = min(max(ratio, 1 - weights.clip), 1 + weights.clip) * step.advantage
    sums[POLICY] -= min(gain, bounded)
    return -gain if gain <= bounded else 0.0


@kernel
def policy_gradient(batch, rows, logits, count, weights, gradient, sums):
    """The clipped surrogate (or the surprise at a teacher's actions), the entropy bonus and the loss of the knock decision.

    Args:
        batch: flat.
        rows: ``int64[B]``.
        logits: ``float32[B, 107]``.
        count: rows of the whole minibatch; losses are means over it.
        weights: ``losses.Weights``.
        gradient: ``float32[B, 107]``.
        sums: ``float64[7]``.
    """
    found = np.empty(NUM_ACTIONS, np.int64)
    weight = np.empty(NUM_ACTIONS, np.float64)
    for i in range(rows.shape[0]):
        step = batch.steps[rows[i]]
        choices = _legal_actions(step.legal, found)
        discards, knocks, total, best, entropy = _soften(logits[i], found, choices, weight)
        log_total = np.log(total)
        logp = np.float64(logits[i, step.action]) - best - log_total
        slope = _action_slope(logp, step, weights, sums) / count
        spread = np.log(np.float64(choices))
        sums[ENTROPY] += entropy / spread
        push = 0.0
        cost = np.float64(step.waiting)
        if np.isfinite(cost):
            odds = np.log(knocks) - np.log(discards)
            if (cost > 0 and odds < MOST_ODDS) or (cost <= 0 and odds > -MOST_ODDS):
                push = weights.knock * cost / count
        bonus = weights.entropy / (count * spread)
        for k in range(NUM_ACTIONS):
            gradient[i, k] = 0
        for k in range(choices):
            action = found[k]
            chance = weight[k] / total
            above = np.float64(logits[i, action]) - best - log_total
            value = -slope * chance + bonus * chance * (above + entropy)
            if push != 0:
                if action < KNOCK:
                    value += push * weight[k] / discards
                elif action < STOCK:
                    value -= push * weight[k] / knocks
            gradient[i, action] = value
        gradient[i, step.action] += slope


@kernel
def _unknown(seen, card):
    """Whether a seat cannot place a card: not its own, not in the pile, not known to be the opponent's."""
    return seen[card] == 0 and seen[156 + card] == 0 and seen[208 + card] == 0


@kernel
def guess_totals(batch, rows):
    """How many cards there are to guess in some rows, and how many next actions (each at least 1, being divided by)."""
    cards = 0
    actions = 0
    for i in range(rows.shape[0]):
        seen = batch.obs[rows[i]]
        for card in range(52):
            cards += _unknown(seen, card)
        actions += batch.steps[rows[i]].next_action >= 0
    return max(1, cards), max(1, actions)


@kernel
def guess_gradient(batch, rows, guesses, belief, next_action, gradient, sums):
    """The losses of the heads that guess the opponent's cards and its next action.

    Args:
        batch: flat.
        rows: ``int64[G]``.
        guesses: ``float32[G, 52 + 107]`` logits.
        belief: weight of a card.
        next_action: weight of an action.
        gradient: ``float32[G, 159]``.
        sums: ``float64[7]``.
    """
    for i in range(rows.shape[0]):
        step = batch.steps[rows[i]]
        seen = batch.obs[rows[i]]
        for card in range(52):
            gradient[i, card] = 0
            if _unknown(seen, card):
                logit = guesses[i, card]
                held = np.float32((step.hidden >> card) & 1)
                small = np.exp(-abs(logit))
                chance = (np.float32(1) if logit >= 0 else small) / (np.float32(1) + small)
                sums[BELIEF] += max(logit, np.float32(0)) - logit * held + np.log1p(small)
                gradient[i, card] = belief * (chance - held)
        target = step.next_action
        if target < 0:
            gradient[i, 52:] = 0
            continue
        best = guesses[i, 52]
        for k in range(53, 52 + NUM_ACTIONS):
            best = max(best, guesses[i, k])
        total = np.float32(0)
        for k in range(52, 52 + NUM_ACTIONS):
            gradient[i, k] = np.exp(guesses[i, k] - best)
            total += gradient[i, k]
        for k in range(52, 52 + NUM_ACTIONS):
            gradient[i, k] *= next_action / total
        gradient[i, 52 + target] -= next_action
        sums[NEXT] += np.log(total) - (guesses[i, 52 + target] - best)


@kernel
def value_gradient(batch, rows, values, count, gradient, sums):
    """The critic's loss: squared near its target, absolute beyond a distance of 1.

    Args:
        batch: flat.
        rows: ``int64[B]``.
        values: ``float32[B, 1]``.
        count: rows of the whole minibatch.
        gradient: ``float32[B, 1]``.
        sums: ``float64[7]``.
    """
    for i in range(rows.shape[0]):
        missed = values[i, 0] - batch.steps[rows[i]].returns
        far = abs(missed)
        sums[VALUE] += 0.5 * missed * missed if far < 1 else far - 0.5
        gradient[i, 0] = min(max(missed, np.float32(-1)), np.float32(1)) / count
