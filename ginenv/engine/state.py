"""The record of a hand in play, and the deal.

One record of plain numbers holds the whole hand, including the order of the stock and the rules. ``ginenv.engine.engine`` plays it.
Players never see this record, only a view of it.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ginenv.engine.actions import PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD
from ginenv.engine.jit import below, kernel, mix, next_word
from ginenv.engine.melds import card_points
from ginenv.engine.rules import RULES
from ginenv.errors import GinError, must_be, quoted

MAX_HISTORY = 192
MAX_PILE = 44  # of the smallest hands and the whole deck
NO_CARD = 255
NOBODY = 2


class End(enum.IntEnum):
    """Why a hand ended."""

    NOT_OVER = 0
    GIN = 1
    KNOCK = 2
    UNDERCUT = 3
    TIE = 4
    STOCK = 5
    UPCARD_LIMIT = 6
    REPEATED_UPCARD = 7
    BIG_GIN = 8


_GIN, _BIG_GIN = int(End.GIN), int(End.BIG_GIN)
STATE = np.dtype(
    [
        ("hands", np.int64, (2,)),  # cards that each seat holds; cards laid off leave the defender's hand
        ("known_cards", np.int64, (2,)),  # cards that a seat took from the pile and still holds
        ("thrown", np.int64, (2,)),  # every card that a seat has discarded in this hand
        ("refused", np.int64, (2,)),  # upcards that a seat could have taken and did not
        ("spread", np.int64, (4,)),  # the knocker's melds, with what is laid off on them
        ("pile_cards", np.int64),  # the discard pile as a mask
        ("laid", np.int64),  # cards laid off
        ("key", np.uint64),  # the deck of hand n follows from key and n
        ("luck", np.uint64, (2,)),  # private randomness of each seat's player; independent of key
        ("score", np.int32, (2,)),  # points of hands so far in the game
        ("total", np.int32, (2,)),  # final totals, bonuses included, once the game is over
        ("points", np.int32),  # points of this hand to its winner
        ("hand_no", np.int32),  # hands dealt before this one in the game
        ("boxes", np.uint8, (2,)),  # boxes won so far in the game
        # Turns in which a seat could have knocked and did not; the first turn of an eleven/ten deal does not count.
        ("declined", np.uint8, (2,)),
        ("deadwood", np.uint8, (2,)),  # final deadwood, lay-offs counted, once the hand is over
        ("drawn_hands", np.uint8),  # hands drawn in a row
        ("game_over", np.uint8),
        ("game_winner", np.uint8),  # seat, or NOBODY
        ("phase", np.uint8),
        ("turn", np.uint8),  # seat to move
        ("starter", np.uint8),  # seat that began the hand (the non-dealer)
        ("limit", np.uint8),  # knock limit of this hand
        ("doubled", np.uint8),  # 1 when the points of this hand count twice
        ("position", np.uint8),  # index in the deck of the next card of the stock
        ("num_pile", np.uint8),
        ("taken", np.uint8),  # upcard taken in this turn, else NO_CARD
        ("drawn", np.uint8),  # card drawn from the stock in this turn, else NO_CARD
        ("upcards", np.uint8),  # upcards taken in the draw phase
        ("echoed", np.uint8),  # 1 when the last turn took the upcard and discarded it again
        ("end", np.uint8),  # End
        ("winner", np.uint8),  # seat that scores this hand, or NOBODY
        ("knocker", np.uint8),  # seat, or NOBODY
        ("warned", np.uint8),  # 1 when the last action was a knock not allowed, played as a discard
        ("num_history", np.uint8),
        ("far", np.uint8),  # 1 when the seat to discard cannot knock; 0 when that is not known
        ("deck", np.uint8, (52,)),  # starter's cards, the other's, upcard (or 11th card), stock
        # The fields from here on are the same in a view, and are copied as one block.
        ("rules", RULES),
        ("pile", np.uint8, (MAX_PILE,)),  # the discard pile from the bottom
        ("first_upcard", np.uint8),  # the upcard of the deal, or NO_CARD
        ("history", np.uint8, (MAX_HISTORY,)),  # every action of the hand in order
    ],
    align=True,
)


def as_batch(records: Any, dtype: np.dtype, kind: str, length: int | None = None) -> np.ndarray:
    """States or views that a caller gave as a batch; a single record is a batch of one.

    Args:
        records: an array of records, or one record.
        dtype: ``STATE`` or ``VIEW``.
        kind: the dtype's name.
        length: of the batch; any when left out.

    Returns:
        ``dtype[n]``.

    Raises:
        GinError: if they are something else, to which compiled code would answer with pages about types.
    """
    given = isinstance(records, np.ndarray | np.void)
    if given and records.dtype == dtype and records.ndim <= 1 and length in (None, records.size):
        return np.atleast_1d(records)
    of = (kind if records.dtype == dtype else quoted(str(records.dtype))) if given else ""
    found = f"shape {list(records.shape)} of {of}" if given else records
    raise GinError(must_be(f"{kind.lower()}s", f"an array of {kind} of shape [{length or 'n'}]", found))


def canonical(records: np.ndarray) -> np.ndarray:
    """A copy of states or views in which all unused bytes (beyond the pile, beyond the history, between fields) are zero."""
    clean = np.zeros(records.shape, records.dtype)
    for name in records.dtype.names or ():
        clean[name] = records[name]
    for array, count, size in (("pile", "num_pile", MAX_PILE), ("history", "num_history", MAX_HISTORY)):
        clean[array][np.arange(size) >= clean[count][..., None]] = 0
    return clean


def same_records(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether states, or views, are equal except for unused bytes."""
    return canonical(one).tobytes() == canonical(other).tobytes()


