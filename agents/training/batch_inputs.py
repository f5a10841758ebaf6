"""The networks' inputs for rows of a batch, as one row of numbers: the actor's first, then what only the critic sees."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from agents.network.nets import NUM_CONDITIONS, NUM_FUTURE
from agents.training.rollout import Batch
from ginenv.engine.jit import kernel
from ginenv.view.encoding import OBSERVATION_SIZE

# Rows are padded to a multiple of this, since matrix products of odd widths take slower paths.
_ALIGNED = 16

Stretches = tuple[slice, ...]


@kernel
def fill_inputs(batch, rows, committed, out):
    """Writes inputs ``[B, width]``, of ``BatchInputs.kind`` or a wider type, of ``int64[B]`` rows of a flat batch.

    With ``committed``, as if the movers were committed to gin.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        step = batch.steps[row]
        for k in range(OBSERVATION_SIZE):
            out[i, k] = batch.obs[row, k]
        at = OBSERVATION_SIZE
        out[i, at] = 1 if committed else step.conditions[0]
        at += 1
        for k in range(batch.context.shape[1]):
            out[i, at + k] = batch.context[row, k]
        at += batch.context.shape[1]
        for k in range(batch.features.shape[1]):
            out[i, at + k] = batch.features[row, k]
        at += batch.features.shape[1]
        out[i, at] = step.conditions[1]
        at += 1
        cards = step.hidden
        for k in range(52):
            out[i, at + k] = (cards >> k) & 1
        at += 52
        for k in range(NUM_FUTURE):
            out[i, at + k] = step.future[k]


class BatchInputs:
    """The inputs of both networks for rows of a batch.

    Args:
        batch: as ``Rollout`` writes it.

    Attributes:
        batch: the same arrays, flat.
        width: of a row of inputs, padded.
        actor: the columns that the actor's first layer reads, in its order.
        critic: the same for the critic.
        kind: the smallest type that holds all of them; bytes unless there is a context.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch.flat()
        shown = OBSERVATION_SIZE + NUM_CONDITIONS
        extras = shown + self.batch.context.shape[1] + self.batch.features.shape[1]
        total = extras + NUM_CONDITIONS + 52 + NUM_FUTURE
        self.width = -(-total // _ALIGNED) * _ALIGNED
        self.actor = (slice(0, extras),)
        self.critic = (slice(0, shown), slice(extras, total), slice(shown, extras))
        self.kind = torch.float32 if self.batch.context.shape[1] else torch.uint8

    def read(
        self, rows: np.ndarray, committed: bool = False, device: torch.device | str = "cpu"
    ) -> tuple[Tensor, Tensor]:
        """Float32 inputs of the actor ``[B, 521 + extras]`` and of the critic ``[B, 586 + extras]`` for ``int64[B]`` rows.

        With ``committed``, as if the movers were committed to gin.
        """
        inputs = torch.empty((len(rows), self.width), dtype=self.kind)
        fill_inputs(self.batch, rows, committed, inputs.numpy())
        # Bytes are a quarter of the transfer; the device widens them.
        inputs = inputs.to(device).float()
        return read_columns(inputs, self.actor), read_columns(inputs, self.critic)


def read_columns(inputs: Tensor, columns: Stretches) -> Tensor:
    """The columns of inputs ``[B, width]`` that a network reads, in its own order."""
    return torch.cat([inputs[:, stretch] for stretch in columns], 1)


def spread_columns(weight: Tensor, columns: Stretches, width: int) -> Tensor:
    """The inverse: a first layer's weights over all columns of the inputs, 0 where the layer does not read."""
    wide = torch.zeros((len(weight), width))
    parts = weight.split([stretch.stop - stretch.start for stretch in columns], 1)
    for stretch, part in zip(columns, parts, strict=True):
        wide[:, stretch] = part
    return wide
