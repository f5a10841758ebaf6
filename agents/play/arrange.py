"""The order in which a hand lies before its player, and the melds in it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from ginenv.cards import SUITS, cards_of
from ginenv.melds import best_spread, is_run
from ginenv.rules import R_HAND_SIZE

# The order of suits on the screen, left to right.
SUIT_ORDER = "HSDC"


def sorted_cards(cards: Iterable[int], by: str, direction: str = "ascending") -> list[int]:
    """Cards sorted by ``value`` or by ``suit``; suits always go hearts, spades, diamonds, clubs."""
    sign = -1 if direction == "descending" else 1

    def suit(card: int) -> int:
        return SUIT_ORDER.index(SUITS[card // 13])

    def by_value(card: int) -> tuple[int, int]:
        return sign * (card % 13), suit(card)

    def by_suit(card: int) -> tuple[int, int]:
        return suit(card), sign * (card % 13)

    return sorted(cards, key=by_value if by == "value" else by_suit)


def shuffled_cards(cards: Iterable[int], word: int) -> list[int]:
    """Cards in no order, always the same for a random word: a hand as it was picked up."""
    order = sorted(cards)
    random.Random(word).shuffle(order)
    return order


def kept_order(order: list[int], hand: int) -> list[int]:
    """An order brought up to date with a hand: gone cards leave, a new card comes to the right."""
    stays = [card for card in order if hand >> card & 1]
    return stays + [card for card in cards_of(hand) if card not in stays]


def moved_card(order: list[int], card: int, place: int) -> list[int]:
    """An order in which a card lies at another place (from 1)."""
    rest = [other for other in order if other != card]
    rest.insert(place - 1, card)
    return rest


def melds_of_view(view: Any) -> list[int]:
    """The melds of a seat's hand at its least deadwood, those that can be laid off on least first chosen; masks.

    Args:
        view: one record of ``VIEW``.
    """
    known = int(view["known"][1])
    hidden = int(view["rules"][R_HAND_SIZE]) - known.bit_count()
    return _melds(int(view["hand"]), int(view["unseen"]), known, hidden)


def melds_of_cards(cards: int) -> list[int]:
    """The melds of cards (a mask) at their least deadwood; masks."""
    return _melds(cards, 0, 0, 0)


def _melds(cards: int, unseen: int, known: int, hidden: int) -> list[int]:
    return [int(meld) for meld in best_spread(cards, unseen, known, hidden) if meld]


def meld_names(melds: list[int]) -> list[str]:
    """``run`` or ``set`` for each meld, numbered where there are several of a kind."""
    kinds = ["run" if is_run(meld) else "set" for meld in melds]
    if len(set(kinds)) == len(kinds):
        return kinds
    return [f"{kind}{kinds[: k + 1].count(kind)}" if kinds.count(kind) > 1 else kind for k, kind in enumerate(kinds)]
