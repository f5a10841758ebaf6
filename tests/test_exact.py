"""Matches against the exact value of the best response to a fixed player, where the game is small enough to look at every deal.

The responder knows how the other plays and not what it holds. So all deals are played at once: at each of its decisions the
deals that look the same to it form one information set, every action is tried in all of them, and the best on average is
kept. With five ranks of two suits and three cards a hand there are 50,400 deals, and the whole tree fits into memory in parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from agents.arena import play_match
from ginenv.engine.actions import NUM_ACTIONS, PHASE_OVER
from ginenv.engine.engine import NOBODY, STATE, STOCK_LEFT, apply, deal
from ginenv.engine.jit import kernel
from ginenv.engine.rules import Rules
from ginenv.tables.players import BasePlayer, Player
from ginenv.view.view import action_masks, make_views

# The reduced game: runs of three alone, one draw from the stock, few upcards.
REDUCED = Rules(
    **{"ranks": 5, "suits": 2, "hand_size": 3, "knock_limit": 5, "max_upcards": 2, "undercut_on_tie": True},
    **{"target": 0, "game_bonus": 0, "box_bonus": 0, "shutout": "none", "net_score": False, "winner": "target"},
)
_SEAT = 0


@kernel
def _apply_all(states, actions):
    for i in range(states.shape[0]):
        apply(states[i], actions[i])


@kernel
def _deal_all(states, starter):
    for i in range(states.shape[0]):
        deal(states[i], starter)


# What a seat knows and what it may do: the rest of a view follows from these, or is no part of a single hand (scores, the seat's
# number, luck).
_VIEW_FIELDS = "hand known_cards thrown refused legal started phase upcard taken drawn declined stock".split()


def _information_sets(views: np.ndarray) -> np.ndarray:
    """A 64-bit hash of what each seat knows: equal exactly for deals that look the same to it (``uint64[n]``)."""
    columns = [views[name].reshape(len(views), -1).astype(np.uint64) for name in _VIEW_FIELDS]
    history = views["history"].astype(np.uint64)
    # What stands behind the end of the history is left from earlier hands.
    columns.append(np.where(np.arange(history.shape[1]) < views["num_history"][:, None], history + np.uint64(1), 0))
    hashed = np.zeros(len(views), np.uint64)
    for column in np.hstack(columns).T.astype(np.uint64):
        hashed = (hashed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(29)
    return hashed


class ExactResponse(BasePlayer):
    """The best response to a player in a reduced game, found by looking at every deal.

    Args:
        other: the player that it answers to; its choices must follow from its view alone, whatever its luck.
        rules: of the reduced game.

    Attributes:
        value: points per hand that it wins, over all deals and both starters.
    """

    name = "exact-response"

    def __init__(self, other: Player, rules: Rules = REDUCED):
        super().__init__()
        self.other = other
        self.rules = rules
        self.policy: dict[int, int] = {}
        total, count = 0.0, 0
        for starter in (0, 1):
            for states in self._deals(starter):
                total += float(self._solve(self._settle(states)).sum())
                count += len(states)
        self.value = total / count

    def _deals(self, starter: int) -> Iterator[np.ndarray]:
        """All deals, in parts that hold every deal of the responder's hands in them: ``STATE[n]``."""
        rules = self.rules
        cards = {13 * suit + rank for suit in range(rules.suits) for rank in range(rules.ranks)}
        draws = rules.num_cards - 2 * rules.hand_size - 1 - STOCK_LEFT
        for mine in itertools.combinations(sorted(cards), rules.hand_size):
            decks = []
            rest = cards - set(mine)
            for theirs in itertools.combinations(sorted(rest), rules.hand_size):
                left = rest - set(theirs)
                for order in itertools.permutations(sorted(left), 1 + draws):
                    first, second = (mine, theirs) if starter == _SEAT else (theirs, mine)
                    decks.append([*first, *second, *order, *sorted(left - set(order))])
            states = np.zeros(len(decks), STATE)
            states["rules"] = rules.block
            states["deck"][:, : rules.num_cards] = decks
            _deal_all(states, starter)
            yield states

    def _settle(self, states: np.ndarray) -> np.ndarray:
        """Lets the other player move until the responder is to move or the hand is over."""
        while True:
            waiting = np.flatnonzero((states["phase"] != PHASE_OVER) & (states["turn"] != _SEAT))
            if not len(waiting):
                return states
            moved = states[waiting]
            _apply_all(moved, np.asarray(self.other.act(make_views(moved, 1 - _SEAT)), np.int64))
            states[waiting] = moved

    def _solve(self, states: np.ndarray) -> np.ndarray:
        """Points to the responder in each deal under its best play: ``float[n]``; the play is written into the policy."""
        points = np.where(states["winner"] == _SEAT, 1.0, -1.0) * states["points"]
        values = np.where(states["winner"] == NOBODY, 0.0, points)
        mine = np.flatnonzero(states["phase"] != PHASE_OVER)
        if not len(mine):
            return values
        views = make_views(states[mine], _SEAT)
        keys, inverse = np.unique(_information_sets(views), return_inverse=True)
        rows, actions = np.nonzero(action_masks(views))
        children = states[mine][rows]
        _apply_all(children, actions)
        gained = self._solve(self._settle(children))
        worth = np.full(len(keys) * NUM_ACTIONS, -np.inf)
        place = inverse[rows] * NUM_ACTIONS + actions
        sums = np.bincount(place, gained, len(worth))
        worth[np.unique(place)] = sums[np.unique(place)]
        best = worth.reshape(-1, NUM_ACTIONS).argmax(axis=1)
        self.policy.update(zip(keys.tolist(), best.tolist(), strict=True))
        is_best = actions == best[inverse[rows]]
        values[mine[rows[is_best]]] = gained[is_best]
        return values

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Plays what was found."""
        return np.array([self.policy[key] for key in _information_sets(views).tolist()], np.int64)


class FirstLegal(BasePlayer):
    """Knocks when it can, else plays the first legal action: fixed, and without luck."""

    name = "first-legal"

    def act(self, views, slots=None):
        masks = action_masks(views)
        masks[:, :52] &= masks[:, 52:104].max(axis=1, keepdims=True) ^ 1
        return masks.argmax(axis=1)


@pytest.fixture(scope="module")
def response():
    return ExactResponse(FirstLegal())


def test_the_exact_value_is_what_the_response_wins_in_the_arena(response):
    """The machinery of matches, deals and intervals, checked against a number that owes nothing to sampling."""
    result = play_match(response, FirstLegal(), rules=REDUCED, unit="hands", pairs=2500, seed=1)
    assert result.points.half < 0.8
    assert abs(result.points.mean - response.value) < 1.3 * result.points.half


def test_nobody_does_better_than_the_exact_response(response):
    # Copying the fixed player is one of the responses, and it wins nothing on average.
    assert response.value > 0 and len(response.policy) > 1000
    for name in ("simple", "formula", "camper", "random"):
        result = play_match(name, FirstLegal(), rules=REDUCED, unit="hands", pairs=500, seed=2)
        assert result.points.low < response.value
    assert play_match("random", FirstLegal(), rules=REDUCED, unit="hands", pairs=500).points.high < response.value
