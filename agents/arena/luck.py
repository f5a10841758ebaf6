"""Luck adjustment: measures the luck of draws from the stock and subtracts it from the result.

The luck of a draw is the value after the card drawn, less the mean of the values after each card that is still in the stock,
with both hands known. Its expectation is zero whatever the values are, so subtracting it never biases a result. The better the
values, the more variance is removed (the idea of AIVAT, Burch et al. 2018, with chance nodes alone).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.arena.lockstep import Lockstep, Observer
from ginenv.engine.jit import ctz, kernel
from ginenv.engine.melds import card_points, deadwood, melded_cards

# The values of STATE[n] just after a draw, for the seat that drew, in points of the hand: float[n].
ValueFunction = Callable[[np.ndarray], np.ndarray]

# A state is copied once for each card of the stock, so only this many draws are processed at a time.
_AT_ONCE = 128
# For the chance to win a game: standard deviation of a hand's points, and points that the leader gains in a hand.
_HAND_SPREAD = 18.0
_POINTS_PER_HAND = 11.0


@kernel
def _value(s):
    """Fitted to 150,704 draws in 16,000 hands of ``formula`` against itself under ``eaai`` (least squares, R² 0.25)."""
    seat = np.int64(s.turn)
    cards = s.hands[seat]
    loose = cards & ~melded_cards(cards)
    highest = 0
    rest = loose
    while rest:
        highest = max(highest, card_points(ctz(rest)))
        rest &= rest - 1
    own = deadwood(cards) - highest
    other = deadwood(s.hands[1 - seat])
    value = 0.54 * own - 11.43 * np.sqrt(own) - 0.59 * other + 12.11 * np.sqrt(other)
    if own == 0:
        value += 17.4
    if own <= 10:
        value += 3.0
    if other <= 10:
        value -= 3.1
    value += 0.97 * min(own, 10)
    return 2 * value if s.doubled else value


@kernel
def _values(states, out):
    for i in range(states.shape[0]):
        out[i] = _value(states[i])


def deadwood_value(states: np.ndarray) -> np.ndarray:
    """The default value: expected points of the seat that has just drawn, from the deadwood of both hands alone: ``float[n]``."""
    out = np.zeros(len(states))
    _values(states, out)
    return out


@kernel
def _swap_drawn(copies, counts):
    """Changes the k-th copy of a state after a draw as if the k-th card of the stock had been drawn (0: the real one)."""
    n = 0
    for i in range(counts.shape[0]):
        for k in range(counts[i]):
            c = copies[n]
            seat = np.int64(c.turn)
            at = np.int64(c.position) - 1
            real = c.drawn
            card = c.deck[at + k]
            c.deck[at + k] = real
            c.deck[at] = card
            c.drawn = card
            c.hands[seat] = (c.hands[seat] & ~(np.int64(1) << real)) | (np.int64(1) << card)
            n += 1


def draw_luck(states: np.ndarray, values: ValueFunction = deadwood_value) -> np.ndarray:
    """Luck of draws from the stock.

    Args:
        states: ``STATE[n]``, each just after a draw from the stock.
        values: any function of such states.

    Returns:
        ``float[n]``, points for the seat that drew: value of the card drawn less the mean over the cards that could have come.
    """
    luck = np.zeros(len(states))
    for start in range(0, len(states), _AT_ONCE):
        part = states[start : start + _AT_ONCE]
        cards = part["rules"]["ranks"].astype(np.int64) * part["rules"]["suits"]
        counts = cards - part["position"] + 1
        copies = np.repeat(part, counts)
        _swap_drawn(copies, counts)
        value = np.asarray(values(copies), np.float64)
        first = np.cumsum(counts) - counts
        luck[start : start + _AT_ONCE] = value[first] - np.add.reduceat(value, first) / counts
    return luck


def chance_per_point(score: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Roughly how much one more point in a hand changes the chance to win the game.

    It depends only on the scores before the hand, so luck in points times this number is still zero on average. The model: the points
    until the end of the game are a normally distributed sum over the hands that the leader needs to get there.

    Args:
        score: ``int[n, 2]``.
        target: ``int[n]``, points that end the game; 0 where a single hand is played.
    """
    hands = 1 + np.maximum(target - score.max(axis=1), 0) / _POINTS_PER_HAND
    spread = _HAND_SPREAD * np.sqrt(hands)
    ahead = (score[:, 0].astype(np.float64) - score[:, 1]) / spread
    return np.exp(-ahead * ahead / 2) / (np.sqrt(2 * np.pi) * spread)


class LuckMeter(Observer):
    """Adds up the luck of side 0 in every job while a match is played.

    Attributes:
        points: ``float[jobs]``, luck in points.
        chance: ``float[jobs]``, the same luck as a change of the chance to win the job.
    """

    def __init__(self, jobs: int, hands_only: bool):
        self.points = np.zeros(jobs)
        self.chance = np.zeros(jobs)
        self.hands_only = hands_only
        self._positions = np.zeros(0, np.int64)

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        """Remembers how far each stock has been drawn from."""
        self._positions = play.states["position"][rows]

    def after_actions(self, play: Lockstep, rows: np.ndarray) -> None:
        """Adds the luck of the draws among the actions."""
        drew = rows[play.states["position"][rows] > self._positions]
        if not len(drew):
            return
        drawn, jobs = play.states[drew], play.jobs_at[drew]
        points = np.where(play.tables["player"][drew, drawn["turn"]] == 0, 1.0, -1.0) * draw_luck(drawn)
        in_game = 0 if self.hands_only else 1
        score, target = drawn["score"] * in_game, drawn["rules"]["target"] * in_game
        # A table holds one job, so no job occurs twice here.
        self.points[jobs] += points
        self.chance[jobs] += points * chance_per_point(score, target)
