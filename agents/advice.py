"""Advice: what the best built-in bot's arithmetic says of a view, as further inputs of a network.

A perceptron does not learn by itself to look one draw ahead at all ten cards it may keep; the compiled arithmetic does it in a
microsecond. A network that reads it (``advice`` in its checkpoint) begins where the bot stands and learns when to do otherwise.
"""

from __future__ import annotations

import numpy as np
import torch

from agents.heuristics import style
from agents.style_kernels import OUTLOOK, outlook_rows
from ginenv.jit import kernel

NUM_ADVICE = OUTLOOK
ADVISER = "knocker"


@kernel
def _advise(views, styles, out):
    for i in range(views.shape[0]):
        outlook_rows(views[i], styles[0], out, i)


class Adviser:
    """Writes advice for batches of views."""

    def __init__(self) -> None:
        self.styles = style(ADVISER)

    def __call__(self, views: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Advice ``uint8[n, 105]`` on ``VIEW[n]``."""
        rows = np.empty((len(views), NUM_ADVICE), np.uint8) if out is None else out
        _advise(views, self.styles, rows)
        return rows


_ADVISER: list[Adviser] = []


def add_advice(inputs: torch.Tensor, views: np.ndarray) -> None:
    """Fills the last inputs of a network that reads advice: ``inputs[n, ...]``, changed in place."""
    if not _ADVISER:
        _ADVISER.append(Adviser())
    inputs[:, -NUM_ADVICE:] = torch.from_numpy(_ADVISER[0](views))
