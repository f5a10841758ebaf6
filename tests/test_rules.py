"""Every rule of every source, by the row of its table: what happens at the table, and that a changed rule shows.

A probe (``tests.scenes``) plays a small arranged scene under some rules and says what happened. ``EXPECTED`` holds, for every row
of the tables and every preset (and some of the sources' options), what the source says should happen. A further test changes
every rule of every preset in turn and asks that one of the rows notices.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from ginenv.engine.engine import End
from ginenv.engine.rules import PRESETS, Rules, get_rules
from ginenv.errors import IllegalActionError, RulesError
from tests.support.refusals import refuses
from tests.support.scenes import PROBES, SOURCES

# ------------------------------------------------------------------ what the sources say

_ALL = tuple(SOURCES)


def _of(*prefixes: str, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    return tuple(name for name in _ALL if name.startswith(prefixes) and name not in but)


# Rule pages whose games end as DG's do.
PAGES = ("big-gin", "rummytalk")
DG, GR_ALL, HT1, HT2, GC = _of("dg"), _of("gr"), _of("ht1"), _of("ht2"), _of("gc")
ELEVEN = ("ht2-simple", "ht2-traditional", "dg-eleven", "gr-eleven", "gr-eleven-oklahoma", "ht1-elder")
GIN_ONLY = ("dg-simple", "gr-gin-only-oklahoma")
GR_OKLAHOMA = ("gr-oklahoma", "gr-eleven-oklahoma", "gr-gin-only-oklahoma", "gr-ace-one")
_NO_BONUS = (*GR_ALL, *GC, "ht2-simple", "eaai")

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
    "a drawn hand": [(((0, 0), None, 50), ())],
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
        ((End.BIG_GIN, 31, 1), PAGES),
    ],
    "endless upcards": [((End.UPCARD_LIMIT, 50, None), ())],
    "repeated upcard": [("never", ()), (End.REPEATED_UPCARD, ("openspiel",))],
    "play to": [(100, ()), (150, GR_OKLAHOMA), (0, ("openspiel",))],
    # Hands 40 to seat 1, then 80 and 80 to seat 0: bonus 100, boxes 50 and 25; openspiel ends after one hand.
    "game bonus and boxes": [
        (((160, 40), 0, None), _NO_BONUS),
        (((310, 65), 0, 245), (*DG, *PAGES)),
        (((310, 65), 0, None), (*HT1, "ht2-traditional")),
        (((0, 40), 1, None), ("openspiel",)),
    ],
    # 160 points and a game bonus of 100, doubled before or after two boxes, or with a bonus of 100.
    "shut-out": [
        (((160, 0), 0, None), _NO_BONUS),
        (((570, 0), 0, 570), (*DG, *PAGES)),
        (((620, 0), 0, None), HT1),
        (((410, 0), 0, None), ("ht2-traditional",)),
        (((80, 0), 0, None), ("openspiel",)),
    ],
    # Nine boxes outweigh the game bonus where the higher total wins.
    "winner": [
        (((160, 90), 0, None), _NO_BONUS),
        (((285, 315), 1, 30), (*DG, *PAGES)),
        (((285, 315), 0, None), HT1),
        (((285, 315), 1, None), ("ht2-traditional",)),
        (((0, 10), 1, None), ("openspiel",)),
    ],
    "boxes": [([1, 1, 1, 1, 1], ()), ([1, 3, 2, 4, 5], ("rummytalk",))],
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


# Rows that show a rule, for every rule; and other values to change it to.
SHOWN: dict[str, tuple[list[str], list[Any]]] = {
    "deal": (["deal"], ["traditional", "eleven-ten"]),
    "first_upcard": (["first upcard"], ["offer", "either"]),
    "first_turn_knock": (["first turn at eleven/ten"], [True, False]),
    "discard_taken_upcard": (["discarding the upcard just taken"], [True, False]),
    "knock_limit": (["knock limit"], [0, 5, 9, 10]),
    "oklahoma": (["knock limit"], [True, False]),
    "oklahoma_ace": (["knock limit"], ["gin", "one"]),
    "spade_doubles": (["spade turned"], [True, False]),
    "eleven_ten_oklahoma": (["deal"], ["traditional", "first-discard"]),
    "gin": (["knocking is"], ["declared", "automatic"]),
    "illegal_knock": (["illegal knock"], ["refused", "discard"]),
    "stock_end": (["stock end"], ["void", "last-upcard", "wall"]),
    "layoff": (["laying off"], ["best", "deadwood-only", "by-hand"]),
    "layoff_on_gin": (["lay-off on gin"], [True, False]),
    "spread": (["knocker's melds"], ["automatic", "chosen"]),
    "undercut_on_tie": (["undercut when"], [True, False]),
    "gin_bonus": (["gin bonus"], [20, 25]),
    "big_gin_bonus": (["big gin"], [0, 31, 50]),
    "knock_bonus": (["undercut when"], [0, 10]),
    "undercut_bonus": (["undercut when"], [10, 25]),
    "max_upcards": (["endless upcards"], [49, 50]),
    "repeated_upcard_draw": (["repeated upcard"], [True, False]),
    "first_starter": (["who goes first"], ["chance", "seat0"]),
    "next_starter": (["who goes next"], ["loser", "alternate", "seat0", "winner"]),
    "target": (["play to"], [0, 100, 150, 250]),
    "game_bonus": (["game bonus and boxes", "winner"], [0, 100]),
    "box_bonus": (["game bonus and boxes"], [0, 20, 25]),
    "gin_boxes": (["boxes"], [0, 1, 2]),
    "big_gin_boxes": (["boxes"], [0, 3]),
    "undercut_boxes": (["boxes"], [0, 1]),
    "shutout": (["shut-out"], ["none", "double-hands", "double-before-boxes", "double-after-boxes", "bonus"]),
    "shutout_bonus": (["shut-out"], [50, 100]),
    "net_score": (["game bonus and boxes"], [True, False]),
    "winner": (["winner"], ["target", "total"]),
    "max_drawn_hands": (["a drawn hand"], [49, 50]),
    "ranks": (["deal"], [12, 13]),
    "suits": (["deal"], [3, 4]),
    "hand_size": (["deal"], [9, 10]),
}


def has_no_effect(rules: Rules, field: str) -> bool:
    """Rules that say nothing beside the others of the same source, and so cannot be seen there."""
    return {
        "oklahoma": rules.knock_limit == 0,
        "deal": rules.oklahoma and rules.eleven_ten_oklahoma == "traditional",
        "winner": rules.game_bonus == rules.box_bonus == 0,
    }.get(field, False)


def looks_as_expected(row: str, source: str, rules: Rules) -> bool:
    try:
        return bool(PROBES[row](rules) == expected(row, source))
    except (AssertionError, IndexError, IllegalActionError, RulesError, ValueError, TypeError):
        # The scene does not work under other rules, which is a difference too.
        return False


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Rules)])
def test_a_changed_rule_fails_a_row(field):
    rows, values = SHOWN[field]
    seen = 0
    for source, rules in SOURCES.items():
        for value in values:
            if value == getattr(rules, field) or has_no_effect(rules, field):
                continue
            try:
                changed = rules.replace(**{field: value})
            except RulesError:
                continue
            if np.array_equal(changed.block, rules.block):
                continue
            seen += 1
            assert not all(looks_as_expected(row, source, changed) for row in rows), (source, field, value)
    assert seen, "no source shows this rule"


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
