"""Advice: what the best built-in bot's arithmetic says of a view, as further inputs of a network.

A perceptron does not learn by itself to look one draw ahead at all ten cards it may keep; the compiled arithmetic does it in a
microsecond. A network that reads it (``advice`` in its checkpoint) begins where the bot stands and learns when to do otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from agents.bots.heuristics import style
from agents.bots.style_kernels import OUTLOOK, outlook_rows
from agents.network.nets import NUM_CONDITIONS, FrozenActor
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.jit import kernel

NUM_ADVICE = OUTLOOK
ADVISER = "knocker"


@kernel
def _advise(views, styles, kinds, out):
    for i in range(views.shape[0]):
        outlook_rows(views[i], styles[kinds[i] if kinds.shape[0] else 0], out, i)


class Adviser:
    """Writes advice for batches of views.

    Args:
        bounds: memory and attention (see ``agents.levels.bounds``) of those who are advised; unbounded when left out.
        kinds: which of the bounds holds for each row of a batch; the first for all when left out.
    """

    def __init__(self, bounds: Sequence[tuple[int, int]] = (), kinds: np.ndarray | None = None) -> None:
        unbounded = style(ADVISER)
        self.styles = np.concatenate(
            [style(ADVISER, memory=memory, infer=int(notices > 0)) for memory, notices in bounds] or [unbounded]
        )
        self.kinds = np.zeros(0, np.int64) if kinds is None else np.asarray(kinds, np.int64)

    def __call__(self, views: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Advice ``uint8[n, 105]`` on ``VIEW[n]``."""
        rows = np.empty((len(views), NUM_ADVICE), np.uint8) if out is None else out
        _advise(views, self.styles, self.kinds, rows)
        return rows


@cache
def _unbounded() -> Adviser:
    return Adviser()


def actor_inputs(
    actor: FrozenActor,
    views: np.ndarray,
    observations: np.ndarray,
    conditions: np.ndarray,
    known: np.ndarray | None = None,
    adviser: Adviser | None = None,
) -> torch.Tensor:
    """What an actor reads at play: ``[n, 520 + 1 + habits + advice]``, in its number format.

    Args:
        actor: who reads.
        views: ``VIEW[n]``, for the advice.
        observations: ``uint8[n, 520]``.
        conditions: ``uint8[n]``, 1 where the seat is bound to play for gin.
        known: ``float32[n, habits]`` of the opponent; nothing is known when left out.
        adviser: who advises; one without bounds when left out.
    """
    first = OBSERVATION_SIZE + NUM_CONDITIONS
    inputs = torch.zeros((len(views), first + actor.habits + actor.advice), dtype=actor.dtype)
    inputs[:, :OBSERVATION_SIZE] = torch.from_numpy(observations)
    inputs[:, OBSERVATION_SIZE] = torch.from_numpy(conditions)
    if known is not None and actor.habits:
        inputs[:, first : first + actor.habits] = torch.from_numpy(known)
    if actor.advice:
        inputs[:, -NUM_ADVICE:] = torch.from_numpy((adviser or _unbounded())(views))
    return inputs
