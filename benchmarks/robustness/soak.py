"""Long runs of everything that people leave running: do memory, descriptors, temporary files or processes grow?

`python -m benchmarks.robustness.soak --minutes 30`. One process takes turns at a vector environment whose opponent is a
level that learns, matches
with two workers (of bots, and of an outside program), and the table in the terminal, played by a script against the level. It samples
itself after every round. The first sixth of the samples lets caches fill. The median of the next sixth is compared with that of the last
sixth. Files of games and of what was learned are meant to grow, and are not measured.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import tyro
from rich.console import Console

from agents.arena import play_match
from agents.arena.executors import process_pool
from agents.arena.results import versions
from agents.files import write_json
from agents.play.session import Session
from agents.play.store import Home
from agents.play.terminal.menu import Menu
from agents.play.terminal.screen import LeaveError, Terminal
from ginenv import HandVectorEnv

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "soak.json"
LEVEL = "level-1"
_TABLES, _STEPS = 64, 500
# The example program of the protocol's documentation, which plays like a simple bot.
_PROGRAM = f"cmd:{shlex.join([sys.executable, str(ROOT / 'examples' / 'template_bot.py')])}"
# Turns at the table before the script goes back to the menu and leaves it.
_TURNS = 60
# What is measured, and by what fraction it may grow.
MAX_GROWTH = 0.02
MEASURED = ("memory", "descriptors", "threads", "temporary_files", "children", "zombies")


def play_vector(envs: HandVectorEnv, rng: np.random.Generator) -> int:
    """Plays some hundred steps at all tables; returns how many hands ended."""
    ended = 0
    _, infos = envs.reset()
    for _ in range(_STEPS):
        legal = infos["action_mask"]
        _, _, done, _, infos = envs.step((legal * rng.random(legal.shape)).argmax(axis=1))
        ended += int(done.sum())
    return ended


def play_matches(number: int) -> int:
    """Plays matches with workers, one of them against an outside program; returns how many games were played."""
    games = 0
    with process_pool(2) as pool:
        for other, pairs in (("formula", 500), (_PROGRAM, 4)):
            result = play_match("simple", other, pairs=pairs, seed=number, executor=pool)
            assert not result.faults and not result.interrupted, result.faults
            games += len(result.games)
    return games


class Script:
    """A scripted player at the table in the terminal that follows hints and leaves after some turns."""

    def __init__(self) -> None:
        self.screen = io.StringIO()
        self.turns = 0

    def read(self, prompt: str) -> str:
        """The answer to a prompt."""
        shown = self.screen.getvalue()
        self.screen.seek(0)
        self.screen.truncate()
        self.turns += 1
        if self.turns > _TURNS:
            raise EOFError
        if "yes/no" in prompt:
            return "yes"
        if prompt.startswith("menu"):
            return "resume" if "unfinished" in shown else "new"
        hints = re.findall(r"Hint: (discard|knock with|take the upcard|draw from the stock)(?: the (\S\S))?", shown)
        if hints:
            words = {"discard": "d ", "knock with": "k ", "take the upcard": "t", "draw from the stock": "s"}
            return words[hints[-1][0]] + hints[-1][1]
        if "next hand" in prompt:
            return ""
        return "pass" if "or pass" in (shown.rstrip().splitlines() or [""])[-1] else "h"


def play_table(home: Path, number: int) -> int:
    """One visit to the table: opens the store, plays some turns against the level, and leaves; returns the number of turns."""
    script = Script()
    with Home(home) as store:
        session = Session(store, store.open("Ann") if store.find("Ann") else store.create("Ann"), seed=number)
        try:
            session.set_option("opponent", LEVEL)
            terminal = Terminal(Console(file=script.screen, width=100, highlight=False), script.read)
            with contextlib.suppress(LeaveError):
                Menu(terminal, session).run()
        finally:
            session.close()
    return script.turns


def sample(folder: Path, began: float) -> dict[str, float]:
    """The resources that this process holds now."""
    process = psutil.Process()
    children = process.children(recursive=True)
    dead = [child for child in children if child.status() == psutil.STATUS_ZOMBIE]
    return {
        "minutes": round((time.monotonic() - began) / 60, 2),
        "memory": process.memory_info().rss,
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "temporary_files": len(list(folder.rglob("*"))),
        "children": len(children) - len(dead),
        "zombies": len(dead),
    }


def growth(samples: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Medians after the first part and at the end, and the relative growth of each."""
    part = max(1, len(samples) // 6)
    found = {}
    for name in MEASURED:
        first, last = (
            float(np.median([each[name] for each in some])) for some in (samples[part : 2 * part], samples[-part:])
        )
        found[name] = {
            "after_the_first_part": first,
            "at_the_end": last,
            "growth": round((last - first) / max(1.0, first), 4),
        }
    return found


def main(minutes: float = 30.0) -> None:
    """Runs, and writes the results."""
    began, rng, samples = time.monotonic(), np.random.default_rng(0), []
    done = {"hands in the vector environment": 0, "games in matches": 0, "turns at the table": 0}
    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place) / "tmp", Path(place) / "home"
        folder.mkdir()
        # For this process and all that it starts.
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        envs = HandVectorEnv(_TABLES, LEVEL, "eaai", opponent_memory="env")
        envs.reset(seed=0)
        while not samples or samples[-1]["minutes"] < minutes:
            number = len(samples)
            for name, count in (
                ("hands in the vector environment", play_vector(envs, rng)),
                ("games in matches", play_matches(number)),
                ("turns at the table", play_table(home, number)),
            ):
                done[name] += count
            samples.append(sample(folder, began))
            if number % 10 == 0:
                print(samples[-1], flush=True)
        envs.close()
    found = growth(samples)
    document: dict[str, Any] = {"minutes": minutes, "done": done, "rounds": len(samples), "grown": found}
    document |= {"samples": samples[:: max(1, len(samples) // 60)], "versions": versions()}
    write_json(RESULTS, document)
    for name, row in found.items():
        print(f"{name}: {row['after_the_first_part']:,.0f} after the first part, {row['at_the_end']:,.0f} at the end")
    if worst := [name for name in MEASURED if found[name]["growth"] > MAX_GROWTH]:
        sys.exit(f"{' and '.join(worst)} grew by more than {100 * MAX_GROWTH:.0f} %")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
