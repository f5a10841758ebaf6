"""Networks as ONNX: a directory with the graph and its description, played by onnxruntime, without torch.

The graph reads ``seen``: the observation's bytes, whether the seat is committed to gin, and the heuristic features. It gives the
logits of the ``policy``, of the opponent's cards (``belief``) and of its next action (``next``). ``agents.network.onnx_graph`` reads it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from agents.config import Config, ConfigError, parse_config
from agents.files import JsonError, read_json
from agents.network.features import NUM_HEURISTIC_FEATURES, unbounded
from agents.network.onnx_graph import OnnxError, OnnxNetwork, read_graph
from agents.network.policy import PLAYED, PolicyPlayer
from ginenv.errors import reason_of
from ginenv.view.encoding import OBSERVATION_SIZE, OBSERVATION_VERSION

# The file that marks a directory as an ONNX network.
DESCRIPTION = "onnx.json"
GRAPH = "network.onnx"

_Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Agreement(Config):
    """How far onnxruntime's logits were from torch's when the network was written.

    Attributes:
        positions: how many were compared.
        largest_difference: of a logit, by output.
    """

    model_config = ConfigDict(strict=True)

    positions: int = Field(ge=0)
    largest_difference: dict[str, float]


class Description(Config):
    """What ``onnx.json`` says of the graph beside it.

    Attributes:
        format: version of this description.
        kind: always ``onnx``.
        observation_version: version of the observation that the network reads (``ginenv.view.encoding``).
        observation_size: its bytes.
        heuristic_features: how many ``seen`` ends with (``agents.network.features``), all or none.
        graph_sha256: hash of the graph.
        weights_sha256: hash of the checkpoint's weights.
        agreement: with torch.
    """

    model_config = ConfigDict(strict=True)

    format: Literal[1] = 1
    kind: Literal["onnx"] = "onnx"
    observation_version: Literal[OBSERVATION_VERSION] = OBSERVATION_VERSION  # type: ignore[valid-type]
    observation_size: Literal[OBSERVATION_SIZE] = OBSERVATION_SIZE  # type: ignore[valid-type]
    heuristic_features: Literal[0, NUM_HEURISTIC_FEATURES]  # type: ignore[valid-type]
    graph_sha256: _Hash
    weights_sha256: _Hash
    agreement: Agreement

    @property
    def width(self) -> int:
        """Numbers that ``seen`` has: the observation, whether the seat is committed to gin, and the heuristic features."""
        return OBSERVATION_SIZE + 1 + self.heuristic_features


class OnnxPlayer(PolicyPlayer):
    """Plays the policy of a network in ONNX.

    Args:
        network: the graph.
        about: its description.
        seed: as for ``NetworkPlayer``, like the next three.
        temperature: see there.
        commits: see there.
        name: see there.
    """

    def __init__(
        self, network: OnnxNetwork, about: Description, seed: int, temperature: float, commits: bool, name: str
    ) -> None:
        super().__init__(seed, temperature, commits, name)
        self.network, self.about = network, about

    def seen(self, views: np.ndarray, observations: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        """The graph's first input."""
        parts = [observations, conditions[:, None]]
        if self.about.heuristic_features:
            parts.append(unbounded()(views))
        return np.concatenate(parts, 1).astype(np.float32)

    def logits(
        self, views: np.ndarray, observations: np.ndarray, conditions: np.ndarray, slots: np.ndarray | None
    ) -> np.ndarray:
        """The policy's logits: ``float32[n, 107]``."""
        try:
            return self.network(self.seen(views, observations, conditions), ("policy",))[0].copy()
        except OnnxError as error:
            raise OnnxError(f"network {self.name}: {error}") from None


def read_description(directory: Path) -> Description:
    """The description of a network in ONNX.

    Raises:
        OnnxError: if it cannot be read, or says what it cannot say.
    """
    where = f"network {directory}: {DESCRIPTION}"
    try:
        about = read_json(directory / DESCRIPTION)
    except (OSError, JsonError) as error:
        raise OnnxError(f"{where} cannot be read ({reason_of(error)})") from None
    if not isinstance(about, dict):
        raise OnnxError(f"{where} holds a {type(about).__name__}; it must be a JSON object")
    try:
        return parse_config(about, Description, where)
    except ConfigError as error:
        raise OnnxError(str(error)) from None


def load_onnx(path: str, seed: int = 0, temperature: float = PLAYED, commits: bool = True) -> OnnxPlayer:
    """The player of a directory that ``gin export --onnx`` wrote.

    Raises:
        OnnxError: if it cannot be used: its description and its graph are no such network, or do not belong together.
    """
    directory = Path(path)
    about = read_description(directory)
    graph = read_graph(directory / GRAPH)
    if hashlib.sha256(graph).hexdigest() != about.graph_sha256:
        raise OnnxError(f"network {path}: {GRAPH} is truncated or not the file that {DESCRIPTION} describes")
    try:
        network = OnnxNetwork(graph, about.width)
    except OnnxError as error:
        raise OnnxError(f"network {path}: {GRAPH}: {error}") from None
    return OnnxPlayer(network, about, seed, temperature, commits, directory.name)
