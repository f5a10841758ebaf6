"""Measures the levels: the ladder as installed and after 500 and 5,000 hands, what they gain by learning and from whom, and their variety.

python -m benchmarks.adaptation.levels                             all four levels
python -m benchmarks.adaptation.levels --levels level-1 --series 24

Each level's figures are written to ``benchmarks/results/levels.json`` as soon as they are there; those of other weights or settings than
the installed ones are dropped. Level 4 plays on the ladder with its search, and learns with its network alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from agents.arena.series import counting_hands
from agents.config import parse_config
from agents.files import write_json
from agents.levels.bench.measure import STRANGERS, MeasureConfig, hands_to_play, measure, summary
from agents.levels.bench.variety import measure_variety
from agents.levels.level import NAMES, Level, load_level
from agents.reports.terminal import progress_bar
from ginenv.bots.heuristics import make_formula

RESULTS = Path(__file__).parents[1] / "results" / "levels.json"
ABOVE = dict(zip(NAMES, (*NAMES[1:], "network"), strict=True))
# Strangers of kinds that no fit meets: two bots that reason otherwise than any style, and the network that shipped before.
KINDS = (*STRANGERS, "benchmarks/checkpoints/previous")


def stored_results() -> dict[str, Any]:
    """The figures of the installed levels, by name."""
    document = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return {name: row for name, row in document.items() if row["sha256"] == load_level(name).digest}


def variety(level: Level, deals: int, hands: int) -> dict[str, Any]:
    """How differently a level plays the same deals, and what that costs."""
    found = measure_variety(level, make_formula(1), deals, 1000, hands)
    commonest, different = float(np.median(found.commonest)), float(np.median(found.different))
    return {
        "deals": deals,
        "different": different,
        "commonest": commonest,
        "cost": found.cost.to_dict(),
        "hands": hands,
    }


def main() -> None:
    """Measures the levels that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--levels", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--series", type=int, default=24, help="against each opponent, 2 or more")
    parser.add_argument("--length", type=int, default=500, help="hands of each series")
    parser.add_argument("--games", type=int, default=2000, help="of each pair of the ladder")
    parser.add_argument("--deals", type=int, default=24, help="played 1,000 times each; 0 leaves variety out")
    parser.add_argument("--hands", type=int, default=10000, help="for the cost of variety")
    arguments = parser.parse_args()
    console = Console()
    for name in arguments.levels:
        level = load_level(name)
        counts = {"series": arguments.series, "hands": arguments.length, "games": arguments.games}
        config = parse_config(counts | {"strangers": KINDS, "above": ABOVE[name]}, MeasureConfig)
        with progress_bar(console, hands_to_play(config), f"{name}, hands") as tick, counting_hands(tick):
            row = measure(level, config, console.print)
        if arguments.deals:
            row["variety"] = variety(level, arguments.deals, arguments.hands)
        # Read again, because another level may have been measured meanwhile.
        write_json(RESULTS, dict(sorted((stored_results() | {name: row}).items())))
        console.print("\n".join(summary(row)))


if __name__ == "__main__":
    main()
