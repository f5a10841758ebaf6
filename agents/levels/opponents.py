"""What is known of opponents: a normal distribution of each one's weights, which starts as the population's; every shown hand moves it.

This is an online Laplace approximation of the posterior. A shown hand fixes the eleven cards before the opponent's last discard. Further
back, one of the cards then held came from the stock in each turn, and it is not known which. Before looking at the choices, all ways in
which the cards can have come are equally likely. So a hand is traced back in several samples at once, which are resampled by how well they
explain the choices (a particle filter backwards in time). Each hand is one Newton step from the posterior of the hands before, on the mean
over the samples.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field

from agents.config import Config
from agents.levels.features import (
    FIRST_DRAW,
    FIRST_KNOCK,
    MAX_CARDS,
    NUM_DISCARDS,
    NUM_DRAWS,
    NUM_KNOCKS,
    NUM_WEIGHTS,
    discard_rows,
    draw_row,
    knock_row,
)
from ginenv.engine.jit import ctz, kernel, mix, next_word, popcount, unit
from ginenv.engine.melds import deadwood, least_deadwood
from ginenv.view.turns import MAX_TURNS, TURN, read_turns

# Numbers in the lower half of a precision.
_LOWER = NUM_WEIGHTS * (NUM_WEIGHTS + 1) // 2
PRIOR = Path(__file__).resolve().parents[1] / "data" / "opponent_model.json"
SAMPLES = 8
# Least log-probability: a choice that the model rules out tells no more than a rare one.
MIN_LOG = -12.0
# Points of deadwood.
_NEVER = 15
# Longest step of a weight: further away, the curvature says nothing.
_LONGEST_STEP = 3.0

# What is known of one opponent.
POSTERIOR = np.dtype(
    [
        ("mean", np.float64, (NUM_WEIGHTS,)),
        ("precision", np.float64, (NUM_WEIGHTS, NUM_WEIGHTS)),
        ("hands", np.int64),  # shown so far
    ],
    align=True,
)
WORKSPACE = np.dtype(
    [
        ("turns", TURN, (MAX_TURNS,)),
        ("rows", np.float64, (MAX_CARDS, NUM_DISCARDS)),
        ("row", np.float64, (max(NUM_DRAWS, NUM_KNOCKS),)),
        ("chances", np.float64, (MAX_CARDS,)),
        ("cards", np.int64, (SAMPLES,)),
        ("ways", np.int64, (SAMPLES * MAX_CARDS,)),
        ("logs", np.float64, (SAMPLES * MAX_CARDS,)),
        ("gradient", np.float64, (NUM_WEIGHTS,)),
        ("curve", np.float64, (NUM_WEIGHTS, NUM_WEIGHTS)),
        ("factor", np.float64, (NUM_WEIGHTS, NUM_WEIGHTS)),
    ],
    align=True,
)


@kernel
def _log_chance_of_one(score, yes):
    """Logarithm of the probability of yes (or no) at a logit, and the probability of yes."""
    chance = 1 / (1 + np.exp(-score))
    log = -np.log1p(np.exp(-score)) if yes else -np.log1p(np.exp(score))
    return max(log, MIN_LOG), chance


@kernel
def _two_way(w, first, count, yes, space, tempered):
    """Adds a choice between two options, whose features are in ``space.row``; returns its log-likelihood."""
    row, gradient, curve = space.row, space.gradient, space.curve
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
def _many_way(w, n, chosen, space, tempered):
    """Adds a choice among discards, whose features are in ``space.rows``; returns its log-likelihood."""
    rows, chances, gradient, curve = space.rows, space.chances, space.gradient, space.curve
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
    log = max(MIN_LOG, np.log(chances[chosen] + 1e-300))
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
def add_discard(w, cards, t, v, size, space, tempered):
    """Adds what was done with eleven cards: whether to knock and, if not, the discard.

    Args:
        w: ``float64[NUM_WEIGHTS]``.
        cards: the eleven cards.
        t: the ``TURN``.
        v: the view of the finished hand.
        size: cards of a hand.
        space: a ``WORKSPACE``, to whose gradient and (the lower half of) curvature is added.
        tempered: factor on what is added; 0 adds nothing.

    Returns:
        The log-likelihood, 0 if there was no choice.
    """
    allowed = cards
    if t.took and not v.rules.discard_taken_upcard:
        allowed &= ~(np.int64(1) << t.top)
    log = 0.0
    left = least_deadwood(cards, allowed)[1]
    if 0 < left <= v.limit:
        knock_row(left, t, space.row)
        log += _two_way(w, FIRST_KNOCK, NUM_KNOCKS, t.knocked, space, tempered)
    if t.knocked:
        return log
    n, chosen, _ = discard_rows(cards, allowed, t, size, space.rows)
    if chosen < 0 or n < 2:
        return log
    return log + _many_way(w, n, chosen, space, tempered)


@kernel
def add_draw(w, cards, t, v, space, tempered):
    """Adds whether it took the upcard with these ten cards; arguments as in ``add_discard``."""
    if t.top < 0:
        return 0.0
    draw_row(cards, t, v.limit, space.row)
    return _two_way(w, FIRST_DRAW, NUM_DRAWS, t.took, space, tempered)


@kernel
def before_turn(cards, t, card):
    """The ten cards before a turn, from those after it, if ``card`` came from the stock (-1: none did)."""
    if t.discarded >= 0:
        cards |= np.int64(1) << t.discarded
    if t.took:
        return cards & ~(np.int64(1) << t.top)
    return cards if card < 0 else cards & ~(np.int64(1) << card)


@kernel
def _add_turns(w, cards, k, v, size, space, tempered):
    """Adds the draw of turn ``k`` and the discard of the turn before it, given the ten cards between them; as ``add_discard``."""
    log = add_draw(w, cards, space.turns[k], v, space, tempered)
    if k > 0 and space.turns[k - 1].discarded >= 0:
        t = space.turns[k - 1]
        cards |= np.int64(1) << t.discarded
        log += add_discard(w, cards, t, v, size, space, tempered)
    return log


@kernel
def _regret(cards, t):
    """How much more deadwood than the best discard a turn's discard left, if it left these ten cards."""
    eleven = cards | np.int64(1) << t.discarded
    return deadwood(cards) - least_deadwood(eleven, eleven)[1]


