"""The order in which a player's hand lies, and the melds in it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from agents.play.options import Options
from ginenv.engine.actions import PHASE_LAYOFF, PHASE_SPREAD
from ginenv.engine.cards import SUITS, card_name, cards_of, mask_of
from ginenv.engine.engine import NO_CARD
from ginenv.engine.melds import best_spread, is_run
from ginenv.errors import GinError
from ginenv.view.wording import my_holding

# Suits on the screen, left to right.
_SUIT_ORDER = "HSDC"


def sorted_cards(cards: Iterable[int], by: str, direction: str = "ascending", melds: Sequence[int] = ()) -> list[int]:
    """Cards sorted by ``value``, by ``suit`` or by ``meld``; suits always go hearts, spades, diamonds, clubs.

    By ``meld``, those of ``melds`` (masks) come first, one after the other, and the other cards follow by value.
    """
    sign = -1 if direction == "descending" else 1

    def key(card: int) -> tuple[int, int, int]:
        value, suit = sign * (card % 13), _SUIT_ORDER.index(SUITS[card // 13])
        if by != "meld":
            return (0, value, suit) if by == "value" else (0, suit, value)
        return next((n for n, meld in enumerate(melds) if meld >> card & 1), len(melds)), value, suit

    return sorted(cards, key=key)


def shuffled_cards(cards: Iterable[int], word: int) -> list[int]:
    """Cards shuffled by a random word, the same for the same word: a hand as it was picked up."""
    order = sorted(cards)
    random.Random(word).shuffle(order)
    return order


def in_suits(cards: Iterable[int] | int) -> list[int]:
    """Cards, or those of a mask, in the order of a hand sorted by suit."""
    return sorted_cards(cards_of(cards) if isinstance(cards, int) else cards, "suit")


def updated_order(order: list[int], hand: int) -> list[int]:
    """An order brought up to date with a hand: cards that are gone leave, a new card goes to the right."""
    stays = [card for card in order if hand >> card & 1]
    return stays + [card for card in cards_of(hand) if card not in stays]


def moved_card(order: list[int], card: int, place: int) -> list[int]:
    """An order with one card moved to another place (from 1).

    Raises:
        GinError: if there is no such card or place.
    """
    if card not in order:
        raise GinError(f"you do not hold the {card_name(card)}")
    if not 1 <= place <= len(order):
        raise GinError(f"there is no place {place}; your cards lie in places 1 to {len(order)}")
    rest = [other for other in order if other != card]
    rest.insert(place - 1, card)
    return rest


def by_options(cards: Iterable[int], view: Any, options: Options) -> list[int]:
    """The cards of a view's seat sorted as the options say; they say how."""
    return sorted_cards(cards, options.sort, options.direction, melds_of_view(view) if options.sort == "meld" else ())


def laid_out(order: list[int], view: Any, options: Options, dealt: bool) -> list[int]:
    """The order in which the options want a hand to lie; a new card stays at the right during its turn.

    Args:
        order: how the cards have lain so far.
        view: one record of ``VIEW``.
        options: the person's.
        dealt: whether the hand has just been dealt.
    """
    hand, new = int(view["hand"]), view["drawn"] != NO_CARD or view["taken"] != NO_CARD
    # Each card that is laid off may leave other melds in the hand: it is not sorted meanwhile.
    lays_off = view["phase"] == PHASE_LAYOFF
    if options.sort == "none":
        return shuffled_cards(cards_of(hand), int(view["luck"])) if dealt else updated_order(order, hand)
    if dealt or (options.sort_when == "always" and not new and not lays_off):
        return by_options(cards_of(hand), view, options)
    return updated_order(order, hand)


def without_memory(view: Any) -> Any:
    """One record of ``VIEW`` without what the option ``memory`` shows: the pile under the upcard, and the cards that the opponent took."""
    shown = view.copy()
    shown["unseen"] |= shown["known_cards"][1]
    shown["known_cards"][1] = 0
    if shown["num_pile"]:
        shown["pile"][0], shown["num_pile"] = shown["upcard"], 1
    return shown


def melds_of_view(view: Any) -> list[int]:
    """The melds, as masks, of a seat's hand (one record of ``VIEW``) at its least deadwood, with the least expected lay-offs."""
    if view["phase"] == PHASE_SPREAD:
        return melds_of_cards(int(view["hand"]))
    return [mask_of(cards) for _, cards in my_holding(view).melds]


def melds_of_cards(cards: int) -> list[int]:
    """The melds, as masks, of cards (a mask) at their least deadwood."""
    return [int(meld) for meld in best_spread(cards, 0, 0, 0) if meld]


def meld_names(melds: list[int]) -> list[str]:
    """``run`` or ``set`` for each meld, numbered where there are several of a kind."""
    kinds = ["run" if is_run(meld) else "set" for meld in melds]
    if len(set(kinds)) == len(kinds):
        return kinds
    return [f"{kind}{kinds[: k + 1].count(kind)}" if kinds.count(kind) > 1 else kind for k, kind in enumerate(kinds)]
