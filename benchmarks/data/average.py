"""Averages the weights of checkpoints of one ancestry: often a little stronger than each of them (Wortsman et al. 2022, "model soups").

python -m benchmarks.data.average runs/long/last runs/next/last --out runs/mean

The critic is the last one's. Checkpoints that do not descend from each other have nothing in common to average.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import torch
import tyro
from tyro.conf import Positional, arg

from agents.files import writing
from agents.network.checkpoint import (
    METADATA,
    CheckpointError,
    load_checkpoint,
    load_critic,
    read_metadata,
    save_checkpoint,
)
from agents.network.model_card import write_card
from agents.reports.terminal import this_command
from ginenv.errors import GinError


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
    widths = {tuple(made["widths"]) for _, made in loaded}
    if len(loaded) < 2 or len(widths) != 1:
        raise CheckpointError(
            f"averaging takes two or more networks of the same widths; given: {len(loaded)}, of "
            + "; ".join(str(list(each)) for each in sorted(widths))
        )
    last = loaded[-1][1]
    actor, weights = loaded[-1][0], [network.state_dict() for network, _ in loaded]
    with torch.no_grad():
        actor.load_state_dict({name: torch.stack([each[name] for each in weights]).mean(0) for name in weights[0]})
    rules = [made["about"].get("rules") or {} for _, made in loaded]
    shared = {name: rules[-1][name] for name in rules[-1] if all(name in each for each in rules)}
    about = {"command": command, "rules": shared}
    saved = last.get("critic") or {}
    critic = load_critic(directories[-1]) if saved else None
    with writing(out):
        save_checkpoint(out, actor, last["widths"], about, critic, saved.get("widths", ()), saved.get("reward", "game"))


def main(checkpoints: Annotated[list[str], Positional, arg(metavar="CHECKPOINT CHECKPOINT ...")], out: Path) -> None:
    """Averages the weights of checkpoints of one ancestry; the critic is that of the last one.

    It does not check that they descend from each other. There is no reason to expect anything of the mean of unrelated checkpoints.

    Args:
        checkpoints: directories of networks, such as a run's ``last``.
        out: directory to write; a mean that the same command wrote there is overwritten.
    """
    average(checkpoints, out, this_command())
    write_card(out)
    print(f"{out}: the mean of {len(checkpoints)} checkpoints")


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except GinError as error:
        sys.exit(str(error))
