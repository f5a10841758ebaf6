"""What ``gin levels`` does, one function for each of its commands; each returns what there is to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from agents.bots.heuristics import make_formula
from agents.levels.bench.rating import rate_levels, read_rating
from agents.levels.bench.variety import measure_variety
from agents.levels.level import NAMES, load_level
from agents.levels.package import build_levels, convert_level, export_level, import_level
from agents.levels.profile import reset_level
from agents.levels.words import what_did_you_learn

Name = Annotated[str, tyro.conf.Positional]


def show(levels: Annotated[tuple[str, ...], tyro.conf.Positional] = NAMES) -> str:
    """Shows what levels are, how they were made and how strong they are.

    Args:
        levels: names or directories.
    """
    documents = []
    for name in levels or NAMES:
        level = load_level(name)
        described = {"name": level.name, "sha256": level.digest, "settings": level.settings.model_dump()}
        documents.append(json.dumps(described | {"about": level.about, "measured": read_rating(level)}, indent=2))
    return "\n".join(documents)


def learned(level: Name, home: Path, opponent: str | None = None) -> str:
    """Tells what a level has learned.

    Args:
        level: name or directory.
        home: directory that holds what levels learned.
        opponent: of whom; of everybody when left out.
    """
    return what_did_you_learn(home, load_level(level), opponent)


def reset(level: Name, home: Path) -> str:
    """Puts a level back to how it was installed.

    Args:
        level: name or directory.
        home: directory that holds what levels learned.
    """
    return reset_level(home, load_level(level))


def variety(level: Name, deals: int = 100, plays: int = 1000, hands: int = 20000) -> str:
    """Measures how differently a level plays the same deals, and what that costs.

    Args:
        level: name or directory.
        deals: how many.
        plays: of each deal.
        hands: for the cost.
    """
    found = load_level(level)
    seen = measure_variety(found, make_formula(1), deals, plays, hands)
    return (
        f"{found.name}, {deals} deals {plays} times against formula: median {np.median(seen.different):.0f} different hands, "
        f"commonest hand {100 * np.median(seen.commonest):.1f} % in the median deal, {100 * seen.commonest.max():.1f} % in the worst; "
        f"against its most probable choices that costs {seen.cost.text()} points a hand ({hands} hands)"
    )


COMMANDS = {
    "show": show,
    "learned": learned,
    "reset": reset,
    "export": export_level,
    "import": import_level,
    "convert": convert_level,
    "build": build_levels,
    "rate": rate_levels,
    "variety": variety,
}
