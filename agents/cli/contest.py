"""``gin contest``: a folder of bots against one another, with standings on a page."""

from __future__ import annotations

import time

from rich.console import Console

from agents.arena.executors import open_executor
from agents.arena.tournament import Standings
from agents.cli import INTERRUPTED
from agents.contest.contest import Contest, ContestConfig
from agents.contest.pages import publish
from agents.interrupts import defer_interrupts
from agents.reports.terminal import counted, new_table, plain_console, progress_bar, this_command

# Least seconds between two versions of the page.
_PUBLISHED_EVERY = 5.0


def contest(config: ContestConfig) -> int | None:
    """Checks every bot of a folder, plays everyone against everyone, and keeps a page of standings up to date.

    The same command goes on after Ctrl-C or a kill; of a bot that has changed, only its own matches are played again.
    """
    console, command = plain_console(), this_command()
    played = Contest(config)
    with progress_bar(console, len(played.entries), "checking the bots") as tick:
        played.check(tick)
    publish(played, command, "The first games are being played.")
    console.print(f"standings: {config.out / 'index.html'}", markup=False, soft_wrap=True)
    published = time.monotonic()

    with defer_interrupts():
        with open_executor(config.workers, config.ray) as executor:
            with progress_bar(console, played.num_blocks, "contest, blocks") as tick:

                def show(done: int) -> None:
                    nonlocal published
                    tick(done)
                    if time.monotonic() - published > _PUBLISHED_EVERY:
                        publish(played, command, f"{done} of {played.num_blocks} blocks are played.")
                        published = time.monotonic()

                is_complete = played.play(show, executor)
        if not is_complete:
            _print(publish(played, command, ""), played, console)
            return INTERRUPTED
    with progress_bar(console, len(played.entries), "looking for dear decisions") as tick:
        played.analyse(tick, lambda: publish(played, command, "The bots' decisions are being judged.") and None)
    _print(publish(played, command, ""), played, console)
    return None


def _print(standings: Standings, played: Contest, console: Console) -> None:
    table = new_table("standings", "bot", "rating", "95 %", "forfeits")
    for number in standings.order:
        rating, low, high = standings.ratings[number]
        table.add_row(
            standings.names[number], f"{rating:+.0f}", f"{low:+.0f} to {high:+.0f}", f"{standings.forfeits(number):,}"
        )
    console.print(table)
    for bot in played.bots:
        for sentence in bot.wrong[:1]:
            console.print(f"not in the contest: {bot.name}: {sentence}", markup=False, highlight=False)
    if standings.missing:
        console.print(f"not played yet: {counted(standings.missing, 'block')}; the same command goes on")
