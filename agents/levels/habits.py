"""What can be counted about an opponent from the hands it has played: some forty habits, each as hits among chances.

Hands that end with a knock lie open, and the public record of a hand tells every draw and discard. ``count`` replays it from a
final view; ``Population`` turns counts into numbers a network can read: each rate is shrunk to the population's by as many
imagined chances as the population's spread calls for, and stands as its distance from the population's mean in standard
deviations. So a habit nobody has seen yet is exactly 0.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine import NO_CARD, NOBODY, End
from ginenv.history import M_DISCARD, M_DRAW, M_KNOCK, M_PASS, M_TAKE, moves
from ginenv.jit import ctz, kernel, popcount
from ginenv.melds import RANK_COLUMN, SUIT_BITS, card_points, melded_cards, points_of

# In words: what is counted, and of what. Shares are of 0 to 1; "points" are card points divided by 10, so they too stay near 1.
HABITS: tuple[str, ...] = (
    "takes the upcard offered before the first draw",
    "takes the upcard in its first two turns",
    "takes the upcard in turns three to five",
    "takes the upcard later",
    "takes upcards worth ten points when offered",
    "takes upcards worth three points or less when offered",
    "takes upcards next to a card it took before",
    "upcards taken that lie in a meld when its hand is shown",
    "upcards taken that it throws away again",
    "points of its first discard / 10",
    "points of its second and third discard / 10",
    "points of its discards four to six / 10",
    "points of later discards / 10",
    "throws a card of ten points in its first three turns",
    "throws a card of three points or less in its first three turns",
    "throws a rank that I have thrown",
    "throws a card next to, or of the rank of, one that I took",
    "throws a card that I take",
    "throws the rank of its own last discard",
    "throws a card next to its own last discard in suit",
    "goes gin",
    "knocks with points left",
    "knocks by its third turn",
    "knocks in turns four to six, if it comes to that",
    "knocks or goes gin in later turns, for each turn",
    "deadwood it knocks with / 10",
    "knocks with five points or less, of its knocks",
    "sits on a hand it could have knocked with, when I end the hand",
    "deadwood it is caught with / 25",
    "deadwood it is caught with by my fifth turn / 25",
    "undercuts my knocks",
    "lays off cards on my knocks",
    "melded cards that stand in sets, when its hand is shown",
    "loose cards that have their like beside them",
    "loose cards that have a neighbour in suit beside them",
    "points of a loose card / 10",
    "turns a hand lasts / 10",
    "hands that end in a draw",
    "hands that I win",
    "points a hand brings me / 25",
)
NUM_HABITS = len(HABITS)
(
    _TAKES_FIRST, _TAKES_EARLY, _TAKES_MIDDLE, _TAKES_LATE, _TAKES_HIGH, _TAKES_LOW, _TAKES_NEAR, _TAKEN_MELDED, _TAKEN_THROWN,
    _FIRST_POINTS, _EARLY_POINTS, _MIDDLE_POINTS, _LATE_POINTS, _THROWS_HIGH, _THROWS_LOW, _THROWS_SAFE, _FEEDS, _FED,
    _REPEATS_RANK, _REPEATS_SUIT, _GIN, _KNOCKS, _KNOCKS_EARLY, _KNOCKS_MIDDLE, _ENDS_LATE, _KNOCK_DEADWOOD, _KNOCKS_LOW,
    _SITS, _CAUGHT, _CAUGHT_EARLY, _UNDERCUTS, _LAYS_OFF, _IN_SETS, _LOOSE_PAIRS, _LOOSE_NEIGHBOURS, _LOOSE_POINTS,
    _LENGTH, _DRAWN, _I_WIN, _POINTS,
) = range(NUM_HABITS)  # fmt: skip

COUNTS = np.dtype([("hits", np.float32, (NUM_HABITS,)), ("chances", np.float32, (NUM_HABITS,))])
_GIN_END, _UNDERCUT_END = int(End.GIN), int(End.UNDERCUT)
# A feature further out than this many standard deviations tells nothing more.
_FAR = 3.0
# Chances that a rate of 0 and 1 values is imagined to have had before the first one was seen, at least and at most.
_PRIOR_CHANCES = (2.0, 60.0)


@kernel
def near(card, cards):
    """Whether a card has its rank, or a neighbour in its suit, in a mask."""
    bit = np.int64(1) << card
    if cards & ~bit & (RANK_COLUMN << (card % 13)):
        return True
    return neighbours(card, cards)


@kernel
def neighbours(card, cards):
    """Whether a mask holds a card one rank above or below in the same suit."""
    rank = card % 13
    suit = (cards >> (card - rank)) & SUIT_BITS
    return ((suit << 1 | suit >> 1) >> rank) & 1 == 1


@kernel
def _add(c, habit, hit):
    c.hits[habit] += hit
    c.chances[habit] += 1


@kernel
def _offer(c, card, taken, turn, before, first):
    """Counts one upcard that the opponent could have taken; ``before`` is what it had taken until then."""
    if first:
        _add(c, _TAKES_FIRST, taken)
    elif turn < 2:
        _add(c, _TAKES_EARLY, taken)
    elif turn < 5:
        _add(c, _TAKES_MIDDLE, taken)
    else:
        _add(c, _TAKES_LATE, taken)
    if card == NO_CARD:
        return
    points = card_points(card)
    if points == 10:
        _add(c, _TAKES_HIGH, taken)
    elif points <= 3:
        _add(c, _TAKES_LOW, taken)
    if near(card, before):
        _add(c, _TAKES_NEAR, taken)


@kernel
def _throw(c, card, turn, mine, took, last):
    """Counts one discard of the opponent's; ``mine`` is what I have thrown, ``took`` what I took, ``last`` its discard before."""
    points = card_points(card)
    if turn == 0:
        _add(c, _FIRST_POINTS, points / 10)
    elif turn < 3:
        _add(c, _EARLY_POINTS, points / 10)
    elif turn < 6:
        _add(c, _MIDDLE_POINTS, points / 10)
    else:
        _add(c, _LATE_POINTS, points / 10)
    if turn < 3:
        _add(c, _THROWS_HIGH, 1.0 if points == 10 else 0.0)
        _add(c, _THROWS_LOW, 1.0 if points <= 3 else 0.0)
    if mine:
        _add(c, _THROWS_SAFE, 1.0 if mine & (RANK_COLUMN << (card % 13)) else 0.0)
    if took:
        _add(c, _FEEDS, 1.0 if near(card, took) else 0.0)
    if last != NO_CARD:
        _add(c, _REPEATS_RANK, 1.0 if last % 13 == card % 13 else 0.0)
        _add(c, _REPEATS_SUIT, 1.0 if neighbours(card, np.int64(1) << last) else 0.0)


