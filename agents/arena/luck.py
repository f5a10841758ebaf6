"""Luck: measured while a match is played, and subtracted from its results.

Luck is what happened less the mean of all that could have happened, by a value that sees both hands but not the order of the stock
(``agents.arena.hand_value``): of the cards that could have been drawn, of the two ways to hand out a deal, and of the actions of a player
whose probabilities are known. Its expectation is zero whatever the values are, so subtracting it never biases a result. The better the
values, the more variance is removed (AIVAT, Burch et al. 2018).
"""

from __future__ import annotations

import numpy as np

from agents.arena.hand_value import shipped_value
from agents.arena.lockstep import Lockstep, Observer
from agents.win_probability import PointWorths

# Actions of at most this probability are not valued.
_MIN_PROBABILITY = 0.002


class LuckMeter(Observer):
    """Adds up the luck of side 0 in every job while a match is played.

    Args:
        jobs: number of jobs.
        hands_only: whether a job is a single hand, not a game.

    Attributes:
        points: ``float[jobs]``, luck in points.
        chance: ``float[jobs]``, the same luck as a change of the chance to win the job.
    """

    wants_policy = True

    def __init__(self, jobs: int, hands_only: bool):
        self.points, self.chance = np.zeros((2, jobs))
        self.value, self.hands_only = shipped_value(), hands_only
        self._positions = np.zeros(0, np.int64)
        self._worths: PointWorths | None = None

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        """Adds the luck of deals and actions, and remembers how far each stock has been drawn from."""
        self._positions = play.states["position"][rows]
        if not self.hands_only:
            dealt = rows[views["num_history"] == 0]
            if len(dealt):
                self._add(play, dealt, self.value.deals(play.states[dealt]))
        if play.policy is not None:
            luck = self.value.actions(play.states[rows], play.actions, play.policy, _MIN_PROBABILITY)
            chosen = np.flatnonzero(luck.any(axis=1))
            if len(chosen):
                self._add(play, rows[chosen], luck[chosen])

    def after_actions(self, play: Lockstep, rows: np.ndarray) -> None:
        """Adds the luck of the draws among the actions."""
        drew = rows[play.states["position"][rows] > self._positions]
        if len(drew):
            drawn, mean = self.value.draws(play.states[drew]).swapaxes(0, 1)
            self._add(play, drew, drawn - mean)

    def _add(self, play: Lockstep, rows: np.ndarray, luck: np.ndarray) -> None:
        """Adds luck ``float[k, 2]`` (points, and chance to win the hand less that to lose it) of the seats to move at some tables."""
        states, jobs = play.states[rows], play.jobs_at[rows]
        luck = np.where(play.tables["player"][rows, states["turn"]] == 0, 1.0, -1.0)[:, None] * luck
        # A table holds one job, so no job occurs twice here.
        self.points[jobs] += luck[:, 0]
        self.chance[jobs] += luck[:, 1] / 2 if self.hands_only else self._chances(states, luck)

    def _chances(self, states: np.ndarray, luck: np.ndarray) -> np.ndarray:
        """Luck in a hand as a change of the chance to win the game."""
        self._worths = self._worths or PointWorths(states[0]["rules"])
        return (self._worths(states) * luck).sum(axis=1)
