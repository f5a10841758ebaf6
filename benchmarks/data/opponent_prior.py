"""Fits the prior for unknown opponents that ships, ``agents/data/opponent_model.json``, from styles of the training population.

python -m benchmarks.data.opponent_prior

The prior is a normal distribution of weights. Each style's weights are fitted to its hands, with the cards that it truly held, under the
current prior. The prior then becomes the mean and the covariance of the styles' weights, including each one's uncertainty. This is repeated
for some rounds (expectation-maximisation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from agents.arena.lockstep import Lockstep, Observer, make_jobs
from agents.arena.series import play_series
from agents.deal_streams import Domain, deal_keys, luck_words
from agents.files import write_json
from agents.levels.features import FEATURES, NUM_WEIGHTS
from agents.levels.opponents import (
    PRIOR,
    WORKSPACE,
    ModelPrior,
    Posteriors,
    add_discard,
    add_draw,
    before_turn,
    lower_of,
    newton_step,
    shown_hand,
)
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import PopulationPlayer, draw_styles
from ginenv.engine.jit import kernel, popcount
from ginenv.engine.rules import get_rules
from ginenv.tables.kernels import SERIES
from ginenv.tables.players import make_player
from ginenv.view.history import M_DISCARD, M_DRAW, M_FORCED_DRAW, M_KNOCK, M_PASS, moves
from ginenv.view.turns import MAX_TURNS, read_turns

# Styles, hands of each, and their seed: the training population's.
_STYLES, _HANDS, _DRAW = 512, 48, 1
# Series of a style that are played at the same time.
_LANES = 4
# Of the likelihood of one hand, in the fit (docs/log).
_TEMPERED = 0.3
_ROUNDS = 8
# Other styles that show what people look like at a table, the hands of each, and the seed.
_SHOWN_STYLES, _SHOWN_HANDS, _SHOWN_DRAW, _SHOWN_SEED = 256, 60, 4850, 3
# The prior of the first round: no preferences, and weights of the order of a few.
_FIRST_DEVIATION = 3.0


class _FinishedHands(Observer):
    """Keeps the final views of side 0, the decks, and how much of them was dealt."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, ...]] = []

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        states, hands = play.states[rows], play.tables["episode"][rows] - 1
        stored_results = (play.jobs_at[rows], hands, views[0], states["deck"], states["position"].astype(np.int64))
        self.parts.append(tuple(part.copy() for part in stored_results))


