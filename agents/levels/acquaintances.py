"""Whom a level knows: the opponents at its tables, what is known of each, and what its network reads of that."""

from __future__ import annotations

import numpy as np

from agents.levels.experience import TESTED_AFTER, Experience, expected_weights, stranger
from agents.opponent_model.habits import COUNTS, count_hands
from agents.opponent_model.posterior import CONTEXT_WIDTH, KNOWN, Knowledge


class Acquaintances:
    """What a level knows of opponents, a row for each.

    Args:
        weight: how much a hand teaches, from 0 to 1.
        dullness: how far a habit must be from other people's to be noticed, in their standard deviations.

    Attributes:
        contexts: what the network reads, ``float32[rows, CONTEXT_WIDTH]``; zeros for a stranger.
        counts: habits, ``COUNTS[rows]``.
        experience: what newcomers said of the expectation.
    """

    def __init__(self, weight: float = 1.0, dullness: float = 0.0) -> None:
        self.weight, self.dullness = weight, dullness
        self.knowledge = Knowledge(1)
        self.contexts = np.zeros((1, CONTEXT_WIDTH), np.float32)
        self.counts = np.zeros(1, COUNTS)
        self.experience = Experience()

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
            self.knowledge.known = np.concatenate([self.known, np.repeat(stranger(), more)])
            self.contexts = np.concatenate([self.contexts, np.zeros((more, CONTEXT_WIDTH), np.float32)])
            self.counts = np.concatenate([self.counts, np.zeros(more, COUNTS)])
            self.forget(np.arange(first, rows))

    def forget(self, rows: np.ndarray) -> None:
        """Makes strangers of some opponents."""
        if not len(rows):
            return
        expected = expected_weights(np.delete(self.known, rows)) if self.experience.trusted else None
        self.known[rows] = stranger(expected)[0]
        self.counts[rows] = np.zeros(1, COUNTS)[0]
        self._read(rows)

    def forget_all(self) -> None:
        """Puts everything back to how it was installed."""
        self.experience = Experience()
        self.known[:] = stranger()[0]
        self.counts[:] = np.zeros(1, COUNTS)[0]
        self.contexts[:] = 0

    def put(self, row: int, known: np.ndarray, counts: np.ndarray) -> None:
        """Puts in what is known of one opponent, ``KNOWN[1]`` and ``COUNTS[1]``."""
        self.known[row], self.counts[row] = known[0], counts[0]
        self._read(np.array([row]))

    def learn(self, views: np.ndarray, rows: np.ndarray) -> None:
        """Learns from finished hands.

        Args:
            views: ``VIEW[n]``, final views of the seat that watches.
            rows: ``int64[n]``, the opponent of each.
        """
        before = self.known["hands"][rows].copy()
        self.knowledge.learn(views, rows, self.weight)
        count_hands(views, rows, self.counts)
        tested = np.unique(rows[(before < TESTED_AFTER) & (self.known["hands"][rows] >= TESTED_AFTER)])
        for row in tested:
            others = np.delete(self.known, [*tested.tolist()])
            self.experience.test(expected_weights(others), self.known[row])
        self._read(np.unique(rows))

    def _read(self, rows: np.ndarray) -> None:
        """Writes what the network reads of some opponents."""
        self.contexts[rows] = self.knowledge.context(rows)
        if self.experience.trusted:
            unknown = rows[self.known["hands"][rows] == 0]
            if len(unknown):
                self.contexts[unknown] = self._expected_contexts(unknown)
        if self.dullness:
            half = 1 + (CONTEXT_WIDTH - 1) // 2
            means = self.contexts[rows, 1:half]
            self.contexts[rows, 1:half] = np.sign(means) * np.maximum(0, np.abs(means) - self.dullness)

    def _expected_contexts(self, rows: np.ndarray) -> np.ndarray:
        """What is expected of strangers, as the network reads it: nothing certain."""
        record = np.zeros(1, KNOWN)
        contexts = np.zeros((len(rows), CONTEXT_WIDTH), np.float32)
        half = 1 + (CONTEXT_WIDTH - 1) // 2
        record[:] = self.known[rows[:1]]
        prior = self.knowledge.prior
        contexts[:, 0] = 1
        contexts[:, 1:half] = (record["mean"][0] - prior.mean) / np.sqrt(np.diag(prior.covariance))
        return contexts
