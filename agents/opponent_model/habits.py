"""Counts of what an opponent does, which people understand: evidence beside the model's weights, not used in play."""

from __future__ import annotations

import numpy as np

from agents.opponent_model.turns import MAX_TURNS, TURN, read_turns
from ginenv.engine.engine import is_gin
from ginenv.engine.jit import kernel
from ginenv.engine.melds import card_points

# Each is counted together with the chances there were for it.
HABITS = (
    "knocks by the third turn",
    "goes gin",
    "has five points or less when it knocks",
    "takes the upcard",
    "takes the first upcard",
    "throws a card of ten points in the first three turns",
    "plays on to a tenth turn",
)
NUM_HABITS = len(HABITS)
COUNTS = np.dtype([("did", np.float64, (NUM_HABITS,)), ("could", np.float64, (NUM_HABITS,))], align=True)
_EARLY, _LATE, _LOW, _HIGH = 3, 10, 5, 10


@kernel
def _add(c, habit, did):
    c.could[habit] += 1
    if did:
        c.did[habit] += 1


@kernel
def _count_habits(v, c, turns):
    count = read_turns(v, turns)
    last = 0
    early = False
    for k in range(count):
        t = turns[k]
        if t.top >= 0:
            _add(c, 3, t.took == 1)
            if t.first:
                _add(c, 4, t.took == 1)
        if t.discarded >= 0:
            last = np.int64(t.number)
            if t.knocked:
                early = last <= _EARLY
            elif last <= _EARLY:
                _add(c, 5, card_points(np.int64(t.discarded)) >= _HIGH)
    _add(c, 0, early)
    mine = v.knocker == 1
    _add(c, 1, mine and is_gin(v.end))
    if mine and not is_gin(v.end):
        _add(c, 2, v.deadwood[1] <= _LOW)
    _add(c, 6, last >= _LATE)


@kernel
def _count_all(views, rows, counts, turns):
    for i in range(views.shape[0]):
        _count_habits(views[i], counts[rows[i]], turns)


def count_habits(views: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> None:
    """Counts what the opponent did in finished hands.

    Args:
        views: ``VIEW[n]``, final views of the seat that watches.
        rows: ``int[n]``, the opponent of each.
        counts: ``COUNTS[m]``, added to.
    """
    _count_all(views, np.asarray(rows, np.int64), counts, np.zeros(MAX_TURNS, TURN))
