"""How costs grow with games in a vector environment, processes, worlds of the search, and workers of the arena.

Run `python -m benchmarks.speed.growth_of_cost` on an idle machine. Figures by games and by worlds are in processor time
on one core; figures
by processes and by workers are in wall-clock time. Costs should be flat or linear; where they are not, `docs/how_it_works.md` says why.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np

from agents.arena import play_match
from agents.arena.executors import open_executor
from benchmarks.speed.env_speed import vector_steps
from benchmarks.speed.search_speed import POSITIONS, measure
from benchmarks.speed.throughput import write_results
from ginenv.hands.text import parse_view

RESULTS = Path(__file__).parents[1] / "results" / "growth_of_cost.json"
GAMES = (1, 16, 256, 1024, 4096, 16384)
WORLDS = (16, 32, 64, 128, 256, 512, 1024)
_SECONDS, _POSITIONS, _PAIRS = 2.0, 200, 40_000


def _steps_by_the_clock(barrier: Barrier, found: Queue[float]) -> None:
    vector_steps(seconds=0.1)
    barrier.wait()
    began = time.perf_counter()
    steps = vector_steps(seconds=_SECONDS).decisions
    found.put(steps / (time.perf_counter() - began))


def steps_of_processes(number: int) -> float:
    """Steps a second of this many processes together, each with 1,024 games."""
    context = multiprocessing.get_context("spawn")
    barrier, found = context.Barrier(number), context.Queue()
    processes = [context.Process(target=_steps_by_the_clock, args=(barrier, found)) for _ in range(number)]
    for process in processes:
        process.start()
    total = sum(found.get() for _ in processes)
    for process in processes:
        process.join()
    return total


def games_of_workers(number: int) -> float:
    """Games a second of a match between bots, including the start of the workers."""
    began = time.perf_counter()
    with open_executor(number) as executor:
        play_match("formula", "knocker", pairs=_PAIRS, seed=1, executor=executor)
    return 2 * _PAIRS / (time.perf_counter() - began)


def main() -> None:
    """Measures, prints, and writes the results."""
    figures: dict[str, dict[str, float]] = {}

    def note(what: str, count: int, value: float) -> None:
        figures.setdefault(what, {})[str(count)] = round(value, 3)
        print(f"{what}, {count:,}: {value:,.2f}", flush=True)

    for games in GAMES:
        note("steps a second by games", games, vector_steps(num_envs=games, seconds=_SECONDS).decisions_per_second)
    for number in (1, 2):
        note("steps a second by processes", number, steps_of_processes(number))
    lines = POSITIONS.read_text(encoding="utf-8").splitlines()[:_POSITIONS]
    views = np.concatenate([parse_view(line) for line in lines])
    for worlds in WORLDS:
        note("ms a decision by worlds", worlds, measure(views, worlds=worlds)["mean_processor_ms"])
    for number in (1, 2):
        note("games a second by workers", number, games_of_workers(number))
    write_results(RESULTS, "python -m benchmarks.speed.growth_of_cost", {"figures": figures})


if __name__ == "__main__":
    main()
