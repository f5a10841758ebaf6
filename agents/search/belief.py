"""The hand model: a small network that weights opponent hands drawn card by card.

It is trained to tell true hands from drawn ones (noise-contrastive estimation, Gutmann and Hyvärinen 2010). Its score of a hand is
therefore the logarithm of how much more often the hand occurs than it is drawn. The observation is read once per position; each drawn
hand then costs two products of 64 by 256 numbers. The true hand is never used in play.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.files import read_json, replacing, write_json
from agents.network.checkpoint import CheckpointError, load_weights, read_metadata, save_weights
from agents.network.nets import has_bfloat16_units
from agents.search.hand_features import MAX_DISCARDS, NUM_FEATURES
from ginenv.errors import reason_of
from ginenv.view.encoding import FLAT_SCALE, OBSERVATION_SIZE, OBSERVATION_VERSION

WEIGHTS, METADATA = "hand_model.safetensors", "hand_model.json"
_VERSION = {"format": 1, "kind": "hand model", "observation_version": OBSERVATION_VERSION}
_SEEN, _HAND, _LAST = 256, 256, 64
_CARDS = torch.arange(52)


class HandModel(nn.Module):
    """Scores hands: log-probabilities relative to the other hands drawn for the same view."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = nn.Linear(OBSERVATION_SIZE + 52, _SEEN)
        self.context = nn.Linear(_SEEN, _HAND)
        self.single = nn.Linear(_SEEN, 52)
        self.hand = nn.Linear(52 + NUM_FEATURES, _HAND, bias=False)
        self.last = nn.Linear(_HAND, _LAST)
        self.out = nn.Linear(_LAST, 1)
        self.by_turn = nn.Embedding(MAX_DISCARDS + 1, NUM_FEATURES)
        for layer in (self.out, self.single, self.by_turn):
            nn.init.zeros_(layer.weight)
        self.register_buffer("scale", torch.from_numpy(FLAT_SCALE.astype(np.float32)), persistent=False)
        self.scale: Tensor

    def forward(self, obs: Tensor, belief: Tensor, hands: Tensor, features: Tensor, turns: Tensor) -> Tensor:
        """Returns scores ``[B, K]``.

        Args:
            obs: ``[B, 520]``, the observation's bytes.
            belief: ``[B, 52]``, logits of the cards, from the network's belief head.
            hands: ``int64[B, K]``, masks.
            features: ``[B, K, NUM_FEATURES]`` (``agents.search.hand_features``).
            turns: ``int64[B]``, number of cards that the opponent has discarded, ``MAX_DISCARDS`` at most.
        """
        seen = functional.relu(self.seen(torch.cat([obs.float() * self.scale, belief], 1)))
        cards = ((hands[:, :, None] >> _CARDS) & 1).to(features.dtype)
        x = functional.relu(self.context(seen)[:, None] + self.hand(torch.cat([cards, features], 2)))
        scores = self.out(functional.relu(self.last(x))).squeeze(2)
        scores = scores + (cards * self.single(seen)[:, None]).sum(2)
        return scores + (features * self.by_turn(turns)[:, None]).sum(2)


class FrozenHandModel:
    """A model for play: no gradients, and its weights are cast once."""

    def __init__(self, model: HandModel) -> None:
        self.model = model
        self.dtype = torch.bfloat16 if has_bfloat16_units() else torch.float32
        with torch.no_grad():
            self.hand = model.hand.weight.detach().to(self.dtype)
            self.last = (model.last.weight.detach().to(self.dtype), model.last.bias.detach().to(self.dtype))
            self.out = model.out.weight.detach()[0].to(self.dtype)

    @torch.no_grad()
    def read(self, obs: Tensor, belief: Tensor, turns: Tensor) -> HandReading:
        """Reads a batch of views: ``[n, 520]``, ``[n, 52]``, ``int64[n]``, as for ``HandModel``."""
        model = self.model
        seen = functional.relu(model.seen(torch.cat([obs * model.scale, belief], 1)))
        single = torch.cat([model.single(seen), model.by_turn(turns)], 1)
        return HandReading(self, model.context(seen).to(self.dtype), single)


@dataclass(frozen=True)
class HandReading:
    """What a model has computed from a batch of views, before any hand is scored.

    Attributes:
        model: the model.
        context: ``[n, 256]``, added to the hidden layer.
        single: ``[n, 52 + NUM_FEATURES]``, weights of single cards and of a hand's features.
    """

    model: FrozenHandModel
    context: Tensor
    single: Tensor

    @torch.no_grad()
    def plausible(self, n: int, hands: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Probabilities of hands drawn for view ``n`` of the batch: ``int64[P]``, ``float32[P, F]`` to ``float64[P]``."""
        cards = ((torch.from_numpy(hands)[:, None] >> _CARDS) & 1).float()
        inputs = torch.cat([cards, torch.from_numpy(features)], 1)
        x = functional.linear(inputs.to(self.model.dtype), self.model.hand, self.context[n]).relu_()
        scores = functional.linear(x, *self.model.last).relu_() @ self.model.out
        return torch.softmax((scores.float() + inputs @ self.single[n]).double(), 0).numpy()


def save_hand_model(directory: Path, model: HandModel, network_sha256: str, about: dict[str, Any]) -> None:
    """Writes a model beside the network whose hands it weighs."""
    with replacing(directory, keep=True) as made:
        digest = save_weights(made / WEIGHTS, model)
        write_json(
            made / METADATA, _VERSION | {"weights_sha256": digest, "network_sha256": network_sha256, "about": about}
        )


def load_hand_model(directory: str | Path) -> HandModel | None:
    """Loads the hand model beside a network; ``None`` if there is none.

    Raises:
        CheckpointError: if a file is missing, truncated, from another version, or made for another network.
    """
    directory = Path(directory)
    if not (directory / METADATA).exists():
        return None
    try:
        metadata = read_json(directory / METADATA)
        current = {key: metadata[key] for key in _VERSION} == _VERSION
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = reason_of(error).splitlines()[0]
        raise CheckpointError(f"checkpoint {directory}: {METADATA} cannot be read ({reason})") from None
    if not current:
        raise CheckpointError(f"checkpoint {directory}: {METADATA} is of another version; this one reads {_VERSION}")
    if metadata.get("network_sha256") != read_metadata(directory).get("weights_sha256"):
        raise CheckpointError(
            f"checkpoint {directory}: {METADATA} names other weights than the network's; remove it, or fit it again "
            "(python -m benchmarks.data.hand_model_fit)"
        )
    return load_weights(directory / WEIGHTS, METADATA, metadata, HandModel)
