"""An actor's policy in NumPy: for those who play few decisions at a time and have no memory to spare for torch.

It computes in float32, so its logits differ from torch's by rounding, and from those in bfloat16 by a little more.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.network.inputs import (
    ACTOR_INPUTS,
    NUM_HEURISTIC_FEATURES,
    NUM_RANKS,
    NUM_SUITS,
    bytes_of,
    scales,
    suit_columns,
)
from agents.network.metadata import METADATA, WEIGHTS, CheckpointError, check_weights, read_metadata
from ginenv.engine.actions import NUM_ACTIONS


@dataclass(frozen=True)
class NumpyActor:
    """The policy of a checkpoint.

    Attributes:
        weights: by name, ``float32``.
        heuristic_features: number of heuristic features that it reads; an app's network reads none.
    """

    weights: dict[str, np.ndarray]
    heuristic_features: int = NUM_HEURISTIC_FEATURES

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """The policy's logits ``float32[n, 107]`` of ``INPUTS[n]``."""
        rows = bytes_of(inputs)
        return self.of_rows(rows[:, : rows.shape[1] - NUM_HEURISTIC_FEATURES + self.heuristic_features])

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """The same of the bytes that the actor reads (``agents.network.inputs.bytes_of``)."""
        inputs = rows * scales(self.heuristic_features, is_critic=False)
        columns, of_none = suit_columns(self.heuristic_features, is_critic=False)
        suits, shared = inputs[:, columns], inputs[:, of_none]
        for number in itertools.count():
            if f"trunk.layers.{number}.pooled.weight" not in self.weights:
                break
            suits, shared = (np.maximum(x, 0) for x in self._suit_layer(f"trunk.layers.{number}", suits, shared))
        suits, shared = self._suit_layer("policy.layer", suits, shared)
        decks = suits.reshape(len(suits), NUM_SUITS, -1, NUM_RANKS).swapaxes(1, 2).reshape(len(suits), -1)
        return np.ascontiguousarray(np.concatenate([decks, shared], 1)[:, :NUM_ACTIONS])

    def _suit_layer(self, name: str, suits: np.ndarray, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own, pooled = self.weights[f"{name}.own.weight"], self.weights[f"{name}.pooled.weight"]
        both = np.concatenate([suits.sum(1), shared], 1) @ pooled.T + self.weights[f"{name}.pooled.bias"]
        return suits @ own.T + both[:, None, : len(own)], both[:, len(own) :]


def load_numpy_actor(directory: Path) -> tuple[NumpyActor, dict[str, Any]]:
    """The policy of a checkpoint, and the checkpoint's metadata.

    Raises:
        CheckpointError: as ``agents.network.checkpoint.load_checkpoint`` does.
    """
    # Here, not above: games against bots import this module through ratings, and need no weights.
    from safetensors import SafetensorError, deserialize

    metadata = read_metadata(directory)
    path = directory / WEIGHTS
    name = check_weights(path, METADATA, metadata)
    try:
        weights = {key: _as_float32(value) for key, value in deserialize(path.read_bytes())}
        actor = NumpyActor(weights)
        found = actor.of_rows(np.zeros((1, ACTOR_INPUTS), np.uint8))
        if found.shape != (1, NUM_ACTIONS):
            raise ValueError(f"it gives {found.shape[1]} numbers, not {NUM_ACTIONS}")
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise CheckpointError(f"{name} does not fit the network that {METADATA} describes ({error})") from None
    if broken := [key for key, value in weights.items() if not np.isfinite(value).all()]:
        raise CheckpointError(f"{name} holds numbers that are not finite, in {broken[0]}; training it broke down")
    return actor, metadata


def _as_float32(value: dict[str, Any]) -> np.ndarray:
    """A stored tensor; NumPy has no bfloat16, whose bits are the upper half of float32's."""
    if value["dtype"] == "BF16":
        bits = np.frombuffer(value["data"], "<u2").astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).reshape(value["shape"])
    if value["dtype"] != "F32":
        raise ValueError(f"its weights are {value['dtype']}")
    return np.frombuffer(value["data"], "<f4").reshape(value["shape"])
