"""Two sides play many jobs: what matches, series and the hand log have in common.

In each tick, all seats to move are asked at once, all actions are played, and tables whose job is done take the next job. Whatever else
is done with decisions and finished hands (results, luck, logs) is up to an ``Observer``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from agents.deal_streams import DealStream
from ginenv.engine.rules import Rules
from ginenv.tables.kernels import GAME, IDLE, TABLE
from ginenv.tables.players import KnownPolicy, Player, ask_player, show_hands
from ginenv.tables.tables import Tables

# What the other side scores for a hand that a program forfeits.
FORFEIT_POINTS = 50
# Games in play at first; their number doubles after a tick that took less than this long.
_FIRST_TABLES = 64
_SLOW_SECONDS = 0.2
# About as many decisions and points as a hand has, for the progress while few jobs are finished.
_HAND_DECISIONS, _HAND_POINTS = 36.0, 16.0


class Observer:
    """Called for everything that happens in lock-step play. Views are valid only during the call.

    Attributes:
        wants_policy: whether it reads ``play.policy``.
    """

    wants_policy = False

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        """A side has chosen ``play.actions`` for ``VIEW[k]`` at the tables ``rows``; they have not been played yet."""

    def after_actions(self, play: Lockstep, rows: np.ndarray) -> None:
        """The actions at these tables have been played."""

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        """Hands are over, with both sides' final views ``VIEW[k]``; the next hands have not been dealt yet."""

    def after_jobs(self, play: Lockstep, rows: np.ndarray) -> None:
        """The jobs at these tables are done; the next ones have not begun yet."""


