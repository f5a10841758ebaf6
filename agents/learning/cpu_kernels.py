"""Compiled parts of a gradient step on the CPU: rows of a batch as inputs, and the gradients of all losses by the networks' outputs.

``agents.learning.losses`` says the same in torch, for other devices; a test holds both together. Element-wise
operations over 107 actions, of
which some ten are legal, cost as much there as the matrix products; here only legal actions are looked at.

``rows`` are indices into the flattened batch everywhere, ``gradient`` and ``sums`` are written (``sums`` added to).
"""

from __future__ import annotations

import numpy as np

from agents.learning.losses import MOST_ODDS
from ginenv.actions import KNOCK, NUM_ACTIONS, STOCK
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.jit import ctz, kernel

# What ``sums`` holds.
POLICY, ENTROPY, KL, CLIPPED, BELIEF, NEXT, VALUE = range(7)
NUM_SUMS = 7


@kernel
def gather_inputs(rows, obs, conditions, habits, advice, hidden, future, committed, out):
    """Writes what the networks read, ``float32[B, 586 + extras (+ padding)]``: first what the actor reads, then the critic's secrets.

    Args:
        rows: ``int64[B]``.
        obs: ``uint8[N, 520]``.
        conditions: ``uint8[N, 2]``.
        habits: ``float32[N, H]`` numbers about the opponent.
        advice: ``uint8[N, A]``.
        hidden: ``int64[N]`` the opponent's cards.
        future: ``uint8[N, 12]``.
        committed: as if the mover had to play for gin.
        out: written.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        for k in range(OBSERVATION_SIZE):
            out[i, k] = obs[row, k]
        at = OBSERVATION_SIZE
        out[i, at] = 1 if committed else conditions[row, 0]
        at += 1
        for k in range(habits.shape[1]):
            out[i, at + k] = habits[row, k]
        at += habits.shape[1]
        for k in range(advice.shape[1]):
            out[i, at + k] = advice[row, k]
        at += advice.shape[1]
        out[i, at] = conditions[row, 1]
        at += 1
        cards = hidden[row]
        for k in range(52):
            out[i, at + k] = (cards >> k) & 1
        at += 52
        for k in range(future.shape[1]):
            out[i, at + k] = future[row, k]


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
def policy_gradient(
    rows, logits, legal, actions, logps, advantages, waiting, count, clip, knock, entropy_weight, cloning, gradient, sums
):  # fmt: skip
    """The clipped surrogate (or the surprise at a teacher's actions), the entropy bonus and the loss of the knock decision.

    Args:
        rows: ``int64[B]``.
        logits: ``float32[B, 107]``.
        legal: ``int64[N, 3]``.
        actions: ``int64[N]``.
        logps: ``float32[N]`` when the actions were drawn.
        advantages: ``float32[N]``.
        waiting: ``float32[N]``, see ``losses.knock_decision_loss``.
        count: rows of the whole minibatch; losses are means over it.
        clip: PPO's range.
        knock: weight.
        entropy_weight: weight.
        cloning: whether the actions are a teacher's.
        gradient: ``float32[B, 107]``.
        sums: ``float64[7]``.
    """
    found = np.empty(NUM_ACTIONS, np.int64)
    weight = np.empty(NUM_ACTIONS, np.float64)
    for i in range(rows.shape[0]):
        row = rows[i]
        choices = _legal_actions(legal[row], found)
        best = logits[i, found[0]]
        for k in range(1, choices):
            best = max(best, logits[i, found[k]])
        knocks = 0.0
        discards = 0.0
        others = 0.0
        tilted = 0.0
        for k in range(choices):
            action = found[k]
            above = np.float64(logits[i, action]) - best
            weight[k] = np.exp(above)
            tilted += weight[k] * above
            if action < KNOCK:
                discards += weight[k]
            elif action < STOCK:
                knocks += weight[k]
            else:
                others += weight[k]
        total = knocks + discards + others
        log_total = np.log(total)
        entropy = log_total - tilted / total
        logp = np.float64(logits[i, actions[row]]) - best - log_total
        log_ratio = logp - logps[row]
        ratio = np.exp(log_ratio)
        # The slope of the loss by the action's log-probability.
        slope = 0.0
        if cloning:
            slope = -1.0
            sums[POLICY] -= logp
        else:
            gain = ratio * advantages[row]
            bounded = min(max(ratio, 1 - clip), 1 + clip) * advantages[row]
            if gain <= bounded:
                slope = -gain
            sums[POLICY] -= min(gain, bounded)
        spread = np.log(np.float64(choices))
        sums[ENTROPY] += entropy / spread
        sums[KL] += ratio - 1 - log_ratio
        sums[CLIPPED] += abs(ratio - 1) > clip
        push = 0.0
        cost = np.float64(waiting[row])
        if np.isfinite(cost):
            odds = np.log(knocks) - np.log(discards)
            if (cost > 0 and odds < MOST_ODDS) or (cost <= 0 and odds > -MOST_ODDS):
                push = knock * cost / count
        slope /= count
        bonus = entropy_weight / (count * spread)
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
        gradient[i, actions[row]] += slope


@kernel
def _unknown(seen, card):
    """Whether a seat cannot place a card: not its own, not in the pile, not known to be the opponent's."""
    return seen[card] == 0 and seen[156 + card] == 0 and seen[208 + card] == 0


@kernel
def guess_totals(rows, obs, following):
    """How many cards there are to guess in some rows, and how many next actions (each at least 1, being divided by)."""
    cards = 0
    actions = 0
    for i in range(rows.shape[0]):
        seen = obs[rows[i]]
        for card in range(52):
            cards += _unknown(seen, card)
        actions += following[rows[i]] >= 0
    return max(1, cards), max(1, actions)


@kernel
def guess_gradient(rows, guesses, obs, hidden, following, belief, next_action, gradient, sums):
    """The losses of the heads that guess the opponent's cards and its next action.

    Args:
        rows: ``int64[G]``.
        guesses: ``float32[G, 52 + 107]`` logits.
        obs: ``uint8[N, 520]``.
        hidden: ``int64[N]``.
        following: ``int64[N]`` the next action, or -1.
        belief: weight of a card.
        next_action: weight of an action.
        gradient: ``float32[G, 159]``.
        sums: ``float64[7]``.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        seen = obs[row]
        for card in range(52):
            gradient[i, card] = 0
            if _unknown(seen, card):
                logit = guesses[i, card]
                held = np.float32((hidden[row] >> card) & 1)
                small = np.exp(-abs(logit))
                chance = (np.float32(1) if logit >= 0 else small) / (np.float32(1) + small)
                sums[BELIEF] += max(logit, np.float32(0)) - logit * held + np.log1p(small)
                gradient[i, card] = belief * (chance - held)
        target = following[row]
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
def value_gradient(rows, values, returns, count, gradient, sums):
    """The critic's loss: squared near its target, absolute beyond a distance of 1.

    Args:
        rows: ``int64[B]``.
        values: ``float32[B, 1]``.
        returns: ``float32[N]``.
        count: rows of the whole minibatch.
        gradient: ``float32[B, 1]``.
        sums: ``float64[7]``.
    """
    for i in range(rows.shape[0]):
        missed = values[i, 0] - returns[rows[i]]
        far = abs(missed)
        sums[VALUE] += 0.5 * missed * missed if far < 1 else far - 0.5
        gradient[i, 0] = min(max(missed, np.float32(-1)), np.float32(1)) / count
