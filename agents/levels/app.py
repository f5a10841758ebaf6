"""A level outside of Python: a directory that any language can read, and that plays here too (``docs/app.md`` is its format).

``gin export LEVEL --app DIRECTORY`` writes one (``agents.levels.app_export``).
"""

from __future__ import annotations

import hashlib
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
from ginenv.errors import reason_of
from ginenv.view.encoding import FLAT_SCALE, OBSERVATION_VERSION

# The file that marks the directory.
APP = "app.json"
NETWORK = "network.bin"
# The columns of the input that belong to each suit, and those that belong to none.
SUITS, SHARED = suit_columns(0, is_critic=False, conditions=0)


class Layer(Config):
    """The numbers that a layer reads and gives: of each suit, and of none."""

    suit_inputs: int = Field(ge=1, le=4096)
    shared_inputs: int = Field(ge=1, le=4096)
    suit_outputs: int = Field(ge=1, le=4096)
    shared_outputs: int = Field(ge=1, le=4096)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Its arrays, in the order of the file."""
        inputs, outputs = self.suit_inputs + self.shared_inputs, self.suit_outputs + self.shared_outputs
        return {
            "own.weight": (self.suit_outputs, self.suit_inputs),
            "pooled.weight": (outputs, inputs),
            "pooled.bias": (outputs,),
        }


class Behaviour(Config):
    """The settings of a level (``LevelSettings``) that say how it chooses; its habits and what it has learned are in the network."""

    remembered_discards: int
    noticed_actions: int
    temperature: float
    draw_temperature: float
    max_logit_gap: float
    max_extra_deadwood: float
    hand_taste: float


class AppFile(Config):
    """What ``app.json`` holds.

    Attributes:
        format: version of the directory's format.
        name: of the level.
        title: of the level.
        observation_version: version of the input.
        behaviour: how it chooses.
        layers: of its network.
        network_sha256: of ``network.bin``.
        presets: the rules of the golden positions, by preset.
        about: how it was made.
    """

    format: Literal[1] = 1
    name: str = Field(min_length=1, max_length=100)
    title: str
    observation_version: Literal[OBSERVATION_VERSION] = OBSERVATION_VERSION  # type: ignore[valid-type]
    behaviour: Behaviour
    layers: list[Layer] = Field(min_length=1, max_length=8)
    network_sha256: str
    presets: dict[str, dict[str, Any]]
    about: dict[str, Any]


def names_of(layers: int) -> list[str]:
    """The names of the layers among an actor's weights."""
    return [f"trunk.layers.{k}" for k in range(layers - 1)] + ["policy.layer"]


def input_scale() -> np.ndarray:
    """What the input's bytes are multiplied by in the first layer, in the order in which it reads them: ``float32[169]``."""
    return np.concatenate([FLAT_SCALE[SUITS[0]], FLAT_SCALE[SHARED]])


def _read_network(content: bytes, layers: list[Layer]) -> NumpyActor:
    """The network of a file of weights.

    Raises:
        ValueError: if its layers do not fit each other or the file.
    """
    read = (SUITS.shape[1], len(SHARED))
    for layer in layers:
        if (layer.suit_inputs, layer.shared_inputs) != read:
            raise ValueError(f"a layer reads {layer.suit_inputs} and {layer.shared_inputs} numbers, not {read}")
        read = (layer.suit_outputs, layer.shared_outputs)
    if read != (2 * NUM_RANKS, NUM_ACTIONS - 2 * 4 * NUM_RANKS):
        raise ValueError(f"the last layer gives {read} numbers, not 26 of each suit and 3 of none")
    numbers, weights, at = np.frombuffer(content, "<f4"), {}, 0
    for name, layer in zip(names_of(len(layers)), layers, strict=True):
        for part, shape in layer.shapes.items():
            size = int(np.prod(shape))
            if at + size > len(numbers):
                break
            weights[f"{name}.{part}"] = numbers[at : at + size].reshape(shape)
            at += size
    if at != len(numbers) or len(weights) != 3 * len(layers) or not np.isfinite(numbers).all():
        raise ValueError(f"{len(content):,} bytes are not the finite numbers that {APP} describes")
    # An actor scales its inputs, and reads besides whether its seat is committed; the observation says it too.
    first, scale = names_of(len(layers))[0], input_scale()
    weights[f"{first}.own.weight"] = weights[f"{first}.own.weight"] / scale[: SUITS.shape[1]]
    pooled = weights[f"{first}.pooled.weight"] / scale
    weights[f"{first}.pooled.weight"] = np.pad(pooled, ((0, 0), (0, 1)))
    return NumpyActor(0, True, weights)


class AppPlayer(LevelPlayer):
    """A level whose network gives logits on the scale on which levels choose, biases included."""

    def choose(
        self, views: np.ndarray, behaviours: np.ndarray, biases: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Chooses for every view (as ``LevelPlayer.choose``); the logits are the export's."""
        seen = self._see(views, behaviours)
        logits = self.actor.logits(views, seen[0], np.zeros(len(views), np.uint8))
        actions, policy = self.draw(views, behaviours, np.zeros_like(biases), seen, logits.copy(), False)
        return actions, policy, logits


def load_app(path: str, seed: int = 0) -> AppPlayer:
    """The player of a directory that ``gin export LEVEL --app DIRECTORY`` wrote.

    Raises:
        LevelError: if it cannot be used.
        ConfigError: if its description says what it cannot say.
    """
    directory, source = Path(path), f"app {path}"
    file: AppFile = parse_config(read_json_object(directory / APP, source), AppFile, f"{source}: {APP}")
    settings = parse_config(file.behaviour.model_dump() | {"title": file.title}, LevelSettings, f"{source}: behaviour")
    try:
        content = read_bytes(directory / NETWORK, MAX_BYTES)
    except OSError as error:
        raise LevelError(f"{source}: {NETWORK} cannot be read ({reason_of(error)})") from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.network_sha256:
        raise LevelError(f"{source}: {NETWORK} is truncated or not the file that {APP} describes")
    try:
        actor = _read_network(content, file.layers)
    except ValueError as error:
        raise LevelError(f"{source}: {NETWORK}: {error}") from None
    player = AppPlayer(Level(file.name, directory, settings, actor, digest, None, file.about), seed, learn=False)
    player.name = path
    return player
