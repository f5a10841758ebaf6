"""Cards as numbers and as text.

A card is ``13 * suit + rank``: suits in the order spades, clubs, diamonds, hearts, ranks from ace (0) to king (12).
A set of cards is an integer with bit ``card`` set; 52 bits fit a signed 64-bit word, so masks are plain ``int64``.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from numbers import Integral

from ginenv.errors import CardError, quoted

RANKS = "A23456789TJQK"
SUITS = "SCDH"
SUIT_SYMBOLS = "♠♣♦♥"
NUM_CARDS = 52
ALL_CARDS = (1 << NUM_CARDS) - 1

_SYMBOL_TO_SUIT = {symbol: index for index, symbol in enumerate(SUIT_SYMBOLS)} | {"♡": 3, "♢": 2, "♤": 0, "♧": 1}


def card_value(card: int) -> int:
    """Points of a card as deadwood: ace 1, two to ten their number, face cards 10."""
    return min(10, card % 13 + 1)


def _number(card: int) -> int:
    """The number of a card; ``CardError`` if it is none."""
    if not isinstance(card, Integral) or not 0 <= card < NUM_CARDS:
        raise CardError(f"expected the number of a card, from 0 to {NUM_CARDS - 1}, got {quoted(card)}")
    return int(card)


def card_name(card: int, symbols: bool = False) -> str:
    """Two characters for a card: ``7C`` (or ``7♣`` with ``symbols``); ten is ``T``.

    Raises:
        CardError: if the number is not that of a card.
    """
    card = _number(card)
    return RANKS[card % 13] + (SUIT_SYMBOLS if symbols else SUITS)[card // 13]


def parse_card(text: str) -> int:
    """The card with a name such as ``7C``, ``TD``, ``10d`` or ``Q♥``; case does not matter.

    Raises:
        CardError: if the text is not the name of a card.
    """
    name = text.strip().upper()
    rank_text, suit_text = name[:-1], name[-1:]
    if rank_text == "10":
        rank_text = "T"
    suit = _SYMBOL_TO_SUIT.get(suit_text, SUITS.find(suit_text) if suit_text else -1)
    if len(rank_text) != 1 or rank_text not in RANKS or suit < 0:
        raise CardError(f"expected a card such as '7C' (ranks {RANKS}, suits {SUITS}), got {quoted(text)}")
    return 13 * suit + RANKS.index(rank_text)


def cards_of(mask: int) -> list[int]:
    """The cards of a mask in ascending order.

    Raises:
        CardError: if the number is not a mask of cards, from 0 to 2^52 - 1.
    """
    cards = []
    if not isinstance(mask, Integral) or not 0 <= mask <= ALL_CARDS:
        raise CardError(f"expected a mask of cards, from 0 to 2^{NUM_CARDS} - 1, got {quoted(mask)}")
    mask = int(mask)
    while mask:
        low = mask & -mask
        cards.append(low.bit_length() - 1)
        mask ^= low
    return cards


def mask_of(cards: Iterable[int]) -> int:
    """The mask of some cards.

    Raises:
        CardError: if a number is not that of a card.
    """
    mask = 0
    for card in cards:
        mask |= 1 << _number(card)
    return mask


def format_cards(cards: Iterable[int] | int, separator: str = " ") -> str:
    """Names of cards (an iterable of numbers, or a mask), separated by blanks.

    Raises:
        CardError: if a number is not that of a card.
    """
    chosen = cards if isinstance(cards, Iterable) else cards_of(cards)
    return separator.join(card_name(card) for card in chosen)


def parse_cards(text: str) -> list[int]:
    """The cards in a text such as ``"7C 8C TD"`` or ``"7C8CTD"``, in the order written.

    Raises:
        CardError: if a part of the text is not the name of a card.
    """
    cards = []
    for word in text.replace(",", " ").split():
        word = word.replace("10", "T")
        if len(word) % 2:
            raise CardError(f"expected cards of two characters each, such as '7C8CTD', got {quoted(word)}")
        cards.extend(parse_card(word[i : i + 2]) for i in range(0, len(word), 2))
    return cards


def check_deck(deck: Sequence[int] | str, ranks: int = 13, suits: int = 4) -> list[int]:
    """A deck as a list of numbers, or an error that names missing and duplicate cards.

    Args:
        deck: the cards in the order dealt, as numbers or as text.
        ranks: ranks in play (13 for the full deck).
        suits: suits in play.

    Raises:
        CardError: if the deck is not a permutation of the cards in play.
    """
    expected = [13 * suit + rank for suit in range(suits) for rank in range(ranks)]
    try:
        cards = [operator.index(card) for card in (parse_cards(deck) if isinstance(deck, str) else deck)]
    except TypeError:
        raise CardError(f"expected a deck as text, such as '7C8CTD', or as card numbers, got {quoted(deck)}") from None
    wrong = sorted(set(cards) - set(expected))
    doubled = sorted({card for card in cards if cards.count(card) > 1} - set(wrong))
    missing = sorted(set(expected) - set(cards))
    if not wrong and not doubled and not missing:
        return cards
    parts = [f"a deck has each of the {len(expected)} cards once; this one has {len(cards)}"]
    if missing:
        parts.append(f"missing: {format_cards(missing)}")
    if doubled:
        parts.append(f"duplicate: {format_cards(doubled)}")
    if wrong:
        parts.append(f"not in this deck: {', '.join(str(card) for card in wrong)}")
    raise CardError("; ".join(parts))
