"""What first use costs: the first hand of an environment, and the first click at the table in the browser against a level.

python -m benchmarks.speed.first_use                          with the sources as they are: everything is compiled
python -m benchmarks.speed.first_use --wheel dist/WHEEL ... --results benchmarks/results/first_use.json

Every figure begins with an empty cache of compiled code, and is given by the clock and in seconds of the processor, since only these mean
much while other programs run. A wheel is installed in an empty environment for the hand; for the table that environment also sees the
libraries of this one, torch among them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import tyro

from agents.arena.results import versions
from agents.files import write_json
from benchmarks.speed.web_speed import Server, next_click

LEVELS = ("level-1", "level-4")
_HAND = """
import gymnasium as gym
import ginenv
env = gym.make("Gin/Hand-v0", opponent="simple", rules="eaai")
_, info = env.reset(seed=7)
done = False
while not done:
    _, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
    done = terminated or truncated
"""


def _run(*command: str | Path, cwd: Path | None = None, **variables: str) -> dict[str, float]:
    """Seconds of a program by the clock and of the processor. In the current directory, Python would find a checkout's modules."""
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    subprocess.run([str(word) for word in command], env=environment, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall": round(time.perf_counter() - began, 2),
        "processor": round(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, 2),
    }


def _install(wheel: Path, place: Path) -> tuple[str, dict[str, float]]:
    """An empty environment with a wheel: its interpreter, and what the installation took."""
    _run(sys.executable, "-m", "venv", place)
    python = place / "bin" / "python"
    return str(python), _run(python, "-m", "pip", "--disable-pip-version-check", "-q", "install", wheel.resolve())


def _clicks(level: str, python: str, place: Path, cwd: Path | None) -> dict[str, dict[str, float]]:
    """A person who opens the table, chooses a level and plays at once."""
    found = {}

    def ask(what: str, path: str, fields: dict[str, str] | None = None, part: bool = False) -> str:
        shown, wall, processor = server.timed(path, fields, part)
        found[what] = {"wall": round(wall / 1000, 2), "processor": round(processor / 1000, 2)}
        return shown

    with Server(str(place / "home"), python, cwd, GINENV_CACHE_DIR=str(place / "cache")) as server:
        server.ask("/players", {"do": "create", "name": "Ann"})
        ask("choose", "/options", {"opponent": level})
        ask("begin", "/new", {"sure": "1"})
        shown = ask("table", "/table")
        ask("first click", "/table", next_click(shown), part=True)
    return found


def measure(wheel: Path | None) -> dict[str, Any]:
    """The figures, for a wheel or for the sources."""
    figures: dict[str, Any] = {"wheel": wheel.name if wheel else None, "load": round(os.getloadavg()[0], 1)}
    with tempfile.TemporaryDirectory() as folder:
        place, python, cwd = Path(folder), sys.executable, Path(folder) if wheel else None
        if wheel is not None:
            python, figures["install"] = _install(wheel, place / "venv")
        for which in ("first hand", "second hand"):
            figures[which] = _run(python, "-c", _HAND, cwd=cwd, GINENV_CACHE_DIR=str(place / "cache"))
            print(which, figures[which], flush=True)
        if wheel is not None:
            (library,) = (place / "venv" / "lib").glob("python3*/site-packages")
            (library / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
        for level in LEVELS:
            (place / level).mkdir()
            figures[level] = _clicks(level, python, place / level, cwd)
            print(level, figures[level], flush=True)
    return figures


def main(wheel: tuple[Path, ...] = (), results: Path | None = None) -> None:
    """Measures and writes.

    Args:
        wheel: wheels to install, one after the other.
        results: JSON file for the figures.
    """
    figures = [measure(each) for each in wheel or (None,)]
    if results:
        write_json(results, {"figures": figures, "versions": versions()})


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