@kernel
def _log_of_way(w, cards, count, k, v, size, space):
    """How well ten cards before turn ``k`` explain the earlier choices; the workspace already holds ``count`` ways and their logarithms."""
    for j in range(count):
        if space.ways[j] == cards:
            # Many samples are equal, and different ones may have come from the same cards.
            return space.logs[j]
    if k > 0:
        before = space.turns[k - 1]
        if before.discarded >= 0 and _regret(cards, before) > _NEVER:
            # A discard that costs much is hardly ever made; how much exactly does not matter.
            return MIN_LOG
    return _add_turns(w, cards, k, v, size, space, 0.0)


@kernel
def _guess(w, k, v, size, space, alive, stream):
    """Replaces the samples after turn ``k`` by samples before it, drawn from all ways back by how well they explain the earlier choices.

    Returns:
        The number of samples and the stream's new state.
    """
    t = space.turns[k]
    count = 0
    most = -1e300
    for i in range(alive):
        if t.drew:
            # What it was known to hold did not come from the stock.
            new = (space.cards[i] | np.int64(1) << t.discarded) & ~t.before
        else:
            new = np.int64(1)
        while new:
            cards = before_turn(space.cards[i], t, ctz(new) if t.drew else np.int64(-1))
            new &= new - 1
            space.ways[count] = cards
            space.logs[count] = _log_of_way(w, cards, count, k, v, size, space)
            most = max(most, space.logs[count])
            count += 1
    if count <= 1:
        space.cards[0] = space.ways[0]
        return count, stream
    total = 0.0
    for j in range(count):
        space.logs[j] = np.exp(space.logs[j] - most)
        total += space.logs[j]
    # Systematic resampling.
    stream, word = next_word(stream)
    start = unit(mix(word))
    reached = 0.0
    source = -1
    for i in range(SAMPLES):
        wanted = (i + start) / SAMPLES * total
        while source < count - 1 and (source < 0 or reached <= wanted):
            source += 1
            reached += space.logs[source]
        space.cards[i] = space.ways[source]
    return SAMPLES, stream


