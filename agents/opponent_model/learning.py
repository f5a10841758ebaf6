"""Learning an opponent's weights from the hands that were shown: an online Laplace approximation of the posterior.

A hand that is shown fixes the eleven cards before the opponent's last discard. Further back one of the cards then held came from the stock
in each turn, and it is not known which: of the ways in which the cards can have come, all are equally likely before looking at the choices.
So a hand is traced back in several samples at once, which are redrawn by how well they explain the choices (a particle filter backwards in
time). Each hand is one Newton step from the posterior of the hands before, on the mean over the samples.
"""

from __future__ import annotations

import numpy as np

from agents.bots.hand_kernels import least_deadwood, unit
from agents.opponent_model.features import (
    FIRST_DRAW,
    FIRST_KNOCK,
    MOST_CARDS,
    NUM_DISCARDS,
    NUM_DRAWS,
    NUM_KNOCKS,
    NUM_WEIGHTS,
    discard_rows,
    draw_row,
    knock_row,
)
from agents.opponent_model.turns import MAX_TURNS, TURN, read_turns
from ginenv.jit import below, kernel, mix, next_word, nth_bit, popcount

SAMPLES = 32
# Logarithms of probabilities are not let below this: a choice that the model rules out tells no more than a rare one.
_LEAST_LOG = -12.0
# Further than this the curvature says nothing.
_LONGEST_STEP = 3.0

WORKSPACE = np.dtype(
    [
        ("turns", TURN, (MAX_TURNS,)),
        ("rows", np.float64, (MOST_CARDS, NUM_DISCARDS)),
        ("row", np.float64, (max(NUM_DRAWS, NUM_KNOCKS),)),
        ("chances", np.float64, (MOST_CARDS,)),
        ("cards", np.int64, (SAMPLES,)),
        ("other_cards", np.int64, (SAMPLES,)),
        ("weights", np.float64, (SAMPLES,)),
        ("gradients", np.float64, (SAMPLES, NUM_WEIGHTS)),
        ("curves", np.float64, (SAMPLES, NUM_WEIGHTS, NUM_WEIGHTS)),
        ("other_gradients", np.float64, (SAMPLES, NUM_WEIGHTS)),
        ("other_curves", np.float64, (SAMPLES, NUM_WEIGHTS, NUM_WEIGHTS)),
        ("old", np.float64, (NUM_WEIGHTS,)),
        ("step", np.float64, (NUM_WEIGHTS,)),
        ("factor", np.float64, (NUM_WEIGHTS, NUM_WEIGHTS)),
    ],
    align=True,
)


@kernel
def _log_chance_of_one(score, yes):
    """Logarithm of the probability of yes (or no) at a logit, and the probability of yes."""
    chance = 1 / (1 + np.exp(-score))
    log = -np.log1p(np.exp(-score)) if yes else -np.log1p(np.exp(score))
    return max(log, _LEAST_LOG), chance


@kernel
def _two_way(w, first, count, row, yes, gradient, curve, tempered):
    """Adds a choice between two: returns its log-likelihood."""
    score = 0.0
    for k in range(count):
        score += w[first + k] * row[k]
    log, chance = _log_chance_of_one(min(30.0, max(-30.0, score)), yes)
    if tempered > 0:
        missed = (1.0 if yes else 0.0) - chance
        spread = chance * (1 - chance)
        for a in range(count):
            if row[a] == 0:
                continue
            gradient[first + a] += tempered * missed * row[a]
            for b in range(a + 1):
                curve[first + a, first + b] += tempered * spread * row[a] * row[b]
    return log


