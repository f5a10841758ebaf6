"""Episodes at tables where the caller learns: the compiled part of every environment.

To a table (``TABLE``), an environment adds an ``EPISODE`` record: rewards, what ``info`` reports, when the next episode begins. The single
environment has one table and the vector environment many; in self-play the caller has both seats. They all run ``_play_on``, which plays
until the learner is to move, and deals again where an episode has ended. It stops where Python has to call a player.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.engine import NOBODY, among, apply, is_legal
from ginenv.engine.jit import kernel, mix, record_at, record_copy
from ginenv.tables.kernels import CALLER, GAME, HAND_OVER, begin, close_hand, go_on, player_record
from ginenv.view.encoding import OBSERVATION, OBSERVATION_SIZE, encode_row, row_of
from ginenv.view.view import VIEW, look, mask_of_row, write_mask

# What an episode pays, by name: see `HandEnv` and `GameEnv`.
HAND_REWARDS = ("points", "scaled", "win")
GAME_REWARDS = ("points", "scaled", "win", "win+points", "total")
_POINTS, _SCALED, _WIN, _WIN_POINTS, _TOTAL = range(len(GAME_REWARDS))
POINTS_SCALE = 0.01
# The reward of an illegal action that ends the episode: about the worst hand, or a lost game.
ILLEGAL_REWARD = {"points": -100.0, "scaled": -1.0, "win": -1.0, "win+points": -1.0, "total": -100.0}

# Where the learner sits; BOTH means at the seat to move, whichever it is.
SEATS = (0, 1, "alternate", "random")
_ALTERNATE, _RANDOM, BOTH = 2, 3, 4

# How ``play_on`` begins: with the learners' actions; where it stopped; or with hands that are over, which the players have observed.
ACT, GO_ON, CLOSE = range(3)
# What a table waits for whose learner never gets to move (see ``ginenv.tables.kernels``).
ENDLESS = -5
MAX_REDEALS = 1000
_SEAT_SALT = np.uint64(0x5EA7)


def _numbers(*names: str) -> np.dtype:
    return np.dtype([(name, np.int64) for name in names])


# What ``info`` reports of a step: see ``ginenv.tables.info``.
OUTCOME = _numbers("end", "points", "won", "knocker", "deadwood", "opponent_deadwood", "length")
GAME_RESULT = _numbers("won", "hands", "boxes", "opponent_boxes", "total", "opponent_total")
INFO = np.dtype(
    [
        ("illegal_action", np.bool_),
        (
            "has_outcome",
            np.bool_,
        ),  # whether a hand in which the learner had moved ended in this step; there is one at most
        ("has_game", np.bool_),
        ("skipped_hands", np.int64),
        ("skipped_points", np.int64, (2,)),
        ("outcome", OUTCOME),
        ("game", GAME_RESULT),
    ],
    align=True,
)
REPORT = np.dtype([("info", INFO)])
# What is kept of an episode that ended in a step that began the next: its info and its last observation.
FINAL = np.dtype([("info", INFO), ("cells", np.uint8, (OBSERVATION_SIZE,))], align=True)
EPISODE = np.dtype(
    [
        ("reward", np.float64),  # earned and not yet paid
        ("paid", np.float64),  # the reward of this step
        ("action", np.int64),  # the learner's next action
        ("loss", np.float64),  # reward of an illegal action
        ("legal", np.int64, (3,)),  # what the learner was last shown as legal, as in a view
        ("info", INFO),
        ("seat", np.uint8),  # the learner's
        ("opponent", np.int32),  # number of the player in the other seat; CALLER where the learner has both
        ("next_opponent", np.int32),
        ("redeals", np.int32),
        ("done", np.uint8),  # 1 when an episode ended in this step
        ("over", np.uint8),  # 1 from the end of an episode until the next begins
        ("moved", np.uint8),  # 1 when the learner has moved in this episode
        ("moved_in_hand", np.uint8),
        ("seat_rule", np.uint8),
        ("seat_given", np.uint8),  # 1 while the episode's seat is one that reset's options asked for
        ("reward_rule", np.uint8),
        ("same_step", np.uint8),  # 1 when the next episode is dealt in the step that ends one
    ],
    align=True,
)
_final_at, _view_at = record_at(FINAL), record_at(VIEW)
_FINAL_SIZE = FINAL.itemsize
_report_step = record_copy(REPORT, "info", EPISODE, "info", "info")
_report_final = record_copy(REPORT, "info", FINAL, "info", "info")
_keep_info = record_copy(FINAL, "info", EPISODE, "info", "info")
_copy_row = record_copy(OBSERVATION, "cells", FINAL, "cells", "cells")
_clear_info = record_copy(EPISODE, "info", REPORT, "info", "info")
_NOTHING = np.zeros(1, REPORT)


@kernel
def _sit(t, e):
    """Seats the learner and its opponent."""
    t.player[e.seat] = CALLER
    t.player[1 - e.seat] = e.opponent


@kernel
def _begin(s, t, e):
    """Deals the table's next episode."""
    number = np.uint64(t.episode)
    begin(s, t)
    if e.seat_rule == _ALTERNATE:
        e.seat = number & np.uint64(1)
    elif e.seat_rule == _RANDOM:
        e.seat = mix(s.key ^ _SEAT_SALT) >> np.uint64(63)
    elif e.seat_rule == BOTH:
        e.seat = s.turn
    else:
        e.seat = e.seat_rule
    e.seat_given = 0
    e.opponent = e.next_opponent
    e.moved = 0
    e.moved_in_hand = 0
    e.over = 0
    _sit(t, e)