@kernel
def _replay(v, c):
    """Walks through the public record of the hand; returns the opponent's turns, mine, and the upcards it took."""
    thrown = np.int64(0)  # discards so far, both seats
    turn = 0
    my_turn = 0
    took = np.int64(0)
    mine = np.int64(0)
    my_took = np.int64(0)
    last = np.int64(NO_CARD)
    fed = False
    for move in moves(v):
        bit = np.int64(1) << move.card if move.card != NO_CARD else np.int64(0)
        if move.kind == M_PASS or move.kind == M_TAKE or move.kind == M_DRAW:
            # The rates of installed levels were counted without the first upcard.
            first = thrown == 0
            bit = np.int64(0) if first else bit
            if move.seat == 1:
                upcard = np.int64(NO_CARD) if first else move.upcard
                _offer(c, upcard, 1.0 if move.kind == M_TAKE else 0.0, turn, took, first)
            if move.kind == M_PASS:
                continue
            if move.kind == M_TAKE and move.seat == 1:
                took |= bit
            elif move.kind == M_TAKE:
                my_took |= bit
                if fed:
                    c.hits[_FED] += 1
            fed = False
        elif move.kind == M_DISCARD:
            thrown |= bit
            if move.seat == 1:
                _throw(c, move.card, turn, mine, my_took, last)
                c.chances[_FED] += 1
                fed = True
                last = move.card
                turn += 1
            else:
                mine |= bit
                my_turn += 1
        elif move.kind == M_KNOCK:
            turn += move.seat
            my_turn += 1 - move.seat
    return turn, my_turn, took


