"""Random hands per second on one core: this engine beside OpenSpiel's Python loop, in one run.

`python -m benchmarks.speed.engine_speed` (after `make peers`) prints hands, decisions and ratios, and writes them to
`benchmarks/results/engine_speed.json`. The measurements take turns (see `benchmarks.speed.throughput`), so the ratios are reliable even
where single figures are not. Play is uniformly random, under the `openspiel` preset and under `eaai`, with complete rules and exact
spreads and lay-offs. `benchmarks.speed.env_speed` measures the environments' steps.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.speed import openspiel
from benchmarks.speed.throughput import Throughput, compare, measure, write_results
from ginenv.engine.engine import STATE
from ginenv.engine.perft import NUM_COUNTS, Policy, play_hands
from ginenv.engine.rules import PRESETS

HANDS_PER_CALL = 2000


def random_hands(rules: str, seed: int = 0) -> Throughput:
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

    return measure(f"this engine, random hands, {rules}", play)


def main() -> None:
    """Measures everything and its ratios to OpenSpiel's plain loop, and writes them."""
    ours = (partial(random_hands, "openspiel"), partial(random_hands, "eaai"))
    results = compare((*ours, openspiel.hands_cloned, openspiel.hands))
    write_results("engine_speed", results, results[-1])


if __name__ == "__main__":
    main()
