"""What is known of opponents: a normal distribution of each one's weights, which starts as the population's; every shown hand moves it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from agents.opponent_model.features import NUM_WEIGHTS
from agents.opponent_model.learning import WORKSPACE, learn_hand
from ginenv.engine.jit import kernel

PRIOR = Path(__file__).resolve().parents[1] / "data" / "opponent_model.json"

# What is known of one opponent.
POSTERIOR = np.dtype(
    [
        ("mean", np.float64, (NUM_WEIGHTS,)),
        ("precision", np.float64, (NUM_WEIGHTS, NUM_WEIGHTS)),
        ("hands", np.int64),  # shown so far
    ],
    align=True,
)


@dataclass(frozen=True)
class ModelPrior:
    """What strangers are like.

    Attributes:
        mean: ``float64[NUM_WEIGHTS]``.
        covariance: ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``.
        tempered: factor on the log-likelihood of every hand.
        shown: the mean weights that typical people come to by what they show at a table, ``float64[NUM_WEIGHTS]``.
    """

    mean: np.ndarray
    covariance: np.ndarray
    tempered: float
    shown: np.ndarray

    @cached_property
    def stranger(self) -> np.ndarray:
        """What is known of somebody never met: ``POSTERIOR[1]``."""
        records = np.zeros(1, POSTERIOR)
        records["mean"], records["precision"] = self.mean, np.linalg.inv(self.covariance)
        return records


def square(lower: list[float]) -> np.ndarray:
    """The symmetric matrix with this lower half, given row by row."""
    matrix = np.zeros((NUM_WEIGHTS, NUM_WEIGHTS))
    matrix[np.tril_indices(NUM_WEIGHTS)] = lower
    return matrix + np.tril(matrix, -1).T


def lower_of(matrix: np.ndarray) -> list[float]:
    """The lower half of a symmetric matrix, row by row."""
    return matrix[np.tril_indices(NUM_WEIGHTS)].tolist()


@cache
def shipped_prior() -> ModelPrior:
    """The prior that ships with the package (``python -m benchmarks.data.opponent_prior`` fits it)."""
    values = json.loads(PRIOR.read_text(encoding="utf-8"))
    return ModelPrior(
        np.array(values["mean"]), square(values["covariance"]), values["tempered"], np.array(values["shown"])
    )


@kernel
def _learn(views, rows, records, space, tempered):
    for i in range(views.shape[0]):
        k = records[rows[i]]
        if learn_hand(views[i], k.mean, k.precision, space[0], tempered):
            k.hands += 1


class Posteriors:
    """What is known of many opponents, one row each.

    Args:
        count: of opponents.

    Attributes:
        records: ``POSTERIOR[count]``.
    """

    def __init__(self, count: int) -> None:
        self.prior = shipped_prior()
        self.records = np.repeat(self.prior.stranger, count)
        self._space = np.zeros(1, WORKSPACE)
        self._deviation = np.sqrt(np.diag(self.prior.covariance))

    def learn(self, views: np.ndarray, rows: np.ndarray) -> None:
        """Learns from finished hands.

        Args:
            views: ``VIEW[n]``, final views of the seat that watches. Hands that were not shown teach nothing.
            rows: ``int[n]``, the opponent of each.
        """
        _learn(views, np.asarray(rows, np.int64), self.records, self._space, self.prior.tempered)

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """How far each weight's mean is from the population's, in the population's standard deviations: ``float32[n, NUM_WEIGHTS]``.

        All 0 for a stranger. What is uncertain is near the population's.

        Args:
            rows: ``int[n]``, the opponents.
        """
        return ((self.records["mean"][rows] - self.prior.mean) / self._deviation).astype(np.float32)
