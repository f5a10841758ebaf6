"""The opponent's turns in a hand, read from a view: what it did, and all that it and everybody knew when it chose."""

from __future__ import annotations

import numpy as np

from ginenv.engine.jit import kernel
from ginenv.engine.state import NO_CARD
from ginenv.view.history import M_DISCARD, M_DRAW, M_FORCED_DRAW, M_KNOCK, M_PASS, M_TAKE, moves

# A turn without a discard is a refusal of the upcard, at the beginning or the end of a hand.
TURN = np.dtype(
    [
        ("before", np.int64),  # cards that it was known to hold before its draw
        ("pile", np.int64),  # the discard pile when it discarded
        ("mine", np.int64),  # cards that I was known to hold
        ("cold", np.int64),  # cards that I had discarded or refused
        ("top", np.int16),  # upcard that it refused or took, -1 where there was none
        ("discarded", np.int16),  # its discard, also in a knock; -1 for a refusal
        ("took", np.uint8),
        ("drew", np.uint8),  # 1 if it drew a card from the stock
        ("first", np.uint8),  # 1 where the upcard is the one turned at the deal
        ("knocked", np.uint8),
        ("number", np.uint8),  # number among its own turns with a discard, from 1
    ],
    align=True,
)
MAX_TURNS = 64


@kernel
def _begin(t, number):
    t.before, t.pile, t.mine, t.cold = 0, 0, 0, 0
    t.top, t.discarded, t.took, t.drew, t.first, t.knocked, t.number = -1, -1, 0, 0, 0, 0, number


@kernel
def read_turns(v, turns):
    """Writes the opponent's turns in a view's record of the hand to ``TURN[MAX_TURNS]`` and returns their number."""
    count = 0
    number = 1
    known_cards = np.int64(0)
    mine = np.int64(0)
    cold = np.int64(0)
    pile = np.int64(0) if v.first_upcard == NO_CARD else np.int64(1) << v.first_upcard
    opening = pile
    _begin(turns[0], number)
    for move in moves(v):
        if count >= MAX_TURNS - 1:
            break
        bit = np.int64(0) if move.card == NO_CARD else np.int64(1) << move.card
        top = np.int64(0) if move.upcard == NO_CARD else np.int64(1) << move.upcard
        if move.kind == M_TAKE:
            pile &= ~top
        elif move.kind == M_DISCARD or move.kind == M_KNOCK:
            pile |= bit
        elif move.kind > M_KNOCK:
            break
        if move.seat == 0:
            if move.kind == M_TAKE:
                mine |= top
            elif move.kind == M_DISCARD or move.kind == M_KNOCK:
                mine &= ~bit
                cold |= bit
            elif move.kind != M_FORCED_DRAW:
                cold |= top
            continue
        t = turns[count]
        if move.kind == M_DISCARD or move.kind == M_KNOCK:
            t.discarded = move.card
            t.knocked = 1 if move.kind == M_KNOCK else 0
            # The pile as the opponent saw it before its discard.
            t.pile, t.mine, t.cold = pile & ~bit, mine, cold
            known_cards &= ~bit
            number += 1
        else:
            t.before, t.pile, t.mine, t.cold = known_cards, pile, mine, cold
            t.drew = 1 if move.kind == M_DRAW or move.kind == M_FORCED_DRAW else 0
            if move.kind != M_FORCED_DRAW and move.upcard != NO_CARD:
                t.top = move.upcard
                t.first = 1 if top == opening and cold & ~opening == 0 and number == 1 and pile & ~opening == 0 else 0
            if move.kind == M_TAKE:
                t.took = 1
                known_cards |= top
        if move.kind == M_DISCARD or move.kind == M_KNOCK or move.kind == M_PASS:
            count += 1
            _begin(turns[count], number)
    return count
