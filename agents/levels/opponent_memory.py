"""The opponents that a level knows: what is known of each."""

from __future__ import annotations

import numpy as np

from agents.levels.dial import STRANGER, Dial
from agents.opponent_model.habits import COUNTS, count_habits
from agents.opponent_model.posterior import Posteriors


class OpponentMemory:
    """What a level knows of opponents, one row each.

    Attributes:
        other_hands: shown hands of opponents who have no row here, but are on the same record: they count for the level's growth, too.
        counts: habits, ``COUNTS[rows]``.
        strengths: how likely each rating is, ``float64[rows, G]`` (``agents.levels.dial``).
    """

    def __init__(self) -> None:
        self.other_hands = 0
        self.posteriors = Posteriors(1)
        self.counts = np.zeros(1, COUNTS)
        self.strengths = STRANGER[None].copy()

    @property
    def records(self) -> np.ndarray:
        """What is known, ``POSTERIOR[rows]``."""
        return self.posteriors.records

    def __len__(self) -> int:
        return len(self.records)

    def widen(self, rows: int) -> None:
        """Makes room for ``rows`` opponents in all; the new ones are strangers."""
        more = rows - len(self)
        if more > 0:
            self.posteriors.records = np.concatenate([self.records, np.repeat(self.posteriors.prior.stranger, more)])
            self.counts = np.concatenate([self.counts, np.zeros(more, COUNTS)])
            self.strengths = np.concatenate([self.strengths, np.repeat(STRANGER[None], more, 0)])

    def forget(self, rows: np.ndarray) -> None:
        """Turns some opponents into strangers again."""
        self.records[rows] = self.posteriors.prior.stranger[0]
        self.counts[rows] = np.zeros(1, COUNTS)[0]
        self.strengths[rows] = STRANGER

    def learn(self, views: np.ndarray, rows: np.ndarray) -> None:
        """Learns from finished hands.

        Args:
            views: ``VIEW[n]``, final views of the seat that watches.
            rows: ``int64[n]``, the opponent of each.
        """
        self.posteriors.learn(views, rows)
        count_habits(views, rows, self.counts)

    def rate(self, dial: Dial, rows: np.ndarray, places: np.ndarray, margins: np.ndarray) -> None:
        """Learns how strong opponents are from one result after the other (see ``Dial.updated``)."""
        for row, place, margin in zip(rows.tolist(), places.tolist(), margins.tolist(), strict=True):
            result = np.array([place]), np.array([margin])
            self.strengths[row] = dial.updated(self.strengths[row : row + 1], *result)[0]

    def hands_learned(self, rows: np.ndarray) -> np.ndarray:
        """Hands that count for a level's growth when it meets some opponents, ``int64[n]``."""
        return self.other_hands + self.records["hands"][rows]
