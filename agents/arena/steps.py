"""The arena's inner loop, compiled: who is to move, what they may see, what their action does, what is counted.

A *job* is one game, or one hand where single hands are played. Job ``2 * pair + leg`` plays the pair's deals; in leg 0 side 0
(the first player of the match) sits in seat 0, in leg 1 in seat 1. A *lane* is the place of a batch in which a job is played.
"""

from __future__ import annotations

import numpy as np

from agents.programs.process import FORFEIT
from ginenv.actions import KNOCK, PHASE_DISCARD, PHASE_DRAW, PHASE_OVER, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine import NOBODY, End, apply, is_legal
from ginenv.game import next_hand, score_hand, start_game
from ginenv.jit import kernel, popcount
from ginenv.melds import deadwood
from ginenv.view import look

MAX_TURNS = 16
MAX_DEADWOOD = 11

_GIN = int(End.GIN)
_KNOCKED = int(End.KNOCK)
_UNDERCUT = int(End.UNDERCUT)

# The result of a job. Index 0 of a pair is side 0 (the match's first player), whatever its seat.
GAME = np.dtype(
    [
        ("done", np.uint8),
        ("winner", np.uint8),  # side that won the game, or NOBODY
        ("forfeits", np.uint8, (2,)),  # hands that a side forfeited
        ("hands", np.int32),
        ("won", np.int32, (2,)),  # hands won
        ("points", np.int32, (2,)),  # points of hands
        ("total", np.int32, (2,)),  # final totals, bonuses included
    ],
    align=True,
)

# How a side plays, as counts.
STYLE = np.dtype(
    [
        ("hands", np.int64),
        ("won", np.int64),
        ("gins", np.int64),
        ("knocks", np.int64),  # knocks above gin, undercut ones included
        ("knock_deadwood", np.int64),  # sum over these knocks
        ("undercuts_given", np.int64),  # hands in which this side undercut the other
        ("undercuts_taken", np.int64),
        ("drawn", np.int64),
        ("turns", np.int64),
        ("offered", np.int64),  # decisions with an upcard to take
        ("took", np.int64),
        ("caught", np.int64),  # hands lost to a knock or gin
        ("caught_deadwood", np.int64),  # deadwood left in them, after lay-offs
        ("decisions", np.int64),
        ("could_knock", np.int64, (MAX_TURNS, MAX_DEADWOOD)),  # by own turn (the last row: and later) and deadwood
        ("did_knock", np.int64, (MAX_TURNS, MAX_DEADWOOD)),
    ],
    align=True,
)


