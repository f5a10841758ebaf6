"""A tournament over Ray of which a node or a process is killed at a random moment: the same results file as from one process?

`python -m benchmarks.robustness.lost_nodes --times 20`. Eight players, one of them a checkpoint, which travels to the nodes by content.
The nodes are Ray's own processes on this machine, two and four of them in turn, with one processor each. Every second time a whole node
is killed, with its scheduler and its store, else one process while it plays.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import torch
import tyro

from agents.arena.configs import TournamentConfig
from agents.arena.executors import open_executor
from agents.arena.results import versions
from agents.arena.tournament import Tournament
from agents.files import write_json
from agents.network.checkpoint import save_checkpoint
from agents.network.nets import Actor
from benchmarks.robustness.interrupts import without_times

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "lost_nodes.json"
_BOTS = ("random", "easy", "simple", "formula", "camper", "knocker", "style:base=simple,gin=1")
_STORE_BYTES = 80_000_000


@contextmanager
def ray_cluster(nodes: int) -> Iterator[Any]:
    """A Ray cluster on this machine: a head without processors, and nodes with one each."""
    # Ray's processes would yield to all other programs, unlike those that they are compared with.
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        add_nodes(cluster, nodes)
        yield cluster
    finally:
        cluster.shutdown()


def add_nodes(cluster: Any, nodes: int, **options: Any) -> None:
    """Adds nodes with one processor each."""
    for _ in range(nodes):
        cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES, **options)


def kill_node(cluster: Any, chance: random.Random) -> str:
    """Kills one node with everything on it."""
    cluster.remove_node(chance.choice(sorted(cluster.worker_nodes, key=str)), allow_graceful=False)
    return "node"


def kill_process(chance: random.Random) -> str:
    """Kills one process of the cluster that plays; says so if none did."""
    found = [process for process in psutil.Process().children(recursive=True) if process.name().startswith("ray::_run")]
    if not found:
        return "no process was playing"
    chance.choice(found).send_signal(signal.SIGKILL)
    return "process"


def results_file(config: TournamentConfig, executor: Executor | None, after: Callable[[int], None]) -> str:
    """Plays a tournament; the hash of its results without the times."""
    tournament = Tournament(config)
    assert tournament.play(after, executor)
    standings = tournament.standings()
    shutil.rmtree(config.out)
    return hashlib.sha256(json.dumps(without_times(standings.to_dict()), sort_keys=True).encode()).hexdigest()[:16]


def main(times: int = 20) -> None:
    """Plays the tournament here, then again and again with a loss."""
    chance = random.Random(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        torch.manual_seed(1)
        save_checkpoint(directory / "checkpoint", Actor((8,)), (8,), {})
        players = {name: name for name in (*_BOTS, str(directory / "checkpoint"))}
        config = TournamentConfig(  # type: ignore[call-arg]
            players={f"player {number}": spec for number, spec in enumerate(players)}, pairs=60,
            block=20, seed=5, resamples=50, out=directory / "tournament",
        )  # fmt: skip
        blocks = len(Tournament(config).blocks())
        here = results_file(config, None, lambda done: None)
        runs = []
        for number in range(times):
            nodes = (2, 4)[number // 2 % 2]
            run = _with_a_loss(config, nodes, chance.randrange(1, blocks), bool(number % 2), chance)
            runs.append(run | {"same": run.pop("results") == here})
            same = sum(run["same"] for run in runs)
            print(f"{number + 1}: {runs[-1]}; {same} gave the results file of one process", flush=True)
            about = {"versions": versions(), "players": len(players), "pairs": config.pairs, "blocks": blocks}
            write_json(RESULTS, about | {"times": len(runs), "same": same, "runs": runs})


def _with_a_loss(
    config: TournamentConfig, nodes: int, at: int, is_process: bool, chance: random.Random
) -> dict[str, Any]:
    killed = ""
    began = time.perf_counter()
    with ray_cluster(nodes) as cluster, open_executor(ray=cluster.address) as executor:

        def after(done: int) -> None:
            nonlocal killed
            if done == at:
                killed = kill_process(chance) if is_process else kill_node(cluster, chance)

        found = results_file(config, executor, after)
    seconds = round(time.perf_counter() - began, 1)
    return {"nodes": nodes, "killed": killed, "after_blocks": at, "results": found, "seconds": seconds}


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
