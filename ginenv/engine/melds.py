"""Deadwood, arrangements, spreads and lay-offs, exact and compiled.

A table of 8192 entries holds the most points that runs can save in one suit: once the sets are fixed, every stretch of
three or more neighbours is melded. So an arrangement is determined by its sets. A rank with three or more cards forms no set,
the set of all or, with four cards, one of the four sets that leave a card to a run. Eleven cards have at most three such ranks,
so the exact optimum is a loop over at most 72 combinations, mostly one or two.

Every function takes and returns plain integers: a hand or a meld is a mask (bit ``13 * suit + rank``).
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.cards import card_value
from ginenv.engine.jit import ctz, kernel, popcount

SUIT_BITS = 0x1FFF
RANK_COLUMN = 1 | 1 << 13 | 1 << 26 | 1 << 39
MAX_ARRANGEMENTS = 52


def _suit_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    masks = np.arange(8192, dtype=np.uint16)
    suit_ranks = masks[:, None] >> np.arange(13, dtype=np.uint16) & 1
    points = (suit_ranks @ np.minimum(10, np.arange(13) + 1)).astype(np.uint8)
    # The lowest card of every three neighbours.
    lows = masks & masks >> 1 & masks >> 2
    melded = lows | lows << 1 | lows << 2
    return points, melded, points[melded]


# By the cards of a suit: their points, the cards that runs meld, the points that this saves, and those that it leaves.
SUIT_POINTS, RUN_CARDS, RUN_SAVED = _suit_tables()
RUN_LEFT = SUIT_POINTS - RUN_SAVED


@kernel
def points_of(cards):
    """Sum of the card values of a mask."""
    return (
        np.int64(SUIT_POINTS[cards & SUIT_BITS])
        + np.int64(SUIT_POINTS[(cards >> 13) & SUIT_BITS])
        + np.int64(SUIT_POINTS[(cards >> 26) & SUIT_BITS])
        + np.int64(SUIT_POINTS[(cards >> 39) & SUIT_BITS])
    )


# The value of one card, for compiled code.
card_points = kernel(card_value)


@kernel
def run_savings(cards):
    """Most points that runs alone save."""
    return (
        np.int64(RUN_SAVED[cards & SUIT_BITS])
        + np.int64(RUN_SAVED[(cards >> 13) & SUIT_BITS])
        + np.int64(RUN_SAVED[(cards >> 26) & SUIT_BITS])
        + np.int64(RUN_SAVED[(cards >> 39) & SUIT_BITS])
    )


@kernel
def left_by_runs(cards):
    """Points of a mask less the most that runs alone save."""
    return (
        np.int64(RUN_LEFT[cards & SUIT_BITS])
        + np.int64(RUN_LEFT[(cards >> 13) & SUIT_BITS])
        + np.int64(RUN_LEFT[(cards >> 26) & SUIT_BITS])
        + np.int64(RUN_LEFT[(cards >> 39) & SUIT_BITS])
    )


@kernel
def run_cards(cards):
    """The cards that runs alone meld."""
    return (
        np.int64(RUN_CARDS[cards & SUIT_BITS])
        | np.int64(RUN_CARDS[(cards >> 13) & SUIT_BITS]) << 13
        | np.int64(RUN_CARDS[(cards >> 26) & SUIT_BITS]) << 26
        | np.int64(RUN_CARDS[(cards >> 39) & SUIT_BITS]) << 39
    )


@kernel
def set_ranks(cards):
    """Ranks (13 bits) of which three or four cards are present."""
    a = cards & SUIT_BITS
    b = (cards >> 13) & SUIT_BITS
    c = (cards >> 26) & SUIT_BITS
    d = (cards >> 39) & SUIT_BITS
    return ((a & b) & (c | d)) | ((c & d) & (a | b))


@kernel
def set_options(cards, ranks):
    """The number of ways to use the lowest of some ranks in a set: 1 (no rank), 2 (three cards) or 6 (four)."""
    if ranks == 0:
        return 1
    if popcount(cards & (RANK_COLUMN << ctz(ranks))) == 4:
        return 6
    return 2


@kernel
def set_choice(cards, ranks, option):
    """Cards of the lowest of some ranks that an option puts into a set: 0 none, 1 all, 2 to 5 all of four but one."""
    if option == 0:
        return np.int64(0)
    column = cards & (RANK_COLUMN << ctz(ranks))
    if option == 1:
        return column
    return column & ~(np.int64(1) << (13 * (option - 2) + ctz(ranks)))


@kernel
def _best_sets(cards):
    """Most points that an arrangement saves, and its sets (of equals the first: fewest sets of the lowest ranks)."""
    best = run_savings(cards)
    chosen = np.int64(0)
    ranks0 = set_ranks(cards)
    if ranks0 == 0:
        return best, chosen
    ranks1 = ranks0 & (ranks0 - 1)
    ranks2 = ranks1 & (ranks1 - 1)
    options0 = set_options(cards, ranks0)
    options1 = set_options(cards, ranks1)
    options2 = set_options(cards, ranks2)
    for k0 in range(options0):
        set0 = set_choice(cards, ranks0, k0)
        for k1 in range(options1):
            set1 = set0 | set_choice(cards, ranks1, k1)
            for k2 in range(options2):
                sets = set1 | set_choice(cards, ranks2, k2)
                saved = points_of(sets) + run_savings(cards & ~sets)
                if saved > best:
                    best = saved
                    chosen = sets
    return best, chosen


@kernel
def deadwood(cards):
    """Least deadwood of a hand of at most eleven cards."""
    return points_of(cards) - _best_sets(cards)[0]


@kernel
def melded_cards(cards):
    """Cards melded in an arrangement of least deadwood (of equals the first: fewest sets of the lowest ranks)."""
    sets = _best_sets(cards)[1]
    return sets | run_cards(cards & ~sets)


@kernel
def far_from_knocking(cards, limit):
    """Whether a bound without loops shows that no discard of an eleven-card hand leaves at most ``limit`` points."""
    # The bound lets runs and sets share cards, and assumes the largest possible discard.
    left = left_by_runs(cards) - 10
    if left <= limit:
        return False
    ranks = set_ranks(cards)
    return ranks == 0 or left - points_of(cards & (ranks * RANK_COLUMN)) > limit


@kernel
def knock_discards(cards, limit):
    """Cards of an eleven-card hand whose discard leaves at most ``limit`` points."""
    return np.int64(0) if far_from_knocking(cards, limit) else _near_knock_discards(cards, limit)


@kernel
def _near_knock_discards(cards, limit):
    knocks = np.int64(0)
    total = deadwood(cards)
    if total - 10 > limit:
        return knocks
    loose = cards & ~melded_cards(cards)
    rest = cards
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        # Discarding a card saves at most its points, and exactly that if it is loose in a best arrangement.
        after = total - card_points(card)
        if after <= limit:
            bit = np.int64(1) << card
            if loose & bit or deadwood(cards & ~bit) <= limit:
                knocks |= bit
    return knocks


@kernel
def is_run(meld):
    """Whether a meld is a run (its two lowest bits are neighbours) and not a set."""
    return (meld >> (ctz(meld) + 1)) & 1 == 1


@kernel
def melds_of(cards, sets0, sets1, sets2):
    """The melds of an arrangement with the given sets: up to four masks, sets first, then runs by suit.

    Three melds are the most that ten or eleven cards hold, so the fourth mask is 0 for them.
    """
    meld0 = meld1 = meld2 = meld3 = np.int64(0)
    for k in range(3):
        chosen = sets0 if k == 0 else (sets1 if k == 1 else sets2)
        if chosen:
            meld0, meld1, meld2, meld3 = meld1, meld2, meld3, chosen
    runs = run_cards(cards & ~(sets0 | sets1 | sets2))
    for suit in range(4):
        of_suit = runs & (np.int64(SUIT_BITS) << (13 * suit))
        while of_suit:
            # Adding the lowest bit carries through the first stretch of neighbours, so the bits that it clears are that stretch.
            low = of_suit & -of_suit
            run = of_suit & ~(of_suit + low)
            of_suit &= ~run
            meld0, meld1, meld2, meld3 = meld1, meld2, meld3, run
    while meld3 and not meld0:
        meld0, meld1, meld2, meld3 = meld1, meld2, meld3, np.int64(0)
    return meld0, meld1, meld2, meld3


@kernel
def arrangements(cards):
    """Every arrangement of a hand, each as the sets of its lowest ranks with three or more cards: three masks, 0 for none.

    The options of a rank come in this order: no set, all, all but the spade, the club, the diamond, the heart. The last rank
    changes fastest.
    """
    ranks0 = set_ranks(cards)
    ranks1 = ranks0 & (ranks0 - 1)
    ranks2 = ranks1 & (ranks1 - 1)
    for k0 in range(set_options(cards, ranks0)):
        set0 = set_choice(cards, ranks0, k0)
        for k1 in range(set_options(cards, ranks1)):
            set1 = set_choice(cards, ranks1, k1)
            for k2 in range(set_options(cards, ranks2)):
                yield set0, set1, set_choice(cards, ranks2, k2)


@kernel
def chance_of(bit, unseen, known_cards, chance):
    """The probability that the opponent holds a card, given as its bit (0: none): 1 where that is known, ``chance`` for an unseen one."""
    if known_cards & bit:
        return 1.0
    if unseen & bit:
        return chance
    return 0.0


@kernel
def exposure(meld, unseen, known_cards, chance):
    """Points that the opponent is expected to lay off on a meld, from what the knocker can see.

    Args:
        meld: a set or a run.
        unseen: cards that may be in the opponent's hand.
        known_cards: cards that the opponent is known to hold.
        chance: probability that an unseen card is in its hand.
    """
    if meld == 0:
        return 0.0
    if not is_run(meld):
        fourth = (RANK_COLUMN << (ctz(meld) % 13)) & ~meld
        if fourth == 0:
            return 0.0
        return chance_of(fourth, unseen, known_cards, chance) * card_points(ctz(fourth))
    expected = 0.0
    for down in (True, False):
        card = ctz(meld) if down else ctz(meld) + popcount(meld) - 1
        last = 0 if down else 12
        reached = 1.0
        while card % 13 != last and reached > 0.0:
            card += -1 if down else 1
            reached *= chance_of(np.int64(1) << card, unseen, known_cards, chance)
            expected += reached * card_points(card)
    return expected


@kernel
def best_spread(cards, unseen, known_cards, hidden):
    """The knocker's spread: least deadwood and, among equals, least expected lay-offs.

    Args:
        cards: the knocker's ten cards.
        unseen: cards that the knocker has not seen (stock or opponent's hand).
        known_cards: cards that the opponent is known to hold.
        hidden: how many cards of the opponent's hand are not known.

    Returns:
        Four masks, the melds; unused ones are 0.
    """
    if set_ranks(cards) == 0:
        return melds_of(cards, np.int64(0), np.int64(0), np.int64(0))
    chance = hidden / max(1, popcount(unseen))
    best_saved = np.int64(-1)
    best_exposure = 0.0
    best = melds_of(cards, np.int64(0), np.int64(0), np.int64(0))
    for set0, set1, set2 in arrangements(cards):
        sets = set0 | set1 | set2
        saved = points_of(sets) + run_savings(cards & ~sets)
        if saved < best_saved:
            continue
        melds = melds_of(cards, set0, set1, set2)
        open_to = (
            exposure(melds[0], unseen, known_cards, chance)
            + exposure(melds[1], unseen, known_cards, chance)
            + exposure(melds[2], unseen, known_cards, chance)
        )
        if saved > best_saved or open_to < best_exposure:
            best_saved = saved
            best_exposure = open_to
            best = melds
    return best


@kernel
def nth_arrangement(cards, limit, n):
    """The n-th maximal arrangement within the limit, and how many there are.

    An arrangement is maximal when none of its deadwood can be added to it. They come in the order of ``arrangements``.

    Returns:
        count, and the four masks of arrangement ``n`` (0 where it does not exist).
    """
    total = points_of(cards)
    count = 0
    a = b = c = d = np.int64(0)
    for set0, set1, set2 in arrangements(cards):
        sets = set0 | set1 | set2
        loose = cards & ~sets & ~run_cards(cards & ~sets)
        if total - points_of(sets) - run_savings(cards & ~sets) > limit:
            continue
        if set_ranks(loose) or _extends_set(loose, set0) or _extends_set(loose, set1) or _extends_set(loose, set2):
            continue
        if count == n:
            a, b, c, d = melds_of(cards, set0, set1, set2)
        count += 1
    return count, a, b, c, d


@kernel
def _extends_set(loose, chosen):
    return chosen != 0 and loose & (RANK_COLUMN << (ctz(chosen) % 13)) != 0


@kernel
def _run_reach(meld, cards, down):
    """How many cards of a mask continue a run downwards or upwards, in a chain."""
    card = ctz(meld) if down else ctz(meld) + popcount(meld) - 1
    step = -1 if down else 1
    count = 0
    while (card % 13 > 0) if down else (card % 13 < 12):
        card += step
        if not (cards >> card) & 1:
            break
        count += 1
    return count


@kernel
def layoff_options(meld, cards):
    """The number of ways to lay off cards of a mask on one meld (including none)."""
    if meld == 0:
        return 1
    if is_run(meld):
        return (_run_reach(meld, cards, True) + 1) * (_run_reach(meld, cards, False) + 1)
    if cards & (RANK_COLUMN << (ctz(meld) % 13)) & ~meld:
        return 2
    return 1


@kernel
def layoff_choice(meld, cards, option):
    """The cards of a lay-off option of one meld: 0 is nothing, the last is everything that fits."""
    if option == 0:
        return np.int64(0)
    if is_run(meld):
        ups = _run_reach(meld, cards, False) + 1
        down = option // ups
        up = option % ups
        low = ctz(meld)
        high = low + popcount(meld) - 1
        below = ((np.int64(1) << down) - 1) << (low - down)
        above = ((np.int64(1) << up) - 1) << (high + 1)
        return below | above
    return cards & (RANK_COLUMN << (ctz(meld) % 13)) & ~meld


@kernel
def best_layoff(cards, meld0, meld1, meld2):
    """The defender's lay-off that leaves the least deadwood, chosen together with the defender's own melds.

    Returns:
        The cards laid off (a mask) and the deadwood left.
    """
    best = deadwood(cards)
    best_laid = np.int64(0)
    options0 = layoff_options(meld0, cards)
    options1 = layoff_options(meld1, cards)
    options2 = layoff_options(meld2, cards)
    if options0 * options1 * options2 == 1:
        return best_laid, best
    for k0 in range(options0):
        laid0 = layoff_choice(meld0, cards, k0)
        for k1 in range(options1):
            laid1 = laid0 | layoff_choice(meld1, cards, k1)
            for k2 in range(options2):
                laid = laid1 | layoff_choice(meld2, cards, k2)
                left = deadwood(cards & ~laid)
                if left < best:
                    best = left
                    best_laid = laid
    return best_laid, best


@kernel
def deadwood_layoff(cards, meld0, meld1, meld2):
    """The defender's lay-off when its own melds are fixed first, at its least deadwood, and only the rest may be laid off.

    Returns:
        The cards laid off (a mask) and the deadwood left.
    """
    loose = cards & ~melded_cards(cards)
    laid = np.int64(0)
    for k in range(3):
        meld = meld0 if k == 0 else (meld1 if k == 1 else meld2)
        if meld:
            laid |= layoff_choice(meld, loose, layoff_options(meld, loose) - 1)
    return laid, points_of(loose & ~laid)


@kernel
def fits(meld, card):
    """Whether a card can be laid off on a meld."""
    return layoff_options(meld, np.int64(1) << card) > 1


@kernel
def highest_cards(cards):
    """The points of the most valuable card of a mask (0 for none)."""
    ranks = (cards | cards >> 13 | cards >> 26 | cards >> 39) & SUIT_BITS
    # Fill all ranks up to the highest one; their number is its rank.
    ranks |= ranks >> 1
    ranks |= ranks >> 2
    ranks |= ranks >> 4
    ranks |= ranks >> 8
    return min(10, popcount(ranks))


@kernel
def of_points(points):
    """All cards worth that many points or more."""
    return ((SUIT_BITS << max(0, points - 1)) & SUIT_BITS) * RANK_COLUMN


@kernel
def least_deadwood(cards, allowed):
    """The allowed cards whose discard leaves the least deadwood, and that deadwood."""
    melded = melded_cards(cards)
    total = points_of(cards & ~melded)
    loose = allowed & ~melded
    high = highest_cards(loose)
    found = loose & of_points(high)
    best = total - high if loose else np.int64(1000)
    # A discard saves at most its card's points.
    rest = allowed & melded & of_points(high)
    while rest:
        bit = rest & -rest
        rest ^= bit
        after = deadwood(cards & ~bit)
        if after < best:
            best = after
            found = bit
        elif after == best:
            found |= bit
    return found, best


@kernel
def best_of_eleven(cards):
    """Deadwood after the best discard of eleven cards."""
    loose = cards & ~melded_cards(cards)
    return points_of(loose) - highest_cards(loose)


@kernel
def joins_meld(cards, card):
    """Whether a card makes a meld with other cards of a mask."""
    bit = np.int64(1) << card
    cards |= bit
    return (run_cards(cards) | set_ranks(cards) * RANK_COLUMN) & bit != 0
