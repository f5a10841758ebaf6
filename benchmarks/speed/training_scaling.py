"""Training on several threads and processes: decisions a second of the same recipe, with the same number of games in all.

Run with `python -m benchmarks.speed.training_scaling` on an otherwise idle machine. Processes are started by
`torchrun`. Each has its share of
the games and of a minibatch, so that a gradient step covers the same number of decisions in every layout. Layouts take turns, and the
fastest round of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agents.config import load_config
from agents.files import write_json
from agents.network.nets import has_bfloat16_units
from agents.training import ppo
from agents.training.learner import Learner
from benchmarks.speed.throughput import write_results

CONFIG = "configs/strong.yaml"
# Number of processes, and threads in each.
LAYOUTS = ((1, 1), (1, 2), (2, 1))
# The first batches compile and fill caches.
WARM_UP, BATCHES, ROUNDS = 2, 8, 3
RESULTS = Path(__file__).parents[1] / "results" / "training_scaling.json"


def train_share(threads: int, out: Path) -> None:
    """One process: trains some batches, and writes the number of decisions of all processes together and the seconds they took."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    config = load_config(CONFIG, [])
    changes = {"num_envs": config.num_envs // world, "minibatch": config.minibatch // world, "threads": threads}
    learner = Learner(
        load_config(CONFIG, [f"{key}={value}" for key, value in changes.items()] + ["imitation_decisions=0"])
    )

    def play(batches: int) -> None:
        last = learner.batches + batches
        ppo.train(learner, lambda figures: learner.batches < last)

    try:
        play(WARM_UP)
        before, began = learner.decisions, time.perf_counter()
        play(BATCHES)
        figures = {"decisions": learner.decisions - before, "seconds": time.perf_counter() - began}
        if learner.rank == 0:
            write_json(out, figures)
    finally:
        learner.workers.close()


def measure(processes: int, threads: int) -> dict[str, float]:
    """Decisions and seconds of one layout."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "figures.json"
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        share = ["-m", "benchmarks.speed.training_scaling", "--share", str(threads), "--out", str(out)]
        subprocess.run(launch + share, check=True, env=os.environ | {"OMP_NUM_THREADS": str(threads)})
        return json.loads(out.read_text(encoding="utf-8"))


def main() -> None:
    """Measures every layout in turns and writes the JSON; with ``--share``, one process's share of one layout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument(
        "--share", type=int, help="be one process of a layout, with so many threads; --out is for its figures"
    )
    arguments = parser.parse_args()
    if arguments.share is not None:
        if arguments.share < 1 or arguments.out == RESULTS:
            parser.error("--share needs 1 thread or more, and an --out of its own")
        train_share(arguments.share, arguments.out)
        return
    load = os.getloadavg()[0]
    rounds = [[measure(*layout) for layout in LAYOUTS] for _ in range(ROUNDS)]
    rows = []
    for (processes, threads), found in zip(LAYOUTS, zip(*rounds, strict=True), strict=True):
        speeds = [figures["decisions"] / figures["seconds"] for figures in found]
        rows.append({"processes": processes, "threads": threads, "per_second": max(speeds), "rounds": speeds})
    for row in rows:
        row["ratio"] = row["per_second"] / rows[0]["per_second"]
        print(f"{row['processes']} x {row['threads']}: {row['per_second']:,.0f} decisions/s, {row['ratio']:.1f} x")
    figures = {"config": CONFIG, "rows": rows, "load_before": load, "bfloat16_units": has_bfloat16_units()}
    write_results(arguments.out, "python -m benchmarks.speed.training_scaling", figures)


if __name__ == "__main__":
    main()
