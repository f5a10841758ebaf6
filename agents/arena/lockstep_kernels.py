"""The compiled steps of lock-step play: who is to move, what they see, what their action does, and what is counted.

A *job* is one game, one hand, or a series of hands; ``SLOT`` says where and how it is played. Side 0 is the first player, whichever
seat it has in a job.
"""

from __future__ import annotations

import numpy as np

from agents.programs.process import FORFEIT
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_DRAW, PHASE_OVER, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine.engine import NOBODY, End, apply, deal, is_legal, shuffle
from ginenv.engine.game import next_hand, score_hand, start_game
from ginenv.engine.jit import kernel, mix, popcount
from ginenv.engine.melds import deadwood
from ginenv.view.view import look

MAX_TURNS = 16
MAX_DEADWOOD = 11

# Kinds of jobs: a whole game; one hand; or a series of hands that each begin at 0:0 with deals of their own.
GAME, HAND, SERIES = 0, 1, 2
FREE = -1

_GIN = int(End.GIN)
_KNOCKED = int(End.KNOCK)
_UNDERCUT = int(End.UNDERCUT)

# A slot of the batch and the job played in it.
SLOT = np.dtype(
    [
        ("job", np.int64),  # number of the job, from 0; or FREE
        ("first_seat", np.int64),  # seat of side 0
        ("hand", np.int64),  # number of the hand within the job
        ("ids", np.int64, (2,)),  # the slot numbers that side 0 and side 1 are given
        ("key", np.uint64),  # key of the deals
        ("luck", np.uint64, (2,)),  # private randomness of both sides
    ],
    align=True,
)

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
        ("could_knock", np.int64, (MAX_TURNS, MAX_DEADWOOD)),  # by own turn (last row: or later) and deadwood
        ("did_knock", np.int64, (MAX_TURNS, MAX_DEADWOOD)),
        ("ended", np.int64, (MAX_TURNS, MAX_DEADWOOD)),  # hands ended by a knock or gin, by own turn and deadwood left
        ("net_points", np.int64, (MAX_TURNS, MAX_DEADWOOD)),  # points of these hands, less those lost by an undercut
    ],
    align=True,
)


@kernel
def _deal_of_series(s, slot):
    """Deals the next hand of a series: the seats take turns to start, and no deal depends on an earlier hand."""
    word = mix(np.uint64(slot.hand))
    s.key = mix(slot.key ^ word)
    s.luck[0] = mix(slot.luck[slot.first_seat] ^ word)
    s.luck[1] = mix(slot.luck[1 - slot.first_seat] ^ word)
    s.hand_no = 0
    shuffle(s)
    deal(s, slot.hand & 1)


@kernel
def start_jobs(states, slots, rows, unit):
    """Deals the first hand of the new jobs in the slots ``rows`` (``int64[k]``) of ``STATE[m]``, with the rules set, and ``SLOT[m]``."""
    for i in rows:
        s, slot = states[i], slots[i]
        if unit == SERIES:
            _deal_of_series(s, slot)
        else:
            s.key = slot.key
            s.luck[0] = slot.luck[slot.first_seat]
            s.luck[1] = slot.luck[1 - slot.first_seat]
            start_game(s)


@kernel
def gather_views(states, slots, views, rows, counts):
    """Writes, for each side, the views in which it is to move (``VIEW[2, m]``), their slots (``int64[2, m]``) and their number."""
    counts[:] = 0
    for i in range(states.shape[0]):
        if slots[i].job != FREE:
            seat = np.int64(states[i].turn)
            side = seat ^ slots[i].first_seat
            k = counts[side]
            look(states[i], seat, views[side, k])
            rows[side, k] = i
            counts[side] = k + 1


