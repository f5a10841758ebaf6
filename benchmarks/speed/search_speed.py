"""Milliseconds per decision of the search, on 1,000 positions from games between the built-in bots.

python -m benchmarks.speed.search_speed            measure on benchmarks/data/search_positions.txt
python -m benchmarks.speed.search_speed --make     write that file again

One thread. Both wall-clock and processor time are given, because only processor time means much while other programs run.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.deal_streams import Domain, deal_keys, luck_words
from agents.files import write_json, write_text
from agents.search import make_search
from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.engine import STATE, apply, deal, shuffle
from ginenv.engine.rules import get_rules
from ginenv.hands.text import format_view, parse_view
from ginenv.tables.players import make_player
from ginenv.view.view import make_views

POSITIONS = Path(__file__).parents[1] / "data" / "search_positions.txt"
RESULTS = Path(__file__).parents[1] / "results" / "search_speed.json"
_PLAYERS = ("simple", "knocker", "formula", "camper")


def make_positions(count: int) -> list[str]:
    """One position with a choice from each of ``count`` hands, at a random decision of the hand, as lines of text."""
    rng = np.random.default_rng(1)
    players = [make_player(name) for name in _PLAYERS]
    states = np.zeros(count, STATE)
    states["rules"] = get_rules("eaai").block
    states["key"] = deal_keys(Domain.SELECT, 1, 0, count)
    states["luck"] = luck_words(Domain.SELECT, 1, 0, count)
    states["score"] = rng.integers(0, 100, (count, 2))
    lines = []
    for i in range(count):
        shuffle(states[i])
        deal(states[i], i % 2)
        sides = rng.choice(len(players), 2)
        seen = []
        while states["phase"][i] != PHASE_OVER:
            seat = int(states["turn"][i])
            view = make_views(states[i : i + 1], seat)
            if sum(int(mask).bit_count() for mask in view["legal"][0]) > 1:
                seen.append(view)
            apply(states[i], int(players[sides[seat]].act(view)[0]))
        lines.append(format_view(seen[rng.integers(len(seen))]))
    return lines


def measure(views: np.ndarray, **options: Any) -> dict[str, float]:
    """Mean and percentile in milliseconds, one decision at a time, after twenty decisions of warm-up."""
    player = make_search(0, **options)
    wall, processor = np.zeros(len(views)), np.zeros(len(views))
    for i in range(20):
        player.act(views[i : i + 1])
    for i in range(len(views)):
        began, used = time.perf_counter(), time.process_time()
        player.act(views[i : i + 1])
        wall[i], processor[i] = time.perf_counter() - began, time.process_time() - used
    return {
        "mean_ms": round(1000 * float(wall.mean()), 3),
        "p95_ms": round(1000 * float(np.percentile(wall, 95)), 3),
        "mean_processor_ms": round(1000 * float(processor.mean()), 3),
        "p95_processor_ms": round(1000 * float(np.percentile(processor, 95)), 3),
    }


def main(make: bool = False, worlds: tuple[int, ...] = (16, 64, 128, 512)) -> None:
    """Makes the positions (``make``), or measures on them and writes the result."""
    if make:
        write_text(POSITIONS, "\n".join(make_positions(1000)) + "\n")
        return
    lines = POSITIONS.read_text(encoding="utf-8").split("\n")
    views = np.concatenate([parse_view(line) for line in lines if line])
    table = Table("worlds", "mean ms", "95 % ms", "mean CPU ms", "95 % CPU ms")
    measured = {}
    for count in worlds:
        measured[str(count)] = found = measure(views, worlds=count)
        table.add_row(str(count), *(f"{value:.2f}" for value in found.values()))
    results = {"command": "python -m benchmarks.speed.search_speed", "positions": len(views), "search": measured}
    Console().print(table)
    write_json(RESULTS, results)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