@kernel
def is_gin(end):
    """Whether a hand ended with gin, big gin included."""
    return end == _GIN or end == _BIG_GIN


@kernel
def shuffle(s):
    """Shuffles the deck of hand ``hand_no`` under ``key``: the same on every machine and at every batch size."""
    ranks = np.int64(s.rules.ranks)
    count = ranks * s.rules.suits
    for i in range(count):
        s.deck[i] = 13 * (i // ranks) + i % ranks
    seed = mix(s.key ^ mix(np.uint64(s.hand_no)))
    for i in range(count - 1, 0, -1):
        seed, word = next_word(seed)
        j = below(word, i + 1)
        s.deck[i], s.deck[j] = s.deck[j], s.deck[i]


@kernel
def oklahoma_limit(s, upcard):
    """The knock limit that an Oklahoma upcard sets."""
    value = np.int64(card_points(upcard))
    if value == 1 and not s.rules.ace_one:
        value = 0
    return min(value, np.int64(s.rules.knock_limit))


@kernel
def turn_first(s, upcard):
    """What the first upcard sets: in Oklahoma the knock limit, and where spades double, whether the hand counts double."""
    if s.rules.oklahoma:
        s.limit = oklahoma_limit(s, upcard)
    if s.rules.spade_doubles and upcard < 13:
        s.doubled = 1


@kernel
def deal(s, starter):
    """Begins a hand from the deck in the record; scores and rules stay as they are."""
    size = np.int64(s.rules.hand_size)
    hand0 = np.int64(0)
    hand1 = np.int64(0)
    for i in range(size):
        hand0 |= np.int64(1) << s.deck[i]
        hand1 |= np.int64(1) << s.deck[size + i]
    upcard = s.deck[2 * size]
    for seat in range(2):
        s.known_cards[seat] = 0
        s.thrown[seat] = 0
        s.refused[seat] = 0
        s.deadwood[seat] = 0
        s.declined[seat] = 0
    for k in range(4):
        s.spread[k] = 0
    s.laid = 0
    s.points = 0
    s.starter = starter
    s.turn = starter
    s.position = 2 * size + 1
    s.drawn = NO_CARD
    s.taken = NO_CARD
    s.upcards = 0
    s.echoed = 0
    s.end = 0
    s.winner = NOBODY
    s.knocker = NOBODY
    s.warned = 0
    s.num_history = 0
    s.far = 0
    s.limit = s.rules.knock_limit
    s.doubled = 0
    if s.rules.eleven_ten:
        hand0 |= np.int64(1) << upcard
        s.pile_cards = 0
        s.num_pile = 0
        s.first_upcard = NO_CARD
        s.phase = PHASE_DISCARD
    else:
        s.pile_cards = np.int64(1) << upcard
        s.pile[0] = upcard
        s.first_upcard = upcard
        s.num_pile = 1
        s.phase = PHASE_UPCARD if s.rules.offer else PHASE_DRAW
        turn_first(s, upcard)
    s.hands[starter] = hand0
    s.hands[1 - starter] = hand1