@kernel
def shown_hand(v):
    """The opponent's ten cards at the end of a hand, including those it laid off; 0 if they were not shown."""
    return v.shown | v.laid if v.knocker == 0 else v.shown


@kernel
def trace_hand(v, w, space, tempered):
    """Traces a finished hand back in samples, and leaves the gradient and curvature of its log-likelihood in the workspace.

    Returns:
        The number of the opponent's turns, 0 if its hand was not shown.
    """
    cards = np.int64(shown_hand(v))
    if cards == 0:
        return 0
    count = read_turns(v, space.turns)
    size = popcount(cards)
    stream = v.luck
    space.gradient[:] = 0.0
    space.curve[:] = 0.0
    space.cards[0] = cards
    alive = 1
    last = count - 1
    if last >= 0 and space.turns[last].discarded >= 0:
        t = space.turns[last]
        add_discard(w, cards | np.int64(1) << t.discarded, t, v, size, space, tempered)
    for k in range(last, -1, -1):
        alive, stream = _guess(w, k, v, size, space, alive, stream)
        i = 0
        while i < alive:
            # Equal samples stand side by side.
            same = 1
            while i + same < alive and space.cards[i + same] == space.cards[i]:
                same += 1
            _add_turns(w, space.cards[i], k, v, size, space, tempered * same / alive)
            i += same
    return count


@kernel
def factorise(a, factor):
    """The Cholesky factor of a positive definite matrix whose lower half is given."""
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(total, 1e-9))
            else:
                factor[i, j] = total / factor[j, j]