@kernel
def _many_way(w, rows, n, chosen, chances, gradient, curve, tempered):
    """Adds a choice among discards: returns its log-likelihood."""
    most = -1e300
    for i in range(n):
        score = 0.0
        for k in range(NUM_DISCARDS):
            score += w[k] * rows[i, k]
        chances[i] = score
        most = max(most, score)
    total = 0.0
    for i in range(n):
        chances[i] = np.exp(chances[i] - most)
        total += chances[i]
    for i in range(n):
        chances[i] /= total
    log = max(_LEAST_LOG, np.log(chances[chosen] + 1e-300))
    if tempered > 0:
        for a in range(NUM_DISCARDS):
            mean = 0.0
            for i in range(n):
                mean += chances[i] * rows[i, a]
            gradient[a] += tempered * (rows[chosen, a] - mean)
            # Rows become their distance from the mean; a later mean needs only its own column.
            for i in range(n):
                rows[i, a] -= mean
            for b in range(a + 1):
                spread = 0.0
                for i in range(n):
                    spread += chances[i] * rows[i, a] * rows[i, b]
                curve[a, b] += tempered * spread
    return log


@kernel
def add_discard(w, cards, t, limit, size, may_return, space, gradient, curve, tempered):
    """Adds what was done with eleven cards: a knock or none, and the discard where it did not knock.

    Args:
        w: ``float64[NUM_WEIGHTS]``.
        cards: the eleven cards.
        t: the ``TURN``.
        limit: most deadwood to knock with.
        size: cards of a hand.
        may_return: whether the upcard taken may be discarded at once.
        space: a ``WORKSPACE``.
        gradient: ``float64[NUM_WEIGHTS]``, added to.
        curve: ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``, whose lower half is added to.
        tempered: factor on what is added to them; 0 for none.

    Returns:
        The log-likelihood, 0 where there was no choice.
    """
    allowed = cards
    if t.took and not may_return:
        allowed &= ~(np.int64(1) << t.top)
    log = 0.0
    left = least_deadwood(cards, allowed)[1]
    if 0 < left <= limit:
        knock_row(left, t, space.row)
        log += _two_way(w, FIRST_KNOCK, NUM_KNOCKS, space.row, t.knocked, gradient, curve, tempered)
    if t.knocked:
        return log
    n, chosen = discard_rows(cards, allowed, t, size, space.rows)
    if chosen < 0 or n < 2:
        return log
    return log + _many_way(w, space.rows, n, chosen, space.chances, gradient, curve, tempered)


@kernel
def add_draw(w, cards, t, limit, space, gradient, curve, tempered):
    """Adds whether it took the upcard with these ten cards; as ``add_discard``."""
    if t.top < 0:
        return 0.0
    draw_row(cards, t, limit, space.row)
    return _two_way(w, FIRST_DRAW, NUM_DRAWS, space.row, t.took, gradient, curve, tempered)


@kernel
def trace_back(cards, t, word):
    """The ten cards before the draw of a turn from the eleven after it: what came from the stock is drawn at random."""
    if t.took:
        return cards & ~(np.int64(1) << t.top)
    if t.drew:
        # Nobody throws back what it was known to hold only to draw it from the stock.
        new = cards & ~t.before
        return cards & ~(np.int64(1) << nth_bit(new, below(word, popcount(new))))
    return cards


@kernel
def _redraw(space, word):
    """Redraws the samples by their weights (systematic resampling) and sets the weights to 0."""
    most = space.weights[0]
    for i in range(1, SAMPLES):
        most = max(most, space.weights[i])
    total = 0.0
    for i in range(SAMPLES):
        space.weights[i] = np.exp(space.weights[i] - most)
        total += space.weights[i]
    start = unit(mix(word))
    source = -1
    reached = 0.0
    for i in range(SAMPLES):
        wanted = (i + start) / SAMPLES * total
        while source < SAMPLES - 1 and (source < 0 or reached <= wanted):
            source += 1
            reached += space.weights[source]
        space.other_cards[i] = space.cards[source]
        for a in range(NUM_WEIGHTS):
            space.other_gradients[i, a] = space.gradients[source, a]
            for b in range(a + 1):
                space.other_curves[i, a, b] = space.curves[source, a, b]
    for i in range(SAMPLES):
        space.weights[i] = 0.0
        space.cards[i] = space.other_cards[i]
        for a in range(NUM_WEIGHTS):
            space.gradients[i, a] = space.other_gradients[i, a]
            for b in range(a + 1):
                space.curves[i, a, b] = space.other_curves[i, a, b]


