"""The candidates of a decision: which actions are searched, and which one is played."""

from __future__ import annotations

import numpy as np

from ginenv.bots.hand_kernels import choose_lay_off, choose_spread
from ginenv.engine.actions import KNOCK, PHASE_LAYOFF, PHASE_SPREAD, STOCK
from ginenv.engine.jit import ctz, kernel, mix, unit
from ginenv.engine.melds import least_deadwood

# Room for all draws, or all discards and two knocks.
MAX_CANDIDATES = 16
# How many of the policy's most probable draws or discards are searched.
_SEARCHED = 8
# Candidates less probable than this fraction of the policy's choice are left out.
_MIN_PROBABLE = 0.002
# The same when chance decides among discards: a well-trained policy is sure of one discard even where others are as good.
_MIN_PROBABLE_VARIED = 1e-9

CANDIDATE = np.dtype(
    [
        ("action", np.int64),
        ("cost", np.float64),  # minus its logit under the policy
        ("value", np.float64),  # mean over the worlds: chance to win the game, or points / 100
        ("error", np.float64),  # standard error of the difference to the chosen candidate (0 for the chosen one)
        ("worlds", np.int64),  # number of worlds
    ],
    align=True,
)


@kernel
def _add(found, count, action, logits):
    found[count].action = action
    found[count].cost = -np.float64(logits[action])
    return count + 1


@kernel
def _sort(found, count):
    for i in range(1, count):
        for j in range(i, 0, -1):
            a, b = found[j - 1], found[j]
            if a.cost > b.cost:
                a.cost, b.cost = b.cost, a.cost
                a.action, b.action = b.action, a.action


@kernel
def _list(v, logits, found, varied):
    """Writes the candidates of a view, the policy's most probable one first; returns how many there are."""
    only = np.int64(-1)
    # Knocks with more than the least deadwood matter only because of lay-offs: two are enough.
    knocks, number = np.empty(2, np.int64), 0
    # Spreads and lay-offs are solved exactly, and gin is always played.
    if v.phase == PHASE_LAYOFF:
        only = np.int64(choose_lay_off(v))
    elif v.phase == PHASE_SPREAD:
        only = np.int64(choose_spread(v))
    else:
        rest = v.legal[1]
        while rest and number < 2:
            cards, left = least_deadwood(v.hand, rest)
            knocks[number] = KNOCK + ctz(cards)
            if left == 0 and only < 0:
                only = knocks[number]
            rest &= ~(np.int64(1) << ctz(cards))
            number += 1
    if only >= 0:
        return _add(found, 0, only, logits)
    count = 0
    others = v.legal[2]
    while others:
        count = _add(found, count, STOCK + ctz(others), logits)
        others &= others - 1
    rest = v.legal[0]
    while rest:
        count = _add(found, min(count, MAX_CANDIDATES - 3), ctz(rest), logits)
        rest &= rest - 1
    _sort(found, count)
    count = min(count, _SEARCHED)
    # A seat that declined a knock plays for gin, as in training.
    if number and (v.declined == 0 or v.legal[0] == 0):
        for k in range(number):
            count = _add(found, count, knocks[k], logits)
        _sort(found, count)
    least = _MIN_PROBABLE_VARIED if varied and v.legal[0] else _MIN_PROBABLE
    while count > 1 and found[count - 1].cost - found[0].cost > -np.log(least):
        count -= 1
    return count


@kernel
def list_candidates(views, decisions, found, counts, varied):
    """Lists the actions worth searching, the policy's most probable one first; a single candidate needs no search.

    Args:
        views: ``VIEW[n]``.
        decisions: ``DECISION[n]``, whose logits are read.
        found: ``CANDIDATE[n, MAX_CANDIDATES]`` of zeros; actions and costs are written.
        counts: ``int64[n]``, number of candidates of each view, written.
        varied: whether chance decides among discards, so that improbable ones (and improbable knocks) are listed as well.
    """
    for i in range(views.shape[0]):
        counts[i] = _list(views[i], decisions[i].logits, found[i], varied)


@kernel
def choose(found, values, policy_weight, slack, word):
    """Chooses the candidate with the best mean value over all worlds plus a policy term, or a discard that is as good within the slack.

    Args:
        found: ``CANDIDATE[k]``, as listed; value, error and worlds are written.
        values: ``float64[k * W]``, candidate by candidate.
        policy_weight: see ``SearchConfig``.
        slack: see ``SearchConfig``.
        word: uint64, random.

    Returns:
        Index of the chosen candidate.
    """
    count = found.shape[0]
    total = values.shape[0] // count
    best = 0
    scores = np.empty(count)
    for i in range(count):
        mean = 0.0
        for w in range(total):
            mean += values[i * total + w]
        mean /= total
        found[i].value = mean
        found[i].worlds = total
        scores[i] = mean - policy_weight * (found[i].cost - found[0].cost)
        if scores[i] > scores[best]:
            best = i
    _write_errors(found, values, best)
    if slack > 0 and found[best].action < KNOCK:
        chosen = _one_of_the_best(found, scores, best, slack, word)
        if chosen != best:
            best = chosen
            _write_errors(found, values, best)
    return best


@kernel
def _write_errors(found, values, best):
    """Writes the standard error of each candidate's value less that of candidate ``best``, in the same worlds."""
    count = found.shape[0]
    total = values.shape[0] // count
    for i in range(count):
        mean = found[i].value - found[best].value
        squares = 0.0
        for w in range(total):
            squares += (values[i * total + w] - values[best * total + w] - mean) ** 2
        found[i].error = np.sqrt(squares / max(1, total - 1) / total)


@kernel
def _one_of_the_best(found, scores, best, slack, word):
    """Draws uniformly one of the discards that are worse than the best by at most ``slack`` standard errors."""
    chosen = best
    seen = 0
    for i in range(found.shape[0]):
        if found[i].action >= KNOCK or scores[best] - scores[i] > slack * found[i].error:
            continue
        seen += 1
        word = mix(word)
        if unit(word) * seen < 1:
            chosen = i
    return chosen
