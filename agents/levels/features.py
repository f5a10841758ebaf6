"""The features that explain an opponent's choices: of a discard, of a draw and of a knock, from the cards that it held.

A choice model gives each feature a weight. One opponent's weights form one row: those of discards, then of draws, then of knocks.
"""

from __future__ import annotations

import numpy as np

from ginenv.bots.hand_kernels import beside, dangers_of, has_neighbour, live_ways, near_in_suit, two_away
from ginenv.engine.cards import ALL_CARDS
from ginenv.engine.jit import ctz, kernel, popcount
from ginenv.engine.melds import RANK_COLUMN, card_points, deadwood, joins_meld, least_deadwood, melded_cards, points_of

# Of each card that it may discard.
DISCARDS = (
    "points of deadwood more than the best discard leaves / 10",
    "leaves the least deadwood",
    "ways to make a meld of the card / 4",
    "has another of its rank",
    "has a neighbour in its suit",
    "has a card two ranks away in its suit",
    "points / 10",
    "points / 10, times the turn / 10",
    "king or queen",
    "danger of a set",
    "danger of a run",
    "near what the other discarded or refused",
    "taken from the pile before",
)
# Of taking the upcard. All but the first two are 0 where it makes a meld that lowers the deadwood.
DRAWS = (
    "any upcard",
    "makes a meld",
    "points of deadwood saved / 10",
    "makes a pair",
    "near a card of its suit",
    "three points or less",
    "would let it knock",
    "the first upcard",
)
# Of knocking without gin.
KNOCKS = (
    "any knock",
    "deadwood / 10",
    "turn / 10",
    "deadwood / 10, times the turn / 10",
    "the other has taken upcards",
)
FEATURES = DISCARDS + DRAWS + KNOCKS
NUM_DISCARDS, NUM_DRAWS, NUM_KNOCKS = len(DISCARDS), len(DRAWS), len(KNOCKS)
NUM_WEIGHTS = len(FEATURES)
FIRST_DRAW, FIRST_KNOCK = NUM_DISCARDS, NUM_DISCARDS + NUM_DRAWS
MAX_CARDS = 11
_QUEEN = 11


@kernel
def discard_rows(cards, allowed, t, hand_size, rows):
    """Writes the features of the allowed discards from eleven cards.

    Args:
        cards: the eleven cards.
        allowed: those of them that may be discarded.
        t: the ``TURN``.
        hand_size: number of cards in a hand.
        rows: ``float64[MAX_CARDS, NUM_DISCARDS]``, one row for each allowed card, the lowest first.

    Returns:
        The number of rows, which of them is the card that was discarded (-1: none), and the least deadwood that any of them leaves.
    """
    melded = melded_cards(cards)
    total = points_of(cards & ~melded)
    best = np.int64(1000)
    # First the deadwood that each discard leaves: the features compare it with the least.
    n = 0
    rest = allowed
    while rest:
        bit = rest & -rest
        rest ^= bit
        rows[n, 0] = deadwood(cards & ~bit) if melded & bit else total - card_points(ctz(bit))
        best = min(best, np.int64(rows[n, 0]))
        n += 1
    live = ALL_CARDS & ~(cards | t.pile | t.mine)
    chance = (hand_size - popcount(t.mine)) / max(1, popcount(live))
    near = beside(t.cold)
    turn = min(np.int64(t.number), 10) / 10
    n = 0
    chosen = -1
    rest = allowed
    while rest:
        card = ctz(rest)
        bit = rest & -rest
        rest ^= bit
        points = card_points(card)
        row = rows[n]
        others = cards & ~bit
        left = row[0]
        row[0] = (left - best) / 10
        row[1] = 1.0 if left == best else 0.0
        row[2] = live_ways(card, cards, live) / 4
        row[3] = 1.0 if others & (RANK_COLUMN << (card % 13)) else 0.0
        neighbour = has_neighbour(card, cards)
        row[4] = 1.0 if neighbour else 0.0
        row[5] = 1.0 if not neighbour and two_away(card, cards) else 0.0
        row[6] = points / 10
        row[7] = points / 10 * turn
        row[8] = 1.0 if card % 13 >= _QUEEN else 0.0
        sets, runs, factor = dangers_of(card, live, t.mine, t.cold, chance)
        row[9] = sets * factor
        row[10] = runs * factor
        row[11] = 1.0 if near & bit else 0.0
        row[12] = 1.0 if t.before & bit else 0.0
        if card == t.discarded:
            chosen = n
        n += 1
    return n, chosen, best


@kernel
def draw_row(cards, t, limit, row):
    """Writes the features of taking a turn's upcard, with ten cards in hand, to ``float64[NUM_DRAWS]``."""
    card = np.int64(t.top)
    bit = np.int64(1) << card
    now = deadwood(cards)
    after = least_deadwood(cards | bit, cards)[1]
    saved = max(0, now - after)
    for k in range(NUM_DRAWS):
        row[k] = 0.0
    row[0] = 1.0
    if saved > 0 and joins_meld(cards, card):
        row[1] = 1.0
        return
    row[2] = saved / 10
    row[3] = 1.0 if cards & (RANK_COLUMN << (card % 13)) else 0.0
    row[4] = 1.0 if near_in_suit(card, cards) else 0.0
    row[5] = 1.0 if card_points(card) <= 3 else 0.0
    row[6] = 1.0 if after <= limit else 0.0
    row[7] = 1.0 if t.first else 0.0


@kernel
def knock_row(left, t, row):
    """Writes the features of knocking with ``left`` points of deadwood to ``float64[NUM_KNOCKS]``."""
    turn = min(np.int64(t.number), 10) / 10
    row[0] = 1.0
    row[1] = left / 10
    row[2] = turn
    row[3] = left / 10 * turn
    row[4] = 1.0 if t.mine else 0.0
