"""The opponents that a level knows: what is known of each, and the contexts that its answers are computed from."""

from __future__ import annotations

import numpy as np

from agents.opponent_model.habits import COUNTS, count_hands
from agents.opponent_model.posterior import CONTEXT_WIDTH, Knowledge


class Acquaintances:
    """What a level knows of opponents, one row each.

    Args:
        on_record: whether all are on one record, so that everybody's hands count for the part that applies to every opponent.

    Attributes:
        on_record: as above; opening a profile sets it.
        contexts: what the level's answers are computed from, ``float32[rows, CONTEXT_WIDTH]`` (``Knowledge.context``).
        hands_elsewhere: shown hands of opponents who have no row here.
        counts: habits, ``COUNTS[rows]``.
    """

    def __init__(self, on_record: bool = False) -> None:
        self.on_record = on_record
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
            self.knowledge.known = np.concatenate([self.known, np.repeat(self.knowledge.prior.stranger, more)])
            self.contexts = np.concatenate([self.contexts, np.zeros((more, CONTEXT_WIDTH), np.float32)])
            self.counts = np.concatenate([self.counts, np.zeros(more, COUNTS)])

    def forget(self, rows: np.ndarray) -> None:
        """Turns some opponents into strangers again."""
        self.known[rows] = self.knowledge.prior.stranger[0]
        self.counts[rows] = np.zeros(1, COUNTS)[0]
        self.read(rows)

    def learn(self, views: np.ndarray, rows: np.ndarray) -> None:
        """Learns from finished hands.

        Args:
            views: ``VIEW[n]``, final views of the seat that watches.
            rows: ``int64[n]``, the opponent of each.
        """
        self.knowledge.learn(views, rows)
        count_hands(views, rows, self.counts)
        self.read(np.unique(rows))

    def general_hands(self, rows: np.ndarray) -> np.ndarray:
        """Hands that count for the part that applies to every opponent, ``int64[n]``: everybody's, or each one's own without a record."""
        hands = self.known["hands"]
        return np.full(len(rows), self.hands_elsewhere + hands.sum()) if self.on_record else hands[rows]

    def read(self, rows: np.ndarray) -> None:
        """Writes the contexts of some opponents."""
        self.contexts[rows] = self.knowledge.context(rows)
