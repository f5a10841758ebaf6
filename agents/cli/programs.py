"""``gin conform``: does a program keep to the line protocol?"""

from __future__ import annotations

from typing import Annotated

import tyro
from pydantic import Field

from agents.arena.conformance import check, stages
from agents.config import Config
from agents.programs.player import BotLimits
from agents.programs.process import split_command
from agents.reports.terminal import counted, plain_console, progress_bar
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError
from ginenv.tables.player_names import parse_player


class ConformConfig(Config):
    """A check of a program.

    Attributes:
        program: the program and its arguments, with or without cmd: or NAME=cmd: in front.
        hands: hands in each stage of the check.
        rules: play these rules alone: a preset, or one with changes; every phase of the protocol when left empty.
        seconds: time limit for getting ready, and for each line.
    """

    program: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PROGRAM")]
    hands: int = Field(40, gt=1)
    rules: str = ""
    seconds: float = Field(10.0, gt=0)


def conform(config: ConformConfig) -> None:
    """Plays a program through every phase of the line protocol and prints what is wrong."""
    command = config.program
    if "cmd:" in command and (parsed := parse_player(command)).kind == "cmd":
        command = parsed.argument
    # Checked before the first stage: a program that does not exist cannot conform.
    split_command(command)
    limits = BotLimits(start_seconds=config.seconds, seconds=config.seconds)
    console = plain_console()
    rules = get_rules(config.rules) if config.rules else None
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
