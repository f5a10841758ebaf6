"""The command line: ``gin COMMAND ...``, and behind it ``train.py`` and ``evaluate.py``.

A command's module is imported when the command is run: a match loads no training, and the table to play at loads neither.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ginenv.errors import GinError, unknown_name


class Command(NamedTuple):
    """Something that can be asked for.

    Attributes:
        function: ``"module:function"``, called with the arguments and the program's name for its help.
        summary: what it does, in a few words.
        one_thread: whether matrix products keep to one thread. Players meet small batches, for which threads that wait for each other
            take longer than one; more work is for more processes.
    """

    function: str
    summary: str
    one_thread: bool = True


COMMANDS = {
    "play": Command("agents.cli.play:play", "a table to play at in the terminal"),
    "evaluate": Command("agents.cli.evaluate:evaluate", "A B: a match; A: one player against the panel"),
    "tournament": Command("agents.cli.tournament:tournament", "CONFIG.yaml: everyone against everyone"),
    "exploit": Command("agents.cli.measure:exploit", "PLAYER: trains best responses against a player", False),
    "adaptation": Command("agents.cli.measure:adaptation", "LEVEL: what a level gains by learning"),
    "conform": Command("agents.cli.programs:conform", "PROGRAM: does a program keep to the line protocol?"),
    "stress": Command("agents.cli.programs:stress", "matches against many bad programs"),
    "explain": Command("agents.cli.play:explain", "POSITION: why the search plays what it plays"),
    "levels": Command("agents.cli.levels:levels", "show, export, import, reset, rate or build levels"),
    "train": Command("agents.cli.train:train", "trains an agent by self-play and exports it", False),
    "curves": Command("agents.cli.curves:curves", "RUN ...: draws the learning curves of runs"),
    "average": Command("agents.cli.train:average", "CHECKPOINT ...: averages the weights of checkpoints", False),
    "convert": Command("agents.cli.train:convert", "DIRECTORY: an older checkpoint or level to the present format"),
    "fit-hand-model": Command("agents.cli.train:fit_hand_model", "CHECKPOINT: trains its model of whole hands", False),
}

# What ``evaluate.py`` takes as a command of its own and not as a player's name.
BESIDE_MATCHES = ("tournament", "conform", "stress", "exploit", "adaptation")


def run(program: str, command: str, arguments: Sequence[str]) -> None:
    """Runs a command; an error is one sentence and a non-zero exit.

    Args:
        program: how the program was called; ``evaluate.py`` says of its command ``evaluate`` nothing more.
        command: one of ``COMMANDS``.
        arguments: the words after it.
    """
    name = program if program == f"{command}.py" else f"{program} {command}"
    chosen = COMMANDS[command]
    for stop in (signal.SIGINT, signal.SIGTERM):
        # Both show what there is. Set anew, since a shell starts background jobs with interrupts ignored.
        signal.signal(stop, signal.default_int_handler)
    if chosen.one_thread:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    module, _, function = chosen.function.partition(":")
    try:
        status = getattr(importlib.import_module(module), function)(list(arguments), name)
    except GinError as error:
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted before anything was finished")
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing in ("ginenv", "agents", "None"):
            raise
        sys.exit(f"{name}: {missing} is not installed; pip install 'ginenv[train]' installs it")
    if status:
        sys.exit(status)


def main() -> None:
    """The program ``gin``."""
    command, *rest = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help"):
        print("usage: gin COMMAND ...\n")
        print("\n".join(f"  {name:15} {chosen.summary}" for name, chosen in COMMANDS.items()))
        print("\nEach has a --help of its own.")
    elif command in COMMANDS:
        run("gin", command, rest)
    else:
        sys.exit(f"gin: {unknown_name('command', command, COMMANDS)}")
