"""Draws one of a view's legal actions: evenly, or from a policy's logits. Only legal actions are visited.

``legal`` is a view's: masks ``int64[3]``, cards for ids 0-51, cards for 52-103, bits for 104-106.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import KNOCK, NUM_ACTIONS, STOCK
from ginenv.engine.bits import nth_bit
from ginenv.engine.jit import below, ctz, kernel, popcount

# The first action of each of the three masks: discards, knocks, all others.
_FIRST = np.array([0, KNOCK, STOCK], np.int64)


@kernel
def list_actions(legal, found):
    """Writes the legal actions in ascending order; returns their number."""
    count = 0
    for k in range(3):
        rest = legal[k]
        while rest:
            found[count] = _FIRST[k] + ctz(rest)
            rest &= rest - 1
            count += 1
    return count


@kernel
def uniform_action(legal, word):
    """A uniformly random legal action, by a random 64-bit word."""
    n = below(word, popcount(legal[0]) + popcount(legal[1]) + popcount(legal[2]))
    for k in range(2):
        count = popcount(legal[k])
        if n < count:
            return _FIRST[k] + nth_bit(legal[k], n)
        n -= count
    return STOCK + nth_bit(legal[2], n)


@kernel
def _weigh(logits, legal, found):
    """Lists the legal actions; returns their number, the most probable one, its logit, and the sum of all weights relative to it."""
    count = list_actions(legal, found)
    best = np.float32(-np.inf)
    action = found[0]
    for k in range(count):
        if logits[found[k]] > best:
            best = logits[found[k]]
            action = found[k]
    total = np.float64(0.0)
    for k in range(count):
        total += np.exp(logits[found[k]] - best)
    return count, action, best, total


@kernel
def sample_action(logits, legal, word, greedy):
    """Draws one action from the softmax over the legal ones; it is legal even if every logit is NaN, as of a broken network.

    Args:
        logits: ``float32[107]``.
        legal: ``int64[3]`` masks.
        word: ``uint64``, random.
        greedy: take the most probable action instead.

    Returns:
        The action and its log-probability.
    """
    found = np.empty(NUM_ACTIONS, np.int64)
    count, action, best, total = _weigh(logits, legal, found)
    if not greedy:
        threshold = np.float64(word >> np.uint64(11)) / 9007199254740992.0 * total
        running = np.float64(0.0)
        for k in range(count):
            running += np.exp(logits[found[k]] - best)
            if running > threshold:
                action = found[k]
                break
    return action, logits[action] - best - np.log(total)


@kernel
def sample_actions(logits, legal, words, greedy, actions):
    """``sample_action`` for a batch: ``float32[n, 107]``, ``int64[n, 3]``, ``uint64[n]``; writes ``int64[n]``."""
    for i in range(logits.shape[0]):
        actions[i], _ = sample_action(logits[i], legal[i], words[i], greedy)


@kernel
def write_policy(logits, legal, policy):
    """Writes the probabilities with which ``sample_actions`` draws: ``float32[n, 107]``, given as zeros."""
    found = np.empty(NUM_ACTIONS, np.int64)
    for i in range(logits.shape[0]):
        count, _, best, total = _weigh(logits[i], legal[i], found)
        for k in range(count):
            policy[i, found[k]] = np.exp(logits[i, found[k]] - best) / total
