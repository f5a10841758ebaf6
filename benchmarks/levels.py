"""Measures the levels: the ladder as installed and after 500 and 5,000 hands, what they gain by learning and from whom, and their variety.

python -m benchmarks.levels                     all four levels
python -m benchmarks.levels --levels level-1    one

It is ``gin levels measure`` against one opponent more. Each level's figures are written to ``benchmarks/results/levels.json`` as soon as
they are there; those of other weights or settings than the installed ones are dropped. Level 4 plays on the ladder with its search, and
learns with its network alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console

from agents.arena.executors import open_executor
from agents.arena.series import counting_hands
from agents.files import write_json
from agents.levels.bench.measure import STRANGERS, MeasureConfig, hands_to_play, measure, summary
from agents.levels.level import NAMES, load_level
from agents.reports.terminal import progress_bar

RESULTS = Path(__file__).parent / "results" / "levels.json"
ABOVE = dict(zip(NAMES, (*NAMES[1:], "network"), strict=True))
# Strangers of kinds that no fit meets: two bots that reason otherwise than any style, and the network that shipped before.
KINDS = (*STRANGERS, "benchmarks/checkpoints/previous")


def stored_results() -> dict[str, Any]:
    """The figures of the installed levels, by name."""
    document = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return {name: row for name, row in document.items() if row["sha256"] == load_level(name).digest}


def main(levels: tuple[Literal["level-1", "level-2", "level-3", "level-4"], ...] = (), workers: int = 1) -> None:
    """Measures some levels, or all, in so many processes."""
    console = Console()
    with open_executor(workers) as executor:
        for name in levels or NAMES:
            config = MeasureConfig(strangers=KINDS, above=ABOVE[name])  # type: ignore[call-arg]
            with progress_bar(console, hands_to_play(config), f"{name}, hands") as tick, counting_hands(tick):
                row = measure(load_level(name), config, console.print, executor)
            write_json(RESULTS, dict(sorted((stored_results() | {name: row}).items())))
            console.print("\n".join(summary(row)))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
