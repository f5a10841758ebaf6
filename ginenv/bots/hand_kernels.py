"""Compiled hand evaluation that all players share: deadwood, ways to make melds, danger, and exact choices.

Nothing here knows the rules: legal actions come from the view.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import PASS
from ginenv.engine.engine import NO_CARD
from ginenv.engine.jit import ctz, kernel, popcount
from ginenv.engine.melds import (
    RANK_COLUMN,
    SUIT_BITS,
    best_layoff,
    best_of_eleven,
    chance_of,
    exposure,
    nth_arrangement,
    points_of,
)
from ginenv.view.history import M_DISCARD, M_TAKE, moves

_NOT_KING = np.int64(0xFFF) * (1 | 1 << 13 | 1 << 26 | 1 << 39)
_NOT_ACE = np.int64(0x1FFE) * (1 | 1 << 13 | 1 << 26 | 1 << 39)


@kernel
def fits_beside(one, other):
    """Whether two cards could share a meld of three: of one rank, or at most two ranks apart in one suit."""
    return one % 13 == other % 13 or (one // 13 == other // 13 and abs(one - other) <= 2)


@kernel
def melds_of_three(card, cards):
    """The number of pairs of other cards of a mask that make a meld of three with a card."""
    cards = cards & ~(np.int64(1) << card)
    same = popcount(cards & (RANK_COLUMN << (card % 13)))
    # The suit with two empty ranks below and above, so that no run goes around the corner.
    suit = ((cards >> (card - card % 13)) & SUIT_BITS) << 2
    near = suit >> (card % 13)
    return same * (same - 1) // 2 + (near & 3 == 3) + (near & 10 == 10) + (near & 24 == 24)


@kernel
def beside(cards):
    """Cards of the same rank as a card of a mask, or next to one in its suit."""
    ranks = (cards | cards >> 13 | cards >> 26 | cards >> 39) & SUIT_BITS
    return ranks * RANK_COLUMN | (cards & _NOT_KING) << 1 | (cards & _NOT_ACE) >> 1


@kernel
def has_neighbour(card, cards):
    """Whether a mask holds a card one rank above or below in the same suit."""
    rank = card % 13
    suit = (cards >> (card - rank)) & SUIT_BITS
    return ((suit << 1 | suit >> 1) >> rank) & 1 == 1


@kernel
def two_away(card, cards):
    """Whether a mask holds a card two ranks above or below in the same suit."""
    rank = card % 13
    suit = (cards >> (card - rank)) & SUIT_BITS
    return ((suit << 2 | suit >> 2) >> rank) & 1 == 1


@kernel
def near_in_suit(card, cards):
    """Whether a mask holds a card one or two ranks away in the same suit."""
    return has_neighbour(card, cards) or two_away(card, cards)


@kernel
def paired(cards):
    """Cards of a mask that have another card of their rank in it, or one at most two ranks away in their suit."""
    found = pairs(cards) * RANK_COLUMN
    for suit in range(4):
        suit_cards = (cards >> (13 * suit)) & SUIT_BITS
        found |= ((suit_cards << 1 | suit_cards << 2 | suit_cards >> 1 | suit_cards >> 2) & SUIT_BITS) << (13 * suit)
    return found & cards


@kernel
def pairs(cards):
    """The ranks of which a mask holds two cards or more."""
    a = cards & SUIT_BITS
    b = (cards >> 13) & SUIT_BITS
    c = (cards >> 26) & SUIT_BITS
    d = (cards >> 39) & SUIT_BITS
    return (a & b) | (c & d) | ((a | b) & (c | d))


@kernel
def fillers(cards):
    """All cards that make a meld with two cards of a mask, or extend one: a superset of those that can lower its deadwood by a meld."""
    found = pairs(cards) * RANK_COLUMN
    for suit in range(4):
        suit_cards = (cards >> (13 * suit)) & SUIT_BITS
        neighbours = suit_cards & (suit_cards << 1)
        outside = (neighbours << 1) | (neighbours >> 2) | ((suit_cards << 1) & (suit_cards >> 1))
        found |= (outside & SUIT_BITS) << (13 * suit)
    return found & ~cards


@kernel
def deadwood_ahead(cards, live, left, gin):
    """Mean deadwood of ten cards with deadwood ``left`` after a draw from the live cards and the best discard; gin counts as ``-gin``."""
    count = popcount(live)
    if count == 0:
        return np.float64(left)
    gain = np.int64(0)
    gins = 0
    rest = fillers(cards) & live
    while rest:
        bit = rest & -rest
        rest ^= bit
        after = best_of_eleven(cards | bit)
        gain += left - after
        if after == 0:
            gins += 1
    return left - (gain + gin * gins) / count


@kernel
def live_ways(card, cards, live):
    """The number of live cards that make a meld with a card and one other of a mask."""
    cards = cards & ~(np.int64(1) << card)
    found = np.int64(0)
    column = RANK_COLUMN << (card % 13)
    if cards & column:
        found |= column & live
    shift = card - card % 13
    suit_cards = ((cards >> shift) & SUIT_BITS) << 2
    place = np.int64(4) << (card % 13)
    outs = np.int64(0)
    if suit_cards & (place >> 1):
        outs |= (place >> 2) | (place << 1)
    if suit_cards & (place << 1):
        outs |= (place >> 1) | (place << 2)
    if suit_cards & (place >> 2):
        outs |= place >> 1
    if suit_cards & (place << 2):
        outs |= place << 1
    found |= (((outs >> 2) & SUIT_BITS) << shift) & live
    return popcount(found)


@kernel
def dangers_of(card, live, known_cards, cold, chance):
    """How likely the opponent can use a discard in a set, how likely in a run, and a factor on both.

    Args:
        card: the discard.
        live: cards that may be in the opponent's hand.
        known_cards: cards that the opponent took and still holds.
        cold: cards that the opponent discarded or refused, near which it collects less.
        chance: probability that the opponent holds a given live card.
    """
    rank = card % 13
    bit = np.int64(1) << card
    column = (RANK_COLUMN << rank) & ~bit
    first = column & -column
    second = (column ^ first) & -(column ^ first)
    third = column ^ first ^ second
    a = chance_of(first, live, known_cards, chance)
    b = chance_of(second, live, known_cards, chance)
    c = chance_of(third, live, known_cards, chance)
    sets = a * b + b * c + a * c - 2 * a * b * c
    if column & cold:
        sets *= 0.4
    shift = card - rank
    below1 = chance_of(bit >> 1, live, known_cards, chance) if rank > 0 else 0.0
    below2 = chance_of(bit >> 2, live, known_cards, chance) if rank > 1 else 0.0
    above1 = chance_of(bit << 1, live, known_cards, chance) if rank < 12 else 0.0
    above2 = chance_of(bit << 2, live, known_cards, chance) if rank < 11 else 0.0
    runs = below1 * below2 + below1 * above1 + above1 * above2
    near = (((np.int64(0b11011) << rank) >> 2) & SUIT_BITS) << shift
    if near & cold:
        runs *= 0.6
    return sets, runs, 0.3 if bit & cold else 1.0


@kernel
def remembered(v, memory):
    """The last ``memory`` cards of the discard pile."""
    if memory >= v.num_pile:
        return v.pile_cards
    cards = np.int64(0)
    for k in range(v.num_pile - memory, v.num_pile):
        cards |= np.int64(1) << v.pile[k]
    return cards


@kernel
def repeated(v):
    """Cards whose discard would repeat, in either direction, an earlier turn in which this seat took an upcard and discarded."""
    cards = np.int64(0)
    if v.taken == NO_CARD or not (v.thrown[0] >> v.taken) & 1:
        return cards
    taken = NO_CARD
    thrown = False
    for move in moves(v):
        if move.kind == M_TAKE:
            # Nobody discarded the first upcard.
            taken = move.card if thrown else NO_CARD
        elif move.kind == M_DISCARD:
            if (v.thrown[0] >> move.card) & 1 and taken != NO_CARD:
                if taken == v.taken:
                    cards |= np.int64(1) << move.card
                elif move.card == v.taken:
                    cards |= np.int64(1) << taken
            thrown = True
        else:
            taken = NO_CARD
    return cards


@kernel
def turn_of(v):
    """The number of the seat's own turn in this hand, from 1."""
    return popcount(v.thrown[0]) + 1


@kernel
def choose_spread(v):
    """The spread with the least deadwood and, among equals, the least that the opponent may lay off."""
    known_cards = v.known_cards[1]
    chance = (v.rules.hand_size - popcount(known_cards)) / max(1, popcount(v.unseen))
    best = np.int64(1000)
    best_open = 0.0
    chosen = 0
    for n in range(popcount(v.legal[0])):
        _, a, b, c, d = nth_arrangement(v.hand, np.int64(v.limit), n)
        left = points_of(v.hand & ~(a | b | c | d))
        if left > best:
            continue
        to_lay = 0.0
        for meld in (a, b, c, d):
            to_lay += exposure(meld, v.unseen, known_cards, chance)
        if left < best or to_lay < best_open:
            best = left
            best_open = to_lay
            chosen = n
    return chosen


@kernel
def choose_lay_off(v):
    """The next card of the best lay-off, or a pass."""
    laid = best_layoff(v.hand, v.spread[0], v.spread[1], v.spread[2])[0] & v.legal[0]
    return ctz(laid) if laid else PASS
