"""What is played in a second, on one core, and the files of results.

Figures from two machines, or from different hours on one machine, cannot be compared. So all figures of a ratio come from one call.
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.results import versions
from agents.files import write_json

RESULTS = Path(__file__).parents[1] / "results"
# Processor time of each measurement in each round. On a shared machine, an undisturbed quarter of a second is more frequent than three
# undisturbed seconds.
SECONDS, ROUNDS = 0.25, 24
# Plays one hand or more; returns how many hands it finished, and how many actions players chose in them, forced ones included.
Play = Callable[[], tuple[int, int]]


def speeds(plays: Mapping[str, Play]) -> list[dict[str, Any]]:
    """Hands and decisions a second of processor time, by name.

    A busy machine only ever slows things down. So the measurements take turns, and the fastest round of each counts, the one least
    disturbed; hands are counted by their mean length in all rounds.
    """
    for play in plays.values():
        play()  # compiles, and fills caches
    rounds: dict[str, list[tuple[float, ...]]] = {name: [] for name in plays}
    for _ in range(ROUNDS):
        for name, play in plays.items():
            hands = decisions = 0
            start = time.process_time()
            while (spent := time.process_time() - start) < SECONDS:
                more_hands, more_decisions = play()
                hands, decisions = hands + more_hands, decisions + more_decisions
            rounds[name].append((hands, decisions, spent))
    found = []
    for name, rows in rounds.items():
        hands_of, decisions_of, seconds = np.array(rows).T
        best = float((decisions_of / seconds).max())
        hands_per_second = best * float(hands_of.sum() / decisions_of.sum())
        found.append({"name": name, "hands_per_second": hands_per_second, "decisions_per_second": best})
    return found


def write_speeds(name: str, command: str, rows: list[dict[str, Any]], reference: dict[str, Any]) -> None:
    """Prints speeds and their ratios to one of them, and writes them (``write_rows``)."""
    for row in rows:
        for unit in ("hands", "decisions"):
            row[f"{unit}_ratio"] = round(row[f"{unit}_per_second"] / reference[f"{unit}_per_second"], 2)
        print("{name:<52} {hands_per_second:>12,.0f} hands/s {hands_ratio:>9,.1f} x".format(**row), end="")
        print("{decisions_per_second:>14,.0f} decisions/s {decisions_ratio:>9,.1f} x".format(**row))
    write_rows(name, command, rows, ratios_to=reference["name"])


def write_rows(name: str, command: str, rows: list[dict[str, Any]], **about: Any) -> None:
    """Writes rows to a file in ``benchmarks/results``, with the command that repeats them, versions, the machine, and more about them."""
    head = {
        "command": f"python -m benchmarks.speed.{command}",
        "date": datetime.date.today().isoformat(),
        "versions": versions("open_spiel"),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }
    path = RESULTS / f"{name}.json"
    write_json(path, head | about | {"rows": rows})
    print(f"written to {path}", file=sys.stderr)
