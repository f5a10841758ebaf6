"""Every rule of every source, by the row of its table: what happens at the table.

A probe (``tests.support.scenes``) plays a small arranged scene under some rules and says what happened. ``EXPECTED`` holds, for every
row of the tables and every preset (and some of the sources' options), what the source says should happen. Scores are in
``test_scoring.py``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from ginenv.engine.engine import End
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.errors import RulesError
from tests.support.refusals import refuses
from tests.support.scenes import PROBES, SOURCES

# ------------------------------------------------------------------ what the sources say

_ALL = tuple(SOURCES)


def _of(*prefixes: str, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    return tuple(name for name in _ALL if name.startswith(prefixes) and name not in but)


DG, GR_ALL, HT1, HT2, GC = _of("dg"), _of("gr"), _of("ht1"), _of("ht2"), _of("gc")
ELEVEN = ("ht2-simple", "ht2-traditional", "dg-eleven", "gr-eleven", "gr-eleven-oklahoma", "ht1-elder")
GIN_ONLY = ("dg-simple", "gr-gin-only-oklahoma")
GR_OKLAHOMA = ("gr-oklahoma", "gr-eleven-oklahoma", "gr-gin-only-oklahoma", "gr-ace-one")

# For every row: what is seen, and under which sources; a source that is not named goes by the first line.
EXPECTED: dict[str, list[tuple[Any, tuple[str, ...]]]] = {
    "deal": [
        (([10, 10], 1, "upcard", 52), ()),
        (([11, 10], 0, "discard", 52), ELEVEN),
        (([10, 10], 1, "draw", 52), ("gr-human-starts",)),
    ],
    "first upcard": [
        (("offer", (1, "upcard"), 0, "discard", "QS"), ()),
        ("none", ELEVEN),
        (("no offer", ["draw stock", "take"]), ("gr-human-starts",)),
    ],
    "first turn at eleven/ten": [
        ("draws first", ()),
        (False, HT2),
        (True, ("dg-eleven", "gr-eleven", "gr-eleven-oklahoma", "ht1-elder")),
    ],
    "who goes first": [({0, 1}, ()), ({0}, ("openspiel", "gr-human-starts"))],
    # After seat 0 began: it won, it lost, drawn, worth nothing; then the same after seat 1 began.
    "who goes next": [
        ([1, 0, 0, 0, 1, 0, 1, 1], ()),
        ([1, 1, 0, 0, 0, 0, 1, 1], (*HT1, *GC, "eaai")),
        ([0, 0, 0, 0, 0, 0, 1, 1], ("openspiel", "gr-human-starts")),
    ],
    "discarding the upcard just taken": [(False, ()), (True, ("openspiel",))],
    # For an ace, a seven and a king turned.
    "knock limit": [
        ([10, 10, 10], ()),
        ([0, 0, 0], GIN_ONLY),
        ([1, 7, 10], ("dg-oklahoma", "dg-eleven-oklahoma", "gc-oklahoma", "gr-ace-one")),
        ([0, 7, 10], ("gr-oklahoma", "gr-eleven-oklahoma")),
    ],
    "eleven/ten with Oklahoma": [
        ("none", ()),
        ([True, True], ("dg-eleven", "gr-eleven", "ht1-elder")),
        ([True, False], ("gr-eleven-oklahoma",)),
    ],
    "spade turned": [(1.0, ()), (2.0, GR_OKLAHOMA)],
    "knocking is": [((True, True), ()), ((False, True), GR_ALL)],
    "illegal knock": [((False, "refused"), ()), ((False, True, False, True, 0), DG)],
    "stock end": [
        (("over", End.STOCK, None), ()),
        (["draw", ["draw stock", "take"], End.STOCK, "discard", "draw"], GR_ALL),
        (["wall", ["pass"], End.STOCK], ("openspiel", *GC)),
    ],
    "wall": [("no wall", ()), (["take", "pass", {1}], ("openspiel", *GC))],
    "laying off": [
        (("6S 7S", 34), ()),
        (("", 41), GR_ALL),
        (("by hand", ["lay off 6S", "done"], ["lay off 7S", "done"], 41), (*HT1, *GC)),
    ],
    "knocker's melds": [("automatic", ()), (("chosen", 2, 2), (*HT1, "gc-chosen"))],
    "lay-off on gin": [((End.GIN, (), 70), ())],
    "undercut when": [
        ([("KNOCK", 1, 1), ("UNDERCUT", 25, 0), ("UNDERCUT", 26, 0)], ()),
        ([("KNOCK", 1, 1), ("TIE", 0, None), ("UNDERCUT", 26, 0)], (*DG, "openspiel")),
    ],
    "gin bonus": [((End.GIN, 25, 1), ())],
    "big gin": [
        ((End.GIN, 25, 1), ()),
        ((End.BIG_GIN, 31, 1), ("big-gin",)),
    ],
    "endless upcards": [((End.UPCARD_LIMIT, 50, None), ())],
    "repeated upcard": [("never", ()), (End.REPEATED_UPCARD, ("openspiel",))],
}


def expected(row: str, source: str) -> Any:
    for value, sources in EXPECTED[row]:
        if source in sources:
            return value
    return EXPECTED[row][0][0]


@pytest.mark.parametrize("row", PROBES)
def test_rule(row):
    seen = {source: PROBES[row](rules) for source, rules in SOURCES.items()}
    assert seen == {source: expected(row, source) for source in SOURCES}


# Target, bonus for the game and for a box, shut-out, whether the net score counts, and who wins.
GAMES = {
    (100, 0, 0, "none", False, "target"): ["eaai", "gr", "ht2-simple", "gc", "gc-oklahoma"],
    (150, 0, 0, "none", False, "target"): ["gr-oklahoma"],
    (0, 0, 0, "none", False, "target"): ["openspiel"],
    (100, 100, 25, "double-before-boxes", True, "total"): ["dg-simple", "dg-standard", "dg-oklahoma", "big-gin"],
    (100, 100, 25, "double-after-boxes", False, "target"): ["ht1"],
    (100, 100, 25, "bonus", False, "total"): ["ht2-traditional"],
}


def test_games_end_as_their_sources_say():
    fields = "target game_bonus box_bonus shutout net_score winner".split()
    seen = {name: tuple(getattr(rules, field) for field in fields) for name, rules in PRESETS.items()}
    assert seen == {name: values for values, names in GAMES.items() for name in names}


def test_limits_that_all_sources_share_are_rules_too():
    changed = PRESETS["eaai"].replace(max_upcards=20, knock_limit=4)
    assert PROBES["endless upcards"](changed) == (End.UPCARD_LIMIT, 20, None)
    assert PROBES["knock limit"](changed) == [4, 4, 4]


# ------------------------------------------------------------------ the value itself


def test_rules_go_both_ways_as_json_and_hashes_are_equal_exactly_for_equal_rules():
    for rules in SOURCES.values():
        again = get_rules(json.loads(rules.to_json()))
        assert again == rules and again.hash == rules.hash
    assert len({rules.hash for rules in SOURCES.values()}) == len(SOURCES)
    assert len({rules.block.tobytes() for rules in PRESETS.values()}) == len(PRESETS)
    # Stable: results and checkpoints name rules by it.
    assert PRESETS["eaai"].hash == "9cad3641c884"


def test_a_wrong_value_names_field_value_and_what_is_allowed():
    for changes, facts in (
        ({"knock_limit": 11}, ["knock_limit", 0, 10, 11]),
        ({"knock_limit": True}, ["knock_limit", 0, 10, True]),
        ({"gin_bonus": 2.5}, ["gin_bonus", 0, 200, 2.5]),
        ({"layoff": "byhand"}, ["layoff", "best", "deadwood-only", "by-hand", "byhand"]),
        ({"oklahoma": 1}, ["oklahoma", "true", "false", 1]),
        ({"knok_limit": 10}, ["knok_limit", "knock_limit"]),
        ({"suits": 2, "ranks": 11}, ["hand_size", 24, 11, 2, 22]),
        ({"ranks": 5}, ["hand_size", 24, 5, 20]),
    ):
        with refuses(RulesError, *facts):
            PRESETS["eaai"].replace(**changes)


def test_a_rule_that_can_have_no_effect_is_refused():
    for preset, changes in (
        ("eaai", {"oklahoma_ace": "gin"}),
        ("dg-oklahoma", {"oklahoma_ace": "gin", "knock_limit": 0}),
        ("dg-oklahoma", {"eleven_ten_oklahoma": "first-discard"}),
        ("ht2-simple", {"eleven_ten_oklahoma": "first-discard"}),
        ("ht2-simple", {"first_upcard": "either"}),
        ("eaai", {"first_turn_knock": False}),
        ("eaai", {"repeated_upcard_draw": True}),
        ("dg-standard", {"shutout_bonus": 50}),
        ("ht2-traditional", {"shutout": "none", "shutout_bonus": 50}),
        ("dg-simple", {"knock_bonus": 10}),
        ("eaai", {"gin_boxes": 2}),
        ("eaai", {"undercut_boxes": 1}),
        ("dg-standard", {"big_gin_boxes": 3}),
    ):
        with refuses(RulesError, *list(changes)[:1]):
            PRESETS[preset].replace(**changes)


def test_rules_left_without_effect_fall_back_and_leave_no_second_hash():
    doubled = PRESETS["gr-oklahoma"].replace(oklahoma=False, target=100)
    assert doubled == PRESETS["gr"].replace(spade_doubles=True) and doubled.hash != PRESETS["gr"].hash
    bonus = PRESETS["ht2-traditional"].replace(shutout_bonus=50)
    assert bonus.replace(shutout="none") == PRESETS["ht2-traditional"].replace(shutout="none")
    # Rules that are kept give another its effect.
    assert not SOURCES["gr-eleven-oklahoma"].replace(first_turn_knock=False).first_turn_knock


def test_a_preset_is_named_with_changes_behind_it():
    assert get_rules({"preset": "eaai", "target": 150}) == PRESETS["eaai"].replace(target=150)
    assert get_rules(PRESETS["gr"]) is PRESETS["gr"] and get_rules("gr") is PRESETS["gr"]
    assert get_rules("gr,target=250,undercut_on_tie=false") == get_rules("gr").replace(
        target=250, undercut_on_tie=False
    )
    for text, facts in (
        ("eaai,target", ["target"]),
        ("eaai,target=3,target=3", ["target=3"]),
        ("eaai,targt=3", ["targt", "target"]),
        ("eaai,target=2.5", ["target", 2.5]),
        ("eaia,target=3", ["eaia", "eaai"]),
        ({"x": 1}, ["x"]),
        ("eaia", ["eaia", "eaai"]),
        ({"preset": []}, ["[]"]),
    ):
        with refuses(RulesError, *facts):
            get_rules(text)
