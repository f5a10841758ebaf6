"""Checkpoints: directories of weights (safetensors) and metadata (JSON) that says what they are and how they were made.

Nothing in a checkpoint can execute code. The metadata holds the hash of the weights. Files that do not belong together, a truncated
file and a file of another version are refused with one sentence.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

from agents.files import digest_of_file, replacing, write_bytes, write_json
from agents.network.metadata import (
    CRITIC,
    METADATA,
    VERSION,
    WEIGHTS,
    CheckpointError,
    check_weights,
    read_metadata,
)
from agents.network.nets import Actor, Critic

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def save_weights(path: Path, network: nn.Module) -> str:
    """Writes a network's weights in bfloat16 and returns the file's hash."""
    tensors = {name: value.detach().to(torch.bfloat16).contiguous() for name, value in network.state_dict().items()}
    write_bytes(path, save(tensors))
    return digest_of_file(path)


def save_checkpoint(
    directory: str | Path,
    actor: Actor,
    widths: Sequence[int],
    about: dict[str, Any],
    critic: Critic | None = None,
    critic_widths: Sequence[int] = (),
    reward: str = "game",
) -> None:
    """Writes a checkpoint.

    Args:
        directory: made if it does not exist; an older checkpoint in it is replaced as a whole, other files in it stay.
        actor: the network.
        widths: of its hidden layers.
        about: how it was made (rules, steps, seed, results, command); plain JSON values.
        critic: the value network, if there is one.
        critic_widths: of its hidden layers.
        reward: what the critic predicts, ``points`` or ``game`` (see ``TrainConfig``).
    """
    with replacing(Path(directory), keep=True) as made:
        metadata: dict[str, Any] = VERSION | {
            "widths": list(widths),
            "weights_sha256": save_weights(made / WEIGHTS, actor),
            "critic": None,
            "about": about,
        }
        if critic is not None:
            digest = save_weights(made / CRITIC, critic)
            metadata["critic"] = {"widths": list(critic_widths), "reward": reward, "weights_sha256": digest}
        write_json(made / METADATA, metadata)


def load_checkpoint(directory: str | Path) -> tuple[Actor, dict[str, Any]]:
    """The actor of a checkpoint, and its metadata.

    Raises:
        CheckpointError: if a file is missing, truncated or of another version, or the files do not belong together.
    """
    metadata = read_metadata(directory)
    return load_weights(Path(directory) / WEIGHTS, METADATA, metadata, lambda: Actor(metadata["widths"])), metadata


def load_critic(directory: str | Path) -> Critic:
    """The critic of a checkpoint.

    Raises:
        CheckpointError: if it has no critic, a file is missing or truncated, or the files do not belong together.
    """
    metadata = read_metadata(directory)
    about = metadata.get("critic")
    if about is None:
        raise CheckpointError(f"checkpoint {directory}: it has no critic; checkpoints that training wrote have one")
    return load_weights(Path(directory) / CRITIC, METADATA, about, lambda: Critic(about["widths"]))


def load_weights(path: Path, described: str, about: dict[str, Any], make: Callable[[], AnyModule]) -> AnyModule:
    """A new network with the weights of a file.

    Args:
        path: the file.
        described: name of the file that describes it, for messages.
        about: the description, with ``weights_sha256``.
        make: makes the network.

    Raises:
        CheckpointError: if the file is missing, truncated, not the one described, or does not fit the network; one that is far too small
            is refused before the network is made.
    """
    name = check_weights(path, described, about)
    try:
        with safe_open(path, "pt") as file:
            numbers = sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())
        # Before a network is made, which could take far more memory than the file.
        least = sum(a * b for a, b in itertools.pairwise(about.get("widths", ())))
        if numbers < least:
            raise RuntimeError(f"it holds {numbers:,} numbers, too few for layers of {least:,}")
        # Numbers for a start, which take seconds to draw, are not drawn.
        with torch.device("meta"):
            network = make()
        network.load_state_dict({key: value.float() for key, value in load_file(str(path)).items()}, assign=True)
    except (SafetensorError, RuntimeError, KeyError, TypeError, OSError) as error:
        reason = str(error).splitlines()[0][:300]
        raise CheckpointError(f"{name} does not fit the network that {described} describes ({reason})") from None
    if broken := [key for key, value in network.state_dict().items() if not value.isfinite().all()]:
        raise CheckpointError(f"{name} holds numbers that are not finite, in {broken[0]}; training it broke down")
    return network.eval()
