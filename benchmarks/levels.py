"""Measures the levels: the ladder as installed and after 500 and 5,000 hands, what they gain by learning and from whom, and their variety.

python -m benchmarks.levels                             all four levels
python -m benchmarks.levels --levels level-1 --set series=12

It is ``gin levels measure`` against one opponent more. Each level's figures are written to ``benchmarks/results/levels.json`` as soon as
they are there; those of other weights or settings than the installed ones are dropped. Level 4 plays on the ladder with its search, and
learns with its network alone.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.arena.executors import open_executor
from agents.arena.series import counting_hands
from agents.config import override, parse_config
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


def main() -> None:
    """Measures the levels that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--levels", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument(
        "--set", nargs="+", default=[], help="settings of MeasureConfig that differ from the default, as key=value"
    )
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    arguments = parser.parse_args()
    console = Console()
    with open_executor(arguments.workers) as executor:
        _measure(arguments, console, executor)


def _measure(arguments: argparse.Namespace, console: Console, executor: Executor | None) -> None:
    for name in arguments.levels:
        values = override({"strangers": KINDS, "above": ABOVE[name]}, arguments.set)
        config: MeasureConfig = parse_config(values, MeasureConfig, "--set")
        with progress_bar(console, hands_to_play(config), f"{name}, hands") as tick, counting_hands(tick):
            row = measure(load_level(name), config, console.print, executor)
        # Read again, because another level may have been measured meanwhile.
        write_json(RESULTS, dict(sorted((stored_results() | {name: row}).items())))
        console.print("\n".join(summary(row)))


if __name__ == "__main__":
    main()
