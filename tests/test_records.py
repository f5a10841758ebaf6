"""Records of games: read back as written, replayed, and refused with the line when something is wrong."""

from __future__ import annotations

import os
import re
from functools import cache

import numpy as np
import pytest

from ginenv.engine.state import same_records
from ginenv.errors import TextError
from ginenv.hands.hand import Match
from ginenv.hands.records import format_record, parse_record, read_record
from tests.support.positions import ALL_RULES, play_on
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
def test_games_are_read_back_and_go_on_alike(rules):
    for hands in (2, 12):
        match = play_game(rules, hands, hands)
        text = format_record(match)
        again = parse_record(text).match
        assert same_records(again.hand.state, match.hand.state)
        assert again.outcomes == match.outcomes and again.totals == match.totals
        assert format_record(again) == text
        if not match.is_over:
            again.next_hand()
            match.next_hand()
            assert same_records(again.hand.state, match.hand.state)
            play_on(match, np.random.default_rng(1))
            again = parse_record(format_record(match)).match
            assert same_records(again.hand.state, match.hand.state), "in play"


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
    """A game of several hands without its checks, so that the contents are judged and not the sums."""
    return re.sub("check=.*", "check=-", format_record(play_game("eaai", 1), ("first", "other")))


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("ginrecord 2 game", "ginrecord 9 game", ["ginrecord 2"]),
        (r"first \| other", "first", ["players"]),
        ("actions=.", "actions=?", ["actions"]),
        ("hand_no=1", "hand_no=2", ["hand_no=1", "hand_no=2"]),
        (r"hand_no=1 score=\S+", "hand_no=1 score=1:2", ["score=1:2"]),
        ("end$", "", ["end"]),
    ],
)
def test_errors_name_the_line_that_is_wrong_or_does_not_follow(old, new, facts):
    match = re.search(old, sample(), re.MULTILINE)
    assert match is not None
    changed = sample()[: match.start()] + new + sample()[match.end() :]
    with refuses(TextError, f"line {sample()[: match.start()].count(chr(10)) + 1}" if new else "breaks off", *facts):
        parse_record(changed)


def test_a_changed_hand_is_refused_and_words_for_people_are_not_read():
    text = format_record(play_game("eaai", 1))
    with pytest.raises(TextError):
        parse_record(text.replace("hand_no=1", "hand_no=2"))
    with refuses(TextError, "line 1"):
        parse_record("")
    again = parse_record(re.sub("# .*", "# kept", text)).match
    assert format_record(again) == text


def test_names_that_would_not_be_read_back_are_refused():
    match = Match("eaai", seed=1)
    for players in (("a|b", "c"), ("a", "b\nc"), ("a", "\x1b[2J"), ("a", "b\ud800")):
        with pytest.raises(TextError):
            format_record(match, players)
    text = format_record(match, ("a", "b"))
    for new in ("a | \x1b[31m", "\u202ea | b"):
        with refuses(TextError, f"line {text[: text.index('a | b')].count(chr(10)) + 1}"):
            parse_record(text.replace("a | b", new))
