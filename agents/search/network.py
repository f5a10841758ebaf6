"""What a trained network brings to the search: its policy as prior, its head for the opponent's hand as belief."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from agents.network.checkpoint import load_checkpoint
from agents.network.inputs import actor_inputs
from agents.network.nets import FrozenActor, has_bfloat16_units
from agents.search.hand_features import turns_of
from agents.search.hand_model import FrozenHandModel, HandReading, load_hand_model
from ginenv.encoding import OBSERVATION_SIZE, encode
from ginenv.jit import kernel


@kernel
def _encode_all(views, obs, conditions):
    for i in range(views.shape[0]):
        encode(views[i], obs, i)
        conditions[i] = 1 if views[i].declined > 0 else 0


@kernel
def _turns_of_all(views, turns):
    for i in range(views.shape[0]):
        turns[i] = turns_of(views[i])


class Opinion(NamedTuple):
    """What a network says of a batch of views.

    Attributes:
        logits: ``float32[n, 107]`` of the policy.
        belief: ``float32[n, 52]``, logits of the opponent's cards.
        hands: what its model of whole hands read, where it has one.
    """

    logits: np.ndarray
    belief: np.ndarray
    hands: HandReading | None


class NetworkPrior:
    """A checkpoint's policy and its guess at the opponent's cards.

    Args:
        path: of the checkpoint.
        whole_hands: whether drawn hands are weighed by the model of whole hands that stands beside the network.

    Raises:
        CheckpointError: if it cannot be used.
    """

    def __init__(self, path: str, whole_hands: bool = False) -> None:
        actor, _ = load_checkpoint(Path(path))
        self.actor = FrozenActor(actor, has_bfloat16_units())
        model = load_hand_model(path) if whole_hands else None
        self.hands = None if model is None else FrozenHandModel(model)

    def __call__(self, views: np.ndarray) -> Opinion:
        """What it says of ``VIEW[n]``."""
        inputs = self.inputs(views)
        logits, belief = self.actor(inputs), self.actor(inputs, "belief")
        reading = None
        if self.hands is not None:
            turns = np.empty(len(views), np.int64)
            _turns_of_all(views, turns)
            reading = self.hands.read(inputs[:, :OBSERVATION_SIZE].float(), belief, torch.from_numpy(turns))
        return Opinion(logits.numpy(), belief.numpy(), reading)

    def inputs(self, views: np.ndarray) -> torch.Tensor:
        """What the actor reads; a seat that declined a knock is told to play for gin, as in training."""
        n = len(views)
        obs = np.empty((n, OBSERVATION_SIZE), np.uint8)
        conditions = np.empty(n, np.uint8)
        _encode_all(views, obs, conditions)
        return actor_inputs(self.actor, views, obs, conditions)
