"""The tables of the page about ratings by few hands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.arena.ladder import DATA
from benchmarks.markdown import interval, percent, table

RESULTS = Path(__file__).resolve().parent / "results" / "short_ratings.json"


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
