"""Position strings: a line holds a whole state, or what one seat knows, exactly; anything else is refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ginenv.engine.actions import KNOCK, STOCK
from ginenv.engine.cards import format_cards
from ginenv.engine.rules import PRESETS, Rules
from ginenv.engine.state import same_records
from ginenv.errors import GinError, RulesError, TextError
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import format_record, parse_record
from ginenv.hands.text import format_position, format_view, parse_position, parse_rules, parse_view, rules_text
from tests.support.mutations import check_reader
from tests.support.positions import ALL_RULES, mutate, play_on, positions
from tests.support.refusals import refuses
from tests.support.scale import SCALE

DECK = "AS2S3S4S5S6S7S8S9STSAC2C3C4C5C6C7C8C9CTCAD2D3D4D5D6D7D8D9DTDJSQSKSJCQCKCJDQDKDAH2H3H4H5H6H7H8H9HTHJHQHKH"


@pytest.mark.parametrize("rules", ALL_RULES)
def test_positions_and_views_are_read_back(rules):
    """A view holds what the seat to move knows, and no card more: it is rebuilt from its line alone."""
    phases = set()
    for hand in positions(rules, 15, seed=21):
        phases.add(hand.phase)
        line = format_position(hand)
        assert "\n" not in line and same_records(parse_position(line).state, hand.state)
        for seat in (0, 1):
            view = hand.view(seat)
            if hand.is_over or hand.turn == seat:
                assert same_records(parse_view(format_view(view)), view)
            else:
                with pytest.raises(TextError):
                    format_view(view)
    assert {"discard", "over"} <= phases


def test_the_game_around_the_hand_is_read_back():
    match, rng = Match("dg-standard", seed=4), np.random.default_rng(4)
    while not match.is_over:
        if match.hand.is_over:
            match.next_hand()
        play_on(match, rng)
    again = parse_position(format_position(match.hand))
    assert same_records(again.state, match.hand.state)
    assert again.state["hand_no"] == len(match.played) - 1


def test_positions_after_knocks_above_the_limit_are_read_back():
    """Such a knock is played as a discard, also where another card could have been knocked with."""
    rng = np.random.default_rng(17)
    missed = 0
    for name in (name for name, rules in ALL_RULES.items() if rules.illegal_knock == "discard"):
        for seed in range(5):
            hand = Hand.deal(ALL_RULES[name], seed=seed)
            while not hand.is_over:
                legal = hand.legal_actions()
                above = [action + KNOCK for action in legal if action < KNOCK and action + KNOCK not in legal]
                could_knock = any(KNOCK <= action < STOCK for action in legal)
                bold = hand.phase == "discard" and above and rng.random() < (0.7 if could_knock else 0.2)
                if bold:
                    hand.push(int(rng.choice(above)))
                    assert hand.warned and not hand.state["knocker"][0] < 2
                else:
                    play_on(hand, rng)
                if hand.is_over or (bold and could_knock) or rng.random() < 0.1:
                    assert same_records(parse_position(format_position(hand)).state, hand.state)
                missed += bool(bold and could_knock)
    assert missed > 10


def test_rules_are_named_by_the_nearest_preset():
    assert rules_text(PRESETS["eaai"]).startswith("eaai@")
    changed = PRESETS["eaai"].replace(target=150, undercut_bonus=20)
    assert rules_text(changed).startswith("eaai,undercut_bonus=20,target=150@")
    assert parse_rules(rules_text(changed)) == changed
    assert parse_rules("gr,target=0") == PRESETS["gr"].replace(target=0)
    with refuses(RulesError, "target", "5,002"):
        parse_rules("gr,target=" + "9" * 5000)
    for rules in ALL_RULES.values():
        # Rules that mean the same share a block, and it is the block that a state holds.
        assert np.array_equal(Rules.from_block(rules.block).block, rules.block)


def line_with(rules: str = "rules=eaai", deck: str = f"deck={DECK}", more: str = "check=-") -> str:
    return f"gin1 {rules} {deck} {more}"


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("", ["gin1"]),
        (line_with(rules=""), ["rules"]),
        (line_with(more=""), ["check"]),
        (line_with("rules=eaia"), ["eaai"]),
        (line_with("rules=eaai@000000000000"), ["hash"]),
        (line_with(deck=f"deck={DECK[:-2]}"), ["KH"]),
        (line_with(more="actions=pps check=-"), [104, "draw stock", "discard"]),
        (line_with(more="actions=pp+AS check=-"), ["+AS", "discard"]),
        (line_with(more="actions=ppQQ check=-"), ["QQ"]),
        (line_with(more="starter=2 check=-"), ["starter", 0, 1, 2]),
        (line_with(more="score=1:2:3 check=-"), ["score"]),
        (line_with(more="boxes=1:256 check=-"), [0, 255]),
        (line_with(more="game=won check=-"), ["game"]),
        (line_with(more="actions check=-"), ["actions"]),
    ],
)
def test_what_is_wrong_is_named(line, facts):
    with refuses(TextError, *facts):
        parse_position(line)


VIEW_LINE = "ginview1 rules=eaai seat=0 starter=0 up=JS hand=AS2S3S4S5S6S7S8S9STSKS drawn=KS actions=pp check=-"


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("hand=AS", "hand=", [11, 10]),
        ("drawn=KS ", "", ["drawn"]),
        ("hand=AS", "hand=JS", ["actions"]),
        ("seat=0", "seat=1", ["seat 1"]),
        ("actions=pp", "actions=ppJS", ["JS"]),
        ("actions=pp", "actions=ppkKS", [10, 0]),
        ("actions=pp", "actions=ppKSsk2D", ["knocker"]),
        ("check=-", "shown=AC2C3C4C5C6C7C8C9CTC check=-", ["shown"]),
    ],
)
def test_what_is_wrong_with_a_view_is_named(old, new, facts):
    assert parse_view(VIEW_LINE)["to_move"][0] == 1 and old in VIEW_LINE
    with refuses(TextError, *facts):
        parse_view(VIEW_LINE.replace(old, new, 1))


# What is written of a hand, how it is read, and how what was read is written again.
KINDS = {
    "position": (format_position, parse_position, format_position),
    "view": (lambda hand: format_view(hand.view()), parse_view, format_view),
}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_read_back_and_mutations_are_refused_or_mean_the_same(kind):
    write, read, write_again = KINDS[kind]
    rng = np.random.default_rng(1)
    texts = [write(hand) for rules in ALL_RULES for hand in positions(rules, 6 * SCALE, seed=1)]
    assert [write_again(read(text)) for text in texts] == texts

    def read_changed(case):
        text, changed = case
        try:
            assert write_again(read(changed)) == text, f"another meaning: {changed}"
        except GinError as error:
            assert isinstance(error, TextError), changed
            raise

    assert check_reader(((kind, (text, mutate(text, rng))) for text in texts), read_changed).failures == []


def test_a_knock_in_the_first_turn_is_written_for_both_seats_under_a_small_deck():
    deck = "5D7C5S3D2S2D4S4C8S4D8DADAS8C5C7DAC2C6C7S6D3S3C6S"
    rules = "eaai,knock_limit=5,ranks=8,suits=3,hand_size=6"
    hand = parse_position(f"gin1 rules={rules} starter=0 deck={deck} actions=t3DskAD check=-")
    for seat in (0, 1):
        assert same_records(parse_view(format_view(hand.view(seat))), hand.view(seat))


# One file of each form reads as it did when it was written, and is written again to the byte.

FILES = Path(__file__).parent / "data" / "formats"


def test_a_record_is_read_and_written_to_the_byte() -> None:
    text = (FILES / "record.gin").read_text(encoding="utf-8")
    record = parse_record(text)
    assert record.players == ("one", "other")
    assert record.match.totals == (357, 0) and record.match.rules.target == 20
    assert [str(outcome) for outcome in record.match.outcomes] == [
        "knock by seat 0, deadwood 10 against 76; 66 to seat 0"
    ]
    assert format_record(record.match, record.players) == text


def test_positions_and_views_are_read_and_written_to_the_byte() -> None:
    line = (FILES / "position.txt").read_text(encoding="utf-8").strip()
    hand = parse_position(line)
    assert (hand.phase, hand.turn, len(hand.history)) == ("discard", 0, 3) and format_position(hand) == line
    for line in (FILES / "views.txt").read_text(encoding="utf-8").splitlines():
        view = parse_view(line)
        assert f" hand={format_cards(int(view['hand'][0]), separator='')} " in line
        assert format_view(view) == line
