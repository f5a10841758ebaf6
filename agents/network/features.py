"""Heuristic features: the best built-in bot's evaluation of a view, one draw ahead for every discard.

They take a microsecond of arithmetic, which a perceptron does not learn by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from agents.network.layout import NUM_CONDITIONS
from ginenv.bots.heuristics import style
from ginenv.bots.style_kernels import OUTLOOK, outlook_rows
from ginenv.engine.jit import kernel
from ginenv.view.encoding import OBSERVATION_SIZE

NUM_HEURISTIC_FEATURES = OUTLOOK
# What an actor reads before them.
ACTOR_INPUTS = OBSERVATION_SIZE + NUM_CONDITIONS
# The bot that evaluates.
_BOT = "knocker"


@kernel
def _write_features(views, styles, kinds, out):
    for i in range(views.shape[0]):
        outlook_rows(views[i], styles[kinds[i] if kinds.shape[0] else 0], out, i)


class HeuristicFeatures:
    """Writes the heuristic features of batches of views.

    Args:
        bounds: memory and attention (see ``agents.network.bounds``) of the readers; unbounded by default.
        kinds: index of the bounds for each row of a batch; the first for all by default.
    """

    def __init__(self, bounds: Sequence[tuple[int, int]] = (), kinds: np.ndarray | None = None) -> None:
        styles = [
            style(_BOT, memory=remembered_discards, infer=int(noticed_actions > 0))
            for remembered_discards, noticed_actions in bounds
        ]
        self.styles = np.concatenate(styles or [style(_BOT)])
        self.kinds = np.zeros(0, np.int64) if kinds is None else np.asarray(kinds, np.int64)

    def __call__(self, views: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Features ``uint8[n, 105]`` of ``VIEW[n]``."""
        rows = np.empty((len(views), NUM_HEURISTIC_FEATURES), np.uint8) if out is None else out
        _write_features(views, self.styles, self.kinds, rows)
        return rows


@cache
def _unbounded() -> HeuristicFeatures:
    """The features of a reader who notices and remembers everything."""
    return HeuristicFeatures()


def actor_rows(
    size: int,
    views: np.ndarray,
    observations: np.ndarray,
    conditions: np.ndarray,
    heuristic_features: HeuristicFeatures | None = None,
) -> np.ndarray:
    """An actor's inputs in play, not scaled: ``float32[n, 521 + heuristic features]``.

    Args:
        size: number of heuristic features that the actor reads.
        views: ``VIEW[n]``, for the heuristic features.
        observations: ``uint8[n, 520]``.
        conditions: ``uint8[n]``, 1 where the seat is committed to gin.
        heuristic_features: writes them; unbounded by default.
    """
    rows = np.empty((len(views), ACTOR_INPUTS + size), np.float32)
    rows[:, :OBSERVATION_SIZE] = observations
    rows[:, OBSERVATION_SIZE] = conditions
    if size:
        rows[:, ACTOR_INPUTS:] = (heuristic_features or _unbounded())(views)
    return rows
