"""Results and progress in the terminal, and results as files."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from agents.arena.results import RESULTS_VERSION, MatchResult, versions
from agents.arena.tournament import Standings
from agents.programs.player import fault_text
from ginenv.errors import GinError

# How players play: heading, key in ``results.rates``, format.
RATES = (
    ("hands won", "hands_won", "{:.1%}"),
    ("hands drawn", "hands_drawn", "{:.1%}"),
    ("gin", "gin_rate", "{:.1%}"),
    ("knock", "knock_rate", "{:.1%}"),
    ("deadwood at a knock", "knock_deadwood", "{:.2f}"),
    ("knocks when it can", "knocked_when_possible", "{:.1%}"),
    ("points per hand by gin", "gin_points", "{:.2f}"),
    ("points per hand by knocks", "knock_points", "{:.2f}"),
    ("points per hand by undercuts", "undercut_points", "{:.2f}"),
    ("undercut the other", "undercuts_given", "{:,}"),
    ("was undercut", "undercuts_taken", "{:,}"),
    ("turns a hand", "turns_per_hand", "{:.2f}"),
    ("upcards taken", "upcards_taken", "{:.1%}"),
    ("deadwood when caught", "deadwood_when_caught", "{:.2f}"),
    ("ms a decision", "ms_per_decision", "{:.4f}"),
)
# Seconds between two lines of progress where there is no terminal to show a bar.
LINE_SECONDS = 60.0


def rate_texts(rates: dict[str, Any]) -> list[str]:
    """The rates of a player in the order of ``RATES``; a dash for a rate that had no occasion."""
    return ["–" if rates.get(key) is None else form.format(rates[key]) for _, key, form in RATES]


class _Console(Console):
    """A console that leaves it to the command what becomes of it when nobody reads its output any more; rich would end it with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def plain_console(stderr: bool = False) -> Console:
    """A console that shows names as they are: ``:smile:`` does not become an emoji."""
    return _Console(stderr=stderr, emoji=False)


@contextmanager
def progress_bar(console: Console, total: int, text: str) -> Iterator[Callable[[int], None]]:
    """Progress and time left: a bar in a terminal, elsewhere one line a minute.

    Args:
        console: the console to show it on.
        total: how much there is to do.
        text: what is being done.

    Yields:
        A function to be called with how much of ``total`` is done.
    """
    if not console.is_terminal:
        yield _lines(console, total, text)
        return
    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda done: bar.update(task, completed=done)


def _lines(console: Console, total: int, text: str) -> Callable[[int], None]:
    began = last = time.monotonic()
    earlier = 0

    def tick(done: int) -> None:
        nonlocal earlier, last
        now = time.monotonic()
        if now - began < 1:
            # What is reported within the first second was done in an earlier run.
            earlier = done
        if now - last < LINE_SECONDS:
            return
        last, line = now, f"{text}: {done:,} of {total:,}"
        if done > earlier:
            left = (now - began) * (total - done) / (done - earlier)
            line += f", {left / 60:.0f} min left" if left >= 90 else f", {left:.0f} s left"
        # A match is not lost because nobody reads how far it is.
        with suppress(BrokenPipeError):
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    return tick


def counted(number: int, noun: str) -> str:
    """``1 game``, ``2,000 games``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def new_table(title: str, *headings: str) -> Table:
    """A table without frames: the first column to the left, the others to the right."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    return table


def _filled(title: str, headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Such a table of plain words: brackets in them are no markup."""
    table = new_table(escape(title), *map(escape, headings))
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def match_tables(result: MatchResult) -> list[Table]:
    """How both sides of a match play, and its result."""
    forfeits = zip(result.games["forfeits"].sum(axis=0), result.names, strict=True)
    rows = [
        *result.summary(),
        *(("forfeited", counted(int(count), "hand"), name) for count, name in forfeits if count),
        *(("fault", f"{fault['count']:,} ×", fault_text(fault)) for fault in result.faults),
    ]
    table = _filled(" against ".join(result.names), ("", "", ""), rows)
    table.show_header, table.columns[2].justify = False, "left"
    sides = [rate_texts(result.rates_of(side)) for side in range(2)]
    labels = [label for label, _, _ in RATES]
    play = _filled("how they play", ("", *result.names), zip(labels, *sides, strict=True))
    return [play, table]


def print_result(console: Console, tables: list[Table], details: bool) -> None:
    """Prints the last table, which is the result; the others before it where details are wanted."""
    for table in tables if details else tables[-1:]:
        console.print(table)


def check_forfeits(results: Iterable[MatchResult]) -> None:
    """Raises if hands of the matches were forfeited: their figures say little about how the players play."""
    results = list(results)
    if failed := [fault for result in results for fault in result.faults if fault["forfeits"]]:
        hands = sum(int(result.games["forfeits"].sum()) for result in results)
        raise GinError(f"{hands:,} {'hand was' if hands == 1 else 'hands were'} forfeited; {fault_text(failed[0])}")


def opponents_tables(results: list[MatchResult]) -> list[Table]:
    """How a player plays against each of several, and its results."""
    labels = [label for label, _, _ in RATES]
    sides = [rate_texts(result.rates_of(0)) for result in results]
    won = [
        (result.names[1], f"{result.pairs:,}", result.share.text(percent=True), result.points.text())
        for result in results
    ]
    headings = ("against", "mirrored pairs", f"{results[0].unit} won", "points per hand")
    table = _filled(results[0].names[0], headings, won)
    faults = {fault_text(fault): None for result in results for fault in result.faults}
    table.caption, table.caption_justify = escape("\n".join(faults)) or None, "left"
    names = (result.names[1] for result in results)
    return [_filled("how it plays against", ("", *names), zip(labels, *sides, strict=True)), table]


def standings_tables(standings: Standings) -> list[Table]:
    """Shares of games won against each other, and the ratings; the strongest first."""
    order, names = standings.order, standings.names

    def cell(i: int, j: int) -> str:
        share = None if i == j else standings.share(i, j)
        return "" if share is None else f"{100 * share.mean:.1f} ± {100 * share.half:.1f}"

    ratings = [(names[i], standings.ratings[i]) for i in order]
    return [
        _filled(
            "percent won against",
            ("", *(names[j] for j in order)),
            ((names[i], *(cell(i, j) for j in order)) for i in order),
        ),
        _filled(
            standings.config.title,
            ("", "rating"),
            ((name, f"{one.mean:+.0f} ± {(one.high - one.low) / 2:.0f}") for name, one in ratings),
        ),
    ]


def this_command() -> str:
    """The command that repeats a result, without this machine's directories."""
    here, home = os.getcwd(), os.path.expanduser("~")
    program, *arguments = [part.replace(here + os.sep, "").replace(home + os.sep, "~/") for part in sys.argv]
    name = Path(program).name
    if name == "__main__.py":
        return shlex.join(["python", "-m", "agents.cli", *arguments])
    return shlex.join([*(["python"] if name.endswith(".py") else []), name, *arguments])


def results_document(results: list[MatchResult]) -> dict[str, Any]:
    """The content of a results file: the matches and what is needed to repeat them."""
    return {
        "format": RESULTS_VERSION,
        "command": this_command(),
        "versions": versions(),
        "matches": [result.to_dict() for result in results],
    }
