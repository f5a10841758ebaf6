"""The natural gradient of a level's responses, summed over the rounds of a fit, and how much of it stands out from noise."""

from __future__ import annotations

import numpy as np

from agents.levels.responses import INPUTS
from agents.opponent_model.features import FIRST_DRAW, FIRST_KNOCK, NUM_WEIGHTS

# Longest step of the part that applies to every opponent, in standard deviations of the policy's choices in a hand.
_LONGEST = 0.8
# Directions in which the policy moves less than this fraction of the largest move are ignored.
_FLAT = 1e-2
# The biases of discards, of draws and of knocks.
PARTS = (slice(0, FIRST_DRAW), slice(FIRST_DRAW, FIRST_KNOCK), slice(FIRST_KNOCK, NUM_WEIGHTS))


class GradientSums:
    """The responses' gradient, summed over all rounds.

    Biases are scaled by how much they move the policy, and what is known by how much opponents differ in it, so that a step is as long in
    every direction. Discards, draws and knocks are treated separately. Of the part that depends on the opponent, only patterns that
    noise does not make are kept.

    Args:
        inputs: what is known of the opponent of each series, ``float64[series, len(INPUTS)]``.
        gradients: of the first round, ``float64[..., NUM_WEIGHTS]``.
        opponents: number of opponents, which the series go through in turn.
    """

    def __init__(self, inputs: np.ndarray, gradients: np.ndarray, opponents: int) -> None:
        self.opponents = opponents
        self.whitening = np.zeros((NUM_WEIGHTS, NUM_WEIGHTS))
        for part in PARTS:
            self.whitening[part, part] = _whitening(gradients.reshape(-1, NUM_WEIGHTS)[:, part])
        self.typical = inputs[:, 1:].mean(0)
        self.differs = _whitening(inputs[:, 1:] - self.typical)
        self.inputs = np.concatenate([np.ones((len(inputs), 1)), (inputs[:, 1:] - self.typical) @ self.differs], 1)
        self.gradient = np.zeros((len(INPUTS), NUM_WEIGHTS))
        self.variance = np.zeros((len(INPUTS), NUM_WEIGHTS))

    def add(self, points: np.ndarray, gradients: np.ndarray, rate: float, specific: bool) -> None:
        """Adds a round.

        Args:
            points: of both plays of every deal, ``float64[2, series, hands]``.
            gradients: of the log-probability of the choices in them, ``float64[2, series, hands, NUM_WEIGHTS]``.
            rate: length of the step.
            specific: whether the part that depends on the opponent is added too.
        """
        better = (points[0] - points[1])[..., None] * ((gradients[0] - gradients[1]) @ self.whitening) / 2
        inputs = self.inputs if specific else self.inputs * (np.arange(len(INPUTS)) == 0)
        each = inputs[:, :, None] * better.mean(1)[:, None, :]
        rate = min(rate, _LONGEST / max(1e-12, float(np.linalg.norm(each[:, 0].mean(0)))))
        self.gradient += rate * each.mean(0)
        # Series against the same opponent are alike.
        by_opponent = np.stack([each[k :: self.opponents].mean(0) for k in range(self.opponents)])
        self.variance += rate**2 * by_opponent.var(0) / self.opponents

    def responses(self) -> np.ndarray:
        """The responses' matrix that follows from all rounds together, ``float64[len(INPUTS), NUM_WEIGHTS]``."""
        found = np.zeros_like(self.gradient)
        for part in PARTS:
            found[0, part] = _shrink_noise(self.gradient[0, part], self.variance[0, part])
            found[1:, part] = _patterns(self.gradient[1:, part], float(self.variance[1:, part].mean()))
        by_weight = self.differs @ found[1:]
        return np.concatenate([found[:1] - self.typical @ by_weight, by_weight]) @ self.whitening.T


def _shrink_noise(found: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Shrinks a vector towards zero as far as its numbers together do not stand out from their noise (James and Stein)."""
    return found * max(0.0, 1 - variance.sum() / max(1e-12, float((found**2).sum())))


def _patterns(found: np.ndarray, variance: float) -> np.ndarray:
    """The patterns (singular vectors) of a noisy matrix that noise alone would not make.

    Each is shrunk as is best for the squared error (M. Gavish, D. Donoho: Optimal shrinkage of singular values, 2017).
    """
    many, few = max(found.shape), min(found.shape)
    left, sizes, right = np.linalg.svd(found, full_matrices=False)
    unit, share = np.sqrt(max(1e-12, variance * many)), few / many
    sizes = sizes / unit
    above = sizes > 1 + np.sqrt(share)
    shrunk = np.where(
        above, np.sqrt(np.maximum(0, (sizes**2 - share - 1) ** 2 - 4 * share)) / np.maximum(1e-12, sizes), 0
    )
    return (left * (shrunk * unit)) @ right


def _whitening(rows: np.ndarray) -> np.ndarray:
    """A matrix that whitens some rows, so that all directions are equally large, ``float64[n, n]``; flat directions get no weight."""
    sizes, directions = np.linalg.eigh(rows.T @ rows / len(rows))
    used = sizes > _FLAT * sizes.max()
    return directions * np.where(used, 1 / np.sqrt(np.where(used, sizes, 1.0)), 0.0)