@kernel
def _deal_again(s, t, e):
    """Deals the table's next episode in place of this one; a seat that reset's options asked for is kept."""
    given = e.seat_given
    seat = e.seat
    _begin(s, t, e)
    if given:
        e.seat = seat
        e.seat_given = 1
        _sit(t, e)


@kernel
def _clear(e):
    _clear_info(e, _NOTHING[0])
    e.done = 0
    e.paid = 0.0
    e.redeals = 0


@kernel
def _signed(winner, me):
    """1 where the winner is "me", -1 where it is the opponent, 0 where it is nobody."""
    if winner == NOBODY:
        return np.int64(0)
    return np.int64(1) if winner == me else np.int64(-1)


@kernel
def _report_hand(s, t, e, me):
    """Reports how a hand ended, and adds its reward."""
    won = _signed(s.winner, me)
    points = won * np.int64(s.points)
    info = e.info
    if e.moved_in_hand:
        info.has_outcome = True
        outcome = info.outcome
        outcome.end = s.end
        outcome.points = points
        outcome.won = won
        outcome.knocker = NOBODY if s.knocker == NOBODY else (0 if s.knocker == me else 1)
        outcome.deadwood = s.deadwood[me]
        outcome.opponent_deadwood = s.deadwood[1 - me]
        outcome.length = s.num_history
    else:
        info.skipped_hands += 1
        if won:
            info.skipped_points[0 if won > 0 else 1] += s.points
    e.moved_in_hand = 0
    if e.reward_rule == _POINTS:
        e.reward += points
    elif e.reward_rule == _SCALED or e.reward_rule == _WIN_POINTS:
        e.reward += POINTS_SCALE * points
    elif e.reward_rule == _WIN and t.unit != GAME:
        e.reward += won


@kernel
def _report_game(s, e, me):
    """Reports how a game in which the learner has moved ended, and adds its reward."""
    e.info.has_game = True
    game = e.info.game
    game.won = _signed(s.game_winner, me)
    game.hands = s.hand_no + 1
    game.boxes, game.opponent_boxes = s.boxes[me], s.boxes[1 - me]
    game.total, game.opponent_total = s.total[me], s.total[1 - me]
    if e.reward_rule == _WIN or e.reward_rule == _WIN_POINTS:
        e.reward += game.won
    elif e.reward_rule == _TOTAL:
        e.reward += game.total - game.opponent_total


@kernel
def _close_hand(s, t, e):
    """Reports a hand that is over and deals the game's next one; returns whether the episode is over."""
    me = np.int64(0) if e.seat_rule == BOTH else np.int64(e.seat)
    _report_hand(s, t, e, me)
    is_over = close_hand(s, t)
    if t.unit == GAME and is_over and e.moved:
        _report_game(s, e, me)
    return is_over


@kernel
def _close_episode(s, t, e, v, final):
    """Ends the episode; if the next one begins in the same step, keeps the final observation and info of this one."""
    e.done = 1
    e.over = 1
    e.paid = e.reward
    e.reward = 0.0
    if e.same_step:
        _keep_info(final, e)
        look(s, np.int64(e.seat), v)
        encode_row(v, final)
        _clear_info(e, _NOTHING[0])
        _begin(s, t, e)


