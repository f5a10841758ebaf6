"""Results files, tables in Markdown, and figures with their intervals."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def read(name: str) -> dict[str, Any]:
    """A results file by its name; empty if there is none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def table(headings: list[str], rows: Iterable[list[str]]) -> list[str]:
    """The lines of a table and the empty line after it."""
    return [f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *rows)] + [""]


def interval(found: dict[str, float]) -> str:
    """A mean and its interval, as points."""
    return f"{found['mean']:+.2f} ({found['low']:+.2f} to {found['high']:+.2f})"


def percent(found: dict[str, float]) -> str:
    """A share and its interval."""
    return f"{100 * found['mean']:.1f} % ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def share(match: dict[str, Any]) -> str:
    """The share of games, or of hands, that side 0 of a match won."""
    return percent(match["share"])


def points(match: dict[str, Any]) -> str:
    """The points per hand of side 0 of a match."""
    return interval(match["points_per_hand"])
