"""``gin tournament``: everyone against everyone, with ratings and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from agents.arena.configs import TournamentConfig
from agents.arena.executors import open_executor
from agents.arena.results import RESULTS_VERSION
from agents.arena.tournament import Standings, Tournament
from agents.cli import INTERRUPTED
from agents.config import describe_keys, load_config
from agents.files import write_json, write_text, writing
from agents.interrupts import defer_interrupts
from agents.programs.player import fault_text
from agents.reports.terminal import (
    check_forfeits,
    counted,
    plain_console,
    print_result,
    progress_bar,
    standings_tables,
    this_command,
)
from agents.reports.tournament import report

_CHANGES = f"keys of it changed on the command line:\n{describe_keys(TournamentConfig)}"


def tournament(
    config: Annotated[Path, Positional, arg(metavar="CONFIG.yaml")],
    changes: Annotated[list[str], Positional, arg(metavar="[KEY=VALUE ...]", help=_CHANGES, help_behavior_hint="")],
    workers: int = 1,
    details: bool = False,
) -> int | None:
    """Plays the missing blocks of a tournament, everyone against everyone, and writes results and a report.

    After Ctrl-C, SIGTERM or SIGHUP, the results of the blocks that were played are written and shown, and the exit status is 130.

    Args:
        config: YAML file of the tournament.
        changes: see _CHANGES.
        workers: number of processes.
        details: also show how often each beats each other.
    """
    settings = load_config(config, changes, TournamentConfig)
    played = Tournament(settings)
    console = plain_console()
    with defer_interrupts():
        with open_executor(workers) as executor:
            with progress_bar(console, len(played.blocks()), f"{settings.title}, blocks") as tick:
                is_complete = played.play(tick, executor)
        standings = played.standings()
        if not standings.matches:
            raise KeyboardInterrupt
        _publish(standings, settings.out, console, details)
    return None if is_complete else INTERRUPTED


def _publish(standings: Standings, out: Path, console: Console, details: bool) -> None:
    """Writes results and report, then shows them."""
    with writing(out):
        write_json(out / "results.json", {"format": RESULTS_VERSION, "command": this_command(), **standings.to_dict()})
        write_text(out / "report.html", report(standings, this_command()))
    print_result(console, standings_tables(standings), details)
    more = "" if details else "; --details also shows how often each beats each other"
    console.print(f"results: {out / 'results.json'}, report: {out / 'report.html'}{more}", markup=False, soft_wrap=True)
    for fault in standings.faults():
        console.print(f"fault: {fault_text(fault)}", markup=False, highlight=False)
    if standings.missing:
        console.print(f"not played yet: {counted(standings.missing, 'block')}; the same command continues")
    check_forfeits(standings.matches.values())