@kernel
def _count_decision(t, s, action):
    """Adds a decision to a side's counts before it is played."""
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
def advance(states, views, rows, actions, stats, forfeit_points):
    """Plays the actions of one side (``int64[k]``), chosen for ``VIEW[k]`` in the slots ``rows``.

    Args:
        states: ``STATE[m]``.
        views: what the side saw.
        rows: ``int64[k]``.
        actions: the side's actions.
        stats: ``PLAY_STATS[1]`` of the side; empty where nothing is counted.
        forfeit_points: what the other side scores for a forfeited hand; if below 0, nothing can be forfeited.

    Returns:
        Index of the first illegal action (nothing after it has been played), or -1.
    """
    for k in range(rows.shape[0]):
        s = states[rows[k]]
        action = actions[k]
        if action == FORFEIT and forfeit_points >= 0:
            s.phase = PHASE_OVER
            s.winner = 1 - s.turn
            s.points = forfeit_points
            continue
        if not is_legal(s, action):
            return k
        if stats.shape[0]:
            _count_decision(stats[0], s, action)
            if views[k].legal[1]:
                _count_chance_to_knock(stats[0], s, views[k].legal[1], action)
        apply(s, action)
    return -1


@kernel
def _count_hand(t, s, seat):
    """Adds a finished hand to the counts of the side in a seat."""
    t.hands += 1
    if s.winner == NOBODY:
        t.drawn += 1
    elif s.winner == seat:
        t.won += 1
    if s.knocker == seat:
        # The card discarded with the knock is among those thrown.
        turn = min(max(popcount(s.thrown[seat]) - 1, 0), MAX_TURNS - 1)
        left = min(np.int64(s.deadwood[seat]), MAX_DEADWOOD - 1)
        t.ended[turn, left] += 1
        t.net_points[turn, left] += s.points if s.winner == seat else -s.points
        if s.end == _GIN:
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
        elif s.end == _GIN or s.end == _KNOCKED:
            t.caught += 1
            t.caught_deadwood += s.deadwood[seat]


@kernel
def close_hands(states, slots, views, rows, results, stats):
    """Counts the hands that are over; writes both sides' final views (``VIEW[2, m]``) and the slots (``int64[m]``) of these hands.

    ``results`` (``GAME_RESULT[jobs]``) and ``stats`` (``PLAY_STATS[2]``) are empty where they are not kept.

    Returns:
        How many hands are over.
    """
    count = 0
    for i in range(states.shape[0]):
        s, slot = states[i], slots[i]
        if slot.job == FREE or s.phase != PHASE_OVER:
            continue
        for side in range(2):
            seat = side ^ slot.first_seat
            look(s, seat, views[side, count])
            if stats.shape[0]:
                _count_hand(stats[side], s, seat)
            if results.shape[0] and s.winner == seat:
                result = results[slot.job]
                result.won[side] += 1
                result.points[side] += s.points
                if s.end == 0:
                    result.forfeits[1 - side] += 1
        if results.shape[0]:
            results[slot.job].hands += 1
        rows[count] = i
        count += 1
    return count


@kernel
def _finish(result, s, slot, winner):
    """Writes how a job ended; ``winner`` is a seat."""
    result.done = 1
    result.winner = winner if winner == NOBODY else winner ^ slot.first_seat
    for seat in range(2):
        result.total[seat ^ slot.first_seat] = s.total[seat] if s.game_over else s.score[seat]


@kernel
def go_on(states, slots, rows, results, unit, hands, forfeit_game):
    """After finished hands: deals the next hand of a job, or writes its result and frees its slot.

    Args:
        states: ``STATE[m]``.
        slots: ``SLOT[m]``; ``FREE`` is written where a job is done.
        rows: ``int64[k]`` of the finished hands; the free slots are written to its front.
        results: ``GAME_RESULT[jobs]``; unused in series.
        unit: ``GAME``, ``HAND`` or ``SERIES``.
        hands: length of a series.
        forfeit_game: whether a forfeited hand loses the game.

    Returns:
        How many slots are free now.
    """
    free = 0
    for k in range(rows.shape[0]):
        i = rows[k]
        s, slot = states[i], slots[i]
        slot.hand += 1
        if unit == SERIES:
            if slot.hand < hands:
                _deal_of_series(s, slot)
                continue
        else:
            forfeited, winner = s.end == 0, s.winner
            score_hand(s)
            if forfeited and forfeit_game:
                s.game_over = 1
                s.game_winner = winner
            if unit == GAME and not s.game_over:
                next_hand(s)
                continue
            _finish(results[slot.job], s, slot, winner if unit == HAND else s.game_winner)
        slot.job = FREE
        rows[free] = i
        free += 1
    return free
