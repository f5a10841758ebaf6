"""A trained network's policy and its belief about the opponent's hand, before any search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from agents.network.checkpoint import load_checkpoint
from agents.network.inputs import observe_views
from agents.network.nets import FrozenActor, has_bfloat16_units
from agents.search.belief import FrozenHandModel, HandReading, load_hand_model
from agents.search.hand_features import num_discards
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.jit import kernel, mix
from ginenv.view.encoding import OBSERVATION_SIZE

# One decision of a batch.
DECISION = np.dtype(
    [
        ("logits", np.float32, (NUM_ACTIONS,)),  # of the policy
        ("belief", np.float32, (52,)),  # logits that the opponent holds each card
        ("equity", np.int64),  # index of the game's equity table
        ("stream", np.uint64),  # state of the random stream of its worlds
    ],
    align=True,
)


@kernel
def _start_streams(views, decisions, seed):
    for i in range(views.shape[0]):
        decisions[i].stream = mix(views[i].luck ^ mix(seed))


@kernel
def _count_discards(views, counts):
    for i in range(views.shape[0]):
        counts[i] = num_discards(views[i])


def opponents_discards(views: np.ndarray) -> np.ndarray:
    """The number of the opponent's discards in each of ``VIEW[n]``, at most ``MAX_DISCARDS``: ``int64[n]``."""
    counts = np.empty(len(views), np.int64)
    _count_discards(views, counts)
    return counts


class NetworkPrior:
    """A checkpoint's policy and belief about the opponent's cards; threads may share a prior.

    Args:
        path: the checkpoint.
        hand_model: whether to load the hand model, if there is one beside the network.

    Raises:
        CheckpointError: if the checkpoint cannot be used.
    """

    def __init__(self, path: str, hand_model: bool = True) -> None:
        actor, _ = load_checkpoint(Path(path))
        self.actor = FrozenActor(actor, has_bfloat16_units())
        model = load_hand_model(path) if hand_model else None
        self.hand_model = None if model is None else FrozenHandModel(model)

    def __call__(self, views: np.ndarray, seed: int = 0) -> tuple[np.ndarray, HandReading | None]:
        """Reads ``VIEW[n]``.

        Args:
            views: the views.
            seed: mixed with their own random words for the streams.

        Returns:
            ``DECISION[n]`` without ``equity``, and the hand model's reading (``None`` without one).
        """
        inputs = torch.from_numpy(observe_views(views))
        belief = self.actor(inputs, "belief")
        decisions = np.zeros(len(views), DECISION)
        decisions["logits"] = self.actor(inputs).numpy()
        decisions["belief"] = belief.numpy()
        _start_streams(views, decisions, np.uint64(seed))
        if self.hand_model is None:
            return decisions, None
        turns = torch.from_numpy(opponents_discards(views))
        return decisions, self.hand_model.read(inputs[:, :OBSERVATION_SIZE].float(), belief, turns)
