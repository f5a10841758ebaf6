"""The tables of the pages about ratings by few hands and about ``matched``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.arena.ladder import DATA
from benchmarks.markdown import interval, percent, table

RESULTS = Path(__file__).resolve().parent / "results" / "short_ratings.json"
MATCHED = RESULTS.with_name("matched.json")

_RATED = ("100", "300")
_HELD = tuple(f"interval after {hands} hands holds it" for hands in _RATED)
_SWITCH = ("before", "first_60", "after")


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def ladder_table() -> list[str]:
    """The rungs that are met."""
    document = _read(DATA)
    rungs = sorted(document["opponents"], key=lambda name: -document["players"][name]["rating"])
    rows = []
    for name in rungs:
        found = document["players"][name]
        games = sum(2 * sum(each["shares"]) for each in document["pairings"] if name in each["players"])
        rating = f"{found['rating']:+.0f} ({found['low']:+.0f} to {found['high']:+.0f})"
        rows.append([f"`{name}`", rating, f"{games:,}"])
    return table(["rung", "rating (95 %)", "games"], rows)


def short_ratings_table() -> list[str]:
    """How often the interval of a few hands holds the true rating, and how wide it is."""
    rows = []
    for each in _read(RESULTS)["players"]:
        true = each["true"]
        for hands, row in each["hands"].items():
            width = f"±{row['half_width']:.0f} (±{row['half_width_luck_left_in']:.0f})"
            covered = f"{row['covered']} of {each['tries']}"
            rows.append(
                [f"`{each['player']}`", f"{true['rating']:+.0f}", hands, covered, width, f"{row['mean_error']:+.0f}"]
            )
    headings = ["player", "true rating", "hands", "interval holds it", "half of its width (luck left in)", "mean error"]
    return table(headings, rows)


def hands_won_table() -> list[str]:
    """What counting won hands hides."""
    found = _read(RESULTS)["hands_won"]
    one, other = found["players"]
    rows = [
        ["hands won (drawn ones left out)", percent(found["hand_share"]), f"{found['hands']:,} hands"],
        ["points per hand", interval(found["points"]), f"{found['hands']:,} hands"],
        ["games won", percent(found["game_share"]), f"{found['games']:,} games"],
    ]
    return table([f"`{one}` against `{other}`", "", ""], rows)


def matched_table() -> list[str]:
    """How even ``matched`` plays, and whether its ratings hold the true ones."""
    if not MATCHED.exists():
        return ["The network has changed since this was last measured.", ""]
    found, rows, switches = _read(MATCHED), [], []
    for each in found["opponents"]:
        name = each["opponent"] if each["opponent"].startswith("style ") else f"`{each['opponent']}`"
        if "after" in each:
            first, second = (f"`{part}`" for part in each["opponent"].split(", then "))
            switches.append(
                [f"{first}, then {second}", str(each["series"]), *map(interval, (each[k] for k in _SWITCH))]
            )
            continue
        ratings = each["ratings"]
        intervals = [
            f"{ratings[hands]['covered']} of {each['series']} (±{ratings[hands]['half_width']:.0f})" for hands in _RATED
        ]
        rows.append([name, str(each["series"]), interval(each["points"]), f"{each['true']:+.0f}", *intervals])
    headings = ["somebody else after 150 hands", "series", "points before", "in the first 60 hands", "after them"]
    coverage = {hands: percent(found["coverage"][hands]) for hands in _RATED}
    return [
        *table(["against", "series", "points per hand, hands 41 to 300", "true rating", *_HELD], rows),
        f"Of all series, the interval holds the true rating in {coverage['100']} after 100 hands and in {coverage['300']} after 300.",
        "",
        *(table(headings, switches) if switches else []),
    ]
