"""A level outside of Python: a directory that any language can read, and that plays here too (``docs/app.md`` is its format).

``gin export LEVEL --app DIRECTORY`` writes one (``agents.levels.app_export``).
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from agents.config import Config, parse_config
from agents.files import MAX_BYTES, read_bytes, read_json_object
from agents.levels.level import Level, LevelError, LevelSettings
from agents.levels.player import LevelPlayer
from agents.network.inputs import NUM_RANKS, suit_columns
from agents.network.numpy_actor import NumpyActor
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.cards import NUM_CARDS
from ginenv.errors import reason_of
from ginenv.view.encoding import FLAT_SCALE, OBSERVATION_VERSION

# The file that marks the directory, and the weights.
APP, NETWORK = "app.json", "network.bin"
# Widths of the network's hidden layers.
WIDTHS = (96, 88)
# The columns of the input that belong to each suit, and those that belong to none.
SUITS, SHARED = suit_columns(0, is_critic=False, conditions=0)


class Layer(Config):
    """The numbers that a layer reads and gives: of each suit, and of none."""

    suit_inputs: int
    shared_inputs: int
    suit_outputs: int
    shared_outputs: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Its arrays, in the order of the file."""
        inputs, outputs = self.suit_inputs + self.shared_inputs, self.suit_outputs + self.shared_outputs
        return {
            "own.weight": (self.suit_outputs, self.suit_inputs),
            "pooled.weight": (outputs, inputs),
            "pooled.bias": (outputs,),
        }


_SIZES = ((SUITS.shape[1], len(SHARED)), *((n, n) for n in WIDTHS), (2 * NUM_RANKS, NUM_ACTIONS - 2 * NUM_CARDS))
LAYERS = [
    Layer(suit_inputs=a[0], shared_inputs=a[1], suit_outputs=b[0], shared_outputs=b[1]) for a, b in pairwise(_SIZES)
]
# The shapes of the arrays of ``network.bin``, in its order, by their names among an actor's weights.
ARRAYS = {
    f"{name}.{part}": shape
    for name, layer in zip((*(f"trunk.layers.{k}" for k in range(len(WIDTHS))), "policy.layer"), LAYERS, strict=True)
    for part, shape in layer.shapes.items()
}


class AppFile(Config):
    """What ``app.json`` holds.

    Attributes:
        format: version of the directory's format.
        name: of the level.
        title: of the level.
        observation_version: version of the input.
        behaviour: how it chooses, some of ``LevelSettings``; its habits and what it has learned are in the network.
        layers: of its network.
        network_sha256: of ``network.bin``.
        presets: the rules of the golden positions, by preset.
        about: how it was made.
    """

    format: Literal[1] = 1
    name: str = Field(min_length=1, max_length=100)
    title: str
    observation_version: Literal[OBSERVATION_VERSION] = OBSERVATION_VERSION  # type: ignore[valid-type]
    behaviour: dict[str, int | float]
    layers: list[Layer] = LAYERS
    network_sha256: str
    presets: dict[str, dict[str, Any]]
    about: dict[str, Any]


def input_scale() -> np.ndarray:
    """What the input's bytes are multiplied by in the first layer, in the order in which it reads them: ``float32[169]``."""
    return np.concatenate([FLAT_SCALE[SUITS[0]], FLAT_SCALE[SHARED]])


def _read_network(content: bytes) -> NumpyActor:
    """The network of a file of weights; raises ``ValueError`` if it does not hold as many finite numbers."""
    numbers = np.frombuffer(content, "<f4")
    if not np.isfinite(numbers).all():
        raise ValueError("its weights are not finite numbers")
    ends = np.cumsum([int(np.prod(shape)) for shape in ARRAYS.values()])
    parts = np.split(numbers, ends[:-1])
    weights = {name: part.reshape(shape) for (name, shape), part in zip(ARRAYS.items(), parts, strict=True)}
    # An actor scales its inputs, and reads besides whether its seat is committed; the observation says it too.
    own, pooled = list(ARRAYS)[:2]
    weights[own] = weights[own] / input_scale()[: SUITS.shape[1]]
    weights[pooled] = np.pad(weights[pooled] / input_scale(), ((0, 0), (0, 1)))
    return NumpyActor(weights, heuristic_features=0)


class AppPlayer(LevelPlayer):
    """A level whose network gives logits on the scale on which levels choose, biases included."""

    softens = False

    def logits(self, views: np.ndarray, choices: np.ndarray) -> np.ndarray:
        """The export's logits (as ``LevelPlayer.logits``), for which nobody plays for gin only."""
        inputs = choices["inputs"].copy()
        inputs["gin_only"] = 0
        return self.actor.logits(inputs)


def read_app(directory: Path) -> AppFile:
    """What a directory's ``app.json`` says.

    Raises:
        GinError: if it cannot be used.
    """
    source = f"app {directory}"
    return parse_config(read_json_object(directory / APP, source), AppFile, f"{source}: {APP}")


def load_app(path: str, seed: int = 0) -> AppPlayer:
    """The player of a directory that ``gin export LEVEL --app DIRECTORY`` wrote.

    Raises:
        GinError: if it cannot be used.
    """
    directory, file = Path(path), read_app(Path(path))
    settings = parse_config(file.behaviour | {"title": file.title}, LevelSettings, f"app {path}: behaviour")
    try:
        content = read_bytes(directory / NETWORK, MAX_BYTES)
        digest = hashlib.sha256(content).hexdigest()
        if digest != file.network_sha256 or file.layers != LAYERS:
            raise ValueError(f"it is not the network that {APP} describes")
        actor = _read_network(content)
    except (OSError, ValueError) as error:
        raise LevelError(f"app {path}: {NETWORK} cannot be used ({reason_of(error)})") from None
    player = AppPlayer(Level(file.name, directory, settings, actor, digest, None), seed, learn=False)
    player.name = path
    return player
