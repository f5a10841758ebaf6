"""The arithmetic of melds against a slow and obvious brute force.

Deadwood, knocks, spreads, arrangements and lay-offs are compared on random and meld-rich hands of ten and eleven cards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ginenv.engine.cards import card_value, cards_of, format_cards, mask_of
from ginenv.engine.melds import (
    best_layoff,
    best_spread,
    deadwood,
    deadwood_layoff,
    exposure,
    fits,
    knock_discards,
    melded_cards,
    nth_arrangement,
)

Arrangement = tuple[int, ...]


def points(cards: int) -> int:
    """Sum of the card values."""
    return sum(card_value(card) for card in cards_of(cards))


def is_meld(cards: Sequence[int]) -> bool:
    """Three or four of a rank, or three or more neighbours of a suit, ace low."""
    if len(cards) < 3:
        return False
    if len({card % 13 for card in cards}) == 1:
        return True
    ordered = sorted(cards)
    return len({card // 13 for card in cards}) == 1 and all(b - a == 1 for a, b in itertools.pairwise(ordered))


def all_melds(cards: int) -> list[int]:
    """Every meld that the cards hold, as masks."""
    hand_cards = cards_of(cards)
    found = []
    for rank in range(13):
        same = [card for card in hand_cards if card % 13 == rank]
        if len(same) >= 3:
            found.append(mask_of(same))
        if len(same) == 4:
            found += [mask_of(card for card in same if card != left) for left in same]
    for low in hand_cards:
        run = [low]
        while run[-1] + 1 in hand_cards and (run[-1] + 1) % 13:
            run.append(run[-1] + 1)
            if len(run) >= 3:
                found.append(mask_of(run))
    return found


def all_arrangements(cards: int) -> list[Arrangement]:
    """Every way to lay out some melds of a hand, none included."""
    melds = all_melds(cards)
    found: list[Arrangement] = []

    def choose(first: int, used: int, chosen: Arrangement) -> None:
        found.append(chosen)
        for k in range(first, len(melds)):
            if not used & melds[k]:
                choose(k + 1, used | melds[k], (*chosen, melds[k]))

    choose(0, 0, ())
    return found


class Brute:
    """All that is to be known of a hand's melds, by enumeration."""

    def __init__(self, cards: int) -> None:
        self.cards = cards
        self.arrangements = all_arrangements(cards)
        self._saved = [(used := sum(melds), points(used)) for melds in self.arrangements]

    def deadwood(self, without: int = 0) -> int:
        """Least deadwood of the hand without some cards."""
        saved = max(saved for used, saved in self._saved if not used & without)
        return points(self.cards & ~without) - saved

    def maximal(self, limit: int) -> set[Arrangement]:
        """Arrangements within a limit to which none of their deadwood can be added, neighbouring runs joined."""
        found = set()
        for melds, (used, saved) in zip(self.arrangements, self._saved, strict=True):
            loose = self.cards & ~used
            if points(self.cards) - saved > limit or all_melds(loose):
                continue
            if any(is_meld([*cards_of(meld), card]) for meld in melds for card in cards_of(loose)):
                continue
            found.add(_joined(melds))
        return found


def _joined(melds: Arrangement) -> Arrangement:
    """Runs that meet are one run: two of three cards and one of six are the same cards on the table."""
    joined = list(melds)
    for first in joined:
        for second in joined:
            if first != second and is_meld(cards_of(first | second)):
                return _joined((*(meld for meld in joined if meld not in (first, second)), first | second))
    return tuple(sorted(joined))


def least_after_layoff(brute: Brute, spread: Arrangement) -> int:
    """Least deadwood of a defender over everything that can be laid off in any order."""
    seen = set()
    waiting = [(0, spread)]
    best = brute.deadwood()
    while waiting:
        laid, melds = waiting.pop()
        best = min(best, brute.deadwood(laid))
        for card in cards_of(brute.cards & ~laid):
            for k, meld in enumerate(melds):
                if is_meld([*cards_of(meld), card]):
                    after = (laid | 1 << card, (*melds[:k], meld | 1 << card, *melds[k + 1 :]))
                    if after not in seen:
                        seen.add(after)
                        waiting.append(after)
    return best


def lay_off_all(loose: int, spread: Arrangement) -> int:
    """Everything of some cards that can be laid off, as far as chains go."""
    melds, laid = list(spread), 0
    while True:
        for card in cards_of(loose & ~laid):
            target = [k for k, meld in enumerate(melds) if is_meld([*cards_of(meld), card])]
            if target:
                # A run can go on, a set cannot; with one card of a kind both ends are the same.
                runs = [k for k in target if len({c % 13 for c in cards_of(melds[k])}) > 1]
                melds[(runs or target)[0]] |= 1 << card
                laid |= 1 << card
                break
        else:
            return laid