@kernel
def open_jobs(states, lanes, jobs, first, count, keys, lucks, block):
    """Starts jobs ``first`` to ``first + count`` in the given lanes.

    Args:
        states: ``STATE[m]``.
        lanes: ``int64[>= count]`` free lanes.
        jobs: ``int64[m]``, the job of each lane.
        first: number of the first job, counted from the start of ``keys``.
        count: how many.
        keys: ``uint64[pairs]``.
        lucks: ``uint64[2 * pairs, 2]``, by job and side.
        block: the rules.
    """
    for k in range(count):
        job = first + k
        lane = lanes[k]
        s = states[lane]
        jobs[lane] = job
        for r in range(block.shape[0]):
            s.rules[r] = block[r]
        s.key = keys[job // 2]
        side = job & 1
        s.luck[0] = lucks[job, side]
        s.luck[1] = lucks[job, 1 - side]
        start_game(s)


@kernel
def gather(states, jobs, views, lanes, counts):
    """Views of all lanes with a job, sorted by the side that is to move.

    Args:
        states: ``STATE[m]``.
        jobs: ``int64[m]``, -1 for a lane without a job.
        views: ``VIEW[2, m]``, written: one row for each side.
        lanes: ``int64[2, m]``, written: the lane of each view.
        counts: ``int64[2]``, written.
    """
    counts[0] = 0
    counts[1] = 0
    for i in range(states.shape[0]):
        if jobs[i] >= 0:
            seat = np.int64(states[i].turn)
            side = seat ^ (jobs[i] & 1)
            k = counts[side]
            look(states[i], seat, views[side, k])
            lanes[side, k] = i
            counts[side] = k + 1


@kernel
def _count_decision(t, s, action):
    """Adds a decision to a side's style, before it is played."""
    t.decisions += 1
    if s.phase == PHASE_DISCARD:
        t.turns += 1
    elif (s.phase == PHASE_DRAW or s.phase == PHASE_UPCARD) and s.num_pile:
        t.offered += 1
        if action == UPCARD:
            t.took += 1


@kernel
def _count_chance_to_knock(t, s, knocks, action):
    seat = np.int64(s.turn)
    least = np.int64(MAX_DEADWOOD - 1)
    rest = knocks
    while rest:
        bit = rest & -rest
        rest ^= bit
        least = min(least, deadwood(s.hands[seat] & ~bit))
    turn = min(popcount(s.thrown[seat]), MAX_TURNS - 1)
    t.could_knock[turn, least] += 1
    if action >= KNOCK and action < STOCK:
        t.did_knock[turn, least] += 1


@kernel
def advance(states, views, lanes, actions, count, style, forfeit_points):
    """Plays the actions of one side.

    Args:
        states: ``STATE[m]``.
        views: ``VIEW[>= count]``, what the side saw.
        lanes: ``int64[>= count]``.
        actions: ``int64[count]``.
        count: how many.
        style: ``STYLE[1]`` of the side.
        forfeit_points: what the other side scores for a forfeited hand.

    Returns:
        Index of the first illegal action (nothing after it has been played), or -1.
    """
    t = style[0]
    for k in range(count):
        s = states[lanes[k]]
        action = actions[k]
        if action == FORFEIT:
            s.phase = PHASE_OVER
            s.winner = 1 - s.turn
            s.points = forfeit_points
            continue
        if not is_legal(s, action):
            return k
        _count_decision(t, s, action)
        if views[k].legal[1]:
            _count_chance_to_knock(t, s, views[k].legal[1], action)
        apply(s, action)
    return -1


@kernel
def _count_hand(t, s, seat):
    """Adds a finished hand to the style of the side in a seat, and to its game."""
    t.hands += 1
    if s.winner == NOBODY:
        t.drawn += 1
    elif s.winner == seat:
        t.won += 1
    if s.knocker == seat:
        if s.end == _GIN:
            t.gins += 1
        else:
            t.knocks += 1
            t.knock_deadwood += s.deadwood[seat]
            if s.end == _UNDERCUT:
                t.undercuts_taken += 1
    elif s.knocker != NOBODY:
        if s.end == _UNDERCUT:
            t.undercuts_given += 1
        elif s.end == _GIN or s.end == _KNOCKED:
            t.caught += 1
            t.caught_deadwood += s.deadwood[seat]


@kernel
def close_hands(states, jobs, views, lanes, games, style):
    """Counts the hands that are over and shows them: final views of both sides.

    Args:
        states: ``STATE[m]``.
        jobs: ``int64[m]``.
        views: ``VIEW[2, m]``, written.
        lanes: ``int64[m]``, written: lanes whose hand is over.
        games: ``GAME[jobs]``.
        style: ``STYLE[2]``.

    Returns:
        How many hands are over.
    """
    count = 0
    for i in range(states.shape[0]):
        job = jobs[i]
        if job < 0 or states[i].phase != PHASE_OVER:
            continue
        s = states[i]
        game = games[job]
        game.hands += 1
        for side in range(2):
            seat = side ^ (job & 1)
            _count_hand(style[side], s, seat)
            look(s, seat, views[side, count])
            if s.winner == seat:
                game.won[side] += 1
                game.points[side] += s.points
                if s.end == 0:
                    game.forfeits[1 - side] += 1
        lanes[count] = i
        count += 1
    return count


@kernel
def go_on(states, jobs, lanes, count, games, hands_only, forfeit_game):
    """After finished hands: the next hand of a game, or the game's result and a free lane.

    Args:
        states: ``STATE[m]``.
        jobs: ``int64[m]``; -1 is written where a job is done.
        lanes: ``int64[>= count]`` of the finished hands; the free lanes are written to its front.
        count: how many.
        games: ``GAME[jobs]``.
        hands_only: whether a job is a single hand.
        forfeit_game: whether a forfeited hand loses the game.

    Returns:
        How many lanes are free now.
    """
    free = 0
    for k in range(count):
        i = lanes[k]
        s = states[i]
        forfeited = s.end == 0
        winner = s.winner
        score_hand(s)
        if forfeited and forfeit_game:
            s.game_over = 1
            s.game_winner = winner
        if not hands_only and not s.game_over:
            next_hand(s)
            continue
        side = jobs[i] & 1
        game = games[jobs[i]]
        game.done = 1
        won = winner if hands_only else s.game_winner
        game.winner = won if won == NOBODY else won ^ side
        for seat in range(2):
            game.total[seat ^ side] = s.total[seat] if s.game_over else s.score[seat]
        jobs[i] = -1
        lanes[free] = i
        free += 1
    return free
