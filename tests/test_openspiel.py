"""The `openspiel` preset against OpenSpiel 2.0.2: a recorded sample, and a few hands live where it is installed."""

from __future__ import annotations

import pytest

from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import format_cards, mask_of, parse_cards
from ginenv.engine.engine import End
from ginenv.hands.hand import Hand
from ginenv.hands.text import push_text
from tests.support.openspiel_twin import PHASE_LETTERS, SAMPLE, RecordedHand, meld_ids
from tests.support.scale import SCALE

RECORDED = [RecordedHand.from_line(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


def legal_as_openspiel(hand: Hand, letter: str, knocks: set[int]) -> list[int]:
    """The legal actions that a recorded phase and its knocks stand for."""
    if letter == "U":
        return [UPCARD, PASS]
    if letter == "D":
        return [STOCK, UPCARD]
    if letter == "W":
        return [UPCARD, PASS] if knocks else [PASS]
    hand_cards = int(hand.state["hands"][0, hand.turn])
    return [card for card in range(52) if hand_cards >> card & 1] + [KNOCK + card for card in sorted(knocks)]


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_recorded_hands_have_the_same_legal_actions_hands_and_returns(number):
    recorded = RECORDED[number]
    played = Hand.deal("openspiel", deck=recorded.deck)
    push_text(played, recorded.actions)
    hand = Hand.deal("openspiel", deck=recorded.deck)
    knocks = iter(recorded.knocks)
    letters = iter(recorded.phases)
    hand_cards = hand.state["hands"][0].copy()
    for action in played.history:
        hand_cards = hand.state["hands"][0].copy()
        took_at_wall = hand.phase == "discard" and all(KNOCK <= a < STOCK for a in hand.legal_actions())
        if not took_at_wall:
            letter = next(letters)
            assert PHASE_LETTERS[hand.phase] == letter
            allowed = set(parse_cards(next(knocks))) if letter in "XW" else set()
            assert hand.legal_actions() == legal_as_openspiel(hand, letter, allowed)
        hand.push(action)
    assert hand.is_over and next(letters, None) is None
    if hand.state["knocker"][0] == 2:
        hand_cards = hand.state["hands"][0]
    assert [format_cards(int(cards), separator="") for cards in hand_cards] == list(recorded.hands)
    points = int(hand.state["points"][0])
    winner = hand.state["winner"][0]
    assert recorded.returns == ((0, 0) if winner == 2 else (points, -points) if winner == 0 else (-points, points))


def test_the_sample_holds_every_end_of_a_hand():
    ends = set()
    for recorded in RECORDED:
        hand = Hand.deal("openspiel", deck=recorded.deck)
        push_text(hand, recorded.actions)
        ends.add(hand.outcome.end)
    assert ends == set(End) - {End.NOT_OVER, End.BIG_GIN}


def test_meld_numbers_are_openspiels():
    names = {"AS AC AD": 56 + 3, "AS AC AD AH": 56 + 4, "AS 2S 3S": 56 + 65, "JH QH KH": 56 + 65 + 3 * 11 + 10}
    for cards, number in names.items():
        assert meld_ids(mask_of(parse_cards(cards))) == [number]
    assert len(meld_ids(mask_of(parse_cards("AS 2S 3S 4S 5S 6S")))) == 2


@pytest.mark.extra
def test_hands_played_in_both():
    pytest.importorskip("pyspiel")
    from tests.support.openspiel_twin import play_hands

    ends = 0
    for twin, difference, complete in play_hands(18 * SCALE, seed=77):
        assert difference is None, (str(difference), twin.record.deck)
        ends += complete
    assert ends >= 15 * SCALE
