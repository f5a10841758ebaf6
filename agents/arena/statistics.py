"""What is counted while players meet: the results of their games, and how each of them plays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.arena.lockstep import Lockstep, Observer
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine.engine import NOBODY, End, is_gin
from ginenv.engine.jit import kernel, popcount
from ginenv.engine.melds import deadwood
from ginenv.tables.kernels import GAME

_MAX_TURNS = 16
_MAX_DEADWOOD = 11

_KNOCKED = int(End.KNOCK)
_UNDERCUT = int(End.UNDERCUT)

# The result of a job. Index 0 of a pair is side 0.
GAME_RESULT = np.dtype(
    [
        ("done", np.uint8),
        ("winner", np.uint8),  # side that won the game, or NOBODY
        ("forfeits", np.uint8, (2,)),  # hands that a side forfeited
        ("hands", np.int32),
        ("won", np.int32, (2,)),  # hands won
        ("points", np.int32, (2,)),  # points of hands
        ("total", np.int32, (2,)),  # final totals, including bonuses
    ],
    align=True,
)

# How a side plays, as counts.
PLAY_STATS = np.dtype(
    [
        ("hands", np.int64),
        ("won", np.int64),
        ("gins", np.int64),
        ("knocks", np.int64),  # knocks other than gin, including those undercut
        ("knock_deadwood", np.int64),  # sum over these knocks
        ("undercuts_given", np.int64),  # hands in which this side undercut the other
        ("undercuts_taken", np.int64),
        ("gin_points", np.int64),  # scored by gin
        ("knock_points", np.int64),  # scored by knocks other than gin
        ("undercut_points", np.int64),  # scored by undercutting
        ("drawn", np.int64),
        ("turns", np.int64),
        ("offered", np.int64),  # decisions with an upcard to take
        ("took", np.int64),
        ("caught", np.int64),  # hands lost to a knock or gin
        ("caught_deadwood", np.int64),  # deadwood left in them, after lay-offs
        ("decisions", np.int64),
        ("could_knock", np.int64, (_MAX_TURNS, _MAX_DEADWOOD)),  # by own turn (last row: or later) and deadwood
        ("did_knock", np.int64, (_MAX_TURNS, _MAX_DEADWOOD)),
    ],
    align=True,
)


@kernel
def _count_decision(t, v, action):
    """Adds a decision of a seat, which sees the view ``v``, to its side's counts."""
    t.decisions += 1
    if v.phase == PHASE_DISCARD:
        t.turns += 1
    elif (v.phase == PHASE_DRAW or v.phase == PHASE_UPCARD) and v.num_pile:
        t.offered += 1
        if action == UPCARD:
            t.took += 1
    if not v.legal[1]:
        return
    least = np.int64(_MAX_DEADWOOD - 1)
    rest = v.legal[1]
    while rest:
        bit = rest & -rest
        rest ^= bit
        least = min(least, deadwood(v.hand & ~bit))
    turn = min(popcount(v.thrown[0]), _MAX_TURNS - 1)
    t.could_knock[turn, least] += 1
    if action >= KNOCK and action < STOCK:
        t.did_knock[turn, least] += 1


@kernel
def _count_hand(t, s, seat):
    """Adds a finished hand to the counts of the side in a seat."""
    t.hands += 1
    if s.winner == NOBODY:
        t.drawn += 1
    elif s.winner == seat:
        t.won += 1
    if s.knocker == seat:
        if is_gin(s.end):
            t.gins += 1
            t.gin_points += s.points
        else:
            t.knocks += 1
            t.knock_deadwood += s.deadwood[seat]
            if s.end == _UNDERCUT:
                t.undercuts_taken += 1
            else:
                t.knock_points += s.points
    elif s.knocker != NOBODY:
        if s.end == _UNDERCUT:
            t.undercuts_given += 1
            t.undercut_points += s.points
        elif is_gin(s.end) or s.end == _KNOCKED:
            t.caught += 1
            t.caught_deadwood += s.deadwood[seat]


@kernel
def _count_decisions(views, actions, stats):
    """Adds the decisions of one side (``VIEW[k]`` and ``int64[k]``) to its ``PLAY_STATS[1]``."""
    for k in range(views.shape[0]):
        _count_decision(stats[0], views[k], actions[k])


@kernel
def _count_hands(states, tables, jobs, rows, results, stats):
    """Adds hands that are over to both sides' counts and to their jobs' results."""
    for i in rows:
        s, result = states[i], results[jobs[i]]
        result.hands += 1
        for seat in range(2):
            side = tables[i].player[seat]
            _count_hand(stats[side], s, seat)
            if s.winner == seat:
                result.won[side] += 1
                result.points[side] += s.points
                if s.end == 0:
                    result.forfeits[1 - side] += 1
                if tables[i].unit != GAME:
                    result.winner = side
                    result.total[side] = s.points


@kernel
def _count_games(states, tables, jobs, rows, results):
    """Writes how jobs ended."""
    for i in rows:
        s, result = states[i], results[jobs[i]]
        result.done = 1
        if tables[i].unit == GAME:
            result.winner = NOBODY if s.game_winner == NOBODY else tables[i].player[s.game_winner]
            for seat in range(2):
                result.total[tables[i].player[seat]] = s.total[seat]


class Statistics(Observer):
    """Counts a match of games or single hands.

    Args:
        jobs: number of jobs.

    Attributes:
        results: ``GAME_RESULT[jobs]``.
        stats: ``PLAY_STATS[2]`` of both sides.
    """

    def __init__(self, jobs: int) -> None:
        self.results, self.stats = np.zeros(jobs, GAME_RESULT), np.zeros(2, PLAY_STATS)
        self.results["winner"] = NOBODY

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        """Counts a side's decisions."""
        _count_decisions(views, play.actions, self.stats[side : side + 1])

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        """Counts hands."""
        _count_hands(play.states, play.tables, play.jobs_at, rows, self.results, self.stats)

    def after_jobs(self, play: Lockstep, rows: np.ndarray) -> None:
        """Writes the results of jobs."""
        _count_games(play.states, play.tables, play.jobs_at, rows, self.results)
