"""Played hands, decision by decision: every row follows from the hand's deal and its actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ginenv.engine.actions import PHASE_NAMES, PHASE_OVER
from ginenv.engine.engine import NOBODY, End, apply, deal, is_legal
from ginenv.engine.jit import kernel
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.text import format_positions
from ginenv.view.encoding import OBSERVATION_SIZE, encode
from ginenv.view.view import VIEW, look

END_NAMES = tuple(end.name.lower().replace("_", " ") for end in End)

# A decision.
ROW = np.dtype(
    [
        ("place", np.int64),  # index of its hand among those given
        ("cards", np.int64),  # cards of the seat to move
        ("other_cards", np.int64),
        ("legal", np.int64, (3,)),  # cards for ids 0-51, cards for 52-103, bits for 104-106
        ("ply", np.uint8),
        ("seat", np.uint8),
        ("phase", np.uint8),
        ("action", np.uint8),
    ],
    align=True,
)


@dataclass(frozen=True)
class Hands:
    """Hands that were played.

    Attributes:
        states: ``STATE[h]`` at the end of each hand, before it was scored.
        games: ``int64[h]``, number of each hand's game.
        players: for each hand, the names of seats 0 and 1.
        won: ``int8[h, 2]``, 1, 0 or -1: result of the game for each seat; ``None`` where no games were played to their ends.
        expert: what an expert would have played, by column; ``None`` where nobody has been asked yet.
        faults: faults of outside programs (``OutsidePlayer.take_faults``); hands that these forfeited are left out.
    """

    states: np.ndarray
    games: np.ndarray
    players: list[tuple[str, str]]
    won: np.ndarray | None = None
    expert: dict[str, Any] | None = None
    faults: Sequence[dict[str, Any]] = ()


@kernel
def _count(states):
    total = 0
    for i in range(states.shape[0]):
        total += states[i].num_history
    return total


@kernel
def _replay(ends, starts, rows, views, observations):
    """Replays hands from their deals and writes every decision, and its view and observation if there is room for them.

    Returns:
        Index of the first hand with an illegal action, or -1.
    """
    at = 0
    for i in range(ends.shape[0]):
        s = starts[i]
        deal(s, np.int64(ends[i].starter))
        for k in range(ends[i].num_history):
            action = np.int64(ends[i].history[k])
            if s.phase == PHASE_OVER or not is_legal(s, action):
                return i
            seat = np.int64(s.turn)
            v = views[at if views.shape[0] > 1 else 0]
            look(s, seat, v)
            row = rows[at]
            row.place = i
            row.cards = s.hands[seat]
            row.other_cards = s.hands[1 - seat]
            for m in range(3):
                row.legal[m] = v.legal[m]
            row.ply = k
            row.seat = seat
            row.phase = s.phase
            row.action = action
            if observations.shape[0]:
                encode(v, observations, at)
            apply(s, action)
            at += 1
    return -1


@dataclass(frozen=True)
class Decisions:
    """The decisions of some hands.

    Attributes:
        rows: ``ROW[n]``.
        views: ``VIEW[n]`` of the seats to move; empty unless asked for.
        observations: ``uint8[n, 520]``; empty unless asked for.
        states: ``STATE[h]``, the hands as the replay left them.
    """

    rows: np.ndarray
    views: np.ndarray
    observations: np.ndarray
    states: np.ndarray


def decisions_of(ends: np.ndarray, views: bool = False, observations: bool = False) -> Decisions:
    """Every decision of hands.

    Args:
        ends: ``STATE[h]`` after the last action of each hand.
        views: whether to return the views.
        observations: whether to return the observations.

    Raises:
        GinError: if a hand holds an illegal action; it does not come from this engine then.
    """
    count = int(_count(ends))
    starts = ends.copy()
    found = Decisions(
        np.zeros(count, ROW),
        np.zeros(count if views else 0, VIEW),
        np.zeros((count if observations else 0, OBSERVATION_SIZE), np.uint8),
        starts,
    )
    scratch = found.views if views and count > 1 else np.zeros(1, VIEW)
    bad = _replay(ends, starts, found.rows, scratch, found.observations)
    if bad >= 0:
        raise GinError(f"hand {bad + 1} of {len(ends)} holds an action that is not legal where it stands")
    if views and count == 1:
        found.views[:] = scratch
    return found


def columns_of(hands: Hands, found: Decisions) -> dict[str, Any]:
    """The columns of a table of decisions, except those of the expert, by name.

    Args:
        hands: the hands.
        found: their decisions.
    """
    rows, states = found.rows, hands.states
    place, seat = rows["place"], rows["seat"].astype(np.int64)
    names = sorted({name for pair in hands.players for name in pair})
    codes = np.array([[names.index(name) for name in pair] for pair in hands.players], np.int16).reshape(-1, 2)
    mine = np.where(states["winner"] == NOBODY, 0, np.where(states["winner"] == 0, 1, -1)) * states["points"]
    columns: dict[str, Any] = {
        "game": hands.games[place],
        "hand": place,
        "ply": rows["ply"].astype(np.int16),
        "position": [line for state in states for line in format_positions(Hand(state.reshape(1)))],
        "seat": rows["seat"].astype(np.int8),
        "player": (codes[place, seat], names),
        "opponent": (codes[place, 1 - seat], names),
        "phase": (rows["phase"].astype(np.int16), list(PHASE_NAMES)),
        "cards": rows["cards"],
        "other_cards": rows["other_cards"],
        "legal_cards": rows["legal"][:, 0],
        "legal_knocks": rows["legal"][:, 1],
        "legal_others": rows["legal"][:, 2].astype(np.int8),
        "action": rows["action"].astype(np.int8),
        "end": (states["end"][place].astype(np.int16), list(END_NAMES)),
        "points": (np.where(seat == 0, mine[place], -mine[place])).astype(np.int16),
        "won": None if hands.won is None else hands.won[place, seat],
    }
    return columns
