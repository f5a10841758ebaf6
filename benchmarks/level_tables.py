"""The tables of ``docs/results.md`` about the levels: their strength, what each history gains them, and what could be gained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.results import ratio
from agents.levels.bench.rating import read_rating
from agents.levels.level import load_level
from benchmarks.markdown import interval, share, table

RESULTS = Path(__file__).parent / "results"
LEVEL_NAMES = ("level-1", "level-2", "level-3", "level-4")


def _ladder(name: str, row: dict[str, Any]) -> list[str]:
    _, one, other = name.split()
    return [f"`{one}` against `{other}`", f"{row['games']:,}", share(row), interval(row["points"])]


def _opponent_name(name: str) -> str:
    """The level of a row, and whether it chose by its search or by its network alone."""
    level = name.split()[1]
    return f"`{level}`" + (
        " with its search" if name.endswith("search") else ", network alone" if level == "level-4" else ""
    )


def _windows(row: dict[str, Any]) -> list[str]:
    """The windows of hands in an adaptation row, the earliest first."""
    return sorted(row["specific_gain"], key=lambda window: int(window.split("_")[0]))


def _adaptation(name: str, row: dict[str, Any]) -> list[str]:
    last = _windows(row)[-1]
    specific = row["specific_gain"][last]
    above = f"{specific['opponents_above_0']} of {len(row['opponents'])}"
    found = [opponent["specific_gain"][last] for opponent in row["opponents"].values()]
    below = str(sum(gain["high"] < 0 for gain in found))
    # As if the opponents, too, were a sample.
    at_large = ratio(np.array([gain["mean"] for gain in found]), np.ones(len(found))).to_dict()
    gains = ("total_gain", "mixed_less_frozen", "wrong_less_frozen")
    harm = interval(min(row["no_harm"].values(), key=lambda found: found["low"]))
    rules = "" if row["rules"] == "eaai" else f", `{row['rules']}`"
    series = f"{len(row['opponents'])} × {row['series']}, hands {last.replace('_', ' to ')}"
    return [
        _opponent_name(name) + rules,
        series,
        interval(specific),
        interval(at_large),
        above,
        below,
        *(interval(row[gain][last]) for gain in gains),
        harm,
    ]


def _growth(name: str, row: dict[str, Any]) -> list[str]:
    return [_opponent_name(name), str(row["histories"]), interval(row["mean"]), f"{row['lowest']:+.2f}"]


def _variety(name: str, row: dict[str, Any]) -> list[str]:
    commonest = f"{100 * row['commonest']:.1f} %"
    return [
        _opponent_name(name), str(row["deals"]), f"{row['different']:.0f}", commonest, f"{row['hands']:,}", interval(row["cost"]),
    ]  # fmt: skip


LEVEL_TABLES: dict[str, tuple[list[str], Callable[[str, dict[str, Any]], list[str]]]] = {
    "ladder": (["as installed, `eaai`", "games", "games won", "points per hand"], _ladder),
    "adaptation": (
        [
            "gain by learning, points per hand",
            "series",
            "specific: own less the better of frozen and mixed",
            "the same, over opponents",
            "opponents above 0",
            "below 0",
            "total: own less frozen",
            "mixed less frozen",
            "a wrong one's less frozen",
            "least against players that learning might do harm against",
        ],
        _adaptation,
    ),
    "growth": (
        [
            "after 5,000 hands, on 2,000 fresh ones",
            "histories",
            "points per hand over the installed level",
            "lowest history",
        ],
        _growth,
    ),
    "variety": (
        [
            "the same deal 1,000 times against `formula`",
            "deals",
            "different hands",
            "commonest",
            "hands",
            "variety costs, points per hand",
        ],
        _variety,
    ),
}


def _rating(found: dict[str, float]) -> str:
    return f"{found['rating']:+.0f} ({found['low']:+.0f} to {found['high']:+.0f})"


def ratings_table() -> list[str]:
    """The ratings of the levels' tournament, and how the levels played in it."""
    rows, field = [], {}
    for name in LEVEL_NAMES:
        card = read_rating(load_level(name))
        if card is None:
            continue
        style, field = card["style"], card["field"]
        rows.append(
            [
                f"`{name}`", _rating(card["rating"]), f"{card['games']:,}",
                f"{100 * style['gin_rate']:.0f} %", f"{100 * style['knock_rate']:.0f} %", f"{style['knock_deadwood']:.1f}",
                f"{100 * style['upcards_taken']:.0f} %",
            ]
        )  # fmt: skip
    # All are of one tournament.
    rows += [[f"`{name}`", _rating(found)] + [""] * 5 for name, found in field.items() if name not in LEVEL_NAMES]
    if not rows:
        return ["The levels have changed since they were last rated.\n"]
    return table(
        ["player", "rating in `configs/levels_tournament.yaml`", "games", "gins", "knocks", "deadwood of knocks", "upcards taken"], rows
    )  # fmt: skip


def levels_table() -> list[str]:
    """The four levels: ladder, learning, growth and variety."""
    rows = json.loads((RESULTS / "levels.json").read_text(encoding="utf-8"))["rows"]
    lines = []
    for kind, (headings, cells) in LEVEL_TABLES.items():
        of_kind = [cells(name, row) for name, row in rows.items() if name.startswith(kind)]
        lines += table(headings, of_kind) if of_kind else []
    return lines


def histories_table() -> list[str]:
    """What each level gains from its opponent's own history, from a mixture of the other opponents' histories, and from a wrong one's."""
    measured = json.loads((RESULTS / "levels.json").read_text(encoding="utf-8"))["rows"]
    rows = [row for name in LEVEL_NAMES if (row := measured.get(f"adaptation {name}")) is not None]
    windows = _windows(rows[0])
    gain_words = {
        "specific_gain": "its opponent's own history less the better of none and a mixture",
        "mixed_less_frozen": "a mixture of the other opponents' less none",
        "wrong_less_mixed": "one wrong opponent's less a mixture",
        "total_gain": "its opponent's own less none",
    }
    headings = [
        f"points per hand, series against each of {len(rows[0]['opponents'])} opponents",
        "",
        *(f"hands {window.replace('_', ' to ')}" for window in windows),
    ]
    return table(
        headings,
        (
            [
                f"{_opponent_name('adaptation ' + row['level'])}, {row['series']}",
                words,
                *(interval(row[gain][window]) for window in windows),
            ]
            for row in rows
            for gain, words in gain_words.items()
        ),
    )
