"""From hands to a game: who starts, the running score, and the score sheet with boxes, game bonus and shut-out.

Kernels work on the game's fields of a ``STATE`` record. ``Hand`` and ``Match`` in ``ginenv.hands.hand`` are the Python
classes on top of them.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.engine import NOBODY, End, deal, shuffle
from ginenv.engine.jit import kernel, mix
from ginenv.engine.rules import CHOICES

_CHANCE = CHOICES["first_starter"].index("chance")
_LOSER = CHOICES["next_starter"].index("loser")
_ALTERNATE = CHOICES["next_starter"].index("alternate")
_WINNER = CHOICES["next_starter"].index("winner")
_DOUBLE_BEFORE = CHOICES["shutout"].index("double-before-boxes")
_DOUBLE_AFTER = CHOICES["shutout"].index("double-after-boxes")
_SHUTOUT_BONUS = CHOICES["shutout"].index("bonus")
_DOUBLE_HANDS = CHOICES["shutout"].index("double-hands")
_GIN, _BIG_GIN, _UNDERCUT = int(End.GIN), int(End.BIG_GIN), int(End.UNDERCUT)
_MAX_BOXES = 255  # what the field of a state holds
# Differs from the numbers of hands, so that the cut for the deal is independent of every deck.
_CUT = np.uint64(0x5EED_0F_7E_C07)


def set_keys(states: np.ndarray, rng: np.random.Generator) -> None:
    """Sets the key and the players' luck of games from a generator; the same seed gives the same deals in every environment.

    Args:
        states: ``[n]`` records with a ``key`` and ``luck``, such as ``STATE[n]``; game ``i`` takes words ``3 i`` to ``3 i + 2``.
        rng: the generator, such as a Gymnasium environment's ``np_random``.
    """
    words = rng.integers(0, 2**64, size=(len(states), 3), dtype=np.uint64)
    states["key"] = words[:, 0]
    states["luck"] = words[:, 1:]


@kernel
def first_starter(s):
    """The seat that starts the first hand of the game under this key."""
    if s.rules.first_starter == _CHANCE:
        return np.int64(mix(s.key ^ _CUT) >> np.uint64(63))
    return np.int64(0)


@kernel
def next_starter(s):
    """The seat that starts the hand after the one just ended; after a hand that scored nothing, the same seat again."""
    if s.points == 0:
        return np.int64(s.starter)
    if s.rules.next_starter == _LOSER:
        return np.int64(1 - s.winner)
    if s.rules.next_starter == _ALTERNATE:
        return np.int64(1 - s.starter)
    if s.rules.next_starter == _WINNER:
        return np.int64(s.winner)
    return np.int64(0)


@kernel
def start_game(s):
    """Begins a game: scores at zero, the first hand shuffled from the key and dealt."""
    for seat in range(2):
        s.score[seat] = 0
        s.total[seat] = 0
        s.boxes[seat] = 0
    s.hand_no = 0
    s.drawn_hands = 0
    s.game_over = 0
    s.game_winner = NOBODY
    shuffle(s)
    deal(s, first_starter(s))


@kernel
def next_hand(s):
    """Deals the next hand of the game after ``score_hand``."""
    starter = next_starter(s)
    s.hand_no += 1
    shuffle(s)
    deal(s, starter)


@kernel
def settle(s, ended):
    """Final totals, before the net score, and the game's winner; ``ended`` is the seat that reached the target, or NOBODY."""
    s.game_winner = NOBODY
    for seat in range(2):
        s.total[seat] = s.score[seat]
    if ended == NOBODY:
        if s.score[0] != s.score[1]:
            s.game_winner = 0 if s.score[0] > s.score[1] else 1
        return
    shut_out = s.boxes[1 - ended] == 0
    if shut_out and s.rules.shutout == _DOUBLE_HANDS:
        s.total[ended] *= 2
    s.total[ended] += s.rules.game_bonus
    if shut_out and s.rules.shutout == _DOUBLE_BEFORE:
        s.total[ended] *= 2
    for seat in range(2):
        s.total[seat] += s.rules.box_bonus * s.boxes[seat]
    if shut_out and s.rules.shutout == _DOUBLE_AFTER:
        s.total[ended] *= 2
    elif shut_out and s.rules.shutout == _SHUTOUT_BONUS:
        s.total[ended] += s.rules.shutout_bonus
    s.game_winner = ended
    if s.rules.winner_total:
        s.game_winner = NOBODY
        if s.total[0] != s.total[1]:
            s.game_winner = 0 if s.total[0] > s.total[1] else 1


@kernel
def _end_game(s, ended):
    """Ends the game; ``ended`` is the seat that reached the target, or NOBODY."""
    s.game_over = 1
    settle(s, ended)
    if s.rules.net_score and s.game_winner != NOBODY:
        s.total[s.game_winner] -= s.total[1 - s.game_winner]
        s.total[1 - s.game_winner] = 0


@kernel
def _boxes_of_hand(s):
    """The boxes that a scored hand brings its winner."""
    extra = np.int64(0)
    if s.end == _GIN:
        extra = np.int64(s.rules.gin_boxes)
    elif s.end == _BIG_GIN:
        extra = np.int64(s.rules.big_gin_boxes)
    elif s.end == _UNDERCUT:
        extra = np.int64(s.rules.undercut_boxes)
    return 1 + (2 * extra if s.doubled else extra)


@kernel
def score_hand(s):
    """Adds a finished hand to the score and boxes, and ends the game if it is decided. Call once per hand.

    A game also ends after ``max_drawn_hands`` hands in a row without a score. Nobody has then reached the target, so no bonus
    is paid and the higher score wins.
    """
    if s.winner == NOBODY:
        s.drawn_hands += 1
        if s.drawn_hands >= s.rules.max_drawn_hands:
            _end_game(s, np.int64(NOBODY))
        return
    s.drawn_hands = 0
    s.score[s.winner] += s.points
    s.boxes[s.winner] = min(s.boxes[s.winner] + _boxes_of_hand(s), _MAX_BOXES)
    if s.score[s.winner] >= s.rules.target:
        _end_game(s, np.int64(s.winner))
