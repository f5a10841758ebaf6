"""Records of hands and games: read back as written, replayed, and refused with the line when something is wrong."""

from __future__ import annotations

import os
import re
from functools import cache

import numpy as np
import pytest

from ginenv.engine.state import same_records
from ginenv.errors import TextError
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import format_record, parse_record, read_record
from tests.support.positions import ALL_RULES, play_on, positions
from tests.support.refusals import refuses


def play_game(rules: str, seed: int, hands: int = 12) -> Match:
    """A game played eagerly, at most so many hands of it."""
    rng = np.random.default_rng(seed)
    match = Match(ALL_RULES[rules], seed=seed)
    while True:
        while not match.hand.is_over:
            play_on(match, rng)
        if match.is_over or len(match.played) == hands:
            return match
        match.next_hand()


@pytest.mark.parametrize("rules", ALL_RULES)
def test_hands_in_play_and_over_are_read_back(rules):
    for hand in positions(rules, 8, seed=11, chance=0.03):
        for name in ("score", "boxes", "hand_no", "drawn_hands"):
            hand.state[name] = 0
        text = format_record(hand, ("a", "b"))
        record = parse_record(text)
        assert record.match is None and record.players == ("a", "b")
        # A record holds what was played; that the last knock was warned of and became a discard is forgotten.
        hand.state["warned"] = 0
        assert same_records(record.hand.state, hand.state)
        assert format_record(record.hand, record.players) == text


@pytest.mark.parametrize("rules", ["dg-standard", "ht1", "gr-oklahoma", "ht2-traditional", "eleven-chosen"])
def test_games_are_read_back_and_go_on_alike(rules):
    for hands in (2, 12):
        match = play_game(rules, hands, hands)
        text = format_record(match)
        again = parse_record(text).match
        assert again is not None
        assert same_records(again.hand.state, match.hand.state)
        assert again.outcomes == match.outcomes and again.totals == match.totals
        assert format_record(again) == text
        if not match.is_over:
            match.next_hand()
            again.next_hand()
            assert same_records(again.hand.state, match.hand.state)


def test_records_are_read_from_files(tmp_path):
    match = play_game("dg-standard", 3)
    (tmp_path / "game.txt").write_text(format_record(match, ("formula", "simple")))
    record = read_record(tmp_path / "game.txt")
    assert record.players == ("formula", "simple")
    with refuses(TextError, "nothing.txt"):
        read_record(tmp_path / "nothing.txt")
    # Neither ends: a pipe into which nobody writes, and a device.
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with refuses(TextError, path):
            read_record(path)


@cache
def sample() -> str:
    """A game of several hands without its check, so that the contents are judged and not the sum."""
    text = format_record(play_game("eaai", 1))
    assert "score:" in text and "end:" in text
    return text[: text.rindex("check:")] + "check: -\n"


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("ginrecord 1", "ginrecord 9", "ginrecord 1"),
        ("rules: eaai", "rules: eaia", "eaai"),
        ("hand 1, seat", "hand 2, seat", "hand 1"),
        ("hand 2, seat 1", "hand 2, seat 0", "seat 1"),
        ("seat 0: ", "seat 0: 7C ", 11),
        ("upcard: ", "upcard: ZZ ", "ZZ"),
        ("1. seat", "7. seat", 7),
        (": pass", ": discard 7C", "discard 7C"),
        (": pass", ": fly", "fly"),
        ("result: ", "result: gin, ", "result"),
        ("score: ", "score: 1", "score"),
        ("end: won by seat", "end: won by nobody", "won by"),
        ("draw stock (", "draw stock (Q", "line"),
    ],
)
def test_errors_name_the_line(old, new, fact):
    line = sample()[: sample().index(old)].count("\n") + 1
    with refuses(TextError, f"line {line}", fact):
        parse_record(sample().replace(old, new, 1))


def test_a_deck_with_a_duplicate_card_is_refused():
    text = sample()
    lines = text.splitlines()
    stock = next(k for k, line in enumerate(lines) if line.startswith("stock: "))
    words = lines[stock].split()
    words[1] = words[2]
    lines[stock] = " ".join(words)
    with refuses(TextError, f"line {stock + 1}", words[1]):
        parse_record("\n".join(lines))


def test_a_record_that_breaks_off_or_contradicts_its_check_line_is_refused():
    text = format_record(play_game("eaai", 1), ("first", "other"))
    for wrong in (sample()[: sample().index("upcard:")], text.replace("first", "second")):
        with pytest.raises(TextError):
            parse_record(wrong)
    with refuses(TextError, "line 1"):
        parse_record("")
    assert parse_record("# kept\n\n" + text.replace("\n1. ", "\n# here\n1. ", 1)).players[0] == "first"


def test_what_is_in_brackets_may_be_left_out():
    bare = parse_record(re.sub(r" \(..\)", "", sample())).match
    assert bare is not None and re.sub("check: .*", "check: -", format_record(bare)) == sample()


def test_names_that_would_not_be_read_back_are_refused():
    hand = Hand.deal("eaai", seed=1)
    for players in (("a|b", "c"), ("a", "b\nc"), ("a", "\x1b[2J"), ("a", "b\ud800"), ("a", "two  blanks")):
        with pytest.raises(TextError):
            format_record(hand, players)
    text = re.sub("check: .*", "check: -", format_record(hand, ("a", "b")))
    for new in ("a | \x1b[31m", "\u202ea | b"):
        with refuses(TextError, f"line {text[: text.index('a | b')].count(chr(10)) + 1}"):
            parse_record(text.replace("a | b", new))
