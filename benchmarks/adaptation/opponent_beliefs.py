"""What a choice model adds to the belief about the opponent's cards: log-loss per card at one turn of many hands."""

from __future__ import annotations

import numpy as np

from agents.network.player import SHIPPED
from agents.opponent_model.learning import WORKSPACE, add_discard, add_draw, before_turn
from agents.opponent_model.turns import MAX_TURNS, TURN, read_turns
from agents.reports.beliefs import card_rows, counting_chances, log_losses
from agents.search.hand_features import NUM_FEATURES, write_features
from agents.search.hand_prior import NetworkPrior
from agents.search.worlds import draw_hands
from benchmarks.adaptation.opponent_hands import Hands
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.bits import nth_bit
from ginenv.engine.engine import STATE, apply, deal, next_word
from ginenv.engine.jit import below, kernel, mix, popcount
from ginenv.view.view import VIEW, look

# Own discards before the measured view, which is that of the sixth turn.
_BEFORE = 5
_DRAWN = 512
# Factors to try on the log-likelihood.
TRUSTS = (0.25, 0.5, 1.0)


@kernel
def weigh_hands(v, weights, stranger, hands, space, logs, stream):
    """Log-likelihood of the opponent's choices so far, for each hand that it may hold, less that under a stranger's weights.

    It is taken along one random history of each hand, in which the cards from the stock are drawn uniformly. For an opponent about which
    nothing is known, all values are 0.

    Args:
        v: the view.
        weights: ``float64[NUM_WEIGHTS]``, the opponent's weights.
        stranger: the population's weights.
        hands: ``int64[P]``.
        space: a ``WORKSPACE``.
        logs: ``float64[P]``, written.
        stream: state of a random stream (uint64).

    Returns:
        The stream's new state.
    """
    count = read_turns(v, space.turns)
    size = np.int64(v.rules.hand_size)
    for i in range(hands.shape[0]):
        cards = hands[i]
        log = 0.0
        for k in range(count - 1, -1, -1):
            t = space.turns[k]
            drawn = np.int64(-1)
            if t.discarded >= 0:
                eleven = cards | np.int64(1) << t.discarded
                for sign in range(2):
                    found = add_discard(
                        stranger if sign else weights, eleven, t, v.limit, size, v.rules.discard_taken_upcard, space,
                        space.gradient, space.curve, 0.0,
                    )  # fmt: skip
                    log += -found if sign else found
                if t.drew:
                    new = eleven & ~t.before
                    stream, word = next_word(stream)
                    drawn = nth_bit(new, below(word, popcount(new)))
            cards = before_turn(cards, t, drawn)
            log += add_draw(weights, cards, t, v.limit, space, space.gradient, space.curve, 0.0)
            log -= add_draw(stranger, cards, t, v.limit, space, space.gradient, space.curve, 0.0)
        logs[i] = log
    return stream


@kernel
def _views_at(finals, decks, views, hidden, found, state):
    """Replays finished hands up to the sixth discard of the observing seat; writes its views and the hands hidden from it."""
    s = state[0]
    for i in range(finals.shape[0]):
        v = finals[i]
        found[i] = 0
        seat = np.int64(v.seat)
        s.rules = v.rules
        s.deck[:] = decks[i]
        s.key = 0
        deal(s, seat if v.started else 1 - seat)
        own = 0
        for k in range(v.num_history):
            if s.phase == PHASE_DISCARD and s.turn == seat:
                if own == _BEFORE:
                    look(s, seat, views[i])
                    views[i].luck = v.luck
                    hidden[i] = s.hands[1 - seat]
                    found[i] = 1
                    break
                own += 1
            apply(s, np.int64(v.history[k]))


@kernel
def _draw(v, belief, turns, hands, features, stream):
    stream = draw_hands(v[0], belief, hands, stream)
    return write_features(v[0], belief, turns, hands, features, stream)


@kernel
def _weigh(v, weights, stranger, hands, space, logs, stream):
    weigh_hands(v[0], weights, stranger, hands, space[0], logs, stream)


def measure_beliefs(hands: Hands, known: dict[str, np.ndarray], stranger: np.ndarray) -> dict[str, np.ndarray]:
    """Log-loss per card in the sixth turn, in nats, by style and by what is known.

    Args:
        hands: finished hands.
        known: the styles' weights ``[styles, NUM_WEIGHTS]`` by name.
        stranger: the population's weights.

    Returns:
        ``float64[styles]`` for counting cards and for the hand model; and for the hand model with each of ``known``, less the hand model.
    """
    flat, styles = hands.flat(), hands.rows
    views, hidden = np.zeros(len(styles), VIEW), np.zeros(len(styles), np.int64)
    found = np.zeros(len(styles), np.uint8)
    _views_at(flat.views, flat.decks, views, hidden, found, np.zeros(1, STATE))
    rows = np.flatnonzero(found)
    prior = NetworkPrior(str(SHIPPED))
    decisions, reading = prior(views[rows])
    assert reading is not None
    names = ["hand model", *(f"{name}, trust {trust}" for name in known for trust in TRUSTS)]
    chances = {name: np.zeros((len(rows), 52)) for name in names}
    drawn, logs = np.zeros(_DRAWN, np.int64), np.zeros(_DRAWN)
    features = np.zeros((_DRAWN, NUM_FEATURES), np.float32)
    turns, space = np.zeros(MAX_TURNS, TURN), np.zeros(1, WORKSPACE)
    for n, row in enumerate(rows):
        view, stream = views[row : row + 1], np.uint64(mix(views["luck"][row]))
        stream = np.uint64(_draw(view, decisions["belief"][n], turns, drawn, features, stream))
        weights = reading.plausible(n, drawn, features)
        cards = card_rows(drawn)
        chances["hand model"][n] = weights @ cards
        for name, each in known.items():
            _weigh(view, each[styles[row]], stranger, drawn, space, logs, stream)
            for trust in TRUSTS:
                told = weights * np.exp(trust * (logs - logs.max()))
                chances[f"{name}, trust {trust}"][n] = told @ cards / told.sum()
    cards_unseen = card_rows(views["unseen"][rows]).sum(1)
    losses = {"counting": counting_chances(views[rows])[:, None]} | chances
    per_view = {name: log_losses(np.clip(c, 0.003, 0.997), views[rows], hidden[rows]) for name, c in losses.items()}
    totals = np.bincount(styles[rows], cards_unseen, len(hands.views))
    by_style = {name: np.bincount(styles[rows], x, len(hands.views)) / totals for name, x in per_view.items()}
    base = by_style["hand model"]
    return {name: x if name in ("counting", "hand model") else x - base for name, x in by_style.items()}
