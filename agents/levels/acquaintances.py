"""Whom a level knows: the opponents at its tables, what is known of each, and how the level sees them by that."""

from __future__ import annotations

import numpy as np

from agents.levels.experience import TESTED_AFTER, Experience, expected_weights
from agents.opponent_model.habits import COUNTS, count_hands
from agents.opponent_model.posterior import CONTEXT_WIDTH, Knowledge


class Acquaintances:
    """What a level knows of opponents, a row for each.

    Args:
        experience: what newcomers said of what is expected of people; ``None`` where opponents say nothing of each other.

    Attributes:
        contexts: what the level's answers follow from, ``float32[rows, CONTEXT_WIDTH]`` (``Knowledge.context``).
        hands_elsewhere: hands shown of people who have no row here.
        counts: habits, ``COUNTS[rows]``.
    """

    def __init__(self, experience: Experience | None = None) -> None:
        self.experience = experience
        self.hands_elsewhere = 0
        self.knowledge = Knowledge(1)
        self.contexts = np.zeros((1, CONTEXT_WIDTH), np.float32)
        self.counts = np.zeros(1, COUNTS)

    @property
    def known(self) -> np.ndarray:
        """What is known, ``KNOWN[rows]``."""
        return self.knowledge.known

    def __len__(self) -> int:
        return len(self.known)

    def widen(self, rows: int) -> None:
        """Makes room for ``rows`` opponents in all; the new ones are strangers."""
        more = rows - len(self)
        if more > 0:
            first = len(self)
            self.knowledge.known = np.concatenate([self.known, np.repeat(self.knowledge.prior.stranger, more)])
            self.contexts = np.concatenate([self.contexts, np.zeros((more, CONTEXT_WIDTH), np.float32)])
            self.counts = np.concatenate([self.counts, np.zeros(more, COUNTS)])
            self.read(np.arange(first, rows))

    def forget(self, rows: np.ndarray) -> None:
        """Makes strangers of some opponents."""
        self.known[rows] = self.knowledge.prior.stranger[0]
        self.counts[rows] = np.zeros(1, COUNTS)[0]
        self.read(rows)

    def learn(self, views: np.ndarray, rows: np.ndarray) -> None:
        """Learns from finished hands.

        Args:
            views: ``VIEW[n]``, final views of the seat that watches.
            rows: ``int64[n]``, the opponent of each.
        """
        before = self.known["hands"][rows].copy()
        self.knowledge.learn(views, rows)
        count_hands(views, rows, self.counts)
        if self.experience is not None:
            tested = np.unique(rows[(before < TESTED_AFTER) & (self.known["hands"][rows] >= TESTED_AFTER)])
            for row, expected in zip(tested, expected_weights(self.known, tested), strict=True):
                self.experience.test(expected, self.known[row])
        self.read(np.unique(rows))

    def general_hands(self, rows: np.ndarray) -> np.ndarray:
        """The hands by which a level plays what holds against anybody, ``int64[n]``: everybody's, or without experience each one's own."""
        hands = self.known["hands"]
        if self.experience is None:
            return hands[rows]
        return np.full(len(rows), self.hands_elsewhere + hands.sum())

    def read(self, rows: np.ndarray) -> None:
        """Writes the contexts of some opponents."""
        if self.experience is not None and self.experience.trusted:
            self.contexts[rows] = self.knowledge.context(rows, expected_weights(self.known, rows))
        else:
            self.contexts[rows] = self.knowledge.context(rows)