@kernel
def shown_hand(v):
    """The opponent's ten cards at the end of a hand, what it laid off included; 0 where they were not shown."""
    return v.shown | v.laid if v.knocker == 0 else v.shown


@kernel
def trace_hand(v, w, space, tempered):
    """Traces a finished hand back in samples, and leaves gradients and curvatures of its log-likelihood in the workspace.

    Returns:
        The number of the opponent's turns, 0 where its hand was not shown.
    """
    last = shown_hand(v)
    if last == 0:
        return 0
    count = read_turns(v, space.turns)
    size = popcount(last)
    stream = v.luck
    space.gradients[:] = 0.0
    space.curves[:] = 0.0
    for i in range(SAMPLES):
        space.cards[i] = last
        space.weights[i] = 0.0
    certain = True
    for k in range(count - 1, -1, -1):
        t = space.turns[k]
        for i in range(SAMPLES):
            if certain and i:
                # As long as the cards are certain all samples are the same.
                space.gradients[i] = space.gradients[0]
                space.curves[i] = space.curves[0]
            elif t.discarded >= 0:
                eleven = space.cards[i] | np.int64(1) << t.discarded
                space.weights[i] += add_discard(
                    w, eleven, t, v.limit, size, v.rules.discard_taken_upcard, space, space.gradients[i],
                    space.curves[i], tempered,
                )  # fmt: skip
        if not certain and t.discarded >= 0:
            stream, word = next_word(stream)
            _redraw(space, word)
        for i in range(SAMPLES):
            cards = space.cards[i]
            if t.discarded >= 0:
                stream, word = next_word(stream)
                cards = trace_back(cards | np.int64(1) << t.discarded, t, word)
                space.cards[i] = cards
            space.weights[i] += add_draw(w, cards, t, v.limit, space, space.gradients[i], space.curves[i], tempered)
        if t.drew:
            certain = False
    return count


@kernel
def solve(a, b, factor):
    """Solves ``a x = b`` for a positive definite matrix whose lower half is given; ``b`` becomes ``x``, ``factor`` the Cholesky factor."""
    n = b.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(total, 1e-9))
            else:
                factor[i, j] = total / factor[j, j]
    for i in range(n):
        for k in range(i):
            b[i] -= factor[i, k] * b[k]
        b[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= factor[k, i] * b[k]
        b[i] /= factor[i, i]


@kernel
def _newton(w, old, precision, space, factor_only):
    """One Newton step on the workspace's gradients and curvatures from the posterior before."""
    for a in range(NUM_WEIGHTS):
        total = 0.0
        for i in range(SAMPLES):
            total += space.gradients[i, a]
        total /= SAMPLES
        for b in range(NUM_WEIGHTS):
            total -= precision[a, b] * (w[b] - old[b])
        space.step[a] = total
        for b in range(a + 1):
            total = 0.0
            for i in range(SAMPLES):
                total += space.curves[i, a, b]
            space.curves[0, a, b] = precision[a, b] + total / SAMPLES
    if factor_only:
        return
    solve(space.curves[0], space.step, space.factor)
    longest = 0.0
    for a in range(NUM_WEIGHTS):
        longest = max(longest, abs(space.step[a]))
    scale = min(1.0, _LONGEST_STEP / max(longest, 1e-9))
    for a in range(NUM_WEIGHTS):
        w[a] += scale * space.step[a]


@kernel
def learn_hand(v, w, precision, space, tempered, steps=2):
    """Moves weights and precision of an opponent by what a finished hand showed; returns whether it showed anything."""
    space.old[:] = w
    for _ in range(steps):
        if trace_hand(v, w, space, tempered) == 0:
            return False
        _newton(w, space.old, precision, space, False)
    for a in range(NUM_WEIGHTS):
        for b in range(a + 1):
            precision[a, b] = space.curves[0, a, b]
            precision[b, a] = precision[a, b]
    return True
