"""Training by torchrun on two hosts, of which one is lost: does the other end within a minute, with a sentence, and does the run go on?

`python -m benchmarks.robustness.two_hosts --times 10`, as root on Linux. The hosts are network namespaces of this machine, joined by a
cable of their own; each has its own directory of the run. In turn are lost: a process that trains, everything on a host, and the cable.
The same two commands then continue the run, until the next loss.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import torch
import tyro

from agents.arena.results import versions
from agents.files import write_json

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "two_hosts.json"
LOSSES = ("process", "host", "cable")
# The other host has to end within this many seconds.
LIMIT = 60.0
_HOSTS = ("gin-a", "gin-b")
_ADDRESSES = ("10.231.7.1", "10.231.7.2")
# Longer than a start takes on a busy machine.
_PATIENCE = 400.0
_SIZES = (
    "num_envs=8", "num_steps=8", "minibatch=32", "decisions=100000000", "network={actor: [8], critic: [8]}", "rules={eaai: 1}",
    "minutes=0", "eval_opponents=[]", "eval_every=1000", "save_every=0.001", "threads=1", "bfloat16=no",
)  # fmt: skip


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def two_hosts() -> Iterator[None]:
    """Two network namespaces with a cable between them.

    Raises:
        OSError: if there is no program ``ip``.
        subprocess.CalledProcessError: if this user may not make them.
    """
    try:
        for host in _HOSTS:
            _ip("netns", "add", host)
        _ip("link", "add", "gin0", "netns", _HOSTS[0], "type", "veth", "peer", "name", "gin0", "netns", _HOSTS[1])
        for host, address in zip(_HOSTS, _ADDRESSES, strict=True):
            _ip("-n", host, "addr", "add", f"{address}/24", "dev", "gin0")
            for link in ("gin0", "lo"):
                _ip("-n", host, "link", "set", link, "up")
        yield
    finally:
        for host in _HOSTS:
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)


class Host:
    """One host's share of a run: torchrun, and the process that trains.

    Args:
        number: 0 or 1.
        directory: of the run and of what it prints.
    """

    def __init__(self, number: int, directory: Path) -> None:
        self.number, self.name = number, _HOSTS[number]
        self.out, self.printed = directory / f"run-{number}", directory / f"printed-{number}"
        command = [
            "ip", "netns", "exec", self.name, sys.executable, "-m", "torch.distributed.run", "--nnodes=2",
            f"--node-rank={number}", f"--master-addr={_ADDRESSES[0]}", "--master-port=29531", "--nproc-per-node=1",
            str(ROOT / "train.py"), "--config", str(ROOT / "configs" / "smoke.yaml"), "--out", str(self.out), "--set", *_SIZES,
        ]  # fmt: skip
        environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "gin0"}
        with self.printed.open("wb") as printed:
            self.process = psutil.Popen(command, stdout=printed, stderr=subprocess.STDOUT, env=environment)

    @property
    def batches(self) -> int:
        """How many batches it has saved."""
        with suppress(Exception):
            name = "resume.pt" if self.number == 0 else f"resume-{self.number}.pt"
            return int(torch.load(self.out / name, map_location="cpu", weights_only=True)["batches"])
        return 0

    @property
    def trainer(self) -> psutil.Process:
        """The process that trains."""
        return self.process.children()[0]

    def kill(self) -> None:
        """Kills everything on this host at once."""
        with suppress(psutil.NoSuchProcess):
            for process in (*self.process.children(recursive=True), self.process):
                process.send_signal(signal.SIGKILL)

    @property
    def sentences(self) -> list[str]:
        """What the training itself printed at its end."""
        lines = self.printed.read_text(errors="replace").splitlines()
        return [line for line in lines if "the same command" in line]


def _wait(condition: Any, seconds: float) -> float:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"nothing happened for {seconds:.0f} s")
        time.sleep(0.2)
    return time.monotonic() - began


def _have_learned(hosts: list[Host], before: list[int]) -> bool:
    for host in hosts:
        if host.process.poll() is not None:
            raise ChildProcessError(
                f"host {host.number} ended by itself: {host.printed.read_text(errors='replace')[:1000]}"
            )
    return all(host.batches >= saved + 5 for host, saved in zip(hosts, before, strict=True))


def lose_one(loss: str, victim: int, directory: Path) -> dict[str, Any]:
    """Starts or continues the run on both hosts, and loses one of them after some batches.

    Args:
        loss: one of ``LOSSES``.
        victim: number of the host that is lost.
        directory: of the run.

    Returns:
        What was found: how long the other host took to end, its exit status, its sentences, and at which batch the run had continued.
    """
    hosts = [Host(number, directory) for number in (0, 1)]
    before, other = [host.batches for host in hosts], hosts[1 - victim]
    try:
        _wait(lambda: _have_learned(hosts, before), _PATIENCE)
        if loss == "process":
            hosts[victim].trainer.send_signal(signal.SIGKILL)
        elif loss == "host":
            hosts[victim].kill()
        else:
            _ip("-n", hosts[victim].name, "link", "set", "gin0", "down")
        try:
            seconds = _wait(lambda: other.process.poll() is not None, 3 * LIMIT)
        except TimeoutError:
            seconds = float("inf")
    finally:
        for host in hosts:
            host.kill()
            host.process.wait()
        _ip("-n", hosts[victim].name, "link", "set", "gin0", "up")
    resumed = "resumed at" in hosts[0].printed.read_text(errors="replace")
    found = {"lost": f"{loss} {victim}", "seconds": round(seconds, 1), "status": other.process.returncode}
    return found | {"sentences": other.sentences, "batches_before": min(before), "resumed": resumed}


def main(times: int = 10) -> None:
    """Loses one host again and again."""
    chance = random.Random(0)
    runs = []
    with tempfile.TemporaryDirectory() as made, two_hosts():
        for number in range(times):
            runs.append(lose_one(LOSSES[number % 3], chance.randrange(2), Path(made)))
            print(json.dumps(runs[-1]), flush=True)
    good = sum(run["seconds"] <= LIMIT and run["status"] == 1 and len(run["sentences"]) == 1 for run in runs)
    continued = sum(run["resumed"] for run in runs[1:])
    print(
        f"{good} of {len(runs)} ended within {LIMIT:.0f} s with one sentence; {continued} of {len(runs) - 1} were continued"
    )
    write_json(
        RESULTS, {"versions": versions(), "times": len(runs), "good": good, "continued": continued, "runs": runs}
    )


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
