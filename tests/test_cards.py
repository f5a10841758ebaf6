"""Cards, decks and actions as text."""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import (
    NUM_ACTIONS,
    PHASE_DISCARD,
    PHASE_LAYOFF,
    PHASE_SPREAD,
    action_name,
    parse_action,
)
from ginenv.engine.cards import (
    ALL_CARDS,
    card_name,
    card_value,
    cards_of,
    check_deck,
    format_cards,
    mask_of,
    parse_card,
    parse_cards,
)
from ginenv.errors import CardError, IllegalActionError
from ginenv.hands.hand import deadwood
from tests.support.refusals import refuses


def test_names_go_both_ways():
    for card in range(52):
        assert parse_card(card_name(card)) == parse_card(card_name(card, symbols=True)) == card
        assert parse_card(f"  {card_name(card).lower()} ") == card
    assert len({card_name(card) for card in range(52)}) == 52
    assert parse_card("10d") == parse_card("TD") == 26 + 9
    assert parse_card("Q♡") == parse_card("qh")


def test_values():
    assert [card_value(card) for card in range(13)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]
    assert sum(card_value(card) for card in range(52)) == 340


def test_what_is_no_card_is_refused():
    for text in ("", "7", "7X", "1C", "11C", "CC", "77C", "C7", "♠"):
        with refuses(CardError, repr(text)):
            parse_card(text)
    for number in (-1, 52, "7C"):
        with refuses(CardError, 0, 51, number):
            card_name(number)


def test_lists_and_masks():
    assert parse_cards("7C 8C,TD 10h") == parse_cards("7C8CTDTH") == [19, 20, 35, 48]
    assert cards_of(mask_of([48, 3, 20])) == [3, 20, 48]
    assert format_cards(ALL_CARDS, separator="") == format_cards(range(52), separator="")
    assert card_name(19, symbols=True) == "7♣"
    with refuses(CardError, "7C8"):
        parse_cards("7C8")


def test_deadwood_takes_numbers_or_a_mask():
    cards = parse_cards("7C 8C 9C KH KD 2S")
    assert deadwood(cards) == deadwood(iter(cards)) == deadwood(np.array(cards)) == deadwood(mask_of(cards)) == 22
    assert deadwood(np.int64(mask_of(cards))) == 22 and deadwood([]) == 0
    for wrong, fact in (([7, 7], "8S"), (range(12), 12), (-1, -1), ("7C", "7"), ([7.5], 7.5), ([99], 99)):
        with refuses(CardError, fact):
            deadwood(wrong)


def test_decks():
    deck = list(range(51, -1, -1))
    assert check_deck(deck) == deck
    assert check_deck([card for card in range(52) if card % 13 < 8 and card < 39], 8, 3)
    for wrong, *facts in (
        (deck[:-1], 51, "AS"),
        ([51, *deck[:-1]], "AS", "KH"),
        ([52, *deck[1:]], 52),
        ([51, *deck], "KH"),
        (["seven"], "seven"),
        ([card + 0.5 for card in deck], 51.5),
    ):
        with refuses(CardError, *facts):
            check_deck(wrong)  # type: ignore[arg-type]


def test_actions_go_both_ways():
    for action in range(NUM_ACTIONS):
        assert parse_action(action_name(action)) == action
    for card in range(52):
        assert parse_action(action_name(card, PHASE_LAYOFF)) == card
        assert parse_action(action_name(card, PHASE_SPREAD)) == card
    assert action_name(106, PHASE_LAYOFF) == "done" and parse_action("done") == 106
    assert parse_action("  Knock   10D ") == 52 + 35 and action_name(52 + 35, PHASE_DISCARD) == "knock TD"


def test_what_is_no_action_is_refused():
    for text in ("", "discard", "discard ZZ", "knock", "spread 52", "spread x", "fold", "7C"):
        with refuses(IllegalActionError, repr(text)):
            parse_action(text)
    for number in (-1, 107, 1.5):
        with refuses(IllegalActionError, 0, 106, number):
            action_name(number)
