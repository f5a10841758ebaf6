"""Programs from outside for the tests: bad ones, one that writes down what it is told, and what is left of them."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agents.programs.player import BotLimits
from ginenv.engine.engine import STATE
from ginenv.engine.game import start_game
from ginenv.engine.rules import get_rules
from ginenv.view.view import make_views

ROOT = Path(__file__).parents[2]
# Of matches whose deals a test relies on.
SALT = f"{1:032x}"
QUICK = BotLimits(start_seconds=10, seconds=1.0, restarts=0, end_seconds=0.2)
# The learner sits in seat 0 and the program begins, so that every reset asks it.
PROGRAM_BEGINS = {"starter": 1, "seat": 0}

# Plays the last legal action; writes down every line that it is told. A second argument adds keys to its first answer.
LOGGER = """
import json, sys
log = open(sys.argv[1], "w")
for line in sys.stdin:
    log.write(line); log.flush()
    message = json.loads(line)
    if message["type"] == "hello":
        more = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
        print(json.dumps({"type": "ready", "protocol": 2} | more), flush=True)
    elif message["type"] == "act":
        answers = [{"slot": g["slot"], "action": g["legal"][-1]} for g in message["games"] if "legal" in g]
        print(json.dumps({"type": "answers", "id": message["id"], "answers": answers}), flush=True)
    else:
        break
"""


def command(*words: object) -> str:
    """A player's name for a Python program and its arguments."""
    return "cmd:" + shlex.join([sys.executable, *(str(word) for word in words)])


def bad_bot(kind: str, seed: object = 0) -> str:
    """One of the bad programs, by its kind."""
    return command(ROOT / "tests" / "support" / "bad_bots.py", kind, seed)


Lines = Callable[[], list[dict[str, Any]]]


def make_logger(place: Path) -> Callable[..., tuple[str, Lines]]:
    """A program that writes down what it is told: with these arguments its name, and the lines so far."""
    script, log = place / "logger.py", place / "log.jsonl"
    script.write_text(LOGGER, encoding="utf-8")

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]

    return lambda *options: (command(script, log, *options), lines)


def events_of(lines: list[dict[str, Any]]) -> dict[int, list[Any]]:
    """Events by slot, in the order told."""
    slots: dict[int, list[Any]] = {}
    for line in lines:
        for game in line.get("games", ()):
            slots.setdefault(game["slot"], []).extend(game["events"])
    return slots


def processes_of(mark: str) -> list[int]:
    """Processes that carry a mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def first_views() -> np.ndarray:
    """The first question of a game."""
    s = np.zeros(1, STATE)
    s["rules"] = get_rules("eaai").block
    start_game(s[0])
    return make_views(s, int(s["turn"][0]))
