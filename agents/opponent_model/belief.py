"""What an opponent's own choices say about the cards that it may hold: how much likelier it makes them than a stranger would."""

from __future__ import annotations

import numpy as np

from agents.opponent_model.learning import add_discard, add_draw, before_turn
from agents.opponent_model.turns import read_turns
from ginenv.bits import nth_bit
from ginenv.engine import next_word
from ginenv.jit import below, kernel, popcount


@kernel
def weigh_hands(v, weights, stranger, hands, space, logs, stream):
    """Log-likelihood of the opponent's choices so far in a hand, for each hand that it may hold, less that of a stranger's choices.

    Along one random history for each hand: what came from the stock is drawn evenly. For an opponent of whom nothing is known all are 0.

    Args:
        v: the view.
        weights: ``float64[NUM_WEIGHTS]``, the opponent's.
        stranger: the population's.
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
