"""What one seat may see of a state: all that players ever get.

A view is one ``VIEW`` record, written by ``look`` from a state and nothing else. Encoders, players, search and external
programs use views only, so none of them can peek: permuting whatever is hidden changes no byte of a view.
In every pair, index 0 is the observing seat ("me") and index 1 its opponent.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_LAYOFF, PHASE_OVER, STOCK
from ginenv.engine.engine import MAX_HISTORY, MAX_PILE, NO_CARD, NOBODY, STATE, legal, stock_count, unseen_by
from ginenv.engine.jit import kernel, mix, record_copy, row_record, store_cards
from ginenv.engine.rules import RULES
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, must_be

VIEW = np.dtype(
    [
        ("hand", np.int64),  # my cards
        ("known_cards", np.int64, (2,)),  # cards that I (the opponent) took from the pile and still hold
        ("thrown", np.int64, (2,)),  # every card that I (the opponent) have discarded in this hand
        ("refused", np.int64, (2,)),  # upcards that I (the opponent) could have taken and did not
        ("spread", np.int64, (4,)),  # the knocker's melds once they are spread
        ("pile_cards", np.int64),  # the discard pile as a mask, the upcard included
        ("unseen", np.int64),  # cards in the stock or unknown in the opponent's hand
        ("shown", np.int64),  # the opponent's hand if open: a knocker's in lay-offs, either one's after a knocked hand
        ("laid", np.int64),  # cards laid off
        # My legal actions: cards for ids 0-51, cards for ids 52-103, bits for 104-106; 0 unless I am to move.
        ("legal", np.int64, (3,)),
        ("luck", np.uint64),  # a fresh random word for this seat and decision; independent of every card
        ("hand_luck", np.uint64),  # another random word, the same for all decisions of the hand
        ("score", np.int32, (2,)),  # points of hands so far in the game
        ("points", np.int32),  # once the hand is over: my points (negative: the opponent's)
        ("hand_no", np.int32),
        ("boxes", np.uint8, (2,)),  # boxes won so far in the game
        ("declined", np.uint8),  # turns of this hand in which I could have knocked and did not
        ("deadwood", np.uint8, (2,)),  # final deadwood of a knocked hand
        ("drawn_hands", np.uint8),
        ("phase", np.uint8),
        ("to_move", np.uint8),  # 1 when I am to move
        ("seat", np.uint8),  # my seat
        ("started", np.uint8),  # 1 when I began this hand
        ("limit", np.uint8),
        ("doubled", np.uint8),
        ("stock", np.uint8),  # cards left in the stock
        ("upcard", np.uint8),  # top of the pile, or NO_CARD
        ("taken", np.uint8),  # upcard taken in this turn by the seat to move, else NO_CARD
        ("drawn", np.uint8),  # card that I drew from the stock in this turn, else NO_CARD
        ("upcards", np.uint8),  # upcards taken in the draw phase of this hand, both seats
        ("end", np.uint8),  # engine.End
        ("winner", np.uint8),  # 0 me, 1 the opponent, NOBODY
        ("knocker", np.uint8),  # 0 me, 1 the opponent, NOBODY
        ("warned", np.uint8),
        ("num_pile", np.uint8),
        ("num_history", np.uint8),
        ("rules", RULES),
        ("pile", np.uint8, (MAX_PILE,)),  # the discard pile from the bottom
        ("first_upcard", np.uint8),  # the upcard of the deal, or NO_CARD
        ("history", np.uint8, (MAX_HISTORY,)),  # every action of the hand in order; the starter's is the first
    ],
    align=True,
)


# Keeps hand_luck apart from the luck of single decisions.
_HAND_LUCK = np.uint64(0x082EFA98EC4E6C89)
_copy_tail = record_copy(VIEW, "rules", STATE, "rules", "history")


@kernel
def look(s, seat, v):
    """Writes all that ``seat`` may see of the state ``s`` into the view ``v``."""
    other = 1 - seat
    v.hand = s.hands[seat]
    v.known_cards[0] = s.known_cards[seat]
    v.known_cards[1] = s.known_cards[other]
    v.thrown[0] = s.thrown[seat]
    v.thrown[1] = s.thrown[other]
    v.refused[0] = s.refused[seat]
    v.refused[1] = s.refused[other]
    for k in range(4):
        v.spread[k] = s.spread[k]
    v.pile_cards = s.pile_cards
    v.unseen = unseen_by(s, seat)
    v.laid = s.laid
    v.luck = mix(s.luck[seat] ^ mix(np.uint64(s.hand_no) * np.uint64(256) + np.uint64(s.num_history)))
    v.hand_luck = mix(s.luck[seat] ^ mix(np.uint64(s.hand_no) ^ _HAND_LUCK))
    v.score[0] = s.score[seat]
    v.score[1] = s.score[other]
    v.hand_no = s.hand_no
    v.boxes[0] = s.boxes[seat]
    v.boxes[1] = s.boxes[other]
    v.drawn_hands = s.drawn_hands
    v.declined = s.declined[seat]
    if s.turn == seat:
        v.legal[0], v.legal[1], v.legal[2] = legal(s)
    else:
        v.legal[0], v.legal[1], v.legal[2] = np.int64(0), np.int64(0), np.int64(0)
    v.phase = s.phase
    v.to_move = 1 if s.turn == seat and s.phase != PHASE_OVER else 0
    v.seat = seat
    v.started = 1 if s.starter == seat else 0
    v.limit = s.limit
    v.doubled = s.doubled
    v.stock = stock_count(s)
    v.upcard = s.pile[s.num_pile - 1] if s.num_pile else NO_CARD
    v.taken = s.taken
    v.drawn = s.drawn if s.turn == seat else NO_CARD
    v.upcards = s.upcards
    v.end = s.end
    v.warned = s.warned
    v.num_pile = s.num_pile
    v.num_history = s.num_history
    _copy_tail(v, s)
    v.shown = 0
    v.points = 0
    v.winner = NOBODY
    v.knocker = NOBODY
    v.deadwood[0] = 0
    v.deadwood[1] = 0
    if s.knocker != NOBODY:
        v.knocker = 0 if s.knocker == seat else 1
        if s.phase == PHASE_LAYOFF and s.knocker == other:
            # The defender sees the knocker's hand; the knocker does not yet see the defender's.
            v.shown = s.hands[other]
            v.deadwood[1] = s.deadwood[other]
    if s.phase == PHASE_OVER:
        v.deadwood[0] = s.deadwood[seat]
        v.deadwood[1] = s.deadwood[other]
        if s.knocker != NOBODY:
            v.shown = s.hands[other]
        if s.winner != NOBODY:
            v.winner = 0 if s.winner == seat else 1
            v.points = s.points if s.winner == seat else -s.points
    v.unseen &= ~v.shown


@kernel
def _look_all(states, seats, views):
    for i in range(states.shape[0]):
        look(states[i], np.int64(seats[i]), views[i])


def make_views(states: np.ndarray, seats: np.ndarray | int) -> np.ndarray:
    """The views of a batch of states.

    Args:
        states: ``STATE[n]``.
        seats: ``[n]``, the observing seats, or one seat for all.

    Returns:
        ``VIEW[n]``.

    Raises:
        GinError: if a seat is not 0 or 1, or ``states`` holds something else.
    """
    states, seats = as_batch(states, STATE, "STATE"), np.asarray(seats)
    if seats.dtype.kind not in "iu" or (seats > 1).any() or (seats < 0).any():
        raise GinError(must_be("a seat", "0 or 1", seats.tolist()))
    views = np.zeros(states.shape[0], VIEW)
    _look_all(states, np.broadcast_to(seats.astype(np.uint8), states.shape), views)
    return views


# One row of a batch of masks as a record.
MASK = np.dtype([("cells", np.int8, (NUM_ACTIONS,))])
mask_of_row = row_record(MASK)


@kernel
def write_mask(v, mask):
    """Writes the legal actions of a view into a ``MASK`` record, as bytes of 0 and 1."""
    cells = mask.cells
    store_cards(cells, 0, v.legal[0])
    store_cards(cells, KNOCK, v.legal[1])
    for k in range(NUM_ACTIONS - STOCK):
        cells[STOCK + k] = (v.legal[2] >> k) & 1


@kernel
def _write_masks(views, masks):
    for i in range(views.shape[0]):
        write_mask(views[i], mask_of_row(masks, i))


def action_masks(views: np.ndarray) -> np.ndarray:
    """The legal actions of a batch of views: ``int8[n, 107]``, all 0 where the seat is not to move.

    Raises:
        GinError: if ``views`` is no ``VIEW[n]``.
    """
    views = as_batch(views, VIEW, "VIEW")
    masks = np.zeros((views.shape[0], NUM_ACTIONS), np.int8)
    _write_masks(views, masks)
    return masks