@kernel
def _shown(v, c, took):
    """What the opponent's hand tells once it lies open."""
    hand = v.shown | (v.laid if v.knocker == 0 else np.int64(0))
    melded = melded_cards(hand)
    rest = melded
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        _add(c, _IN_SETS, 1.0 if popcount(melded & (RANK_COLUMN << (card % 13))) >= 3 else 0.0)
    loose = hand & ~melded
    rest = loose
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        alike = loose & ~(np.int64(1) << card) & (RANK_COLUMN << (card % 13))
        _add(c, _LOOSE_PAIRS, 1.0 if alike else 0.0)
        _add(c, _LOOSE_NEIGHBOURS, 1.0 if neighbours(card, loose) else 0.0)
        _add(c, _LOOSE_POINTS, card_points(card) / 10)
    rest = took
    while rest:
        bit = rest & -rest
        rest ^= bit
        if hand & bit:
            _add(c, _TAKEN_MELDED, 1.0 if melded & bit else 0.0)


@kernel
def count(v, c):
    """Adds what a finished hand tells about the opponent.

    Args:
        v: the final ``VIEW`` record of the seat that watches.
        c: a ``COUNTS`` record, added to.
    """
    turn, my_turn, took = _replay(v, c)
    rest = took
    while rest:
        bit = rest & -rest
        rest ^= bit
        _add(c, _TAKEN_THROWN, 1.0 if v.thrown[1] & bit else 0.0)
    gin = v.knocker == 1 and v.end == _GIN_END
    knocked = v.knocker == 1 and not gin
    _add(c, _GIN, 1.0 if gin else 0.0)
    _add(c, _KNOCKS, 1.0 if knocked else 0.0)
    _add(c, _KNOCKS_EARLY, 1.0 if knocked and turn <= 3 else 0.0)
    if turn > 3:
        _add(c, _KNOCKS_MIDDLE, 1.0 if knocked and turn <= 6 else 0.0)
    if turn > 6:
        c.hits[_ENDS_LATE] += 1.0 if knocked or gin else 0.0
        c.chances[_ENDS_LATE] += turn - 6
    if knocked:
        left = points_of(v.shown & ~melded_cards(v.shown))
        _add(c, _KNOCK_DEADWOOD, left / 10)
        _add(c, _KNOCKS_LOW, 1.0 if left <= 5 else 0.0)
    if v.knocker == 0:
        hand = v.shown | v.laid
        left = points_of(hand & ~melded_cards(hand))
        if v.limit > 0:
            _add(c, _SITS, 1.0 if left <= v.limit else 0.0)
        _add(c, _CAUGHT, left / 25)
        if my_turn <= 5:
            _add(c, _CAUGHT_EARLY, left / 25)
        if v.end != _GIN_END:
            _add(c, _UNDERCUTS, 1.0 if v.end == _UNDERCUT_END else 0.0)
            _add(c, _LAYS_OFF, 1.0 if v.laid else 0.0)
    if v.knocker != NOBODY:
        _shown(v, c, took)
    _add(c, _LENGTH, turn / 10)
    _add(c, _DRAWN, 1.0 if v.winner == NOBODY else 0.0)
    _add(c, _I_WIN, 1.0 if v.winner == 0 else 0.0)
    _add(c, _POINTS, v.points / 25)


@kernel
def count_all(views, counts, rows):
    """``count`` for a batch: view ``k`` goes to ``counts[rows[k]]``."""
    for k in range(views.shape[0]):
        count(views[k], counts[rows[k]])
