"""Tables at which a learner plays an opponent, in lock-step: the compiled part of every environment.

One *table* is a hand or a game in play (``STATE``) and what an environment keeps about it (``TABLE``). The single
environment has one table and the vector environment many; in self-play the learner plays both seats. They all run ``_go_on``,
which plays until the learner is to move. On the way it asks compiled opponents and deals again where an episode has ended. It
stops where Python has to call a player.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.engine import NOBODY, among, apply, is_legal
from ginenv.engine.game import next_hand, score_hand, start_game
from ginenv.engine.jit import kernel, mix, record_at, record_copy
from ginenv.tables.compiled_players import PLAYER, ask
from ginenv.view.encoding import ROW, encode_row, row_of
from ginenv.view.view import look, mask_of_row, write_mask

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

# The status of a table when _go_on returns: the learner is to move (or the episode is over), Python must ask the opponent or
# tell it of a finished hand, a compiled opponent chose an illegal action, or the learner never gets to move.
LEARNER, ASK, TELL, FAULT, ENDLESS = range(5)
MOST_REDEALS = 1000
_SEAT_SALT = np.uint64(0x5EA7)

_INFO = [
    ("seat", np.uint8),
    ("illegal", np.uint8),
    ("finished", np.uint8),  # 1 when this record describes the end of the episode
    ("closed", np.uint8),  # 1 when a hand in which the learner had moved ended in this step; there is one at most
    ("opponent", np.int32),
    ("score", np.int32, (2,)),
    # The hand that closed; index 0 of a pair is the learner.
    ("end", np.uint8),
    ("won", np.int8),  # 1, -1, or 0 for nobody
    ("knocker", np.uint8),  # 0 the learner, 1 the opponent, 2 nobody
    ("deadwood", np.uint8, (2,)),
    ("length", np.uint8),  # actions of both
    ("points", np.int32),
    # The game, once it is over.
    ("game_won", np.int8),
    ("boxes", np.uint8, (2,)),
    ("hands", np.int32),
    ("total", np.int32, (2,)),
    # What ended in this step before the learner could move: hands of the game in play (or dealt again, where an episode is a hand),
    # and whole games, whose hands are not among these.
    ("skipped_hands", np.int32),
    ("skipped_wins", np.int32, (2,)),
    ("skipped_points", np.int32, (2,)),
    ("skipped_games", np.int32),
    ("skipped_game_wins", np.int32, (2,)),
    ("skipped_totals", np.int32, (2,)),
]
INFO = np.dtype(_INFO, align=True)
TABLE = np.dtype(
    [
        ("key", np.uint64),  # the key of episode 0; that of episode n follows from it and n
        ("luck", np.uint64, (2,)),  # the seats' luck in episode 0; that of episode n follows from it and n
        ("episode", np.int64),  # episodes dealt since the last seed
        ("reward", np.float64),  # earned and not yet paid
        ("paid", np.float64),  # the reward of this step
        ("action", np.int64),  # the learner's next action
        ("loss", np.float64),  # reward of an illegal action
        ("legal", np.int64, (3,)),  # what the learner was last shown as legal, as in a view
        *_INFO,
        ("status", np.uint8),
        ("done", np.uint8),  # 1 when an episode ended in this step
        ("over", np.uint8),  # 1 from the end of an episode until the next begins
        ("moved", np.uint8),  # 1 when the learner has moved in this episode
        ("moved_in_hand", np.uint8),
        ("told", np.uint8),
        ("next_opponent", np.int32),
        ("seat_rule", np.uint8),
        ("seat_given", np.uint8),  # 1 while the episode's seat is one that reset's options asked for
        ("reward_rule", np.uint8),
        ("is_game", np.uint8),
        ("same_step", np.uint8),  # 1 when the next episode is dealt in the step that ends one
        ("redeals", np.int32),
        # Addresses, since compiled helpers take no arrays: the first PLAYER, this table's record in finals, its row in final_rows.
        ("opponents_at", np.int64),
        ("final_at", np.int64),
        ("final_row_at", np.int64),
    ],
    align=True,
)
_opponent_at = record_at(PLAYER)
_info_at = record_at(INFO)
_row_at = record_at(ROW)
_PLAYER_SIZE = PLAYER.itemsize
copy_info = record_copy(INFO, "seat", TABLE, "seat", "skipped_totals")


@kernel
def _begin(s, t):
    """Deals the table's next episode."""
    number = np.uint64(t.episode)
    t.episode += 1
    s.key = t.key
    s.luck[0], s.luck[1] = t.luck[0], t.luck[1]
    if number:
        s.key = mix(t.key ^ mix(number))
        for seat in range(2):
            s.luck[seat] = mix(t.luck[seat] ^ mix(number))
    start_game(s)
    if t.seat_rule == _ALTERNATE:
        t.seat = number & np.uint64(1)
    elif t.seat_rule == _RANDOM:
        t.seat = mix(s.key ^ _SEAT_SALT) >> np.uint64(63)
    elif t.seat_rule == BOTH:
        t.seat = s.turn
    else:
        t.seat = t.seat_rule
    t.seat_given = 0
    t.score[0] = 0
    t.score[1] = 0
    t.opponent = t.next_opponent
    t.moved = 0
    t.moved_in_hand = 0
    t.told = 0
    t.over = 0


