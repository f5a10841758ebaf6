"""Fitting what strangers are like: a normal distribution of weights over a population whose hands are all known.

Each style's weights are fitted to its hands, with the cards that it truly held, under the current prior. The prior then becomes the mean
and the covariance of the styles' weights, including each one's uncertainty. This is repeated for some rounds (expectation-maximisation).
"""

from __future__ import annotations

import numpy as np

from agents.opponent_model.features import (
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
from agents.opponent_model.learning import (
    MIN_LOG,
    WORKSPACE,
    add_discard,
    add_draw,
    before_turn,
    newton_step,
    shown_hand,
)
from agents.opponent_model.posterior import ModelPrior
from agents.opponent_model.turns import MAX_TURNS, read_turns
from ginenv.bots.hand_kernels import least_deadwood
from ginenv.engine.jit import kernel, popcount
from ginenv.view.history import M_DISCARD, M_DRAW, M_FORCED_DRAW, M_KNOCK, M_PASS, moves

_ROUNDS = 8
# The prior of the first round: no preferences, and weights of the order of a few.
_FIRST_DEVIATION = 3.0


@kernel
def drawn_cards(v, deck, position, drawn):
    """Writes the card that the opponent drew from the stock in each of its turns (-1: none) to ``int64[MAX_TURNS]``.

    Args:
        v: the finished hand's view from the other seat.
        deck: ``uint8[52]``, in the order dealt.
        position: of the stock's next card in the deck, at the end of the hand.
        drawn: written.
    """
    place = np.int64(position)
    for move in moves(v):
        if move.kind == M_DRAW or move.kind == M_FORCED_DRAW:
            place -= 1
    count = 0
    drawn[0] = -1
    for move in moves(v):
        if move.kind == M_DRAW or move.kind == M_FORCED_DRAW:
            if move.seat == 1:
                drawn[count] = deck[place]
            place += 1
        elif move.seat == 1 and (move.kind == M_DISCARD or move.kind == M_KNOCK or move.kind == M_PASS):
            count += 1
            drawn[count] = -1


@kernel
def add_true_hand(v, deck, position, w, space, drawn, gradient, curve, tempered):
    """Adds the choices of a shown hand with the cards truly held; returns the log-likelihood and the number of turns."""
    cards = np.int64(shown_hand(v))
    if cards == 0:
        return 0.0, 0
    size = popcount(cards)
    count = read_turns(v, space.turns)
    drawn_cards(v, deck, position, drawn)
    log = 0.0
    for k in range(count - 1, -1, -1):
        t = space.turns[k]
        if t.discarded >= 0:
            cards |= np.int64(1) << t.discarded
            may_return = v.rules.discard_taken_upcard
            log += add_discard(w, cards, t, v.limit, size, may_return, space, gradient, curve, tempered)
            cards = before_turn(cards & ~(np.int64(1) << t.discarded), t, drawn[k])
        log += add_draw(w, cards, t, v.limit, space, gradient, curve, tempered)
    return log, count


@kernel
def _newton_steps(views, decks, positions, rows, weights, precisions, prior_mean, prior, space, drawn, gradients):
    """One Newton step of every style: ``weights`` and ``precisions`` are overwritten; returns the log-likelihood before."""
    styles = weights.shape[0]
    log = 0.0
    gradients[:] = 0.0
    precisions[:] = 0.0
    for k in range(views.shape[0]):
        i = rows[k]
        log += add_true_hand(
            views[k], decks[k], positions[k], weights[i], space[0], drawn, gradients[i], precisions[i], 1.0
        )[0]
    for i in range(styles):
        for a in range(NUM_WEIGHTS):
            for b in range(NUM_WEIGHTS):
                gradients[i, a] -= prior[a, b] * (weights[i, b] - prior_mean[b])
        newton_step(weights[i], prior, gradients[i], precisions[i], space[0].factor)
        for a in range(NUM_WEIGHTS):
            for b in range(a):
                precisions[i, b, a] = precisions[i, a, b]
    return log


def fit_prior(
    views: np.ndarray, decks: np.ndarray, positions: np.ndarray, rows: np.ndarray, tempered: float = 1.0
) -> tuple[ModelPrior, np.ndarray, list[float]]:
    """Fits what strangers are like.

    Args:
        views: ``VIEW[n]``, final views of the styles' opponent.
        decks: ``uint8[n, 52]``, the cards of each hand in the order dealt.
        positions: ``int64[n]``, position of the stock's next card at the end of each hand.
        rows: ``int64[n]``, the style of each hand, numbered from 0.
        tempered: is stored in the prior (see ``ModelPrior``).

    Returns:
        The prior, the styles' weights ``float64[m, NUM_WEIGHTS]``, and the log-likelihood of all choices by round.
    """
    styles = int(rows.max()) + 1
    mean, covariance = np.zeros(NUM_WEIGHTS), np.eye(NUM_WEIGHTS) * _FIRST_DEVIATION**2
    weights = np.zeros((styles, NUM_WEIGHTS))
    precisions = np.zeros((styles, NUM_WEIGHTS, NUM_WEIGHTS))
    space, drawn = np.zeros(1, WORKSPACE), np.zeros(MAX_TURNS, np.int64)
    logs, log = [], 0.0
    for _ in range(_ROUNDS):
        prior = np.linalg.inv(covariance)
        for _ in range(2):
            log = _newton_steps(
                views, decks, positions, rows, weights, precisions, mean, prior, space, drawn, np.zeros_like(weights)
            )
        logs.append(float(log))
        mean = weights.mean(0)
        covariance = np.cov(weights.T, bias=True) + np.linalg.inv(precisions).mean(0)
    return ModelPrior(mean, covariance, tempered), weights, logs


# A choice in a hand, with the features of what could be chosen.
CHOICE = np.dtype(
    [
        ("hand", np.int64),
        ("kind", np.uint8),  # position in KINDS
        ("count", np.uint8),  # number of discards to choose among
        ("chosen", np.uint8),  # which of them; for draws and knocks, 1 for yes
        ("rows", np.float32, (MAX_CARDS, NUM_DISCARDS)),  # draws and knocks use the first row alone
    ],
    align=True,
)
KINDS = ("discard", "draw", "knock")
_MAX_CHOICES = 40


@kernel
def _keep(choice, hand, kind, count, chosen, row):
    choice.hand, choice.kind, choice.count, choice.chosen = hand, kind, count, chosen
    for k in range(row.shape[0]):
        choice.rows[0, k] = row[k]


@kernel
def _choices_of(v, deck, position, hand, space, drawn, out):
    """Writes the choices of a shown hand with the cards truly held; returns their number."""
    cards = np.int64(shown_hand(v))
    if cards == 0:
        return 0
    size = popcount(cards)
    turns = read_turns(v, space.turns)
    drawn_cards(v, deck, position, drawn)
    found = 0
    for k in range(turns - 1, -1, -1):
        t = space.turns[k]
        if t.discarded >= 0:
            eleven = cards | np.int64(1) << t.discarded
            allowed = eleven
            if t.took and not v.rules.discard_taken_upcard:
                allowed &= ~(np.int64(1) << t.top)
            left = least_deadwood(eleven, allowed)[1]
            if 0 < left <= v.limit:
                knock_row(left, t, space.row)
                _keep(out[found], hand, 2, 0, t.knocked, space.row[:NUM_KNOCKS])
                found += 1
            if not t.knocked:
                count, chosen = discard_rows(eleven, allowed, t, size, space.rows)
                if chosen >= 0 and count > 1:
                    _keep(out[found], hand, 0, count, chosen, space.rows[0])
                    for i in range(count):
                        for f in range(NUM_DISCARDS):
                            out[found].rows[i, f] = space.rows[i, f]
                    found += 1
            cards = before_turn(cards, t, drawn[k])
        if t.top >= 0:
            draw_row(cards, t, v.limit, space.row)
            _keep(out[found], hand, 1, 0, t.took, space.row[:NUM_DRAWS])
            found += 1
    return found


@kernel
def _all_choices(views, decks, positions, space, drawn, some, out):
    count = 0
    for i in range(views.shape[0]):
        found = _choices_of(views[i], decks[i], positions[i], i, space[0], drawn, some)
        for k in range(min(found, out.shape[0] - count)):
            out[count] = some[k]
            count += 1
    return count


class Choices:
    """Choices of hands whose cards are all known.

    Args:
        records: ``CHOICE[n]``.
    """

    def __init__(self, records: np.ndarray) -> None:
        self.records, self.hand = records, records["hand"]

    def chances(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What weights predict: probabilities of all discards ``[n, MOST_CARDS]``, and of yes ``[n]`` for draws and knocks.

        Args:
            weights: ``float64[n, NUM_WEIGHTS]``, one row for each choice.
        """
        rows = self.records["rows"].astype(np.float64)
        scores = np.einsum("nif,nf->ni", rows, weights[:, :NUM_DISCARDS])
        scores = np.where(np.arange(MAX_CARDS) < self.records["count"][:, None], scores, -np.inf)
        discards = self.records["kind"] == 0
        scores[~discards] = 0.0
        many = np.exp(scores - scores.max(1, keepdims=True))
        draws = (rows[:, 0, :NUM_DRAWS] * weights[:, FIRST_DRAW:FIRST_KNOCK]).sum(1)
        knocks = (rows[:, 0, :NUM_KNOCKS] * weights[:, FIRST_KNOCK:]).sum(1)
        score = np.clip(np.where(self.records["kind"] == 1, draws, knocks), -30, 30)
        return many / many.sum(1, keepdims=True), 1 / (1 + np.exp(-score))

    def losses_of(self, many: np.ndarray, yes: np.ndarray) -> np.ndarray:
        """Log-loss of every choice under probabilities as ``chances`` gives them: ``float64[n]``, in nats."""
        chosen = self.records["chosen"].astype(np.int64)
        of_many = many[np.arange(len(chosen)), chosen]
        chance = np.where(self.records["kind"] == 0, of_many, np.where(chosen == 1, yes, 1 - yes))
        return -np.maximum(np.log(np.maximum(chance, 1e-300)), MIN_LOG)

    def losses(self, weights: np.ndarray) -> np.ndarray:
        """Log-loss of every choice under weights ``float64[n, NUM_WEIGHTS]``."""
        return self.losses_of(*self.chances(weights))


def true_choices(views: np.ndarray, decks: np.ndarray, positions: np.ndarray) -> Choices:
    """The choices of hands that were shown, with the cards truly held; arguments as in ``fit_prior``."""
    space, drawn = np.zeros(1, WORKSPACE), np.zeros(MAX_TURNS, np.int64)
    out = np.zeros(len(views) * _MAX_CHOICES, CHOICE)
    count = _all_choices(views, decks, positions, space, drawn, np.zeros(3 * MAX_TURNS, CHOICE), out)
    return Choices(out[:count])