@kernel
def _play_on(s, t, e, v, final, players, is_observed):
    """Plays on until the learner is to move, the episode is over, or Python has to do something."""
    while not e.over:
        go_on(s, t, v, players)
        if t.waits_for != HAND_OVER:
            return
        if e.opponent >= 0 and not is_observed and player_record(players, np.int64(e.opponent)).listens:
            return
        is_observed = False
        if _close_hand(s, t, e):
            if e.moved:
                _close_episode(s, t, e, v, final)
            else:
                # The learner never moved in this episode: its hands are among those skipped, and another is dealt.
                e.redeals += 1
                if e.redeals > MAX_REDEALS:
                    t.waits_for = ENDLESS
                    return
                e.reward = 0.0
                _deal_again(s, t, e)
    t.waits_for = CALLER


@kernel
def _observe(s, e, v, r, m):
    """Writes the learner's observation and mask, and pays what was earned."""
    if e.seat_rule == BOTH and not e.over:
        e.seat = s.turn
    look(s, np.int64(e.seat), v)
    encode_row(v, r)
    for k in range(3):
        e.legal[k] = v.legal[k]
    if e.over:
        m.cells[:] = 1
    else:
        write_mask(v, m)
    if e.moved:
        e.paid += e.reward
        e.reward = 0.0


@kernel
def _act(s, t, e, v, final):
    """Plays the learner's action; a table whose episode was over begins the next one instead."""
    _clear(e)
    if e.over:
        _begin(s, t, e)
        return
    e.moved = 1
    e.moved_in_hand = 1
    if among(e.action, e.legal[0], e.legal[1], e.legal[2]) or is_legal(s, e.action):
        apply(s, e.action)
    else:
        e.info.illegal_action = True
        e.reward += e.loss
        _close_episode(s, t, e, v, final)


@kernel
def play_on(states, tables, episodes, slots, how, rows, masks, finals, scratch, players):
    """Plays on at some tables until their learners are to move, and writes their observations; returns how many wait for Python.

    Args:
        states: ``STATE[n]``.
        tables: ``TABLE[n]``.
        episodes: ``EPISODE[n]``.
        slots: ``int64[k]``, the tables.
        how: ``ACT``, ``GO_ON`` or ``CLOSE``.
        rows: ``uint8[n, 520]``, written.
        masks: ``int8[n, 107]``, written.
        finals: address of the first ``FINAL`` of ``n``. An array would cost the single environment a percent of its step, as each of these.
        scratch: address of a ``VIEW``.
        players: address of the first ``PLAYER``.
    """
    v = _view_at(scratch)
    waiting = 0
    for k in range(slots.shape[0]):
        i = slots[k]
        s, t, e, final = states[i], tables[i], episodes[i], _final_at(finals + _FINAL_SIZE * i)
        if how == ACT:
            _act(s, t, e, v, final)
        _play_on(s, t, e, v, final, players, how == CLOSE)
        if t.waits_for == CALLER:
            _observe(s, e, v, row_of(rows, i), mask_of_row(masks, i))
        else:
            waiting += 1
    return waiting


@kernel
def write_infos(episodes, reports):
    """Writes what there is to report of the last step to ``REPORT[n]``; returns at how many tables a hand ended, and a game."""
    outcomes = games = 0
    for i in range(episodes.shape[0]):
        _report_step(reports[i], episodes[i])
        outcomes += reports[i].info.has_outcome
        games += reports[i].info.has_game
    return outcomes, games


@kernel
def write_finals(finals, ended, reports, masks, rows):
    """``write_infos`` of the episodes that ended at some tables; all actions into their masks, observations into ``uint8[k, 520]``."""
    outcomes = games = 0
    for k in range(ended.shape[0]):
        i = ended[k]
        _report_final(reports[i], finals[i])
        _copy_row(row_of(rows, k), finals[i])
        mask_of_row(masks, i).cells[:] = 1
        outcomes += reports[i].info.has_outcome
        games += reports[i].info.has_game
    return outcomes, games


@kernel
def begin_episodes(states, tables, episodes, slots, seat):
    """Deals the next episode at some tables; ``seat`` is the learner's, or -1 for that of its rule."""
    for i in slots:
        t, e = tables[i], episodes[i]
        _clear(e)
        e.reward = 0.0
        _begin(states[i], t, e)
        if seat >= 0:
            e.seat = seat
            e.seat_given = 1
            _sit(t, e)


@kernel
def first_refused(states, episodes, actions, is_strict):
    """The first table whose action (``int64[n]``) is none, or (``is_strict``) is illegal; -1 where there is no such table."""
    for i in range(states.shape[0]):
        if not 0 <= actions[i] < NUM_ACTIONS:
            return i
        if is_strict and not episodes[i].over and not is_legal(states[i], actions[i]):
            return i
    return -1
