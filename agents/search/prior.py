"""What a trained network says before any search: its policy, and its belief about the opponent's hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from agents.network.checkpoint import load_checkpoint
from agents.network.inputs import actor_inputs
from agents.network.nets import FrozenActor, has_bfloat16_units
from agents.search.hand_features import num_discards
from agents.search.hand_model import FrozenHandModel, HandReading, load_hand_model
from ginenv.actions import NUM_ACTIONS
from ginenv.encoding import OBSERVATION_SIZE, encode
from ginenv.jit import kernel

# One decision of a batch.
DECISION = np.dtype(
    [
        ("logits", np.float32, (NUM_ACTIONS,)),  # of the network's policy
        ("belief", np.float32, (52,)),  # logits that the opponent holds each card
        ("equity", np.int64),  # which equity table prices the game
        ("stream", np.uint64),  # state of the random stream that its worlds are drawn from
    ],
    align=True,
)


@kernel
def _read_views(views, obs, gin_only, discards):
    for i in range(views.shape[0]):
        encode(views[i], obs, i)
        # A seat that declined to knock is told to play for gin, as in training.
        gin_only[i] = 1 if views[i].declined > 0 else 0
        discards[i] = num_discards(views[i])


class NetworkPrior:
    """A checkpoint's policy and its belief about the opponent's cards; threads may share one.

    Args:
        path: of the checkpoint.
        hand_model: whether to load the model of whole hands that may stand beside the network.

    Raises:
        CheckpointError: if it cannot be used.
    """

    def __init__(self, path: str, hand_model: bool = True) -> None:
        actor, _ = load_checkpoint(Path(path))
        self.actor = FrozenActor(actor, has_bfloat16_units())
        model = load_hand_model(path) if hand_model else None
        self.hand_model = None if model is None else FrozenHandModel(model)

    def __call__(self, views: np.ndarray) -> tuple[np.ndarray, HandReading | None]:
        """Reads a batch.

        Args:
            views: ``VIEW[n]``.

        Returns:
            ``DECISION[n]`` with ``logits`` and ``belief``, and what the model of whole hands read (None without one).
        """
        n = len(views)
        obs = np.empty((n, OBSERVATION_SIZE), np.uint8)
        gin_only, discards = np.empty(n, np.uint8), np.empty(n, np.int64)
        _read_views(views, obs, gin_only, discards)
        inputs = actor_inputs(self.actor, views, obs, gin_only)
        belief = self.actor(inputs, "belief")
        decisions = np.zeros(n, DECISION)
        decisions["logits"] = self.actor(inputs).numpy()
        decisions["belief"] = belief.numpy()
        if self.hand_model is None:
            return decisions, None
        return decisions, self.hand_model.read(inputs[:, :OBSERVATION_SIZE].float(), belief, torch.from_numpy(discards))