@kernel
def _deal_again(s, t):
    """Deals the table's next episode in place of this one; a seat that reset's options asked for is kept."""
    given = t.seat_given
    seat = t.seat
    _begin(s, t)
    if given:
        t.seat = seat
        t.seat_given = 1


@kernel
def _clear_skipped_hands(t):
    t.skipped_hands = 0
    t.skipped_wins[0], t.skipped_wins[1] = 0, 0
    t.skipped_points[0], t.skipped_points[1] = 0, 0


@kernel
def _clear_report(t):
    t.closed = 0
    t.illegal = 0
    t.finished = 0
    _clear_skipped_hands(t)
    t.skipped_games = 0
    t.skipped_game_wins[0], t.skipped_game_wins[1] = 0, 0
    t.skipped_totals[0], t.skipped_totals[1] = 0, 0


@kernel
def _clear(t):
    _clear_report(t)
    t.done = 0
    t.paid = 0.0
    t.redeals = 0


@kernel
def _signed(winner, me):
    """1 where the winner is "me", -1 where it is the opponent, 0 where it is nobody."""
    if winner == NOBODY:
        return np.int64(0)
    return np.int64(1) if winner == me else np.int64(-1)


@kernel
def _close_hand(s, t):
    """Records how a hand ended, adds its reward, and deals the game's next hand; returns whether the episode is over."""
    me = np.int64(0) if t.seat_rule == BOTH else np.int64(t.seat)
    won = _signed(s.winner, me)
    points = won * np.int64(s.points)
    if t.moved_in_hand:
        t.closed = 1
        t.end = s.end
        t.won = won
        t.knocker = NOBODY if s.knocker == NOBODY else (0 if s.knocker == me else 1)
        t.deadwood[0] = s.deadwood[me]
        t.deadwood[1] = s.deadwood[1 - me]
        t.length = s.num_history
        t.points = points
    else:
        t.skipped_hands += 1
        if won:
            winner = 0 if won > 0 else 1
            t.skipped_wins[winner] += 1
            t.skipped_points[winner] += s.points
    t.moved_in_hand = 0
    t.told = 0
    if t.reward_rule == _POINTS:
        t.reward += points
    elif t.reward_rule == _SCALED or t.reward_rule == _WIN_POINTS:
        t.reward += POINTS_SCALE * points
    if not t.is_game:
        if t.reward_rule == _WIN:
            t.reward += won
        return True
    score_hand(s)
    t.score[0] = s.score[me]
    t.score[1] = s.score[1 - me]
    if not s.game_over:
        next_hand(s)
        return False
    t.game_won = _signed(s.game_winner, me)
    t.hands = s.hand_no + 1
    for k in range(2):
        t.boxes[k] = s.boxes[me if k == 0 else 1 - me]
        t.total[k] = s.total[me if k == 0 else 1 - me]
    if t.reward_rule == _WIN or t.reward_rule == _WIN_POINTS:
        t.reward += t.game_won
    elif t.reward_rule == _TOTAL:
        t.reward += t.total[0] - t.total[1]
    return True


@kernel
def _skip_game(t):
    """Counts a game that ended before the learner could move, in place of its hands: the score begins anew."""
    t.skipped_games += 1
    if t.game_won:
        t.skipped_game_wins[0 if t.game_won > 0 else 1] += 1
    for k in range(2):
        t.skipped_totals[k] += t.total[k]
    _clear_skipped_hands(t)


