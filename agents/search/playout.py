"""The fast policy that finishes a sampled world: what the search counts on.

A world is a ``STATE`` record that was built from a view (``agents.search.worlds``); the engine plays it, and here stand only
the choices. Each side's choices follow a ``POLICY`` record and look at no more than that side could see in the world: its hand,
the pile, and what the other took, threw and refused. The two sides differ on purpose: the searching seat mostly plays for
gin, the opponent is believed to knock at its first chance.
"""

from __future__ import annotations

import numpy as np

from agents.bots.hand_kernels import joins_meld, least_deadwood, live_ways, most_points
from ginenv.actions import KNOCK, PASS, PHASE_DISCARD, PHASE_UPCARD, PHASE_WALL, STOCK, UPCARD
from ginenv.engine import END_WALL, NO_CARD, STATE, STOCK_LEFT, is_first_discard, legal, stock_count, unseen_by
from ginenv.jit import ctz, kernel, popcount, record_copy
from ginenv.melds import RANK_COLUMN, SUIT_BITS, card_points, deadwood, melded_cards, points_of
from ginenv.rules import R_DISCARD_TAKEN, R_STOCK_END

POLICY = np.dtype(
    [
        ("bar", np.float64),  # points by which an upcard outside melds must lower the deadwood to be taken (99: never)
        ("ways", np.float64),  # points for each live card that would make a meld with the card and one other
        ("wanted", np.float64),  # points for a card next to one that the other side took
        ("cold", np.float64),  # points taken off for a card next to one that the other side threw or refused
        ("knock", np.uint8),  # most deadwood to knock with in the first ``turns`` turns (gin is always declared)
        ("turns", np.uint8),
        ("late", np.uint8),  # most deadwood to knock with after them
    ],
    align=True,
)

copy_state = record_copy(STATE, "hands", STATE, "hands", "history")
_NOT_KING = np.int64(0xFFF) * (1 | 1 << 13 | 1 << 26 | 1 << 39)
_NOT_ACE = np.int64(0x1FFE) * (1 | 1 << 13 | 1 << 26 | 1 << 39)


@kernel
def beside(cards):
    """Cards of the same rank as one of a mask, or next to it in its suit."""
    ranks = (cards | cards >> 13 | cards >> 26 | cards >> 39) & SUIT_BITS
    return ranks * RANK_COLUMN | (cards & _NOT_KING) << 1 | (cards & _NOT_ACE) >> 1


@kernel
def _bar(s, p, seat):
    turn = popcount(s.thrown[seat]) + 1
    return np.int64(p.knock) if turn <= p.turns else np.int64(p.late)


@kernel
def after_taking(cards, bit):
    """Deadwood after an upcard joins ten cards and the best other card goes."""
    loose = (cards | bit) & ~melded_cards(cards | bit)
    return points_of(loose) - most_points(loose & ~bit)


@kernel
def _draw(s, p):
    seat = np.int64(s.turn)
    if s.num_pile == 0:
        return STOCK
    other = PASS if s.phase == PHASE_UPCARD or s.phase == PHASE_WALL else STOCK
    cards = s.hands[seat]
    card = np.int64(s.pile[s.num_pile - 1])
    bit = np.int64(1) << card
    if s.phase == PHASE_WALL:
        if legal(s)[2] & 2 and after_taking(cards, bit) <= min(np.int64(s.limit), _bar(s, p, seat)):
            return UPCARD
        return other
    if joins_meld(cards, card):
        return UPCARD if after_taking(cards, bit) < deadwood(cards) else other
    if p.bar < 99:
        after = after_taking(cards, bit)
        if deadwood(cards) - after >= p.bar or after <= min(np.int64(s.limit), _bar(s, p, seat)):
            return UPCARD
    return other


@kernel
def _careful_discard(s, p, seat):
    """The discard or knock where what is legal needs looking up."""
    discards, knocks, _ = legal(s)
    if knocks:
        cards, left = least_deadwood(s.hands[seat], knocks)
        if left == 0 or discards == 0 or left <= _bar(s, p, seat):
            return KNOCK + ctz(cards)
    return ctz(least_deadwood(s.hands[seat], discards)[0])


@kernel
def _discard(s, p):
    seat = np.int64(s.turn)
    cards = s.hands[seat]
    loose = cards & ~melded_cards(cards)
    free = loose
    if s.taken != NO_CARD and not s.rules[R_DISCARD_TAKEN]:
        free &= ~(np.int64(1) << s.taken)
    left = points_of(loose) - most_points(free)
    if (
        free == 0
        or is_first_discard(s)
        or (left <= s.limit and (left == 0 or left <= _bar(s, p, seat)))
        or (s.rules[R_STOCK_END] == END_WALL and stock_count(s) <= STOCK_LEFT)
    ):
        return _careful_discard(s, p, seat)
    if free & (free - 1) == 0:
        return ctz(free)
    live = unseen_by(s, seat)
    wanted = beside(s.known[1 - seat])
    cold = beside(s.thrown[1 - seat] | s.refused[1 - seat])
    best = 1e9
    chosen = np.int64(0)
    while free:
        card = ctz(free)
        bit = free & -free
        free ^= bit
        cost = p.ways * live_ways(card, cards, live) - card_points(card)
        if wanted & bit:
            cost += p.wanted
        if cold & bit:
            cost -= p.cold
        if cost < best:
            best = cost
            chosen = card
    return chosen


@kernel
def choose(s, p):
    """The policy's action for the seat to move in a world (spreads and lay-offs are automatic in worlds)."""
    if s.phase == PHASE_DISCARD:
        return _discard(s, p)
    return _draw(s, p)
