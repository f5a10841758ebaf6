"""Gin tables in lock-step: who is to move, what an action does, how a hand is closed, and what is dealt next.

One *table* is a hand in play (``STATE``) and a ``TABLE`` record: who sits there, and what the next deals follow from. Every loop around
the engine is made of these kernels: environments, matches, series and training differ in what they put into the record and in what they
do between the calls.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.engine import among, apply, deal, is_legal
from ginenv.engine.game import next_hand, score_hand, start_game
from ginenv.engine.jit import kernel, mix, record_at
from ginenv.tables.compiled_players import PLAYER, ask
from ginenv.tables.players import FORFEIT
from ginenv.view.view import look

# Kinds of episodes: a game; one hand; or one hand of a series, in which the seats take turns to start.
GAME, HAND, SERIES = range(3)

# What a table waits for: the player of a number from 0, the caller, or one of the other values.
CALLER = -1  # also the number of a seat for which the caller acts
HAND_OVER = -2  # the hand is over, and has not been closed
IDLE = -3  # no episode is in play
FAULT = -4  # a compiled player has chosen an illegal action

TABLE = np.dtype(
    [
        ("key", np.uint64),  # of the deals: that of an episode follows from it and the episode's number
        ("luck", np.uint64, (2,)),  # private randomness of both seats, likewise
        ("episode", np.int64),  # number of the next episode
        ("ids", np.int64, (2,)),  # the slot numbers that the players of both seats are given
        ("player", np.int32, (2,)),  # number of the player in each seat, or CALLER
        ("waits_for", np.int32),
        ("unit", np.uint8),
        ("forfeit_game", np.uint8),  # 1 where a forfeited hand loses the game
    ],
    align=True,
)
_player_at = record_at(PLAYER)
_PLAYER_SIZE = PLAYER.itemsize


@kernel
def player_record(players, number):
    """The record of a player; ``players`` is the address of the first."""
    return _player_at(players + _PLAYER_SIZE * number)


@kernel
def begin(s, t):
    """Deals the table's next episode. No deal depends on how an earlier one was played."""
    number = np.uint64(t.episode)
    t.episode += 1
    s.key = t.key
    s.luck[0], s.luck[1] = t.luck[0], t.luck[1]
    if number or t.unit == SERIES:
        word = mix(number)
        s.key = mix(t.key ^ word)
        for seat in range(2):
            s.luck[seat] = mix(t.luck[seat] ^ word)
    start_game(s)
    if t.unit == SERIES:
        deal(s, np.int64(number & np.uint64(1)))


@kernel
def go_on(s, t, v, players):
    """Lets compiled players move until somebody else is to move or the hand is over; ``v`` is a view to write in."""
    while s.phase != PHASE_OVER:
        seat = np.int64(s.turn)
        number = np.int64(t.player[seat])
        t.waits_for = number
        if number < 0:
            return
        p = player_record(players, number)
        if p.decide == 0:
            return
        look(s, seat, v)
        action = ask(p.decide, v, p.options + (t.ids[seat] % p.count) * p.size, p.seed)
        if not among(action, v.legal[0], v.legal[1], v.legal[2]):
            t.waits_for = FAULT
            return
        apply(s, action)
    t.waits_for = HAND_OVER


@kernel
def close_hand(s, t):
    """Scores a hand that is over, if it belongs to a game, and deals the game's next hand; returns whether the episode is over."""
    if t.unit == GAME:
        score_hand(s)
        if s.end == 0 and t.forfeit_game:
            s.game_over = 1
            s.game_winner = s.winner
        if not s.game_over:
            next_hand(s)
            return False
    t.waits_for = IDLE
    return True


@kernel
def begin_all(states, tables, rows, scratch, players):
    """Deals the next episode at some tables."""
    for i in rows:
        begin(states[i], tables[i])
        go_on(states[i], tables[i], scratch[0], players)


@kernel
def play_all(states, tables, views, rows, actions, scratch, players):
    """Plays the actions that the seats to move chose for their views.

    Returns:
        The index of the first illegal one (nothing after it has been played), or -1.
    """
    for k in range(rows.shape[0]):
        s, t = states[rows[k]], tables[rows[k]]
        action = actions[k]
        v = views[k]
        if among(action, v.legal[0], v.legal[1], v.legal[2]) or is_legal(s, action):
            apply(s, action)
        else:
            number = np.int64(t.player[s.turn])
            if action != FORFEIT or number < 0 or player_record(players, number).forfeit < 0:
                return k
            s.phase = PHASE_OVER
            s.winner = 1 - s.turn
            s.points = player_record(players, number).forfeit
        go_on(s, t, scratch[0], players)
    return -1


@kernel
def close_all(states, tables, rows, scratch, players):
    """Closes hands that are over; moves the tables whose episode is over to the front of ``rows`` and returns their number."""
    count = 0
    for k in range(rows.shape[0]):
        i = rows[k]
        if close_hand(states[i], tables[i]):
            rows[count] = i
            count += 1
        else:
            go_on(states[i], tables[i], scratch[0], players)
    return count


@kernel
def collect_waiting(states, tables, views, rows, ids, ends):
    """Writes the views of the seats of players to move, and their tables, in the order of the players' numbers.

    Args:
        states: ``STATE[n]``.
        tables: ``TABLE[n]``.
        views: ``VIEW[n]``, written.
        rows: ``int64[n]``, written.
        ids: ``int64[n]``, written; the slot numbers that the players are given.
        ends: ``int64[players + 1]``, zeros; where the rows of each player end is written.
    """
    for i in range(tables.shape[0]):
        if tables[i].waits_for >= 0:
            ends[tables[i].waits_for + 1] += 1
    for number in range(1, ends.shape[0]):
        ends[number] += ends[number - 1]
    for i in range(tables.shape[0]):
        number = tables[i].waits_for
        if number >= 0:
            k = ends[number]
            seat = np.int64(states[i].turn)
            look(states[i], seat, views[k])
            rows[k], ids[k] = i, tables[i].ids[seat]
            ends[number] = k + 1


@kernel
def collect_ended(tables, rows):
    """Writes the tables whose hand is over; returns how many there are."""
    count = 0
    for i in range(tables.shape[0]):
        if tables[i].waits_for == HAND_OVER:
            rows[count] = i
            count += 1
    return count


@kernel
def final_views(states, tables, rows, number, views, ids):
    """Writes the views of one player's seats at those of some tables where it sits, and its ids; returns how many there are."""
    count = 0
    for i in rows:
        for seat in range(2):
            if tables[i].player[seat] == number:
                look(states[i], seat, views[count])
                ids[count] = tables[i].ids[seat]
                count += 1
    return count
