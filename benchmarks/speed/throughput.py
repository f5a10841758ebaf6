"""How many hands and decisions a second a program plays, on one core.

Figures from two machines, or from different hours on one machine, cannot be compared. So all figures of a ratio are measured with
`measure` in one run.
"""

import datetime
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.arena.results import versions
from agents.files import write_json

RESULTS = Path(__file__).parents[1] / "results"
# Processor time of each measurement in each round. On a shared machine, an undisturbed quarter of a second is more frequent than three
# undisturbed seconds.
SECONDS, ROUNDS = 0.25, 24


@dataclass(frozen=True)
class Throughput:
    """What was played, and how long it took.

    Attributes:
        name: What was measured, in a few words.
        hands: Finished hands; not a whole number when several measurements are combined.
        decisions: Actions chosen by players, forced ones included; chance moves are not decisions.
        seconds: Processor time, in seconds.
    """

    name: str
    hands: float
    decisions: int
    seconds: float

    @property
    def hands_per_second(self) -> float:
        """Finished hands per second of processor time."""
        return self.hands / self.seconds

    @property
    def decisions_per_second(self) -> float:
        """Decisions per second of processor time."""
        return self.decisions / self.seconds

    def __str__(self) -> str:
        return (
            f"{self.name:<52} {self.hands_per_second:>12,.0f} hands/s {self.decisions_per_second:>14,.0f} decisions/s"
        )


def measure(name: str, play: Callable[[], tuple[int, int]]) -> Throughput:
    """Calls `play` repeatedly for `SECONDS`.

    The clock is the processor time of this process, summed over all threads. So the figure is for a single core, and waiting for
    other programs is not counted; their effect on caches and clock speed still is (see `compare`).

    Args:
        name: What is measured, in a few words.
        play: Plays at least one hand to its end; returns how many hands it finished and how many decisions it took.

    Returns:
        The totals, including all of the last call, without a first one that fills caches and compiles.
    """
    play()
    hands = decisions = 0
    start = time.process_time()
    while (spent := time.process_time() - start) < SECONDS:
        more_hands, more_decisions = play()
        hands += more_hands
        decisions += more_decisions
    return Throughput(name, hands, decisions, spent)


def compare(measurements: Sequence[Callable[..., Throughput]]) -> list[Throughput]:
    """Runs several measurements in turn, several times over, and keeps the fastest of each.

    A busy machine only ever slows things down; on a shared machine, by a factor of two within minutes. Taking turns spreads that
    over all measurements, and the fastest round is the one least disturbed.

    Args:
        measurements: Each call measures the same thing, on different hands for a different argument ``seed``.

    Returns:
        For each of `measurements`, in order, its fastest round by decisions per second. Its number of hands is computed from the
        mean length of the hands in all rounds, because those of one round may happen to be short.
    """
    results = [[measurement(seed=seed) for measurement in measurements] for seed in range(ROUNDS)]
    fastest = []
    for column in zip(*results, strict=True):
        best = max(column, key=lambda result: result.decisions_per_second)
        length = sum(result.decisions for result in column) / sum(result.hands for result in column)
        fastest.append(replace(best, hands=best.decisions / length))
    return fastest


def write_results(name: str, results: list[Throughput], reference: Throughput) -> None:
    """Prints what was measured and its ratios, and writes them with what is needed to repeat them.

    Args:
        name: of the file in ``benchmarks/results``.
        results: what was measured.
        reference: the one that the ratios divide by.
    """
    rows = []
    for result in results:
        hands = result.hands_per_second / reference.hands_per_second
        decisions = result.decisions_per_second / reference.decisions_per_second
        print(f"{result}  {hands:>9,.1f} x hands {decisions:>9,.1f} x decisions")
        rows.append(
            {
                "name": result.name,
                "hands_per_second": round(result.hands_per_second, 1),
                "decisions_per_second": round(result.decisions_per_second, 1),
                "hands_ratio": round(hands, 2),
                "decisions_ratio": round(decisions, 2),
            }
        )
    write_rows(name, rows, ratios_to=reference.name)


def write_rows(name: str, rows: list[dict[str, Any]], **about: Any) -> None:
    """Writes rows to a file in ``benchmarks/results``, with the command that repeats them, versions, the machine, and more about them."""
    head = {
        "command": f"python -m benchmarks.speed.{name}",
        "date": datetime.date.today().isoformat(),
        "versions": versions("open_spiel"),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }
    path = RESULTS / f"{name}.json"
    write_json(path, head | about | {"rows": rows})
    print(f"written to {path}", file=sys.stderr)
