"""``gin tournament``: everyone against everyone, with ratings and a report."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from agents.arena.configs import TournamentConfig
from agents.arena.tournament import Standings, Tournament
from agents.cli import INTERRUPTED
from agents.config import describe_keys, load_config
from agents.files import write_json, write_text, writing
from agents.interrupts import defer_interrupts
from agents.reports.terminal import (
    check_forfeits,
    counted,
    fault_text,
    plain_console,
    print_result,
    progress_bar,
    standings_tables,
    this_command,
)
from agents.reports.tournament import report
from ginenv.errors import GinError

_CHANGES = f"keys of it changed on the command line:\n{describe_keys(TournamentConfig)}"


def _rank() -> tuple[int, int]:
    """This process's rank and the number of processes, as torchrun sets them."""
    values = []
    for name, usual in (("RANK", "0"), ("WORLD_SIZE", "1")):
        text = os.environ.get(name, usual)
        if not re.fullmatch("[0-9]{1,6}", text):
            raise GinError(f"the environment's {name} is {text!r}; it must be a whole number from 0")
        values.append(int(text))
    rank, world = values
    if rank >= world:
        raise GinError(
            f"the environment's RANK is {rank} and its WORLD_SIZE {world}; ranks go from 0 to WORLD_SIZE - 1"
        )
    return rank, world


def tournament(
    config: Annotated[Path, Positional, arg(metavar="CONFIG.yaml")],
    changes: Annotated[list[str], Positional, arg(metavar="[KEY=VALUE ...]", help=_CHANGES)],
    details: bool = False,
) -> int | None:
    """Plays the missing blocks of a tournament, everyone against everyone, and writes results and a report.

    After Ctrl-C or SIGTERM, the results of the blocks that were played are written and shown, and the exit status is 130.

    Args:
        config: YAML file of the tournament.
        changes: see ``_CHANGES``.
        details: also show how often each beats each other.
    """
    settings = load_config(config, changes, TournamentConfig)
    rank, world = _rank()
    played = Tournament(settings, rank, world)
    share = len(played.blocks()[rank::world])
    console = plain_console()
    with defer_interrupts():
        with progress_bar(console, share, f"{settings.title}, blocks") as tick:
            is_complete = played.play(tick)
        standings = played.standings()
        if standings.missing and world > 1:
            ranks = " of other ranks" if is_complete else ""
            state = "is done" if is_complete else "was interrupted"
            console.print(f"rank {rank} {state}; still missing: {counted(standings.missing, 'block')}{ranks}")
            return None if is_complete else INTERRUPTED
        if not standings.matches:
            raise KeyboardInterrupt
        _publish(standings, settings.out, console, details)
    return None if is_complete else INTERRUPTED


def _publish(standings: Standings, out: Path, console: Console, details: bool) -> None:
    """Writes results and report, then shows them."""
    with writing(out):
        write_json(out / "results.json", {"command": this_command(), **standings.to_dict()})
        write_text(out / "report.html", report(standings, this_command()))
    console.print(f"results: {out / 'results.json'}, report: {out / 'report.html'}", markup=False, soft_wrap=True)
    print_result(console, standings_tables(standings), details)
    for circle in standings.circles():
        console.print(f"warning: a circle: {' beats '.join([*circle, circle[0]])}", markup=False)
    for fault in standings.faults():
        console.print(f"fault: {fault_text(fault)}", markup=False, highlight=False)
    if standings.missing:
        console.print(f"not played yet: {counted(standings.missing, 'block')}; the same command continues")
    check_forfeits(standings.matches.values())
