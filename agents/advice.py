"""Advice: what the best built-in bot's arithmetic says of a view, as further inputs of a network.

A perceptron does not learn by itself to look one draw ahead at all ten cards it may keep; the compiled arithmetic does it in a
microsecond. A network that reads it (``advice`` in its checkpoint) begins where the bot stands and learns when to do otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from agents.heuristics import style
from agents.style_kernels import OUTLOOK, outlook_rows
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


def add_advice(inputs: torch.Tensor, views: np.ndarray, adviser: Adviser | None = None) -> None:
    """Fills the last inputs of a network that reads advice: ``inputs[n, ...]``, changed in place."""
    inputs[:, -NUM_ADVICE:] = torch.from_numpy((adviser or _unbounded())(views))
