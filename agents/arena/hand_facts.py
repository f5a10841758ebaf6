"""What the value of a hand reads of a state: masks of cards, and numbers on both hands; nothing of the order of the stock."""

from __future__ import annotations

import numpy as np

from ginenv.bots.hand_kernels import fillers
from ginenv.engine.actions import PHASE_DISCARD, PHASE_UPCARD
from ginenv.engine.engine import END_LAST_UPCARD, END_WALL
from ginenv.engine.jit import ctz, kernel, popcount
from ginenv.engine.melds import (
    best_layoff,
    best_of_eleven,
    best_spread,
    deadwood,
    highest_cards,
    melded_cards,
    of_points,
    points_of,
)

# Masks of cards: my hand, the other's, the stock, the upcard if it may be taken, and the cards known of my hand and of the other's.
PLANES = 6
# Numbers besides the cards.
FACTS = 40
# Their places: the rules and the phase, then both hands; deadwood takes five numbers, an outlook three.
_LIMIT, _GIN_BONUS, _UNDERCUT_BONUS, _TIES_UNDERCUT, _LAST_UPCARD, _WALL = range(6)
_DISCARDS, _OFFERED, _DECLINED, _OTHER_DECLINED = range(6, 10)
_STOCK, _STOCK_LEFT, _DEADWOOD, _OTHER_DEADWOOD, _OUTLOOK, _OTHER_OUTLOOK = 10, 11, 12, 17, 22, 25
_FILLERS, _OTHER_FILLERS, _KNOCK, _OTHER_KNOCK = range(28, 32)
_WITH_UPCARD, _GAIN, _POINTS, _OTHER_POINTS = 32, 37, 38, 39
# Points are in units of this many.
POINTS_SCALE = 25.0
CARDS = 52


@kernel
def _write_deadwood(facts, at, points, limit):
    facts[at] = points / 30.0
    facts[at + 1] = min(points, 10) / 10.0
    facts[at + 2] = 1.0 if points == 0 else 0.0
    facts[at + 3] = 1.0 if points <= limit else 0.0
    facts[at + 4] = np.sqrt(points / 30.0)


@kernel
def after_draws(cards, left, stock, found):
    """Writes the deadwood of ten cards after drawing each card of the stock and the best discard: ``int64[52]``, by card."""
    high = highest_cards(cards & ~melded_cards(cards))
    useful = fillers(cards)
    rest = stock
    while rest:
        card = ctz(rest)
        bit = rest & -rest
        rest ^= bit
        found[card] = min(left, best_of_eleven(cards | bit)) if bit & useful else left - max(0, high - points_of(bit))


@kernel
def outlook(found, stock, limit):
    """Sums over the stock of what ``after_draws`` found: deadwood, draws that allow a knock, draws to gin."""
    total = knocks = gins = np.int64(0)
    while stock:
        points = found[ctz(stock)]
        stock &= stock - 1
        total += points
        knocks += 1 if points <= limit else 0
        gins += 1 if points == 0 else 0
    return total, knocks, gins


@kernel
def outlook_without(sums, points, limit):
    """Sums of ``outlook`` without one card of the stock."""
    return sums[0] - points, sums[1] - (1 if points <= limit else 0), sums[2] - (1 if points == 0 else 0)


@kernel
def _write_outlook(facts, at, sums, count):
    facts[at] = sums[0] / 30.0 / count
    facts[at + 1] = sums[1] / count
    facts[at + 2] = sums[2] / count


@kernel
def knock_points(s, knocker, mine, defender):
    """Points of a knock with ten cards and ``mine`` points of deadwood: to the knocker, 1.0 for a win and -1.0 for an undercut."""
    if mine == 0:
        return deadwood(defender) + np.int64(s.rules.gin_bonus)
    a, b, c, _ = best_spread(knocker, np.int64(0), np.int64(0), np.int64(0))
    left = best_layoff(defender, a, b, c)[1]
    if left > mine:
        return left - mine + s.rules.knock_bonus
    return left - mine - s.rules.undercut_bonus if left < mine or s.rules.undercut_on_tie else np.int64(0)


@kernel
def best_ten(cards):
    """The ten cards of eleven that are left after the discard that leaves the least deadwood (nearly always), and that discard."""
    loose = cards & ~melded_cards(cards)
    high = loose & of_points(highest_cards(loose)) if loose else cards
    high &= -high
    return cards & ~high, high


