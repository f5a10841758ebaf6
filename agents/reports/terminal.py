"""Results in the terminal and as files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from agents.arena.results import RESULTS_VERSION, MatchResult, versions
from agents.arena.tournament import Standings
from ginenv.rules import PRESETS, Rules

_STYLE_ROWS = (
    ("hands won", "hands_won", "{:.1%}"),
    ("hands drawn", "hands_drawn", "{:.1%}"),
    ("gin", "gin_rate", "{:.1%}"),
    ("knock", "knock_rate", "{:.1%}"),
    ("deadwood at a knock", "knock_deadwood", "{:.2f}"),
    ("knocks when it can", "knocked_when_possible", "{:.1%}"),
    ("undercuts given", "undercuts_given", "{:,}"),
    ("undercuts taken", "undercuts_taken", "{:,}"),
    ("turns a hand", "turns_per_hand", "{:.2f}"),
    ("upcards taken", "upcards_taken", "{:.1%}"),
    ("deadwood when caught", "deadwood_when_caught", "{:.2f}"),
    ("ms a decision", "ms_per_decision", "{:.4f}"),
)


def _name_of(rules: Rules) -> str:
    """A preset's name, or else the hash of the rules."""
    return next((name for name, preset in PRESETS.items() if preset == rules), rules.hash)


@contextmanager
def progress_bar(console: Console, total: int, text: str) -> Iterator[Any]:
    """A bar with time left; yields a function that is told how many of ``total`` are done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=total)
        yield lambda done: bar.update(task, completed=done)


def match_tables(result: MatchResult) -> list[Table]:
    """The result of a match and the style of both sides."""
    a, b = result.names
    table = Table(title=f"{a} against {b}", title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    hands = int(result.games["hands"].sum())
    what = f"{len(result.games):,} {result.unit}" + (f", {hands:,} hands" if result.unit == "games" else "")
    table.add_row(
        "played", what, f"{result.pairs:,} mirrored deals, rules {_name_of(result.rules)}, seed {result.seed}"
    )
    table.add_row(f"{result.unit} won", result.share.text(percent=True), "draws count half")
    if result.unit == "games":
        table.add_row("hands won", result.hand_share.text(percent=True), "of those that somebody won")
    table.add_row("points a hand", result.points.text(), "")
    if result.adjusted_points is not None and result.adjusted_share is not None:
        table.add_row(
            f"{result.unit} won, luck off", result.adjusted_share.text(percent=True), "luck with the stock subtracted"
        )
        table.add_row("points a hand, luck off", result.adjusted_points.text(), "")
    if result.verdict:
        table.add_row("verdict", result.verdict, "")
    forfeits = result.games["forfeits"].sum(axis=0)
    for side, name in enumerate(result.names):
        if forfeits[side]:
            table.add_row("forfeited", f"{int(forfeits[side]):,} hands", name)
    style = Table(title="how they play", title_justify="left")
    style.add_column("")
    for name in result.names:
        style.add_column(name, justify="right")
    sides = [result.rates_of(0), result.rates_of(1)]
    for label, key, form in _STYLE_ROWS:
        style.add_row(label, *("–" if side[key] is None else form.format(side[key]) for side in sides))
    return [table, style]


def panel_table(results: list[MatchResult]) -> Table:
    """One player against several."""
    table = Table(title=f"{results[0].names[0]}, {results[0].pairs:,} mirrored deals each", title_justify="left")
    for heading in ("against", "games won", "hands won", "points a hand", "hands drawn", "gin", "knock deadwood"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    for result in results:
        own = result.rates_of(0)
        table.add_row(
            result.names[1],
            result.share.text(percent=True),
            result.hand_share.text(percent=True),
            result.points.text(),
            f"{own['hands_drawn']:.1%}",
            f"{own['gin_rate']:.1%}",
            "–" if own["knock_deadwood"] is None else f"{own['knock_deadwood']:.2f}",
        )
    return table


def this_command() -> str:
    """The command that repeats a result, with this machine's directories taken out."""
    here, home = os.getcwd(), str(Path.home())
    program, *arguments = [part.replace(here + os.sep, "").replace(home + os.sep, "~/") for part in sys.argv]
    return shlex.join(["python", Path(program).name, *arguments])


def results_document(results: list[MatchResult]) -> dict[str, Any]:
    """A results file: the matches and everything that is needed to repeat them."""
    return {
        "format": RESULTS_VERSION,
        "command": this_command(),
        "versions": versions(),
        "matches": [result.to_dict() for result in results],
    }


def standings_tables(standings: Standings) -> list[Table]:
    """Ratings and cross-table, the strongest first."""
    order = standings.order
    table = Table(title=standings.config.title, title_justify="left")
    table.add_column("")
    table.add_column("rating", justify="right")
    for j in order:
        table.add_column(standings.names[j], justify="right")
    for i in order:
        rating, low, high = standings.ratings[i]
        cells = []
        for j in order:
            mean, half = standings.share(i, j)
            cells.append("" if i == j or mean != mean else f"{100 * mean:.1f} ± {100 * half:.1f}")
        table.add_row(standings.names[i], f"{rating:+.0f} ± {(high - low) / 2:.0f}", *cells)
    return [table]
