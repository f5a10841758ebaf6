"""Draws actions from a policy's logits; only legal actions are looked at."""

from __future__ import annotations

import numpy as np

from ginenv.actions import KNOCK, STOCK
from ginenv.jit import ctz, kernel

# The first action of each of the three masks of legal actions: discards, knocks, all others.
FIRST = np.array([0, KNOCK, STOCK], np.int64)


@kernel
def sample_action(logits, legal, word, greedy):
    """Draws one action from the softmax over the legal ones; returns it and its log-probability.

    Args:
        logits: ``float32[107]``.
        legal: ``int64[3]`` masks of cards for ids 0-51, of cards for 52-103, of bits for 104-106.
        word: ``uint64``, random.
        greedy: take the most probable action instead.
    """
    best = np.float32(-1e30)
    action = 0
    for k in range(3):
        rest = legal[k]
        while rest:
            each = FIRST[k] + ctz(rest)
            rest &= rest - 1
            if logits[each] > best:
                best = logits[each]
                action = each
    total = np.float64(0.0)
    for k in range(3):
        rest = legal[k]
        while rest:
            total += np.exp(logits[FIRST[k] + ctz(rest)] - best)
            rest &= rest - 1
    if not greedy:
        threshold = np.float64(word >> np.uint64(11)) / 9007199254740992.0 * total
        action = _walk(logits, legal, best, threshold, action)
    return action, logits[action] - best - np.log(total)


@kernel
def _walk(logits, legal, best, threshold, otherwise):
    """The action at which the running sum of exp(logit - best) passes a threshold."""
    running = np.float64(0.0)
    for k in range(3):
        rest = legal[k]
        while rest:
            action = FIRST[k] + ctz(rest)
            rest &= rest - 1
            running += np.exp(logits[action] - best)
            if running > threshold:
                return action
    return otherwise


@kernel
def sample_actions(logits, legal, words, greedy, actions):
    """``sample_action`` for a batch: ``float32[n, 107]``, ``int64[n, 3]``, ``uint64[n]``; writes ``int64[n]``."""
    for i in range(logits.shape[0]):
        actions[i], _ = sample_action(logits[i], legal[i], words[i], greedy)
