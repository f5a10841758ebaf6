"""The public record of a hand: what both seats did, move by move, read from a view.

A view holds the actions as numbers. What a number means (which card a seat took, whether ``7C`` was discarded or laid off) depends on
the actions before it. Only ``moves`` works this out. Compiled code calls it directly, Python through ``read_moves``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.jit import kernel
from ginenv.engine.melds import nth_arrangement
from ginenv.engine.state import MAX_HISTORY, NO_CARD, as_batch
from ginenv.view.view import VIEW

# What is done in a move. After both passed the first upcard, the starter's draw is a move without an action of its own: M_FORCED_DRAW.
(M_PASS, M_TAKE, M_DRAW, M_FORCED_DRAW, M_DISCARD, M_KNOCK, M_SPREAD, M_LAY_OFF, M_DONE) = range(9)


class Move(NamedTuple):
    """One move of a hand.

    A hand's last move may be a draw that yields no card: one that reaches the limit of upcards taken, or finds the stock used up.

    Attributes:
        seat: who moved: 0 the observing seat, 1 its opponent.
        kind: what was done, an ``M_`` constant.
        card: the card taken, discarded (also by a knock) or laid off, or the number of the arrangement spread; otherwise ``NO_CARD``.
        upcard: for a pass or a draw, the upcard that was available; otherwise, or if there was none, ``NO_CARD``.
    """

    seat: int
    kind: int
    card: int
    upcard: int


@kernel
def _chose_spread(v):
    """Whether the knocker had several arrangements to choose from, so that the choice is in the record."""
    if not v.rules.choose_spread:
        return False
    cards = v.hand if v.knocker == 0 else v.shown
    return nth_arrangement(cards, np.int64(v.limit), 0)[0] > 1


@kernel
def moves(v):
    """The moves of a view's hand in order, each a ``Move``."""
    seat = 0 if v.started else 1
    upcard: Any = np.int64(v.first_upcard)
    passes = 0
    knocked = False
    choosing = False
    for k in range(v.num_history):
        action: Any = np.int64(v.history[k])
        if knocked:
            if choosing:
                choosing = False
                yield Move(seat, M_SPREAD, action, NO_CARD)
            elif action == PASS:
                yield Move(1 - seat, M_DONE, NO_CARD, NO_CARD)
            else:
                yield Move(1 - seat, M_LAY_OFF, action, NO_CARD)
        elif action == PASS:
            yield Move(seat, M_PASS, NO_CARD, upcard)
            seat = 1 - seat
            passes += 1
            if passes == 2 and k == 1:
                yield Move(seat, M_FORCED_DRAW, NO_CARD, upcard)
        elif action == UPCARD:
            yield Move(seat, M_TAKE, upcard, upcard)
        elif action == STOCK:
            yield Move(seat, M_DRAW, NO_CARD, upcard)
        elif action < KNOCK:
            yield Move(seat, M_DISCARD, action, NO_CARD)
            upcard = action
            seat = 1 - seat
        else:
            yield Move(seat, M_KNOCK, action - KNOCK, NO_CARD)
            knocked = True
            choosing = _chose_spread(v)


@kernel
def _fill(views, table, counts):
    for i in range(views.shape[0]):
        for move in moves(views[i]):
            row = table[i, counts[i]]
            row[0], row[1], row[2], row[3] = move.seat, move.kind, move.card, move.upcard
            counts[i] += 1


def move_arrays(views: np.ndarray | np.void) -> tuple[np.ndarray, np.ndarray]:
    """The moves of many hands as arrays, which is cheaper than reading them one by one.

    Args:
        views: ``VIEW[n]``.

    Returns:
        ``uint8[n, 193, 4]``, the fields of ``Move`` for each move, and ``int64[n]``, the number of moves; the rest is undefined.

    Raises:
        GinError: if ``views`` is no ``VIEW[n]``.
    """
    views = as_batch(views, VIEW, "VIEW")
    # One more than the most actions, since a forced draw is a move without an action.
    table = np.empty((len(views), MAX_HISTORY + 1, len(Move._fields)), np.uint8)
    counts = np.zeros(len(views), np.int64)
    _fill(views, table, counts)
    return table, counts


def read_moves(views: np.ndarray | np.void) -> list[list[Move]]:
    """The moves of each view's hand, from ``VIEW[n]`` or a single record; raises like ``move_arrays``."""
    table, counts = move_arrays(views)
    return [[Move(*row) for row in rows[:count].tolist()] for rows, count in zip(table, counts, strict=True)]
