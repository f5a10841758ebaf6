"""Deadwood, spreads and lay-offs: against a brute force, and the cases that other engines get wrong."""

from __future__ import annotations

import pytest

from ginenv.engine.cards import format_cards, mask_of, parse_cards
from ginenv.engine.melds import (
    best_layoff,
    best_spread,
    deadwood,
    deadwood_layoff,
    nth_arrangement,
)
from tests.support.brute_melds import Brute, all_melds, check_melds, is_meld
from tests.support.scale import SCALE


def mask(text: str) -> int:
    return mask_of(parse_cards(text))


def spread_of(text: str, unseen: int = 0, known_cards: int = 0, hidden: int = 10) -> list[str]:
    melds = best_spread(mask(text), unseen, known_cards, hidden)
    return sorted(format_cards(int(meld)) for meld in melds if meld)


def test_random_hands_agree_with_the_brute_force():
    assert check_melds(1500 * SCALE, seed=3) == []


def test_the_brute_force_knows_the_rules():
    assert is_meld(parse_cards("7C 7D 7H")) and is_meld(parse_cards("AS 2S 3S"))
    assert not is_meld(parse_cards("QS KS AS")), "the ace is low"
    assert not is_meld(parse_cards("KS AC 2C")), "a run stays in its suit"
    assert len(all_melds(mask("7S 7C 7D 7H"))) == 5
    assert len(all_melds(mask("3S 4S 5S 6S"))) == 3
    assert Brute(mask("3S 4S 5S KD")).deadwood() == 10


@pytest.mark.parametrize(
    ("cards", "points"),
    [
        ("AS 2S 3S 4C 4D 4H TH JH QH KH", 0),
        ("QS KS AS 2S 4D 6D 8D TC TD TH", 10 + 10 + 1 + 2 + 4 + 6 + 8),
        ("3S 2C 5C 6C 3D 4D 5D 6D 4H 5H 6H", 10),  # OpenSpiel 2.0.2 says 12
        ("AS AC AD AH 2S 3S 4S 5S 6S 7S 8S", 0),
        ("KS KC KD QS QC QD JS JC JD TS AH", 1),
    ],
)
def test_deadwood_of_hands_worked_out_by_hand(cards, points):
    hand = mask(cards)
    # Of eleven cards the last one listed can be given up, or none.
    if hand.bit_count() == 11:
        best = min(deadwood(hand & ~(1 << card)) for card in parse_cards(cards))
        assert min(best, deadwood(hand)) <= points
    assert Brute(hand).deadwood() == deadwood(hand)
    if hand.bit_count() == 10:
        assert deadwood(hand) == points


def test_of_equal_spreads_the_one_that_gives_least_is_taken():
    # Three sets or three runs melds all nine; the opponent is known to hold what would go on the one or on the other.
    cards = "7S 8S 9S 7C 8C 9C 7D 8D 9D AH"
    sets, runs = ["7S 7C 7D", "8S 8C 8D", "9S 9C 9D"], ["7S 8S 9S", "7C 8C 9C", "7D 8D 9D"]
    runs.sort()
    assert spread_of(cards, known_cards=mask("6S TC")) == sets
    assert spread_of(cards, known_cards=mask("7H 8H")) == runs
    # What is seen to be gone cannot be laid off.
    assert spread_of(cards, unseen=mask("6S TC 6D 7H")) == sets
    assert spread_of(cards, unseen=mask("7H 8H 9H 6S")) == runs


def test_own_melds_are_broken_up_where_that_leaves_less():
    # The run saves 30 and the eights 24; with 6S and 7S laid off the eights leave only 9S.
    cards = mask("6S 7S 8S 9S 8C 8D KD QC AH 2H")
    laid, left = best_layoff(cards, mask("3S 4S 5S"), 0, 0)
    assert (format_cards(int(laid)), left) == ("6S 7S", 9 + 23)
    laid, left = deadwood_layoff(cards, mask("3S 4S 5S"), 0, 0)
    assert (laid, left) == (0, 16 + 23)


def test_most_arrangements_fit_the_actions():
    """Ten cards have at most 36 arrangements; actions have room for 52."""
    assert int(nth_arrangement(mask("4S 4C 4D 4H 5S 5C 5D 5H 6S 6C"), 60, 0)[0]) <= 36
