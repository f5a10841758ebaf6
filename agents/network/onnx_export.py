"""Writes a network as ONNX, after checking that onnxruntime computes what torch does."""

from __future__ import annotations

import hashlib
import logging
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

from agents.files import replacing, write_bytes, write_json, write_text, writing
from agents.network.checkpoint import load_checkpoint
from agents.network.model_card import CARD, model_card
from agents.network.nets import NUM_CONDITIONS, Actor
from agents.network.onnx_graph import OUTPUTS, OnnxError, OnnxNetwork
from agents.network.onnx_player import DESCRIPTION, GRAPH, Agreement, Description, OnnxPlayer
from agents.network.policy import PLAYED
from ginenv.envs.selfplay import SelfPlayBatch
from ginenv.tables.players import make_player
from ginenv.view.encoding import OBSERVATION_SIZE, encode_views

# The most that a logit may differ: far below what changes a choice.
TOLERANCE = 1e-3
_TABLES, _TICKS = 64, 24


def export_onnx(source: str | Path, directory: str | Path) -> Description:
    """Writes the network of a checkpoint as ONNX, its description and its card.

    Args:
        source: the checkpoint.
        directory: where to; made if it does not exist.

    Returns:
        The description.

    Raises:
        CheckpointError: if the checkpoint cannot be used.
        OnnxError: if onnxruntime does not compute what torch does; then nothing is written.
        FileError: if a file cannot be written.
    """
    actor, metadata = load_checkpoint(source)
    graph = _graph_of(actor)
    about = Description(
        heuristic_features=actor.heuristic_features,
        graph_sha256=hashlib.sha256(graph).hexdigest(),
        weights_sha256=metadata["weights_sha256"],
        agreement=Agreement(positions=0, largest_difference={}),
    )
    about = about.model_copy(update={"agreement": _compare(actor, graph, about)})
    directory = Path(directory)
    with writing(directory), replacing(directory, keep=True) as made:
        write_bytes(made / GRAPH, graph)
        write_text(made / CARD, model_card(source, about))
        write_json(made / DESCRIPTION, about.model_dump())
    return about


def _graph_of(actor: Actor) -> bytes:
    """The graph's bytes, for batches of any size."""
    seen = torch.zeros(2, OBSERVATION_SIZE + NUM_CONDITIONS + actor.heuristic_features)
    rows = torch.export.Dim("rows", min=1)
    # The exporter warns of operators of packages that are not installed; the network does not use them.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(scratch) / GRAPH
        torch.onnx.export(
            actor.eval(),
            (seen,),
            str(path),
            input_names=["seen"],
            output_names=list(OUTPUTS),
            dynamic_shapes=({0: rows},),
            external_data=False,
            dynamo=True,
            verbose=False,
        )
        return path.read_bytes()


def _compare(actor: Actor, graph: bytes, about: Description) -> Agreement:
    """How far onnxruntime's logits are from torch's on positions of a bot's play.

    Raises:
        OnnxError: if they are too far apart.
    """
    views = _some_views()
    player = OnnxPlayer(OnnxNetwork(graph, about.width), about, 0, PLAYED, True, "onnx")
    rng = np.random.default_rng(0)
    conditions = rng.integers(0, 2, len(views)).astype(np.uint8)
    seen = player.seen(views, encode_views(views), conditions)
    found = player.network(seen)
    with torch.no_grad():
        expected = [values.numpy() for values in actor(torch.from_numpy(seen))]
    differences = [float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True)]
    if not max(differences) < TOLERANCE:
        raise OnnxError(
            f"onnxruntime does not compute what torch does: logits differ by {max(differences):.2g}, allowed is {TOLERANCE:g}"
        )
    return Agreement(positions=len(views), largest_difference=dict(zip(OUTPUTS, differences, strict=True)))


def _some_views() -> np.ndarray:
    """Views of a bot that plays against itself."""
    tables, bot = SelfPlayBatch(_TABLES, "eaai"), make_player("formula", 1)
    tables.reset(seed=1)
    views = []
    for _ in range(_TICKS):
        views.append(tables.views)
        tables.step(bot.act(views[-1]))
    return np.concatenate(views)