def play_hands(styles: np.ndarray, hands: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Plays hands of each style against the network, sorted by style.

    Returns:
        ``VIEW[n]``, decks ``uint8[n, 52]``, positions in them ``int64[n]``, and styles ``int64[n]``.
    """
    count, each = len(styles), -(-hands // _LANES)
    number = count * _LANES
    keys, luck = deal_keys(Domain.SELECT, seed, 0, number), luck_words(Domain.SELECT, seed, 0, number)
    jobs = make_jobs(keys, luck, np.arange(2 * number).reshape(number, 2) // 2)
    finished = _FinishedHands()
    sides = (make_player("network", seed), StylePlayer(styles, seed))
    Lockstep(sides, get_rules("eaai"), jobs, len(jobs), SERIES, each, observers=[finished]).run()
    job, hand, views, decks, positions = (np.concatenate(parts) for parts in zip(*finished.parts, strict=True))
    order = np.lexsort((hand, job // count, job % count))
    return views[order], decks[order], positions[order], job[order] % count


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
def _add_true_hand(v, deck, position, w, space, drawn):
    """Adds the choices of a shown hand with the cards truly held; returns the log-likelihood."""
    cards = np.int64(shown_hand(v))
    if cards == 0:
        return 0.0
    size = popcount(cards)
    count = read_turns(v, space.turns)
    drawn_cards(v, deck, position, drawn)
    log = 0.0
    for k in range(count - 1, -1, -1):
        t = space.turns[k]
        if t.discarded >= 0:
            cards |= np.int64(1) << t.discarded
            log += add_discard(w, cards, t, v, size, space, 1.0)
            cards = before_turn(cards & ~(np.int64(1) << t.discarded), t, drawn[k])
        log += add_draw(w, cards, t, v, space, 1.0)
    return log


@kernel
def _newton_steps(views, decks, positions, starts, weights, precisions, prior_mean, prior, space, drawn):
    """One Newton step of every style: ``weights`` and ``precisions`` are overwritten; returns the log-likelihood before."""
    log = 0.0
    for i in range(weights.shape[0]):
        space.gradient[:] = 0.0
        space.curve[:] = 0.0
        for k in range(starts[i], starts[i + 1]):
            log += _add_true_hand(views[k], decks[k], positions[k], weights[i], space, drawn)
        for a in range(NUM_WEIGHTS):
            for b in range(NUM_WEIGHTS):
                space.gradient[a] -= prior[a, b] * (weights[i, b] - prior_mean[b])
        newton_step(weights[i], prior, space, precisions[i])
    return log


def fit_prior(
    views: np.ndarray, decks: np.ndarray, positions: np.ndarray, rows: np.ndarray
) -> tuple[ModelPrior, list[float]]:
    """Fits what strangers are like.

    Args:
        views: ``VIEW[n]``, final views of the styles' opponent.
        decks: ``uint8[n, 52]``, the cards of each hand in the order dealt.
        positions: ``int64[n]``, position of the stock's next card at the end of each hand.
        rows: ``int64[n]``, the style of each hand, numbered from 0 and rising.

    Returns:
        The prior, and the log-likelihood of all choices by round.
    """
    styles = int(rows.max()) + 1
    mean, covariance = np.zeros(NUM_WEIGHTS), np.eye(NUM_WEIGHTS) * _FIRST_DEVIATION**2
    weights = np.zeros((styles, NUM_WEIGHTS))
    precisions = np.zeros((styles, NUM_WEIGHTS, NUM_WEIGHTS))
    starts = np.searchsorted(rows, np.arange(styles + 1))
    space, drawn = np.zeros(1, WORKSPACE), np.zeros(MAX_TURNS, np.int64)
    logs, log = [], 0.0
    for _ in range(_ROUNDS):
        prior = np.linalg.inv(covariance)
        for _ in range(2):
            log = _newton_steps(
                views, decks, positions, starts, weights, precisions, mean, prior, space[0], drawn
            )  # fmt: skip
        logs.append(float(log))
        mean = weights.mean(0)
        covariance = np.cov(weights.T, bias=True) + np.linalg.inv(precisions).mean(0)
    return ModelPrior(mean, covariance, _TEMPERED, mean), logs


def shown_weights(prior: ModelPrior) -> np.ndarray:
    """The mean weights of many styles by what they show of themselves, as people at a table do: ``float64[NUM_WEIGHTS]``."""
    # Every hand counts in full: what somebody does here does not change.
    posteriors = Posteriors(_SHOWN_STYLES)
    posteriors.prior = replace(prior, tempered=1.0)
    posteriors.records = np.repeat(prior.stranger, _SHOWN_STYLES)
    play_series(
        make_player("network", _SHOWN_SEED), PopulationPlayer(1, _SHOWN_STYLES, _SHOWN_DRAW), series=_SHOWN_STYLES,
        hands=_SHOWN_HANDS, seed=_SHOWN_SEED, after=lambda views, slots, numbers: posteriors.learn(views, slots),
    )  # fmt: skip
    return posteriors.records["mean"].mean(0)


def main() -> None:
    """Fits the prior and writes it into the package."""
    hands = play_hands(draw_styles(_DRAW, _STYLES), _HANDS, 11)
    prior, logs = fit_prior(*hands)
    prior = replace(prior, shown=shown_weights(prior).round(4))
    print("log-likelihood by round: " + ", ".join(f"{log:,.0f}" for log in logs))
    about = {"command": "python -m benchmarks.data.opponent_prior", "log_likelihood": logs}
    fitted = {"mean": prior.mean.tolist(), "covariance": lower_of(prior.covariance), "tempered": prior.tempered}
    write_json(PRIOR, about | {"features": FEATURES, "shown": prior.shown.tolist()} | fitted)


if __name__ == "__main__":
    main()
