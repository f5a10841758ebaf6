"""Where the hands of a table come from: matches between players, or records of hands played elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.executors import chunks, in_order, run_tasks
from agents.arena.lockstep import FORFEIT_POINTS, Lockstep, Observer, make_jobs
from agents.arena.matches import PROGRAM_GAMES, MatchSettings, make_side
from agents.arena.statistics import Statistics
from agents.datasets.rows import Hands, decisions_of
from agents.deal_streams import Domain, deal_keys, luck_words
from agents.programs.player import forfeiting
from ginenv.engine.engine import NOBODY, STATE
from ginenv.errors import GinError
from ginenv.hands.records import Record, read_record
from ginenv.hands.text import parse_position
from ginenv.tables.kernels import GAME, HAND
from ginenv.tables.players import Player, close_players, make_player, short_name

# Jobs played together, which make one row group; a game has about ten hands, a hand about thirty decisions.
_TOGETHER = {"hands": 2048, "games": 256}


class _Collector(Observer):
    """Keeps the final states of hands, the jobs that they belong to, and the player in each seat; a forfeited hand has no end to keep."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, ...]] = []

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        rows = rows[play.states["end"][rows] != 0]
        self.parts.append((play.states[rows], play.jobs_at[rows], play.tables["player"][rows]))


class Expert:
    """A player that says what it would have played; a search also says what each action is worth.

    Args:
        name: name of the player.
        seed: seed of its choices.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.player: Player = make_player(name, seed)
        self.examine = getattr(self.player, "examine", None)

    def columns(self, views: np.ndarray) -> dict[str, Any]:
        """Its columns for ``VIEW[n]``."""
        if self.examine is None:
            return {"expert_action": np.asarray(self.player.act(views)).astype(np.int8)}
        found = [self.examine(views[i : i + 1]) for i in range(len(views))]
        compared = [one.candidates if len(one.candidates) > 1 else one.candidates[:0] for one in found]
        return {
            "expert_action": np.array([one.candidates["action"][one.best] for one in found], np.int8),
            "expert_actions": [one["action"].astype(np.int8) for one in compared],
            "expert_values": [one["value"].astype(np.float32) for one in compared],
        }


@dataclass(frozen=True)
class PlayedGames:
    """Hands between two players, on deals of the stream for learning.

    Attributes:
        players: names of both players.
        count: number of jobs: games or single hands.
        settings: the match settings.
        expert: name of a player that is asked about every decision where an executor plays; its seed is the match's.
        executor: plays groups of hands in its processes; ``None`` plays them here.
    """

    players: tuple[str, str]
    count: int
    settings: MatchSettings
    expert: str = ""
    executor: Executor | None = None

    def __iter__(self) -> Iterator[Hands]:
        """Yields groups of hands; the players change seats from job to job.

        A program that fails forfeits the hand, which is left out.

        Raises:
            GinError: if a player cannot be made, fails, or answers with an illegal action.
        """
        groups = chunks(self.count, _TOGETHER[self.settings.unit])
        if self.executor is None:
            with self._sides(self.players) as sides:
                yield from (self._play(sides, first, count) for first, count in groups)
            return
        names = (*self.players, self.expert) if self.expert else self.players
        tasks = ((names, (replace(self, executor=None), first, count)) for first, count in groups)
        yield from in_order(run_tasks(self.executor, play_group, tasks))

    @contextmanager
    def _sides(self, names: Sequence[str]) -> Iterator[tuple[Player, Player]]:
        sides = (make_side(names[0], self.settings, 0), make_side(names[1], self.settings, 1))
        try:
            yield sides
        finally:
            close_players(sides)

    def play_as(self, names: Sequence[str], first: int, count: int) -> Hands:
        """Plays one group with players of these names, and asks the expert if a third is given."""
        with self._sides(names) as sides:
            hands = self._play(sides, first, count)
        if len(names) == 2:
            return hands
        views = decisions_of(hands.states, views=True).views
        return replace(hands, expert=Expert(names[2], self.settings.seed).columns(views))

    def _play(self, sides: tuple[Player, Player], first: int, count: int) -> Hands:
        jobs = _jobs(self.settings, first, count)
        seen, statistics = _Collector(), Statistics(len(jobs))
        unit = HAND if self.settings.unit == "hands" else GAME
        with forfeiting(sides) as programs:
            size, observers = PROGRAM_GAMES if programs else len(jobs), [seen, statistics]
            Lockstep(
                sides, self.settings.rules, jobs, size, unit, forfeit_points=FORFEIT_POINTS, observers=observers
            ).run()
        faults = [fault for program in programs for fault in program.take_faults()]
        return self._hands(seen, statistics.results, first, faults)

    def _hands(self, seen: _Collector, results: np.ndarray, first: int, faults: list[dict[str, Any]]) -> Hands:
        states, jobs, players = (np.concatenate(parts) for parts in zip(*seen.parts, strict=True))
        order = np.lexsort((states["hand_no"], jobs))
        states, jobs, players = states[order], jobs[order], players[order]
        names = [short_name(player) for player in self.players]
        seated = [(names[one], names[other]) for one, other in players.tolist()]
        won = None
        if self.settings.unit == "games":
            winner = results["winner"][jobs].astype(np.int64)
            side = np.where(winner == NOBODY, 0, np.where(winner == players[:, 0], 1, -1))
            won = np.stack([side, -side], 1).astype(np.int8)
        return Hands(states, first + jobs, seated, won, faults=faults)


def play_group(players: Sequence[str], games: PlayedGames, first: int, count: int) -> Hands:
    """A task: one group of hands (see ``PlayedGames.play_as``)."""
    return games.play_as(players, first, count)


def _jobs(settings: MatchSettings, first: int, count: int) -> np.ndarray:
    """Jobs, each with a deal of its own; the players change seats from job to job."""
    numbers, seed = first + np.arange(count), settings.deals_seed()
    keys, luck = (
        deal_keys(Domain.TRAIN, seed, first, count),
        luck_words(Domain.TRAIN, seed, first, count, settings.salt),
    )
    return make_jobs(keys, luck, 2 * numbers[:, None] + np.arange(2), numbers & 1)


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
            yield _hands_of(read_record(path), game)


def _hands_of(record: Record, game: int) -> Hands:
    hands, won = [record.hand], np.zeros(2, np.int8)
    if record.match is not None:
        hands = [*record.match.played, *([] if record.hand.is_over else [record.hand])]
        if record.match.winner is not None:
            won[:] = -1
            won[record.match.winner] = 1
    hands = [hand for hand in hands if hand.history]
    states = np.concatenate([hand.state for hand in hands]) if hands else np.zeros(0, STATE)
    names = record.names
    finished = record.match is not None and record.match.is_over
    return Hands(
        states, np.full(len(hands), game), [names] * len(hands), np.tile(won, (len(hands), 1)) if finished else None
    )


def rebuild(positions: Sequence[str], actions: Sequence[Sequence[int]]) -> np.ndarray:
    """Rebuilds hands from their first positions and their actions: ``STATE[h]``.

    Raises:
        GinError: if a position cannot be read or is not the first of a hand, or an action is illegal.
    """
    states = np.zeros(len(positions), STATE)
    for place, (line, played) in enumerate(zip(positions, actions, strict=True)):
        hand = parse_position(line)
        if hand.history:
            raise GinError("the first row of a hand is not its first decision")
        hand.push_all(played)
        states[place] = hand.state[0]
    return states
