"""Played hands, decision by decision: every row follows from the hand's deal and its actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ginenv.engine.actions import PHASE_NAMES, PHASE_OVER
from ginenv.engine.engine import NOBODY, STATE, End, apply, deal, is_legal
from ginenv.engine.jit import kernel
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.records import Record
from ginenv.hands.text import format_positions
from ginenv.view.view import VIEW, look

END_NAMES = tuple(end.name.lower().replace("_", " ") for end in End)


@dataclass(frozen=True)
class Hands:
    """Hands that were played.

    Attributes:
        states: ``STATE[h]`` at the end of each hand, before it was scored.
        games: ``int64[h]``, number of each hand's game.
        players: for each hand, the names of seats 0 and 1.
        won: ``int8[h, 2]``, 1, 0 or -1: result of the game for each seat; ``None`` where no games were played to their ends.
        faults: faults of outside programs (``OutsidePlayer.take_faults``); hands that these forfeited are left out.
    """

    states: np.ndarray
    games: np.ndarray
    players: list[tuple[str, str]]
    won: np.ndarray | None = None
    faults: Sequence[dict[str, Any]] = ()


def hands_of_record(record: Record, game: int) -> Hands:
    """The hands of a record in which at least one action was taken; all get the number of the game."""
    won = None
    if record.match.is_over:
        winner = record.match.winner
        won = np.array([0 if winner is None else 1 if seat == winner else -1 for seat in range(2)], np.int8)
    hands = [hand for hand in record.hands if hand.history]
    states = np.concatenate([np.zeros(0, STATE), *(hand.state for hand in hands)])
    count = len(hands)
    return Hands(
        states, np.full(count, game), [record.names] * count, None if won is None else np.tile(won, (count, 1))
    )


@dataclass(frozen=True)
class Decisions:
    """The decisions of some hands.

    Attributes:
        views: ``VIEW[n]`` of the seats to move.
        hand: ``int64[n]``, index of the hand among those given.
        action: ``int64[n]``, the action played.
        other_cards: ``int64[n]``, the cards of the other seat.
    """

    views: np.ndarray
    hand: np.ndarray
    action: np.ndarray
    other_cards: np.ndarray


@kernel
def _replay(ends, views, hand, action, other_cards):
    """Replays hands from their deals and writes every decision; returns the index of the first hand with an illegal action, or -1."""
    at = 0
    for i in range(ends.shape[0]):
        s = ends[i]
        count = np.int64(s.num_history)
        for k in range(count):
            action[at + k] = s.history[k]
        deal(s, np.int64(s.starter))
        for _ in range(count):
            if s.phase == PHASE_OVER or not is_legal(s, action[at]):
                return i
            seat = np.int64(s.turn)
            look(s, seat, views[at])
            hand[at] = i
            other_cards[at] = s.hands[1 - seat]
            apply(s, action[at])
            at += 1
    return -1


def decisions_of(ends: np.ndarray) -> Decisions:
    """Every decision of hands.

    Args:
        ends: ``STATE[h]`` after the last action of each hand.

    Raises:
        GinError: if a hand holds an illegal action; it does not come from this engine then.
    """
    count = int(ends["num_history"].sum())
    hand, action, other_cards = (np.zeros(count, np.int64) for _ in range(3))
    found = Decisions(np.zeros(count, VIEW), hand, action, other_cards)
    bad = _replay(ends.copy(), found.views, hand, action, other_cards)
    if bad >= 0:
        raise GinError(f"hand {bad + 1} of {len(ends)} holds an action that is not legal where it stands")
    return found


def columns_of(hands: Hands, decisions: Decisions) -> dict[str, Any]:
    """The columns of a table of decisions, by name; text as codes and the words that they stand for."""
    views, states, hand = decisions.views, hands.states, decisions.hand
    seat = views["seat"].astype(np.int64)
    codes = {name: code for code, name in enumerate(sorted({name for pair in hands.players for name in pair}))}
    players = np.array([[codes[name] for name in pair] for pair in hands.players], np.int64).reshape(-1, 2)
    points = np.where(states["winner"] == NOBODY, 0, np.where(states["winner"] == 0, 1, -1)) * states["points"]
    return {
        "game": hands.games[hand],
        "hand": hand,
        "ply": views["num_history"].astype(np.int16),
        "position": [line for state in states for line in format_positions(Hand(state.reshape(1)))],
        "seat": seat.astype(np.int8),
        "player": (players[hand, seat], list(codes)),
        "opponent": (players[hand, 1 - seat], list(codes)),
        "phase": (views["phase"], list(PHASE_NAMES)),
        "cards": views["hand"],
        "other_cards": decisions.other_cards,
        "legal_cards": views["legal"][:, 0],
        "legal_knocks": views["legal"][:, 1],
        "legal_others": views["legal"][:, 2].astype(np.int8),
        "action": decisions.action.astype(np.int8),
        "end": (states["end"][hand], list(END_NAMES)),
        "points": np.where(seat == 0, points[hand], -points[hand]).astype(np.int16),
        "won": None if hands.won is None else hands.won[hand, seat],
    }