@kernel
def solve(factor, b):
    """Solves ``a x = b``, where ``factor`` is the Cholesky factor of ``a``; ``b`` becomes ``x``."""
    n = b.shape[0]
    for i in range(n):
        for k in range(i):
            b[i] -= factor[i, k] * b[k]
        b[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= factor[k, i] * b[k]
        b[i] /= factor[i, i]


@kernel
def newton_step(w, precision, space, after):
    """Moves weights by one Newton step along the workspace's gradient, which is overwritten.

    Args:
        w: ``float64[NUM_WEIGHTS]``, moved.
        precision: of the prior, ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``.
        space: a ``WORKSPACE`` with the gradient and curvature (lower half) of the log-likelihood.
        after: the precision afterwards, written; it may be the prior's.
    """
    for a in range(NUM_WEIGHTS):
        for b in range(a + 1):
            after[a, b] = space.curve[a, b] + precision[a, b]
            after[b, a] = after[a, b]
    factorise(after, space.factor)
    solve(space.factor, space.gradient)
    longest = 0.0
    for a in range(NUM_WEIGHTS):
        longest = max(longest, abs(space.gradient[a]))
    scale = min(1.0, _LONGEST_STEP / max(longest, 1e-9))
    for a in range(NUM_WEIGHTS):
        w[a] += scale * space.gradient[a]


@kernel
def learn_hand(v, w, precision, space, tempered):
    """Updates an opponent's weights and precision from a finished hand; returns whether the hand showed anything."""
    if trace_hand(v, w, space, tempered) == 0:
        return False
    newton_step(w, precision, space, precision)
    return True


# --- what is known ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelPrior:
    """What strangers are like.

    Attributes:
        mean: ``float64[NUM_WEIGHTS]``.
        covariance: ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``.
        tempered: factor on the log-likelihood of every hand.
        shown: the mean weights that typical people come to by what they show at a table, ``float64[NUM_WEIGHTS]``.
    """

    mean: np.ndarray
    covariance: np.ndarray
    tempered: float
    shown: np.ndarray

    @cached_property
    def stranger(self) -> np.ndarray:
        """What is known of somebody never met: ``POSTERIOR[1]``."""
        records = np.zeros(1, POSTERIOR)
        records["mean"], records["precision"] = self.mean, np.linalg.inv(self.covariance)
        return records


def square(lower: list[float]) -> np.ndarray:
    """The symmetric matrix with this lower half, given row by row."""
    matrix = np.zeros((NUM_WEIGHTS, NUM_WEIGHTS))
    matrix[np.tril_indices(NUM_WEIGHTS)] = lower
    return matrix + np.tril(matrix, -1).T


def lower_of(matrix: np.ndarray) -> list[float]:
    """The lower half of a symmetric matrix, row by row."""
    return matrix[np.tril_indices(NUM_WEIGHTS)].tolist()


class Beliefs(Config):
    """A ``POSTERIOR`` record as lists of numbers.

    Attributes:
        hands: that it rests on.
        mean: of each weight.
        precision: its lower half, row by row.
    """

    hands: int = Field(ge=0)
    mean: list[float] = Field(min_length=NUM_WEIGHTS, max_length=NUM_WEIGHTS)
    precision: list[float] = Field(min_length=_LOWER, max_length=_LOWER)

    @property
    def record(self) -> np.ndarray:
        """The same as ``POSTERIOR[1]``."""
        record = np.zeros(1, POSTERIOR)
        record[0] = self.mean, square(self.precision), self.hands
        return record

    @classmethod
    def of(cls, record: np.void, **rest: Any) -> Self:
        """What a ``POSTERIOR`` record says, with the other attributes."""
        numbers = {"mean": record["mean"].tolist(), "precision": lower_of(record["precision"])}
        return cls(hands=int(record["hands"]), **numbers, **rest)


@cache
def shipped_prior() -> ModelPrior:
    """The prior that ships with the package (``python -m benchmarks.data.opponent_prior`` fits it)."""
    values = json.loads(PRIOR.read_text(encoding="utf-8"))
    return ModelPrior(
        np.array(values["mean"]), square(values["covariance"]), values["tempered"], np.array(values["shown"])
    )


@kernel
def _learn(views, rows, records, space, tempered):
    for i in range(views.shape[0]):
        k = records[rows[i]]
        if learn_hand(views[i], k.mean, k.precision, space[0], tempered):
            k.hands += 1


class Posteriors:
    """What is known of many opponents, one row each.

    Args:
        count: of opponents.

    Attributes:
        records: ``POSTERIOR[count]``.
    """

    def __init__(self, count: int) -> None:
        self.prior = shipped_prior()
        self.records = np.repeat(self.prior.stranger, count)
        self._space = np.zeros(1, WORKSPACE)
        self._deviation = np.sqrt(np.diag(self.prior.covariance))

    def learn(self, views: np.ndarray, rows: np.ndarray) -> None:
        """Learns from finished hands.

        Args:
            views: ``VIEW[n]``, final views of the seat that watches. Hands that were not shown teach nothing.
            rows: ``int[n]``, the opponent of each.
        """
        _learn(views, np.asarray(rows, np.int64), self.records, self._space, self.prior.tempered)

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """How far each weight's mean is from the population's, in the population's standard deviations: ``float32[n, NUM_WEIGHTS]``.

        All 0 for a stranger. What is uncertain is near the population's.

        Args:
            rows: ``int[n]``, the opponents.
        """
        return ((self.records["mean"][rows] - self.prior.mean) / self._deviation).astype(np.float32)
