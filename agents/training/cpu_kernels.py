"""Compiled parts of a gradient step on the CPU: the gradients of all losses with respect to the networks' outputs.

``agents.training.losses`` has the same losses in torch, for other devices; a test compares both. There, element-wise operations over
107 actions, of which some ten are legal, cost as much as the matrix products; the kernels of the policy compute only with legal actions.

Throughout, ``batch`` is a flat ``Batch`` and ``rows`` (``int64[B]``) are indices into it. ``count`` is the number of rows in the whole
minibatch, over which losses are averaged. ``gradient`` is written, and ``sums`` (``float64[7]``) is added to.
"""

from __future__ import annotations

import numpy as np

from agents.network.sampling import list_actions
from agents.training.losses import MOST_ODDS
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, STOCK
from ginenv.engine.jit import kernel

# Indices into ``sums``.
POLICY, ENTROPY, KL, CLIPPED, BELIEF, NEXT, VALUE = range(7)
NUM_SUMS = 7


@kernel
def _softmax(logits, found, choices, weight):
    """Writes exp(logit - best) of the legal actions; returns its sums over discards, knocks and all, the best logit and the entropy."""
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
    """The derivative of the policy's loss with respect to the log-probability of the action taken."""
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
def policy_gradient(batch, rows, logits, anchor, count, weights, gradient, sums):
    """The gradient ``float32[B, 107]`` of the clipped surrogate (or of imitation) and the other losses of the policy.

    The others are the entropy bonus, the knock decision's loss and, where ``weights.anchor`` is not 0, the divergence from the policy with
    the logits ``anchor``, ``float32[B, 107]``.
    """
    held = np.empty(NUM_ACTIONS, np.float64)
    found = np.empty(NUM_ACTIONS, np.int64)
    weight = np.empty(NUM_ACTIONS, np.float64)
    for i in range(rows.shape[0]):
        step = batch.steps[rows[i]]
        choices = list_actions(step.legal, found)
        discards, knocks, total, best, entropy = _softmax(logits[i], found, choices, weight)
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
        pull = weights.anchor / count
        leaned = 0.0
        if pull != 0:
            _, _, total_held, best_held, _ = _softmax(anchor[i], found, choices, held)
            for k in range(choices):
                held[k] = (
                    logits[i, found[k]] - best - log_total - (anchor[i, found[k]] - best_held - np.log(total_held))
                )
                leaned += weight[k] / total * held[k]
        for k in range(NUM_ACTIONS):
            gradient[i, k] = 0
        for k in range(choices):
            action = found[k]
            chance = weight[k] / total
            above = np.float64(logits[i, action]) - best - log_total
            value = -slope * chance + bonus * chance * (above + entropy)
            if pull != 0:
                value += pull * chance * (held[k] - leaned)
            if push != 0:
                if action < KNOCK:
                    value += push * weight[k] / discards
                elif action < STOCK:
                    value -= push * weight[k] / knocks
            gradient[i, action] = value
        gradient[i, step.action] += slope


@kernel
def _unknown(seen, card):
    """Whether a card is neither in the seat's hand, nor in the pile, nor known to be the opponent's."""
    return seen[card] == 0 and seen[156 + card] == 0 and seen[208 + card] == 0


@kernel
def guess_totals(batch, rows):
    """How many cards and how many next actions there are to guess in some rows (each at least 1, as a divisor)."""
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
    """The gradient of the losses of guessing the opponent's cards and its next action.

    ``guesses`` are logits ``float32[G, 52 + 107]``, and the gradient has their shape. ``belief`` is the weight of a card, ``next_action``
    that of an action.
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
    """The gradient ``float32[B, 1]`` of the critic's loss, which is squared near the target and absolute beyond a distance of 1."""
    for i in range(rows.shape[0]):
        missed = values[i, 0] - batch.steps[rows[i]].returns
        far = abs(missed)
        sums[VALUE] += 0.5 * missed * missed if far < 1 else far - 0.5
        gradient[i, 0] = min(max(missed, np.float32(-1)), np.float32(1)) / count
