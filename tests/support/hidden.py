"""One shuffler of everything that a seat cannot see."""

from typing import Any

import numpy as np

from ginenv.engine.actions import PHASE_LAYOFF, PHASE_OVER
from ginenv.engine.cards import cards_of, mask_of
from ginenv.engine.engine import NO_CARD, NOBODY
from ginenv.engine.rules import Rules


def redeal_hidden(states: np.ndarray, seats: Any, rng: np.random.Generator) -> np.ndarray:
    """Copies of states in which everything is other that a seat cannot see.

    The stock and the opponent's hidden cards are shuffled together; the game's key, the opponent's luck, a card that the opponent drew
    from the stock, and the order in which the cards in play were dealt change too.

    Args:
        states: ``STATE[n]``, as they are between two moves.
        seats: the seat that looks, one for all or ``int[n]``.
        rng: what is drawn from.

    Returns:
        ``STATE[n]``.
    """
    changed = states.copy()
    for state, seat in zip(changed, np.broadcast_to(seats, len(states)), strict=True):
        other = 1 - int(seat)
        # A knocker's hand lies open once the spread is on the table, and both hands once the hand is over.
        spread = state["phase"] == PHASE_LAYOFF and state["knocker"] == other
        opened = state["knocker"] != NOBODY and (state["phase"] == PHASE_OVER or spread)
        hand_cards = 0 if opened else int(state["hands"][other]) & ~int(state["known_cards"][other])
        position, last = int(state["position"]), Rules.from_block(state["rules"]).num_cards
        count = hand_cards.bit_count()
        pool = rng.permutation(cards_of(hand_cards) + state["deck"][position:last].tolist()).astype(int).tolist()
        state["hands"][other] = int(state["hands"][other]) & ~hand_cards | mask_of(pool[:count])
        state["deck"][position:last] = pool[count:]
        if state["turn"] == other and state["drawn"] != NO_CARD:
            state["drawn"] = rng.choice(pool[:count])
        state["key"] = rng.integers(2**63)
        state["luck"][other] = rng.integers(2**63)
        # Which cards a seat was dealt cannot be seen either; the deck below the stock is history.
        state["deck"][:position] = 0
    return changed
