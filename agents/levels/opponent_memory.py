"""The opponents that a level knows: what is known of each, and the contexts that its responses are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents.levels.dial import STRANGER
from agents.opponent_model.habits import COUNTS, count_habits
from agents.opponent_model.posterior import CONTEXT_WIDTH, Posteriors

if TYPE_CHECKING:
    from agents.levels.dial import Dial


class OpponentMemory:
    """What a level knows of opponents, one row each.

    Args:
        pools_hands: whether all are on one record, so that everybody's hands count for the level's growth.

    Attributes:
        pools_hands: as above; opening a profile sets it.
        contexts: what the level's responses are computed from, ``float32[rows, CONTEXT_WIDTH]`` (``Posteriors.context``).
        other_hands: shown hands of opponents who have no row here.
        counts: habits, ``COUNTS[rows]``.
        strengths: how likely each rating is, ``float64[rows, G]`` (``agents.levels.dial``).
    """

    def __init__(self, pools_hands: bool = False) -> None:
        self.pools_hands = pools_hands
        self.other_hands = 0
        self.posteriors = Posteriors(1)
        self.contexts = np.zeros((1, CONTEXT_WIDTH), np.float32)
        self.counts = np.zeros(1, COUNTS)
        self.strengths = STRANGER[None]

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
            self.contexts = np.concatenate([self.contexts, np.zeros((more, CONTEXT_WIDTH), np.float32)])
            self.counts = np.concatenate([self.counts, np.zeros(more, COUNTS)])
            self.strengths = np.concatenate([self.strengths, np.repeat(STRANGER[None], more, 0)])

    def forget(self, rows: np.ndarray) -> None:
        """Turns some opponents into strangers again."""
        self.records[rows] = self.posteriors.prior.stranger[0]
        self.counts[rows] = np.zeros(1, COUNTS)[0]
        self.strengths[rows] = STRANGER
        self.read(rows)

    def learn(self, views: np.ndarray, rows: np.ndarray) -> None:
        """Learns from finished hands.

        Args:
            views: ``VIEW[n]``, final views of the seat that watches.
            rows: ``int64[n]``, the opponent of each.
        """
        self.posteriors.learn(views, rows)
        count_habits(views, rows, self.counts)
        self.read(np.unique(rows))

    def rate(self, dial: Dial, rows: np.ndarray, places: np.ndarray, margins: np.ndarray) -> None:
        """Learns how strong opponents are from one result after the other (see ``Dial.updated``)."""
        for row, place, margin in zip(rows.tolist(), places.tolist(), margins.tolist(), strict=True):
            result = np.array([place]), np.array([margin])
            self.strengths[row] = dial.updated(self.strengths[row : row + 1], *result)[0]

    def hands_learned(self, rows: np.ndarray) -> np.ndarray:
        """Hands that count for a level's growth when it meets some opponents, ``int64[n]``: everybody's, or without a record each one's."""
        hands = self.records["hands"]
        return np.full(len(rows), self.other_hands + hands.sum()) if self.pools_hands else hands[rows]

    def read(self, rows: np.ndarray) -> None:
        """Writes the contexts of some opponents."""
        self.contexts[rows] = self.posteriors.context(rows)
