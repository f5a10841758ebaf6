"""One file of each text form reads as it did when it was written, and is written again to the byte."""

from __future__ import annotations

from pathlib import Path

from ginenv.engine.cards import format_cards
from ginenv.hands.records import format_record, parse_record
from ginenv.hands.text import format_position, format_view, parse_position, parse_view

FILES = Path(__file__).parent / "data" / "formats"


def test_a_record_is_read_and_written_to_the_byte() -> None:
    text = (FILES / "record.gin").read_text(encoding="utf-8")
    record = parse_record(text)
    assert record.players == ("one", "other") and record.match is not None
    assert record.match.totals == (357, 0) and record.match.rules.target == 20
    assert [str(outcome) for outcome in record.match.outcomes] == [
        "knock by seat 0, deadwood 10 against 76; 66 to seat 0"
    ]
    assert format_record(record.match, record.players) == text


def test_a_position_is_read_and_written_to_the_byte() -> None:
    line = (FILES / "position.txt").read_text(encoding="utf-8").strip()
    hand = parse_position(line)
    assert (hand.phase, hand.turn, len(hand.history)) == ("discard", 0, 3)
    assert format_position(hand) == line


def test_views_are_read_and_written_to_the_byte() -> None:
    lines = (FILES / "views.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5
    for line in lines:
        view = parse_view(line)
        assert f" hand={format_cards(int(view['hand'][0]), separator='')} " in line
        assert format_view(view) == line
