"""What the first start of an environment with a bot costs: time with an empty cache and with a full one, and which kernels take it.

`python -m benchmarks.speed.first_use` starts two new interpreters that share a new cache directory. Each imports the package, makes
`Gin/Hand-v0` against `simple` and plays a hand. The output is wall-clock and processor seconds, then the kernels that Python calls,
each including everything it calls, and the parts that took longest by themselves.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from numba.core import event

SHOWN = 20


class _Clock(event.Listener):
    """Listens to Numba's compilations, which are nested: a kernel's parts are compiled during its own compilation."""

    def __init__(self) -> None:
        self.open: list[list[float]] = []
        self.entries: list[tuple[float, str]] = []
        self.own: collections.Counter[str] = collections.Counter()
        self.count: collections.Counter[str] = collections.Counter()

    def on_start(self, event: Any) -> None:
        """A compilation begins."""
        self.open.append([time.process_time(), 0.0])

    def on_end(self, event: Any) -> None:
        """The compilation that began last is over."""
        began, within = self.open.pop()
        took = time.process_time() - began
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        if self.open:
            self.open[-1][1] += took
        else:
            self.entries.append((took, name))
        self.own[name] += took - within
        self.count[name] += 1


def start() -> None:
    """One start, in this process; wall-clock time leaves out the loading of the interpreter and of Numba."""
    began = time.perf_counter()
    clock = _Clock()
    event.register("numba:compile", clock)
    import gymnasium as gym

    import ginenv  # noqa: F401

    env = gym.make("Gin/Hand-v0", opponent="simple", rules="eaai")
    _, info = env.reset(seed=7)
    done = False
    while not done:
        _, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
        done = terminated or truncated
    wall, processor = time.perf_counter() - began, time.process_time()
    print(f"{wall:.1f} s by the clock, {processor:.1f} s of the processor, {sum(clock.count.values())} compilations")
    for took, name in sorted(clock.entries, reverse=True):
        print(f"  {took:6.2f} s  {name}, with its parts")
    for name, took in clock.own.most_common(SHOWN):
        print(f"  {took:6.2f} s  {name}, {clock.count[name]} times, alone")


def main() -> None:
    """Runs both starts, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        for which in ("first", "second"):
            print(f"{which} start: ", end="", flush=True)
            command = [sys.executable, "-c", "from benchmarks.speed.first_use import start; start()"]
            subprocess.run(command, env=os.environ | {"GINENV_CACHE_DIR": cache}, check=True)


if __name__ == "__main__":
    main()
