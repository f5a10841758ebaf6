"""``gin conform`` and ``gin stress``: tests of programs that speak the line protocol."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Annotated

import tyro
from pydantic import Field

from agents.arena.configs import read_rules_argument
from agents.arena.conformance import check, stages
from agents.arena.stress import run
from agents.config import Config
from agents.programs.player import BotLimits
from agents.programs.process import split_command
from agents.reports.terminal import counted, plain_console, progress_bar
from ginenv.errors import GinError
from ginenv.tables.players import player_names

BAD_BOTS = Path(__file__).parents[1] / "arena" / "bad_bots.py"


class ConformConfig(Config):
    """A check of a program.

    Attributes:
        program: the program and its arguments, with or without cmd: in front.
        hands: hands in each stage of the check.
        rules: play these rules alone: a preset, one with changes, or rules as JSON; every phase of the protocol when left empty.
        seconds: time limit for getting ready, and for each line.
    """

    program: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PROGRAM")]
    hands: int = Field(40, gt=1)
    rules: str = ""
    seconds: float = Field(10.0, gt=0)


class StressConfig(Config):
    """Matches against bad programs.

    Attributes:
        bots: number of bad programs.
        threads: number of matches at once.
    """

    bots: int = Field(1000, gt=0)
    threads: int = Field(8, gt=0)


def conform(config: ConformConfig) -> None:
    """Plays a program through every phase of the line protocol and prints what is wrong."""
    command = config.program.removeprefix("cmd:")
    if command.startswith("py:") or (command == config.program and command in player_names()):
        raise GinError(
            f"{command!r} is a player of Python, which speaks no protocol; gin evaluate {command} plays matches with it"
        )
    # Checked before the first stage: a program that does not exist cannot conform.
    split_command(command)
    limits = BotLimits(start_seconds=config.seconds, seconds=config.seconds)
    console = plain_console()
    rules = read_rules_argument(config.rules) if config.rules else None
    with progress_bar(console, len(stages(rules)), "playing through every phase") as tick:
        found = check(command, config.hands, limits, tick, rules)
    decisions = ", ".join(f"{phase} {count:,}" for phase, count in found.decisions.items())
    console.print(f"decisions asked: {decisions}; {found.ms_per_decision:.3f} ms each")
    for kind, sentences in (("note", found.notes), ("wrong", found.wrong)):
        for sentence in sentences:
            console.print(f"{kind}: {sentence}", highlight=False, markup=False)
    if found.wrong:
        raise GinError(f"the program does not conform ({counted(len(found.wrong), 'finding')})")
    console.print("the program conforms")


def stress(config: StressConfig) -> None:
    """Plays matches against bad programs of every kind in agents/arena/bad_bots.py and checks that all are survived."""
    kinds = [kind for kind in runpy.run_path(str(BAD_BOTS))["KINDS"] if kind != "noise"]
    console = plain_console()
    with progress_bar(console, config.bots, "bad bots") as tick:
        result = run(BAD_BOTS, kinds, config.bots, config.threads, tick)
    for kind, named in result.faults.items():
        counts = ", ".join(f"{name} {count}" for name, count in named.most_common()) or "–"
        console.print(f"{kind:16} {counts}", highlight=False)
    summary = (
        f"{config.bots:,} bad bots in {result.seconds:.0f} s: {len(result.unnamed)} without a fault named, "
        f"{result.remaining_processes} processes left behind"
    )
    if result.unnamed or result.remaining_processes:
        raise GinError(f"{summary}; unnamed: {', '.join(sorted(set(result.unnamed)))}")
    console.print(summary)
