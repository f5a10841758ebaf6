"""Networks as ONNX: a directory with the graph and its description, played by onnxruntime, without torch.

The graph reads ``seen``: the observation's bytes, whether the seat is committed to gin, and the heuristic features. If the network has a
context, it reads a second input, ``context``. It gives the logits of the ``policy``, of the opponent's cards (``belief``) and of its
next action (``next``).
"""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import JsonError, read_json
from agents.network.bounds import BOUNDS, EVERYTHING, blank_all
from agents.network.features import HeuristicFeatures
from agents.network.policy import PLAYED, PolicyPlayer
from ginenv.engine.state import MAX_PILE
from ginenv.errors import GinError, reason_of
from ginenv.view.encoding import OBSERVATION_SIZE, OBSERVATION_VERSION

FORMAT_VERSION = 1
# The file that marks a directory as an ONNX network.
DESCRIPTION = "onnx.json"
GRAPH = "network.onnx"
OUTPUTS = ("policy", "belief", "next")


class OnnxError(GinError):
    """A network in ONNX that cannot be used."""


class OnnxNetwork:
    """A graph in onnxruntime.

    Args:
        path: of the graph.
        threads: of its matrix products.
    """

    def __init__(self, path: str | Path, threads: int = 1) -> None:
        # Imported this way since the module tells type checkers nothing of its contents.
        onnxruntime: Any = importlib.import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def __call__(
        self, seen: np.ndarray, context: np.ndarray | None = None, outputs: tuple[str, ...] = OUTPUTS
    ) -> list[np.ndarray]:
        """Logits of the outputs asked for.

        Args:
            seen: ``float32[n, 521 + heuristic features]``.
            context: ``float32[n, C]``; none for a network without one.
            outputs: names in ``OUTPUTS``.
        """
        inputs = {"seen": seen} if context is None else {"seen": seen, "context": context}
        return [np.asarray(values) for values in self.session.run(list(outputs), inputs)]


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
        self, network: OnnxNetwork, about: dict[str, Any], seed: int, temperature: float, commits: bool, name: str
    ) -> None:
        super().__init__(seed, temperature, commits, name)
        self.network, self.context = network, int(about["context"])
        bounds = (int(about["memory"]), int(about["notices"]))
        self.bounds = None if bounds == (MAX_PILE, EVERYTHING) else np.array([bounds], BOUNDS)
        self.features = HeuristicFeatures([bounds]) if about["heuristic_features"] else None

    def seen(self, views: np.ndarray, observations: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        """The graph's first input; what the player does not notice or remember is blanked."""
        if self.bounds is not None:
            blank_all(views, np.broadcast_to(self.bounds, len(views)).copy(), observations)
        parts = [observations, conditions[:, None]]
        if self.features is not None:
            parts.append(self.features(views))
        return np.concatenate(parts, 1).astype(np.float32)

    def logits(
        self, views: np.ndarray, observations: np.ndarray, conditions: np.ndarray, slots: np.ndarray | None
    ) -> np.ndarray:
        """The policy's logits: ``float32[n, 107]``."""
        # 0 means that nothing is known.
        context = np.zeros((len(views), self.context), np.float32) if self.context else None
        return self.network(self.seen(views, observations, conditions), context, ("policy",))[0].copy()


def read_description(directory: str | Path) -> dict[str, Any]:
    """The description of a network in ONNX, checked.

    Raises:
        OnnxError: if it cannot be read, is of another version, or the graph is not the one described.
    """
    directory = Path(directory)
    try:
        about = read_json(directory / DESCRIPTION)
        graph = (directory / GRAPH).read_bytes()
    except (OSError, JsonError) as error:
        raise OnnxError(f"network {directory}: {DESCRIPTION} or {GRAPH} cannot be read ({reason_of(error)})") from None
    if not isinstance(about, dict):
        raise OnnxError(f"network {directory}: {DESCRIPTION} holds a {type(about).__name__}; it must be a JSON object")
    for key, value in {
        "format": FORMAT_VERSION,
        "observation_version": OBSERVATION_VERSION,
        "observation_size": OBSERVATION_SIZE,
    }.items():
        if about.get(key) != value:
            raise OnnxError(f"network {directory}: {key} is {about.get(key)!r}; this version reads {value!r}")
    if hashlib.sha256(graph).hexdigest() != about.get("graph_sha256"):
        raise OnnxError(f"network {directory}: {GRAPH} is truncated or not the file that {DESCRIPTION} describes")
    return about


def load_onnx(path: str, seed: int = 0, temperature: float = PLAYED, commits: bool = True) -> OnnxPlayer:
    """The player of a directory that ``gin export --onnx`` wrote.

    Raises:
        OnnxError: if it cannot be used.
    """
    about = read_description(path)
    return OnnxPlayer(OnnxNetwork(Path(path) / GRAPH), about, seed, temperature, commits, Path(path).name)
