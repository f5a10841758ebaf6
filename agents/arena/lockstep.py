"""Two sides play many jobs in lock-step: the loop around the engine that matches, series and the hand log share.

In each tick, all seats to move are asked at once, all actions are played, and slots whose job is done take the next job. Whatever else
is done with decisions and finished hands (luck, logs, points by hand) is up to an ``Observer``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from agents.arena.lockstep_kernels import (
    FREE,
    GAME_RESULT,
    PLAY_STATS,
    SERIES,
    SLOT,
    advance,
    close_hands,
    gather_views,
    go_on,
    start_jobs,
)
from agents.deal_streams import Domain, deal_keys, luck_words
from ginenv.engine.actions import illegal_action
from ginenv.engine.engine import STATE
from ginenv.engine.rules import Rules
from ginenv.errors import IllegalActionError
from ginenv.tables.players import Player, ask_player
from ginenv.view.view import VIEW

# Games in play at first; their number doubles after a tick that took less than this long.
_FIRST_SLOTS = 64
_SLOW_SECONDS = 0.2


class Observer:
    """Called for everything that happens in lock-step play. Views are valid only during the call."""

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        """A side has chosen ``play.actions`` for ``VIEW[k]`` in the slots ``rows``; they have not been played yet."""

    def after_actions(self, play: Lockstep, rows: np.ndarray) -> None:
        """The actions in these slots have been played."""

    def after_hands(self, play: Lockstep, views: np.ndarray, rows: np.ndarray) -> None:
        """Hands are over, with ``VIEW[2, k]`` as both sides' final views; the next hands have not been dealt yet."""


class Lockstep:
    """Jobs while they are played.

    Args:
        players: side 0 and side 1; one object may be both.
        rules: the rules.
        jobs: ``SLOT[n]``, taken in this order.
        size: number of jobs played at once.
        unit: ``GAME``, ``HAND`` or ``SERIES``.
        hands: length of a series.
        forfeit_game: whether a forfeited hand loses the game.
        forfeit_points: what the other side scores for a forfeited hand; if below 0, nothing can be forfeited.
        observers: called in this order.
        patient: begin with few jobs and add more while the players are quick, so that with slow players some jobs finish early.

    Attributes:
        states: ``STATE[size]``.
        slots: ``SLOT[size]``.
        results: ``GAME_RESULT[n]``, of games and single hands; empty for series.
        stats: ``PLAY_STATS[2]`` of both sides; empty for series.
        seconds: ``float[2]``, time spent by each side's player.
        actions: ``int64[k]``, the actions that a side chose last.
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
        self.players, self.jobs, self.observers = players, jobs, observers
        self.unit, self.hands = unit, hands
        self.forfeit_game, self.forfeit_points = forfeit_game, forfeit_points
        self.states, self.slots = np.zeros(size, STATE), np.zeros(size, SLOT)
        self.states["rules"], self.slots["job"] = rules.block, FREE
        counted = unit != SERIES
        self.results = np.zeros(len(jobs) if counted else 0, GAME_RESULT)
        self.stats = np.zeros(2 if counted else 0, PLAY_STATS)
        self.seconds, self.actions = np.zeros(2), np.zeros(0, np.int64)
        self.done = self._opened = 0
        self._views, self._rows = np.zeros((2, size), VIEW), np.zeros((2, size), np.int64)
        self._counts = np.zeros(2, np.int64)
        self._closed = np.arange(size)
        self._widen(_FIRST_SLOTS if patient else size)

    def _widen(self, slots: int) -> None:
        """Opens this many more slots, or all that are left."""
        fresh, self._closed = self._closed[:slots], self._closed[slots:]
        self._open(fresh)

    def _open(self, free: np.ndarray) -> None:
        """Starts the next jobs in free slots."""
        rows = free[: len(self.jobs) - self._opened]
        self.slots[rows] = self.jobs[self._opened : self._opened + len(rows)]
        self._opened += len(rows)
        start_jobs(self.states, self.slots, rows, self.unit)

    def tick(self) -> int:
        """Plays one decision in every slot; returns how many jobs that finished.

        Raises:
            IllegalActionError: if a player answers with an action that is not legal.
        """
        began = time.perf_counter()
        gather_views(self.states, self.slots, self._views, self._rows, self._counts)
        for side in range(2):
            if self._counts[side]:
                self._decide(side, int(self._counts[side]))
        if len(self._closed) and time.perf_counter() - began < _SLOW_SECONDS:
            self._widen(len(self.slots) - len(self._closed))
        ended = self._rows[0]
        over = close_hands(self.states, self.slots, self._views, ended, self.results, self.stats)
        if not over:
            return 0
        ended, views = ended[:over], self._views[:, :over]
        for side, player in enumerate(self.players):
            began = time.perf_counter()
            player.observe_hands(views[side], self.slots["ids"][ended, side])
            self.seconds[side] += time.perf_counter() - began
        for observer in self.observers:
            observer.after_hands(self, views, ended)
        free = go_on(self.states, self.slots, ended, self.results, self.unit, self.hands, self.forfeit_game)
        self.done += free
        self._open(ended[:free])
        return free

    def _decide(self, side: int, count: int) -> None:
        """Asks a side for its actions and plays them."""
        player, views, rows = self.players[side], self._views[side, :count], self._rows[side, :count]
        began = time.perf_counter()
        actions = ask_player(player, views, self.slots["ids"][rows, side])
        self.seconds[side] += time.perf_counter() - began
        self.actions = actions
        for observer in self.observers:
            observer.before_actions(self, side, rows, views)
        # Only a program can fail to answer; from any other player, -1 is just another illegal action.
        points = self.forfeit_points if getattr(player, "forfeits", False) else -1
        bad = advance(self.states, views, rows, actions, self.stats[side : side + 1], points)
        if bad >= 0:
            why = illegal_action(int(actions[bad]), views[bad]["legal"], int(views[bad]["phase"]))
            raise IllegalActionError(f"player {player.name!r}: {why}")
        for observer in self.observers:
            observer.after_actions(self, rows)

    def run(self) -> Lockstep:
        """Plays all jobs to their end; returns itself."""
        while self.done < len(self.jobs):
            self.tick()
        return self


def mirrored_jobs(domain: Domain, seed: int, first: int, pairs: int) -> np.ndarray:
    """Jobs of a match: ``SLOT[2 * pairs]``; jobs ``2 k`` and ``2 k + 1`` have the deals of pair ``first + k``, with seats exchanged."""
    jobs = np.zeros(2 * pairs, SLOT)
    jobs["job"] = np.arange(2 * pairs)
    jobs["first_seat"] = jobs["job"] & 1
    jobs["ids"] = 2 * (2 * first + jobs["job"])[:, None] + np.arange(2)
    jobs["key"] = np.repeat(deal_keys(domain, seed, first, pairs), 2)
    jobs["luck"] = luck_words(domain, seed, 2 * first, 2 * pairs)
    return jobs
