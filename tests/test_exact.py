"""Matches beside exact values, where the game is small enough to play out every deal (``benchmarks.nash_conv``)."""

from itertools import combinations

import numpy as np

from agents.arena import play_match
from benchmarks import nash_conv
from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.engine import NOBODY, apply
from ginenv.engine.jit import kernel
from ginenv.engine.rules import get_rules
from ginenv.tables.players import BasePlayer, Player
from ginenv.view.view import action_masks, make_views

RULES = get_rules(nash_conv.SMALL)


class Fixed(BasePlayer):
    """Knocks when it can, else plays the first or the last legal action: without luck."""

    def __init__(self, last: bool = False) -> None:
        super().__init__()
        self.name, self.last = f"fixed {last}", last

    def act(self, views, slots=None):
        masks = action_masks(views)
        masks[:, :52] &= masks[:, 52:104].max(axis=1, keepdims=True) ^ 1
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1) if self.last else masks.argmax(axis=1)


def policy(views: np.ndarray) -> np.ndarray:
    return np.eye(107)[Fixed().act(views)]


@kernel
def _apply_all(states, actions):
    for i in range(states.shape[0]):
        apply(states[i], actions[i])


def exact_points(*players: Player) -> float:
    """Points per hand that the player in seat 0 wins of the one in seat 1, over all deals."""
    states, _ = nash_conv._deals(RULES, 0, list(combinations(nash_conv._deck(RULES), RULES.hand_size)))
    while (states["phase"] != PHASE_OVER).any():
        for seat, player in enumerate(players):
            rows = np.flatnonzero((states["phase"] != PHASE_OVER) & (states["turn"] == seat))
            if len(rows):
                moved = states[rows]
                _apply_all(moved, np.asarray(player.act(make_views(moved, seat)), np.int64))
                states[rows] = moved
    return float(np.mean(states["points"] * np.where(states["winner"] == NOBODY, 0, 1 - 2.0 * states["winner"])))


def test_a_match_finds_what_all_deals_come_to():
    """The machinery of matches, deals and intervals, checked against a number that owes nothing to sampling."""
    one, other = Fixed(), Fixed(last=True)
    exact = (exact_points(one, other) - exact_points(other, one)) / 2
    result = play_match(one, other, rules=RULES, unit="hands", pairs=2500, seed=1)
    assert abs(exact) > 2 * result.points.half and abs(result.points.mean - exact) < 1.3 * result.points.half


def test_nobody_does_better_than_the_best_response():
    best = sum(nash_conv.best_response(policy, seat, RULES) for seat in (0, 1)) / 2
    for name in ("simple", "formula", "camper", "random"):
        result = play_match(name, Fixed(), rules=RULES, unit="hands", pairs=500, seed=2)
        assert result.points.low < best
    assert play_match("random", Fixed(), rules=RULES, unit="hands", pairs=500).points.high < best