class Lockstep(Tables):
    """Jobs while they are played. A job is a game, a hand, or a series of hands that each begin at 0:0 with deals of their own.

    Args:
        players: side 0 and side 1; one object may be both.
        rules: the rules.
        jobs: ``TABLE[n]`` (see ``make_jobs``), taken in this order.
        size: number of jobs played at once.
        unit: ``GAME``, ``HAND`` or ``SERIES``.
        hands: length of a series.
        forfeit_game: whether a forfeited hand loses the game.
        forfeit_points: what the other side scores for a hand that a program (a player with a true ``forfeits``) forfeits.
        observers: called in this order.
        patient: begin with few jobs and add more while the players are quick, so that with slow players some jobs finish early.

    Attributes:
        jobs_at: ``int64[size]``, number of the job at each table.
        seconds: ``float[2]``, time spent by each side's player.
        actions: ``int64[k]``, the actions that a side chose last.
        policy: ``float32[k, 107]``, the probabilities with which it chose them; a row of zeros, or ``None`` for all, where they are
            not known.
        done: number of finished jobs.
    """

    def __init__(
        self,
        players: tuple[Player, Player],
        rules: Rules,
        jobs: np.ndarray,
        size: int,
        unit: int,
        hands: int = 1,
        forfeit_game: bool = False,
        forfeit_points: int = -1,
        observers: Sequence[Observer] = (),
        patient: bool = False,
    ):
        size = min(size, len(jobs))
        super().__init__(size, players)
        self.jobs, self.observers, self.hands = jobs, observers, hands
        jobs["unit"], jobs["forfeit_game"] = unit, forfeit_game
        self.states["rules"] = rules.block
        for record, player in zip(self.records, players, strict=True):
            # Only a program can fail to answer; from any other player, -1 is just another illegal action.
            record["forfeit"] = forfeit_points if getattr(player, "forfeits", False) else -1
        self.jobs_at = np.zeros(size, np.int64)
        self.seconds, self.actions = np.zeros(2), np.zeros(0, np.int64)
        self.policy: np.ndarray | None = None
        self._wants_policy = any(observer.wants_policy for observer in observers)
        self.done = self._opened = 0
        # For the progress: a table makes one decision in each tick.
        self._ticks = self._decisions_done = 0
        self._progress = 0.0
        self._began_at = np.zeros(size, np.int64)
        self._expected = _HAND_DECISIONS * (max(1.0, rules.target / _HAND_POINTS) if unit == GAME else hands)
        self._closed = np.arange(size)
        self._widen(_FIRST_TABLES if patient else size)

    def _widen(self, count: int) -> None:
        """Opens this many more tables, or all that are left."""
        fresh, self._closed = self._closed[:count], self._closed[count:]
        self._open(fresh)

    def _open(self, free: np.ndarray) -> None:
        """Starts the next jobs at free tables."""
        rows = free[: len(self.jobs) - self._opened]
        self.jobs_at[rows] = np.arange(self._opened, self._opened + len(rows))
        self.tables[rows] = self.jobs[self.jobs_at[rows]]
        self._opened += len(rows)
        self._began_at[rows] = self._ticks
        self.begin(rows)

    def tick(self) -> int:
        """Plays one decision at every table; returns how many jobs that finished.

        Raises:
            IllegalActionError: if a player answers with an action that is not legal.
        """
        began = time.perf_counter()
        self._ticks += 1
        for side, views, rows, ids in self.waiting():
            self._decide(side, views, rows, ids)
        if len(self._closed) and time.perf_counter() - began < _SLOW_SECONDS:
            self._widen(self.num_tables - len(self._closed))
        ended = self.ended()
        if not len(ended):
            return 0
        finals = [self.final_views(side, ended) for side in range(2)]
        for side, (views, ids) in enumerate(finals):
            began = time.perf_counter()
            show_hands(self.players[side], views, ids)
            self.seconds[side] += time.perf_counter() - began
        for observer in self.observers:
            observer.after_hands(self, [views for views, _ in finals], ended)
        over = self.close(ended)
        again = self.tables["episode"][over] < self.hands
        self.begin(over[again])
        over = over[~again]
        for observer in self.observers:
            observer.after_jobs(self, over)
        self.done += len(over)
        self._decisions_done += int((self._ticks - self._began_at[over]).sum())
        self._open(over)
        return len(over)

    def progress(self) -> float:
        """How many jobs have been played, those in play in part: by their number of decisions, of as many as a job usually has."""
        # Those that finish first are short.
        usual = max(self._expected, self._decisions_done / max(1, self.done))
        in_play = self.tables["waits_for"] != IDLE
        parts = np.minimum((self._ticks - self._began_at[in_play]) / usual, 0.95)
        self._progress = max(self._progress, self.done + float(parts.sum()))
        return self._progress

    def _decide(self, side: int, views: np.ndarray, rows: np.ndarray, ids: np.ndarray) -> None:
        """Asks a side for its actions and plays them."""
        began = time.perf_counter()
        player = self.players[side]
        if self._wants_policy and isinstance(player, KnownPolicy):
            self.actions, self.policy = player.act_with_policy(views, ids)
        else:
            self.actions, self.policy = ask_player(player, views, ids), None
        self.seconds[side] += time.perf_counter() - began
        for observer in self.observers:
            observer.before_actions(self, side, rows, views)
        self.play(views, rows, self.actions)
        for observer in self.observers:
            observer.after_actions(self, rows)

    def run(self) -> Lockstep:
        """Plays all jobs to their end; returns itself."""
        while self.done < len(self.jobs):
            self.tick()
        return self


def make_jobs(keys: np.ndarray, luck: np.ndarray, ids: np.ndarray, swapped: np.ndarray | int = 0) -> np.ndarray:
    """Jobs ``TABLE[n]``.

    Args:
        keys: ``uint64[n]``, of their deals.
        luck: ``uint64[n, 2]``, private randomness of side 0 and side 1.
        ids: ``int64[n, 2]``, the slot numbers that side 0 and side 1 are given.
        swapped: ``[n]``, the seat of side 0.
    """
    jobs = np.zeros(len(keys), TABLE)
    jobs["player"][:, 0], jobs["player"][:, 1] = swapped, 1 - np.asarray(swapped)
    sides = jobs["player"].astype(np.int64)
    jobs["key"] = keys
    jobs["luck"], jobs["ids"] = np.take_along_axis(luck, sides, 1), np.take_along_axis(ids, sides, 1)
    return jobs


def mirrored_jobs(stream: DealStream, first: int, pairs: int) -> np.ndarray:
    """Jobs of a match: ``TABLE[2 * pairs]``; jobs ``2 k`` and ``2 k + 1`` have the deals of pair ``first + k``, with seats exchanged."""
    numbers = np.arange(2 * pairs)
    keys, luck = np.repeat(stream.keys(first, pairs), 2), stream.luck(2 * first, 2 * pairs)
    return make_jobs(keys, luck, 2 * (2 * first + numbers)[:, None] + np.arange(2), numbers & 1)