def expected_layoff(meld: int, unseen: int, known_cards: int, chance: float) -> float:
    """Points that an opponent is expected to lay off on a meld, each unseen card being held with one chance."""

    def chance_of(card: int) -> float:
        return 1.0 if known_cards >> card & 1 else (chance if unseen >> card & 1 else 0.0)

    cards = cards_of(meld)
    if len({card % 13 for card in cards}) == 1:
        fourth = [card for card in range(cards[0] % 13, 52, 13) if card not in cards]
        return sum(chance_of(card) * card_value(card) for card in fourth)
    total = 0.0
    suit = range(cards[0] // 13 * 13, cards[0] // 13 * 13 + 13)
    for chain in (range(cards[-1] + 1, suit.stop), range(cards[0] - 1, suit.start - 1, -1)):
        reached = 1.0
        for card in chain:
            reached *= chance_of(card)
            total += reached * card_value(card)
    return total


def random_hands(count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Eleven cards and ten of the rest: every other pair from all 52, the others from few neighbouring ranks."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        if number % 2:
            deck = rng.permutation(52)
            yield mask_of(deck[:11]), mask_of(deck[11:21])
            continue
        low, width = int(rng.integers(0, 8)), int(rng.integers(4, 7))
        near = [card for card in range(52) if low <= card % 13 < low + width]
        first = rng.permutation(near)[:11]
        rest = [card for card in range(52) if card not in first and low - 2 <= card % 13 < low + width + 2]
        yield mask_of(first), mask_of(rng.permutation(rest)[:10])


def differences(eleven: int, other: int, limit: int) -> Iterator[str]:
    """What the kernels and the brute force see differently in a hand of eleven, its first ten cards, and an opponent's hand."""
    ten = mask_of(cards_of(eleven)[:10])
    unseen = ((1 << 52) - 1) & ~ten & ~(other & 0x5555555555555)
    known_cards = other & 0x5555555555555
    brute11, brute10, defender = Brute(eleven), Brute(ten), Brute(other)
    if deadwood(eleven) != brute11.deadwood():
        yield f"deadwood of eleven {deadwood(eleven)}, not {brute11.deadwood()}"
    if deadwood(ten) != brute10.deadwood():
        yield f"deadwood of ten {deadwood(ten)}, not {brute10.deadwood()}"
    melded = int(melded_cards(eleven))
    if points(eleven & ~melded) != brute11.deadwood() or Brute(melded).deadwood() != 0:
        yield f"melded cards {format_cards(melded)}"
    knocks = mask_of(card for card in cards_of(eleven) if brute11.deadwood(1 << card) <= limit)
    if knock_discards(eleven, limit) != knocks:
        yield f"knocks at {limit} {format_cards(int(knock_discards(eleven, limit)))}, not {format_cards(knocks)}"

    hidden = 10 - known_cards.bit_count()
    chance = hidden / unseen.bit_count()
    spread = tuple(int(meld) for meld in best_spread(ten, unseen, known_cards, hidden) if meld)
    best = brute10.maximal(brute10.deadwood())
    if tuple(sorted(spread)) not in best:
        yield f"spread {[format_cards(meld) for meld in spread]} is none of least deadwood"
    least = min(sum(expected_layoff(meld, unseen, known_cards, chance) for meld in melds) for melds in best)
    given = sum(expected_layoff(meld, unseen, known_cards, chance) for meld in spread)
    if abs(given - least) > 1e-9:
        yield f"spread {[format_cards(meld) for meld in spread]} gives {given}, not {least}"
    if abs(given - sum(exposure(meld, unseen, known_cards, chance) for meld in spread)) > 1e-9:
        yield "exposure of the spread"

    wide = brute10.deadwood() + limit
    count = int(nth_arrangement(ten, wide, 0)[0])
    listed = [tuple(sorted(int(meld) for meld in nth_arrangement(ten, wide, n)[1:] if meld)) for n in range(count)]
    if set(listed) != brute10.maximal(wide) or len(set(listed)) != count:
        yield f"arrangements within {wide}: {count}, not {len(brute10.maximal(wide))}"

    # Three words hold the melds of ten cards.
    words = (*spread, 0, 0, 0)[:3]
    laid, left = (int(value) for value in best_layoff(other, *words))
    if (
        left != least_after_layoff(defender, spread)
        or left != defender.deadwood(laid)
        or lay_off_all(laid, spread) != laid
    ):
        yield f"lay-off of {format_cards(laid)} leaves {left}, not {least_after_layoff(defender, spread)}"
    laid, left = (int(value) for value in deadwood_layoff(other, *words))
    loose = other & ~int(melded_cards(other))
    if laid != lay_off_all(loose, spread) or left != points(loose & ~laid):
        yield f"lay-off of deadwood only: {format_cards(laid)}, not {format_cards(lay_off_all(loose, spread))}"
    for meld in spread:
        for card in cards_of(other):
            if bool(fits(meld, card)) != is_meld([*cards_of(meld), card]):
                yield f"{format_cards([card])} fits {format_cards(meld)}: {bool(fits(meld, card))}"


def check_melds(hands: int, seed: int = 0) -> list[str]:
    """Compares on random and meld-rich hands.

    Args:
        hands: how many hands of eleven, each with its first ten cards and with a defender's ten.
        seed: seed of the hands.

    Returns:
        A line for every difference.
    """
    found = []
    for number, (eleven, other) in enumerate(random_hands(hands, seed)):
        for difference in differences(eleven, other, number % 11):
            found.append(f"{format_cards(eleven)} against {format_cards(other)}: {difference}")
    return found
