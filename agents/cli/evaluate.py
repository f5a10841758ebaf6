"""``gin evaluate``: who is better, by how much, and is it real? Matches on mirrored deals, with intervals."""

from __future__ import annotations

from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from agents.arena.configs import PANEL, MatchOptions, Processes, num_games
from agents.arena.executors import open_executor
from agents.arena.matches import MatchSettings, check_names, play_match
from agents.arena.results import MatchResult
from agents.cli import INTERRUPTED
from agents.files import check_writable, new_results_file, write_json, writing
from agents.interrupts import defer_interrupts
from agents.reports.terminal import (
    check_forfeits,
    match_tables,
    opponents_tables,
    plain_console,
    print_result,
    progress_bar,
    results_document,
)
from ginenv.errors import GinError
from ginenv.hands.text import rules_text
from ginenv.tables.player_names import short_name

# What --against all stands for: all that ship and take no search of their own.
ALL = (*PANEL, "camper", "knocker", "network", "level-1", "level-2", "level-3", "level-4")
USUAL_GAMES = 2000


class MatchConfig(MatchOptions, Processes):
    """A match of two players, or of one against each of several.

    Attributes:
        players: names, checkpoint directories, or cmd:"PROGRAM ARGUMENTS" for a program that speaks the line protocol.
        against: opponents of the only player, each in a match of its own; 'all' for those that ship (random, easy, simple,
            formula, camper, knocker, network, level-1 to level-4).
        games: number of games to play (rounded up to pairs); 2000 when neither games nor hands is given.
        hands: play this many single hands (rounded up to pairs) instead of games.
        salt: salt of an earlier match with an outside program, from its results file, to replay its deals; a new one when left empty.
        card: write the figures on the card of the first player, a network's directory; earlier ones of the same opponent and rules go.
        out: JSON file for the results; by default a new one, runs/evaluate.json, runs/evaluate-2.json and so on.
    """

    players: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PLAYER [PLAYER]", help_behavior_hint="")
    ]
    against: Annotated[tuple[str, ...], tyro.conf.arg(help_behavior_hint="")] = ()
    games: int | None = None
    hands: int | None = None
    salt: str = ""
    card: bool = False
    out: Path | None = None

    @property
    def path(self) -> Path:
        """The results file: the one that was named, or one that there is not yet."""
        return self.out or new_results_file("evaluate")

    @property
    def opponents(self) -> list[str]:
        """The players that the first one meets."""
        if (self.against and len(self.players) != 1) or not 1 <= len(self.players) <= 2:
            raise GinError(
                f"{len(self.players)} players were named; name two, or one (it meets those after --against, or else {', '.join(PANEL)})"
            )
        if self.against == ("all",) or (len(self.players) == 1 and not self.against):
            return [name for name in (ALL if self.against else PANEL) if name != self.players[0]]
        return list(self.players[1:] or self.against)


def evaluate(config: MatchConfig, details: bool = False) -> int | None:
    """Plays two players against each other on mirrored deals, or one against several (random, easy, simple, formula, or --against).

    After Ctrl-C, SIGTERM or SIGHUP, what was finished is written and shown, and the exit status is 130.

    Args:
        config: the matches.
        details: also show how they play.
    """
    opponents = config.opponents
    count = num_games(config.games, config.hands, USUAL_GAMES)
    pairs, settings = (count + 1) // 2, config.match_settings("hands" if config.hands else "games", config.salt)
    check_writable(config.path)
    check_names(*config.players, *opponents)
    if config.card:
        _check_card(config.players[0])
    console = plain_console()
    if count % 2:
        console.print(
            f"{settings.unit} are played in pairs, each deal from both seats: {2 * pairs:,}, not {count:,}",
            highlight=False,
        )
    with defer_interrupts():
        with open_executor(config.workers) as executor:
            results, is_complete = _play(config, opponents, settings, pairs, console, executor)
        try:
            # Only now: another match may have written one meanwhile.
            path = config.path
            with writing(path):
                write_json(path, results_document(results))
            if config.card:
                _write_card(config.players[0], results)
            more = "" if details else "; --details also shows how they play"
            console.print(f"results: {path}{more}", markup=False, soft_wrap=True)
        finally:
            # If the disk is full, the figures shown here are all that is left.
            tables = match_tables(results[0]) if len(opponents) == 1 else opponents_tables(results)
            print_result(console, tables, details)
    check_forfeits(results)
    return None if is_complete else INTERRUPTED


def _check_card(player: str) -> None:
    """Refuses a player on whose card nothing can be written."""
    from agents.levels.level import LEVEL
    from agents.network.checkpoint import METADATA
    from agents.network.model_card import model_card
    from agents.network.player import network_directory

    directory = Path(network_directory(player))
    # Whatever keeps it from being written shows now, before the match.
    model_card(directory)
    if (directory / LEVEL).is_file():
        raise GinError(f"--card is for networks; {player} is a level, which goes by the content of its files")
    check_writable(directory / METADATA)


def _write_card(player: str, results: list[MatchResult]) -> None:
    from agents.network.model_card import add_measured
    from agents.network.player import network_directory

    figures = ("jobs", "unit", "seed", "share", "points_per_hand")
    matches = [
        {"against": result.names[1], "rules": rules_text(result.rules).partition("@")[0]}
        | {name: value for name, value in result.to_dict().items() if name in figures}
        for result in results
    ]
    add_measured(network_directory(player), matches)


def _play(
    config: MatchConfig,
    others: list[str],
    settings: MatchSettings,
    pairs: int,
    console: Console,
    executor: Executor | None,
) -> tuple[list[MatchResult], bool]:
    """Plays the matches; returns the results up to an interrupt, and whether they are all that was asked for.

    Raises:
        KeyboardInterrupt: if nothing was finished.
    """
    first = config.players[0]
    results: list[MatchResult] = []
    try:
        for other in others:
            with progress_bar(console, 2 * pairs, f"{short_name(first)} – {short_name(other)}") as tick:
                result = play_match(first, other, pairs=pairs, executor=executor, progress=tick, settings=settings)
            results.append(result)
            if result.interrupted:
                console.print(f"interrupted after {result.pairs:,} of {pairs:,} pairs")
                return results, len(results) == len(others) and result.pairs == pairs
    except KeyboardInterrupt as stopped:
        if not results:
            raise
        finished = f"{len(results)} of {len(others)} matches were finished"
        console.print(f"{finished}; the next was {stopped}", markup=False, soft_wrap=True)
        return results, False
    return results, True
