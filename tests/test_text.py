"""Position strings: a line holds a whole state, or what one seat knows, exactly; anything else is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from ginenv.engine.actions import KNOCK, STOCK
from ginenv.engine.rules import PRESETS, Rules
from ginenv.engine.state import same_records
from ginenv.errors import GinError, RulesError, TextError
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import format_record, parse_record
from ginenv.hands.text import format_position, format_view, parse_position, parse_rules, parse_view, rules_text
from tests.support.damaged_texts import check_texts
from tests.support.positions import ALL_RULES, mutate, play_on, positions

DECK = "AS2S3S4S5S6S7S8S9STSAC2C3C4C5C6C7C8C9CTCAD2D3D4D5D6D7D8D9DTDJSQSKSJCQCKCJDQDKDAH2H3H4H5H6H7H8H9HTHJHQHKH"


def can_be_written(hand: Hand, seat: int) -> bool:
    return hand.is_over or hand.turn == seat


@pytest.mark.parametrize("rules", ALL_RULES)
def test_positions_are_read_back(rules):
    phases = set()
    for hand in positions(rules, 25, seed=21):
        phases.add(hand.phase)
        line = format_position(hand)
        assert "\n" not in line
        again = parse_position(line)
        assert same_records(again.state, hand.state)
        assert format_position(again) == line
    assert {"discard", "over"} <= phases


def test_the_game_around_the_hand_is_read_back():
    match = Match("dg-standard", seed=4)
    rng = np.random.default_rng(4)
    for _ in range(3000):
        if match.hand.is_over:
            if match.is_over:
                break
            match.next_hand()
        play_on(match, rng)
    assert match.is_over and match.played
    again = parse_position(format_position(match.hand))
    assert same_records(again.state, match.hand.state)
    assert again.state["hand_no"] == len(match.played) - 1


def test_a_warned_knock_is_read_back():
    hand = Hand.deal("dg-standard", seed=0)
    hand.push("take")
    hand.push(52 + next(action for action in hand.legal_actions() if action < 52))
    assert hand.warned and not hand.is_over
    line = format_position(hand)
    assert same_records(parse_position(line).state, hand.state)


def test_positions_after_knocks_above_the_limit_are_read_back():
    """Such a knock is played as a discard, also where another card could have been knocked with."""
    rng = np.random.default_rng(17)
    missed = 0
    for name in (name for name, rules in ALL_RULES.items() if rules.illegal_knock == "discard"):
        for seed in range(15):
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
    assert missed > 30


@pytest.mark.parametrize("rules", ALL_RULES)
def test_views_are_rebuilt_from_what_the_seat_knows(rules):
    written = 0
    for hand in positions(rules, 20, seed=22):
        for seat in (0, 1):
            view = hand.view(seat)
            if not can_be_written(hand, seat):
                with pytest.raises(TextError, match="the seat to move"):
                    format_view(view)
                continue
            line = format_view(view)
            again = parse_view(line)
            assert same_records(again, view)
            assert format_view(again) == line
            written += 1
    assert written >= 20


def test_a_view_holds_no_hidden_card():
    for hand in positions("eaai", 60, seed=23):
        if hand.is_over or hand.phase == "layoff":
            continue
        line = format_view(hand.view())
        body = line[line.index(" hand=") :]
        hidden = int(hand.state["hands"][0, 1 - hand.turn]) & ~int(hand.state["known"][0, 1 - hand.turn])
        pile = int(hand.state["pile_cards"][0])
        seen_before = int(hand.state["thrown"][0, 0] | hand.state["thrown"][0, 1])
        for card in range(52):
            if hidden >> card & 1 and not (pile | seen_before) >> card & 1:
                name = "A23456789TJQK"[card % 13] + "SCDH"[card // 13]
                assert name not in body


def test_rules_are_named_by_the_nearest_preset():
    assert rules_text(PRESETS["eaai"]).startswith("eaai@")
    changed = PRESETS["eaai"].replace(target=150, undercut_bonus=20)
    assert rules_text(changed).startswith("eaai,undercut_bonus=20,target=150@")
    assert parse_rules(rules_text(changed)) == changed
    assert parse_rules("gr,target=0") == PRESETS["gr"].replace(target=0)
    with pytest.raises(RulesError, match=r"rule 'target' has a value of 5,000 characters"):
        parse_rules("gr,target=" + "9" * 5000)
    for rules in ALL_RULES.values():
        # Rules that mean the same share a block, and it is the block that a state holds.
        assert np.array_equal(Rules.from_block(rules.block).block, rules.block)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "begins with 'gin1'"),
        ("fen rules=eaai check=-", "begins with 'gin1'"),
        (f"gin1 deck={DECK} check=-", "'rules' is missing"),
        ("gin1 rules=eaai check=-", "'deck' is missing"),
        (f"gin1 rules=eaai deck={DECK}", "check field"),
        (f"gin1 rules=eaai deck={DECK} check=12345678", "does not agree with its check field"),
        (f"gin1 rules=eaia deck={DECK} check=-", "did you mean 'eaai'"),
        (f"gin1 rules=eaai@000000000000 deck={DECK} check=-", "have the hash"),
        (f"gin1 rules=eaai,target deck={DECK} check=-", "expected rules such as 'eaai,target=50'"),
        (f"gin1 rules=eaai,target=9999 deck={DECK} check=-", "from 0 to 500"),
        (f"gin1 rules=eaai deck={DECK[:-2]} check=-", "missing: KH"),
        (f"gin1 rules=eaai deck={DECK[:-2]}AS check=-", "missing: KH; duplicate: AS"),
        (f"gin1 rules=eaai deck={DECK[:-2]}1S check=-", "got '1S'"),
        (
            f"gin1 rules=eaai deck={DECK} actions=pps check=-",
            "action 104 (draw stock) is not legal in the discard phase",
        ),
        (f"gin1 rules=eaai deck={DECK} actions=ppJS check=-", "(discard JS) is not legal"),
        (f"gin1 rules=eaai deck={DECK} actions=pp+AS check=-", "cannot be played in the discard phase"),
        (f"gin1 rules=eaai deck={DECK} actions=ppa00 check=-", "cannot be played in the discard phase"),
        (f"gin1 rules=eaai deck={DECK} actions=ppQQ check=-", "cannot be read from 'QQ'"),
        (
            f"gin1 rules=eaai deck={DECK} starter=2 check=-",
            "field 'starter' must be a whole number from 0 to 1, got '2'",
        ),
        (f"gin1 rules=eaai deck={DECK} score=1:2:3 check=-", "a pair such as"),
        (f"gin1 rules=eaai deck={DECK} boxes=1:256 check=-", "from 0 to 255"),
        (
            f"gin1 rules=eaai deck={DECK} key=xyz check=-",
            "field 'key' must be a hexadecimal number from 0 to ffffffffffffffff, got 'xyz'",
        ),
        (f"gin1 rules=eaai deck={DECK} game=won check=-", "field 'game' must be written"),
        (f"gin1 rules=eaai deck={DECK} colour=red check=-", "unknown field 'colour'"),
        (f"gin1 rules=eaai rules=eaai deck={DECK} check=-", "'rules' is given twice"),
        (f"gin1 rules=eaai deck={DECK} actions check=-", "expected a field such as name=value, got 'actions'"),
    ],
)
def test_what_is_wrong_is_named(line, sentence):
    with pytest.raises(TextError) as caught:
        parse_position(line)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("cannot read the position: ")


VIEW_LINE = "ginview1 rules=eaai seat=0 starter=0 up=JS hand=AS2S3S4S5S6S7S8S9STSKS drawn=KS actions=pp check=-"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("hand=AS", "hand=", "a seat holds 11 cards there, not 10"),
        ("drawn=KS ", "", "the card drawn"),
        ("drawn=KS", "drawn=QS", "the card drawn"),
        ("hand=AS", "hand=JS", "not those that the actions leave"),
        ("seat=0", "seat=1", "seat 1 is not to move"),
        ("seat=0 ", "", "'seat' is missing"),
        ("actions=pp", "actions=ppJS", "cannot be played"),
        ("actions=pp", "actions=ppk2S", "cannot be played"),
        ("actions=pp", "actions=ppkKS", "the other seat shows 10 cards, not 0"),
        ("actions=pp", "actions=ppKSsk2D", "the knocker's cards do not lie open"),
        ("check=-", "shown=AC2C3C4C5C6C7C8C9CTC check=-", "shown although nobody knocked"),
        ("up=JS ", "", "'up' is missing"),
    ],
)
def test_what_is_wrong_with_a_view_is_named(old, new, sentence):
    assert parse_view(VIEW_LINE)["to_move"][0] == 1
    assert old in VIEW_LINE
    with pytest.raises(TextError) as caught:
        parse_view(VIEW_LINE.replace(old, new, 1))
    assert sentence in str(caught.value)


def test_a_thousand_round_trips_and_mutations():
    """340 of each of three kinds; `python -m tests.support.damaged_texts` does ten thousand of each."""
    assert check_texts(340, seed=1).failures == []


def test_mutated_lines_of_views_never_crash():
    rng = np.random.default_rng(9)
    hands = list(positions("gc", 20, seed=25)) + list(positions("openspiel", 20, seed=26))
    lines = [format_view(hand.view()) for hand in hands]
    for k in range(600):
        line = lines[k % len(lines)]
        # With "check=-" what a line says is judged by itself.
        changed = mutate(line[: line.rindex("check=")], rng) + " check=-"
        try:
            view = parse_view(changed)
        except TextError as error:
            assert str(error).startswith("cannot read the view: ")
            continue
        assert view["to_move"][0] or view["phase"][0] == 6


def test_a_knock_in_the_first_turn_is_written_for_both_seats_under_a_small_deck():
    deck = "5D7C5S3D2S2D4S4C8S4D8DADAS8C5C7DAC2C6C7S6D3S3C6S"
    rules = "eaai,knock_limit=5,ranks=8,suits=3,hand_size=6"
    hand = parse_position(f"gin1 rules={rules} starter=0 deck={deck} actions=t3DskAD check=-")
    for seat in (0, 1):
        assert same_records(parse_view(format_view(hand.view(seat))), hand.view(seat))


@pytest.mark.parametrize("read", [parse_position, parse_view, parse_record, parse_rules])
@pytest.mark.parametrize("half", ["\ud800", "\udfff"])
def test_half_a_character_is_refused_in_every_text(read, half):
    hand = Hand.deal("eaai", seed=1)
    for text in (format_position(hand), format_view(hand.view()), format_record(hand, note="a note"), "eaai"):
        for changed in (
            text + half,
            half + text,
            text.replace(" ", f" x={half} ", 1),
            text.replace("note", f"note {half}"),
        ):
            if half not in changed:
                continue
            with pytest.raises(GinError) as caught:
                read(changed)
            str(caught.value).encode()


def test_a_record_with_half_a_character_is_not_written():
    with pytest.raises(TextError, match="cannot stand in a record"):
        format_record(Hand.deal("eaai", seed=1), players=("anna", "b\ud800"))