@kernel
def write_common(s, facts):
    """Facts that no card of the stock changes."""
    facts[:] = 0.0
    facts[_LIMIT] = s.limit / 10.0
    facts[_GIN_BONUS] = s.rules.gin_bonus / 25.0
    facts[_UNDERCUT_BONUS] = s.rules.undercut_bonus / 25.0
    facts[_TIES_UNDERCUT] = s.rules.undercut_on_tie
    facts[_LAST_UPCARD] = 1.0 if s.rules.stock_end == END_LAST_UPCARD else 0.0
    facts[_WALL] = 1.0 if s.rules.stock_end == END_WALL else 0.0
    facts[_DISCARDS] = 1.0 if s.phase == PHASE_DISCARD else 0.0
    facts[_OFFERED] = 1.0 if s.phase == PHASE_UPCARD else 0.0
    facts[_DECLINED] = 1.0 if s.declined[s.turn] else 0.0
    facts[_OTHER_DECLINED] = 1.0 if s.declined[1 - s.turn] else 0.0


@kernel
def write_hands(s, ten, spare, other, left, stock, mine, sums, others, top, facts):
    """Facts on both hands.

    Args:
        s: the state.
        ten: ten cards of the seat to move.
        spare: its eleventh, which it would discard (0: it has ten).
        other: the other's cards.
        left: their deadwood.
        stock: the cards of the stock.
        mine: deadwood of the ten cards.
        sums: of ``outlook`` for the ten cards.
        others: the same for the other's.
        top: the upcard, as a mask, that the seat may take.
        facts: ``float32[40]``, written.
    """
    limit = np.int64(s.limit)
    count = popcount(stock)
    facts[_KNOCK : _GAIN + 1] = 0.0
    facts[_STOCK] = count / 32.0
    facts[_STOCK_LEFT] = min(count - 2, 4) / 4.0
    _write_deadwood(facts, _DEADWOOD, mine, limit)
    _write_deadwood(facts, _OTHER_DEADWOOD, left, limit)
    size = max(1, count)
    _write_outlook(facts, _OUTLOOK, sums, size)
    _write_outlook(facts, _OTHER_OUTLOOK, others, size)
    facts[_FILLERS] = popcount(stock & fillers(ten)) / size
    facts[_OTHER_FILLERS] = popcount(stock & fillers(other)) / size
    if mine <= limit:
        facts[_KNOCK] = knock_points(s, ten, mine, other) / POINTS_SCALE
    if left <= limit:
        facts[_OTHER_KNOCK] = knock_points(s, other, left, ten) / POINTS_SCALE
    offered, taker, before = (spare, other, left) if spare else (top, ten, mine)
    if offered:
        after = min(before, best_of_eleven(taker | offered))
        _write_deadwood(facts, _WITH_UPCARD, after, limit)
        facts[_GAIN] = (before - after) / 10.0
    facts[_POINTS] = points_of(ten) / 50.0
    facts[_OTHER_POINTS] = points_of(other) / 50.0


@kernel
def stock_of(s):
    """The cards of the stock, without their order."""
    stock = np.int64(0)
    for at in range(s.position, np.int64(s.rules.ranks) * s.rules.suits):
        stock |= np.int64(1) << s.deck[at]
    return stock


@kernel
def describe(s, masks, facts):
    """Writes what the network reads of a state in play: ``int64[6]`` masks and ``float32[40]`` facts, for the seat to move.

    This is the plain form of what ``_value_draw`` does faster for all cards of the stock.
    """
    seat = np.int64(s.turn)
    limit = np.int64(s.limit)
    stock, other = stock_of(s), s.hands[1 - seat]
    found = np.empty(CARDS, np.int64)
    ten, spare, top = s.hands[seat], np.int64(0), np.int64(0)
    if s.phase == PHASE_DISCARD:
        ten, spare = best_ten(ten)
    elif s.num_pile:
        top = np.int64(1) << s.pile[s.num_pile - 1]
    mine, left = deadwood(ten), deadwood(other)
    after_draws(ten, mine, stock, found)
    sums = outlook(found, stock, limit)
    after_draws(other, left, stock, found)
    write_common(s, facts)
    write_hands(s, ten, spare, other, left, stock, mine, sums, outlook(found, stock, limit), top, facts)
    masks[0], masks[1], masks[2], masks[3] = s.hands[seat], other, stock, top
    masks[4], masks[5] = s.known_cards[seat], s.known_cards[1 - seat]


@kernel
def describe_states(states, masks, facts):
    """``describe`` for a batch."""
    for i in range(states.shape[0]):
        describe(states[i], masks[i], facts[i])
