"""Random hands per second on one core: this engine beside OpenSpiel's Python loop and RLCard, in one run.

`python -m benchmarks.speed.engine_speed` (after `make peers`) prints hands, decisions and ratios, and writes them to
`benchmarks/results/engine_speed.json`. The measurements take turns (see `benchmarks.speed.throughput`), so the ratios are reliable even
where single figures are not. Play is uniformly random, under the `openspiel` preset and under `eaai`, with complete rules and exact
spreads and lay-offs. `benchmarks.speed.env_speed` measures the environments' steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import tyro

from benchmarks.speed import other_engines
from benchmarks.speed.throughput import Throughput, compare, measure, write_results
from ginenv.engine.engine import STATE
from ginenv.engine.perft import NUM_COUNTS, Policy, play_hands
from ginenv.engine.rules import PRESETS

RESULTS = Path(__file__).parents[1] / "results" / "engine_speed.json"
HANDS_PER_CALL = 2000


def random_hands(rules: str, seconds: float, seed: int = 0) -> Throughput:
    """Uniformly random hands of the compiled engine, one after the other in one state record."""
    states = np.zeros(1, STATE)
    states["rules"] = PRESETS[rules].block
    counts = np.zeros(NUM_COUNTS, np.int64)
    first = 0

    def play() -> tuple[int, int]:
        nonlocal first
        hands, decisions = int(counts[0]), int(counts[1])
        play_hands(states, np.uint64(seed), first, first + HANDS_PER_CALL, int(Policy.RANDOM), False, counts)
        first += HANDS_PER_CALL
        return int(counts[0]) - hands, int(counts[1]) - decisions

    return measure(f"this engine, random hands, {rules}", play, seconds)


def measurements(seconds: float) -> list[Callable[..., Throughput]]:
    """The measurements: the engine first, the one that the ratios divide by last."""
    return [
        partial(random_hands, "openspiel", seconds),
        partial(random_hands, "eaai", seconds),
        partial(other_engines.rlcard_hands, seconds),
        partial(other_engines.openspiel_hands_cloned, seconds),
        partial(other_engines.openspiel_hands, seconds),
    ]


def report(results: list[Throughput]) -> list[dict[str, float | str]]:
    """Rows with the ratio to the last measurement, OpenSpiel's plain loop."""
    base = results[-1]
    return [
        {
            "name": result.name,
            "hands_per_second": round(result.hands_per_second, 1),
            "decisions_per_second": round(result.decisions_per_second, 1),
            "hands_ratio": round(result.hands_per_second / base.hands_per_second, 2),
            "decisions_ratio": round(result.decisions_per_second / base.decisions_per_second, 2),
        }
        for result in results
    ]


def main(seconds: float = 0.25, rounds: int = 24) -> None:
    """Measures for so many seconds of the processor in each round, keeps the fastest round, and writes the results."""
    rows = report(compare(measurements(seconds), rounds))
    print(f"{'':<44} {'hands/s':>12} {'decisions/s':>14} {'hands':>9} {'decisions':>10}")
    for row in rows:
        print(
            f"{row['name']:<44} {row['hands_per_second']:>12,.0f} {row['decisions_per_second']:>14,.0f} "
            f"{row['hands_ratio']:>8,.1f}x {row['decisions_ratio']:>9,.1f}x"
        )
    command = f"python -m benchmarks.speed.engine_speed --seconds {seconds:g} --rounds {rounds}"
    write_results(RESULTS, command, {"ratios_to": rows[-1]["name"], "rows": rows})


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
