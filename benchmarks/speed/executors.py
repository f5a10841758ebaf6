"""What processes and a Ray cluster bring to matches of quick players, and what they cost.

`python -m benchmarks.speed.executors`. The same match of bots is played here, by two processes, and by two nodes of a Ray cluster on this
machine, in tasks of 500 pairs; in turn, and several times, because other programs may take processors meanwhile. Pairs a second are in
wall-clock time; the overhead is in processor time of all processes together, those of Ray included, which waiting does not change. Every
process has played before it is measured.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from agents.arena import play_match
from agents.arena.executors import TASK_PAIRS, open_executor
from benchmarks.robustness.lost_nodes import ray_cluster
from benchmarks.speed.throughput import write_results

RESULTS = Path(__file__).parents[1] / "results" / "executors.json"
PLAYERS, PAIRS, ROUNDS = ("formula", "knocker"), 4_000, 11


def _processor_seconds() -> float:
    """Of this process and of all that it started, alive or ended."""
    total = 0.0
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        times = process.cpu_times()
        total += times.user + times.system
    ended = own.cpu_times()
    return total + ended.children_user + ended.children_system


def measure(executor: Executor | None) -> tuple[dict[str, float], np.ndarray]:
    """Plays the match once: seconds, processor seconds, and its games."""
    began, used = time.perf_counter(), _processor_seconds()
    games = play_match(*PLAYERS, pairs=PAIRS, seed=3, executor=executor).games
    return {"seconds": time.perf_counter() - began, "processor": _processor_seconds() - used}, games


def main() -> None:
    """Measures all three in turn, prints the table, and writes it."""
    found: dict[str, list[dict[str, float]]] = {"here": [], "two processes": [], "Ray, two nodes": []}
    with open_executor(2) as pool, ray_cluster(2) as cluster, open_executor(ray=cluster.address) as ray:
        places = dict(zip(found, (None, pool, ray), strict=True))
        first = {name: measure(executor)[1] for name, executor in places.items()}
        assert all((games == first["here"]).all() for games in first.values())
        for _ in range(ROUNDS):
            for name, executor in places.items():
                found[name].append(measure(executor)[0])
    rows: dict[str, Any] = {}
    for name, rounds in found.items():
        ratios = [each["processor"] / here["processor"] for each, here in zip(rounds, found["here"], strict=True)]
        speeds = [PAIRS / each["seconds"] for each in rounds]
        rows[name] = {
            "pairs_per_second": round(statistics.median(speeds)),
            "range": [round(min(speeds)), round(max(speeds))],
            "processor_seconds_per_1000_pairs": round(
                1000 * statistics.median(e["processor"] for e in rounds) / PAIRS, 4
            ),
            "overhead": round(statistics.median(ratios) - 1, 4),
            "overhead_range": [round(min(ratios) - 1, 4), round(max(ratios) - 1, 4)],
        }
        print(f"{name:16} {rows[name]}")
    load = [round(value, 1) for value in psutil.getloadavg()]
    about = {"players": PLAYERS, "pairs": PAIRS, "pairs_of_a_task": TASK_PAIRS, "rounds": ROUNDS, "load": load}
    write_results(RESULTS, "python -m benchmarks.speed.executors", about | {"rows": rows})


if __name__ == "__main__":
    main()
