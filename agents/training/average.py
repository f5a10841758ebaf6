"""Averages the weights of checkpoints of one ancestry: often a little stronger than each of them (Wortsman et al. 2022, "model soups").

gin average runs/long/last runs/next/last --out agents/data/network

The critic is the last one's. Checkpoints that do not descend from each other have nothing in common to average. If some receive a context
of their opponents and others do not, the mean receives it, with accordingly smaller weights; it has a critic only if the last one
receives it.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import torch

from agents.files import writing
from agents.network.checkpoint import (
    METADATA,
    CheckpointError,
    load_checkpoint,
    load_critic,
    read_metadata,
    save_checkpoint,
)
from agents.network.nets import load_wider


def average(directories: list[str], out: Path, command: str) -> None:
    """Writes the mean of some checkpoints' networks.

    Args:
        directories: of the checkpoints, at least two; the critic is the last one's.
        out: directory of the mean.
        command: how it was made, for its metadata.

    Raises:
        CheckpointError: if one cannot be used, their networks differ in form, or ``out`` holds a checkpoint that something else made.
    """
    if any(
        (Path(directory) / METADATA).is_file() and Path(directory).resolve() == out.resolve()
        for directory in directories
    ):
        raise CheckpointError(f"{out} is one of the checkpoints that are averaged; name another directory")
    # The same mean may be made again.
    if (out / METADATA).is_file() and read_metadata(out)["about"].get("command") != command:
        raise CheckpointError(f"{out} holds a checkpoint that something else made; name another directory")
    loaded = [load_checkpoint(directory) for directory in directories]
    most = max(made["context"] for _, made in loaded)
    # A network without a context can be averaged with those that have one.
    forms = {
        (tuple(made["widths"]), made["context"] or most, made["heuristic_features"], made["share_suits"])
        for _, made in loaded
    }
    if len(loaded) < 2 or len(forms) != 1:
        shapes = "; ".join(
            f"widths {list(widths)}, context {context}, heuristic features {features}, suits {'shared' if shared else 'not shared'}"
            for widths, context, features, shared in sorted(forms)
        )
        raise CheckpointError(
            f"averaging takes two or more networks of the same shape; given: {len(loaded)}, of {shapes}"
        )
    last = loaded[-1][1]
    actor = max((other for other, _ in loaded), key=lambda other: other.context)
    weights = []
    for other, _ in loaded:
        wider = deepcopy(actor)
        load_wider(wider, other)
        weights.append(wider.state_dict())
    with torch.no_grad():
        actor.load_state_dict({name: torch.stack([each[name] for each in weights]).mean(0) for name in weights[0]})
    rules = [made["about"].get("rules") or {} for _, made in loaded]
    parents = [{"weights_sha256": made["weights_sha256"], "about": made["about"]} for _, made in loaded]
    about = {
        "command": command,
        "rules": {name: rules[-1][name] for name in rules[-1] if all(name in each for each in rules)},
        "parents": parents,
    }
    saved = (last.get("critic") or {}) if last["context"] == most else {}
    critic = load_critic(directories[-1]) if saved else None
    with writing(out):
        save_checkpoint(out, actor, last["widths"], about, critic, saved.get("widths", ()), saved.get("reward", "game"))
