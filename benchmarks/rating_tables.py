"""The tables of the page about ratings by few hands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.arena.ladder import DATA
from benchmarks.markdown import table

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
