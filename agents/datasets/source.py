"""Where the hands of a table come from: matches between players, or records of hands played elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from agents.arena.executors import chunks, in_order, run_tasks
from agents.arena.lockstep import FORFEIT_POINTS, Lockstep, Observer, make_jobs
from agents.arena.matches import PROGRAM_GAMES, MatchSettings, make_side
from agents.arena.statistics import Statistics
from agents.datasets.rows import Hands, hands_of_record
from agents.deal_streams import Domain
from agents.programs.player import forfeiting
from ginenv.engine.engine import NOBODY
from ginenv.hands.records import read_record
from ginenv.tables.kernels import GAME, HAND
from ginenv.tables.player_names import short_name
from ginenv.tables.players import Player, close_players

# Jobs played together, which make one row group; a game has about ten hands, a hand about thirty decisions.
_TOGETHER = {"hands": 2048, "games": 256}


class _Collector(Observer):
    """Keeps the final states of hands, the jobs that they belong to, and the player in each seat; a forfeited hand has no end to keep."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, ...]] = []

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        rows = rows[play.states["end"][rows] != 0]
        self.parts.append((play.states[rows], play.jobs_at[rows], play.tables["player"][rows]))


@dataclass(frozen=True)
class PlayedGames:
    """Hands between two players, on deals of the stream for learning.

    Attributes:
        players: names of both players.
        count: number of games or single hands, as the settings say.
        settings: the match settings.
        executor: plays groups of hands in its processes; ``None`` plays them here.
    """

    players: tuple[str, str]
    count: int
    settings: MatchSettings
    executor: Executor | None = None

    def __iter__(self) -> Iterator[Hands]:
        """Yields groups of hands; the players change seats from job to job.

        A program that fails forfeits the hand, which is left out.

        Raises:
            GinError: if a player cannot be made, fails, or answers with an illegal action.
        """
        groups = chunks(self.count, _TOGETHER[self.settings.unit])
        if self.executor is None:
            with self.made() as players:
                yield from (self.play(players, *group) for group in groups)
        else:
            alone = replace(self, executor=None)
            tasks = ((self.players, (alone, *group)) for group in groups)
            yield from in_order(run_tasks(self.executor, play_group, tasks))

    @contextmanager
    def made(self) -> Iterator[tuple[Player, Player]]:
        """Both players, who are closed afterwards."""
        players = (make_side(self.players[0], self.settings, 0), make_side(self.players[1], self.settings, 1))
        try:
            yield players
        finally:
            close_players(players)

    def play(self, players: tuple[Player, Player], first: int, count: int) -> Hands:
        """Plays one group of jobs, each with a deal of its own."""
        settings, numbers = self.settings, first + np.arange(count)
        deals = settings.stream._replace(domain=Domain.TRAIN)
        jobs = make_jobs(
            deals.keys(first, count), deals.luck(first, count), 2 * numbers[:, None] + np.arange(2), numbers & 1
        )
        collector, statistics = _Collector(), Statistics(count)
        with forfeiting(players) as programs:
            size = PROGRAM_GAMES if programs else count
            unit = HAND if settings.unit == "hands" else GAME
            observers = [collector, statistics]
            Lockstep(
                players, settings.rules, jobs, size, unit, forfeit_points=FORFEIT_POINTS, observers=observers
            ).run()
        faults = [fault for program in programs for fault in program.take_faults()]
        states, job, seated = (np.concatenate(parts) for parts in zip(*collector.parts, strict=True))
        order = np.lexsort((states["hand_no"], job))
        states, job, seated = states[order], job[order], seated[order]
        won = None
        if settings.unit == "games":
            winner = statistics.results["winner"][job].astype(np.int64)
            side = np.where(winner == NOBODY, 0, np.where(winner == seated[:, 0], 1, -1))
            won = np.stack([side, -side], 1).astype(np.int8)
        names = [short_name(player) for player in self.players]
        return Hands(states, first + job, [(names[a], names[b]) for a, b in seated.tolist()], won, faults)


def play_group(names: Sequence[str], games: PlayedGames, first: int, count: int) -> Hands:
    """A task: one group of hands."""
    with games.made() as players:
        return games.play(players, first, count)


@dataclass(frozen=True)
class RecordedGames:
    """Hands of records (``ginenv.hands.records``), one group for each file.

    Attributes:
        paths: paths of the files.
    """

    paths: Sequence[Path]

    def __iter__(self) -> Iterator[Hands]:
        """Yields groups of hands.

        Raises:
            TextError: if a file cannot be read or its record does not replay; names the file and the line.
        """
        for game, path in enumerate(self.paths):
            yield hands_of_record(read_record(path), game)