@kernel
def _write_observation(s, t, v, r):
    look(s, np.int64(t.seat), v)
    encode_row(v, r)


@kernel
def _close_episode(s, t, v):
    """Ends the episode; if the next one begins in the same step, keeps the final observation and info of this one."""
    t.done = 1
    t.finished = 1
    t.over = 1
    t.paid = t.reward
    t.reward = 0.0
    if t.same_step:
        copy_info(_info_at(t.final_at), t)
        _write_observation(s, t, v, _row_at(t.final_row_at))
        _clear_report(t)
        _begin(s, t)


@kernel
def _go_on(s, t, v, i):
    """Plays on until the learner is to move or Python has to do something; returns the table's status."""
    while not t.over:
        o = _opponent_at(t.opponents_at + _PLAYER_SIZE * t.opponent)
        if s.phase == PHASE_OVER:
            if o.listens and not t.told:
                return TELL
            if _close_hand(s, t):
                if t.moved:
                    _close_episode(s, t, v)
                else:
                    # The learner never moved in this episode: it is among those skipped, and another is dealt.
                    t.redeals += 1
                    if t.redeals > MOST_REDEALS:
                        return ENDLESS
                    t.reward = 0.0
                    if t.is_game:
                        _skip_game(t)
                    _deal_again(s, t)
            continue
        if t.seat_rule == BOTH:
            t.seat = s.turn
            break
        if s.turn == t.seat:
            break
        if o.decide == 0:
            return ASK
        look(s, 1 - np.int64(t.seat), v)
        action = ask(o.decide, v, o.options + (i % o.count) * o.size, o.seed)
        if not among(action, v.legal[0], v.legal[1], v.legal[2]):
            return FAULT
        apply(s, action)
    return LEARNER


@kernel
def _observe(s, t, v, r, m):
    """Writes the learner's observation and mask, and pays what was earned."""
    _write_observation(s, t, v, r)
    for k in range(3):
        t.legal[k] = v.legal[k]
    if t.over:
        m.cells[:] = 1
    else:
        write_mask(v, m)
    if t.moved:
        t.paid += t.reward
        t.reward = 0.0


@kernel
def _advance(s, t, v, i, r, m):
    status = _go_on(s, t, v, i)
    t.status = status
    if status != LEARNER:
        return 1
    _observe(s, t, v, r, m)
    return 0


@kernel
def _act(s, t, v):
    """Plays the learner's action; a table whose episode was over begins the next one instead."""
    _clear(t)
    if t.over:
        _begin(s, t)
        return
    t.moved = 1
    t.moved_in_hand = 1
    if among(t.action, t.legal[0], t.legal[1], t.legal[2]) or is_legal(s, t.action):
        apply(s, t.action)
    else:
        t.illegal = 1
        t.reward += t.loss
        _close_episode(s, t, v)


@kernel
def play(states, tables, views, slots, count, acts, rows, masks):
    """Plays on at some tables, beginning with their learners' actions if ``acts`` is set; returns how many wait for Python."""
    v = views[states.shape[0]]
    waiting = 0
    for k in range(count):
        i = slots[k]
        s = states[i]
        t = tables[i]
        if acts:
            _act(s, t, v)
        waiting += _advance(s, t, v, i, row_of(rows, i), mask_of_row(masks, i))
    return waiting


@kernel
def collect_waiting(states, tables, views, slots, opponent, status):
    """Writes the views and numbers of the tables that wait for one opponent; returns how many there are."""
    count = 0
    for i in range(states.shape[0]):
        if tables[i].status == status and tables[i].opponent == opponent:
            look(states[i], 1 - np.int64(tables[i].seat), views[count])
            slots[count] = i
            count += 1
    return count


@kernel
def answer(states, slots, count, actions):
    """Plays the opponent's actions; returns the index of the first illegal one (then none is played), or -1."""
    for k in range(count):
        if not is_legal(states[slots[k]], actions[k]):
            return k
    for k in range(count):
        apply(states[slots[k]], actions[k])
    return -1


@kernel
def begin(states, tables, slots):
    """Deals the next episode at some tables."""
    for i in slots:
        t = tables[i]
        _clear(t)
        t.reward = 0.0
        _begin(states[i], t)


@kernel
def first_illegal(states, tables):
    """The first table whose action is illegal, or -1."""
    for i in range(states.shape[0]):
        if not tables[i].over and not is_legal(states[i], tables[i].action):
            return i
    return -1
