"""``gin levels``: what a level is and has learned, how it is put back, exported, imported, rated and built."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from tyro.conf import Positional
from tyro.extras import SubcommandApp

from agents.arena.series import counting_hands
from agents.bots.heuristics import make_formula
from agents.levels.bench.rating import rate_levels, read_rating
from agents.levels.bench.variety import measure_variety
from agents.levels.level import NAMES, load_level
from agents.levels.package import build_levels, export_level, import_level
from agents.levels.profile import reset_level
from agents.levels.words import what_did_you_learn
from agents.reports.terminal import progress_bar

app = SubcommandApp()


@app.command
def show(level: Positional[str] = "") -> str:
    """What a level is, as JSON.

    Args:
        level: name or directory; all installed ones when left out.
    """
    shown = []
    for name in [level] if level else NAMES:
        found = load_level(name)
        about = {"name": found.name, "sha256": found.digest, "settings": found.settings.model_dump()}
        shown.append(json.dumps(about | {"about": found.about, "measured": read_rating(found)}, indent=2))
    return "\n".join(shown)


@app.command
def learned(level: Positional[str], home: Path, opponent: str | None = None) -> str:
    """What a level has learned.

    Args:
        level: name or directory.
        home: directory that holds what levels learned.
        opponent: of whom; everybody when left out.
    """
    return what_did_you_learn(home, load_level(level), opponent)


@app.command
def reset(level: Positional[str], home: Path) -> str:
    """Puts a level back to how it was installed.

    Args:
        level: name or directory.
        home: directory that holds what levels learned.
    """
    return reset_level(home, load_level(level))


@app.command
def export(level: Positional[str], directory: Positional[Path]) -> str:
    """Writes a level as a directory of its own.

    Args:
        level: name or directory.
        directory: to write.
    """
    found = export_level(level, directory)
    return f"{found.name} is in {directory} (sha256 {found.digest})."


@app.command(name="import")
def take_in(source: Positional[Path], directory: Positional[Path]) -> str:
    """Takes in a level that somebody else made, after checking it.

    Args:
        source: the other's directory.
        directory: to write.
    """
    found = import_level(source, directory)
    return f"{found.name} was checked and is in {directory} (sha256 {found.digest})."


@app.command
def variety(level: Positional[str], deals: int = 100, plays: int = 1000, hands: int = 20000) -> str:
    """How differently a level plays the same deals, and what that costs.

    Args:
        level: name or directory.
        deals: how many.
        plays: of each deal.
        hands: for the cost.
    """
    found = load_level(level)
    total = deals * plays + 20 * max(2, hands // 10)
    with progress_bar(Console(stderr=True), total, f"{found.name}, hands") as tick, counting_hands(tick):
        seen = measure_variety(found, make_formula(1), deals, plays, hands)
    return (
        f"{found.name}, {deals} deals {plays} times against formula: median {np.median(seen.different):.0f} different hands, "
        f"commonest hand {100 * np.median(seen.commonest):.1f} % in the median deal, {100 * seen.commonest.max():.1f} % in the worst; "
        f"against its most probable choices that costs {seen.cost.text()} points a hand ({hands} hands)"
    )


@app.command
def rate(results: Positional[Path]) -> str:
    """Keeps what a tournament told of the installed levels beside them.

    Args:
        results: of ``gin tournament configs/levels_tournament.yaml``.
    """
    return "\n".join(rate_levels(results))


@app.command
def build(config: Path, out: Path) -> str:
    """Makes levels of a training run.

    Args:
        config: YAML file.
        out: directory of the levels.
    """
    built = build_levels(config, out)
    return "\n".join(f"{level.name}: {level.directory} (sha256 {level.digest})" for level in built)


def run(arguments: Sequence[str], program: str = "gin levels") -> str:
    """Carries out a command line; returns what there is to say."""
    return app.cli(args=list(arguments), prog=program, description="Levels: what they are and have learned.")


def levels(arguments: list[str], program: str) -> None:
    """Carries out a command line and prints what there is to say."""
    print(run(arguments, program))
