"""Checkpoints: directories of weights (safetensors) and metadata (JSON) that says what they are and how they were made.

Nothing in a checkpoint can execute code. The metadata holds the hash of the weights. Files that do not belong together, a truncated
file and a file of another version are refused with one sentence.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import math
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

from agents.config import MAX_LAYERS, WIDEST
from agents.files import JsonError, read_json, replacing, write_bytes, write_json
from agents.network.features import NUM_HEURISTIC_FEATURES
from agents.network.nets import NUM_CONDITIONS, Actor, Critic, Network
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.errors import GinError, must_be, quoted
from ginenv.view.encoding import OBSERVATION_SIZE, OBSERVATION_VERSION

FORMAT_VERSION = 1
WEIGHTS = "weights.safetensors"
# For the search, which deals the hidden cards itself.
CRITIC = "critic.safetensors"
METADATA = "checkpoint.json"
# Of a file of weights: twice what the largest network that a configuration allows takes.
_MAX_BYTES = 8 << 30


_VERSION = {
    "format": FORMAT_VERSION,
    "kind": "actor",
    "observation_version": OBSERVATION_VERSION,
    "observation_size": OBSERVATION_SIZE,
    "conditions": NUM_CONDITIONS,
    "actions": NUM_ACTIONS,
}
AnyModule = TypeVar("AnyModule", bound=nn.Module)


class CheckpointError(GinError):
    """A checkpoint that cannot be used."""


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save_weights(path: Path, network: nn.Module) -> str:
    """Writes a network's weights in bfloat16 and returns the file's hash."""
    tensors = {name: value.detach().to(torch.bfloat16).contiguous() for name, value in network.state_dict().items()}
    write_bytes(path, save(tensors))
    return _digest(path)


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
        metadata: dict[str, Any] = _VERSION | {
            "context": actor.context,
            "heuristic_features": actor.heuristic_features,
            "share_suits": actor.share_suits,
            "widths": list(widths),
            "weights_sha256": save_weights(made / WEIGHTS, actor),
            "critic": None,
            "about": about,
        }
        if critic is not None:
            digest = save_weights(made / CRITIC, critic)
            metadata["critic"] = {"widths": list(critic_widths), "reward": reward, "weights_sha256": digest}
        write_json(made / METADATA, metadata)


def read_metadata(directory: str | Path) -> dict[str, Any]:
    """The metadata of a checkpoint.

    Raises:
        CheckpointError: if it cannot be read or is of another version.
    """
    if directory == "":
        raise CheckpointError("checkpoint must be a directory, not empty")
    metadata = _read_json(Path(directory))
    for key, value in _VERSION.items():
        if metadata.get(key) != value:
            raise CheckpointError(
                f"checkpoint {directory}: {key} is {quoted(metadata.get(key))}; this version reads {value!r}"
            )
    context, features = metadata.setdefault("context", 0), metadata.setdefault("heuristic_features", 0)
    if type(context) is not int or not 0 <= context <= 1024:
        raise CheckpointError(must_be(f"checkpoint {directory}: context", "a whole number from 0 to 1024", context))
    if type(features) is not int or features not in (0, NUM_HEURISTIC_FEATURES):
        raise CheckpointError(
            must_be(f"checkpoint {directory}: heuristic_features", f"0 or {NUM_HEURISTIC_FEATURES}", features)
        )
    if not isinstance(metadata.setdefault("share_suits", False), bool):
        raise CheckpointError(must_be(f"checkpoint {directory}: share_suits", "true or false", metadata["share_suits"]))
    if not isinstance(metadata.get("weights_sha256"), str):
        raise CheckpointError(
            must_be(f"checkpoint {directory}: weights_sha256", "a text", metadata.get("weights_sha256"))
        )
    _check_widths(directory, "widths", metadata.get("widths"))
    critic = metadata.setdefault("critic", None)
    if critic is not None:
        if not isinstance(critic, dict):
            raise CheckpointError(must_be(f"checkpoint {directory}: critic", "a JSON object or null", critic))
        _check_widths(directory, "widths of the critic", critic.get("widths"))
    if not isinstance(metadata.setdefault("about", {}), dict):
        raise CheckpointError(must_be(f"checkpoint {directory}: about", "a JSON object", metadata["about"]))
    return metadata


def _check_widths(directory: str | Path, name: str, widths: Any) -> None:
    if (
        not isinstance(widths, list)
        or not 0 < len(widths) <= MAX_LAYERS
        or not all(type(width) is int and 0 < width <= WIDEST for width in widths)
    ):
        expected = f"a list of 1 to {MAX_LAYERS} widths from 1 to {WIDEST}"
        raise CheckpointError(must_be(f"checkpoint {directory}: {name}", expected, widths))


def _read_json(directory: Path) -> dict[str, Any]:
    try:
        metadata = read_json(directory / METADATA)
    except OSError as error:
        allowed = "" if directory.is_dir() else "; a checkpoint is a directory, such as a run's best or last"
        raise CheckpointError(
            f"checkpoint {directory}: {METADATA} cannot be read ({error.strerror}){allowed}"
        ) from None
    except JsonError as error:
        raise CheckpointError(f"checkpoint {directory}: {METADATA} is not JSON ({error})") from None
    return metadata if isinstance(metadata, dict) else {}


def load_checkpoint(directory: str | Path) -> tuple[Actor, dict[str, Any]]:
    """The actor of a checkpoint, and its metadata.

    Raises:
        CheckpointError: if a file is missing, truncated or of another version, or the files do not belong together.
    """
    metadata = read_metadata(directory)
    return load_weights(
        Path(directory) / WEIGHTS, METADATA, metadata, lambda: _make(Actor, metadata["widths"], metadata)
    ), metadata


def load_critic(directory: str | Path) -> Critic:
    """The critic of a checkpoint.

    Raises:
        CheckpointError: if it has no critic, a file is missing or truncated, or the files do not belong together.
    """
    metadata = read_metadata(directory)
    about = metadata.get("critic")
    if about is None:
        raise CheckpointError(f"checkpoint {directory}: it has no critic; checkpoints that training wrote have one")
    return load_weights(Path(directory) / CRITIC, METADATA, about, lambda: _make(Critic, about["widths"], metadata))


def _make(kind: type[Network], widths: list[int], metadata: dict[str, Any]) -> Network:
    return kind(widths, metadata["context"], metadata["heuristic_features"], metadata["share_suits"])


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
    name = f"checkpoint {path.parent}: {path.name}"
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise OSError(errno.EINVAL, f"Not a regular file of at most {_MAX_BYTES >> 30} GiB")
        found = _digest(path)
    except OSError as error:
        raise CheckpointError(f"{name} cannot be read ({error.strerror})") from None
    if found != about.get("weights_sha256"):
        raise CheckpointError(f"{name} is truncated or not the file that {described} describes")
    try:
        with safe_open(path, "pt") as file:
            numbers = sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())
        # Before a network is made, which could take far more memory than the file.
        least = sum(a * b for a, b in itertools.pairwise(about.get("widths", ())))
        if numbers < least:
            raise RuntimeError(f"it holds {numbers:,} numbers, too few for layers of {least:,}")
        network = make()
        network.load_state_dict({key: value.float() for key, value in load_file(str(path)).items()})
    except (SafetensorError, RuntimeError, KeyError, TypeError, OSError) as error:
        reason = str(error).splitlines()[0][:300]
        raise CheckpointError(f"{name} does not fit the network that {described} describes ({reason})") from None
    if broken := [key for key, value in network.state_dict().items() if not value.isfinite().all()]:
        raise CheckpointError(f"{name} holds numbers that are not finite, in {broken[0]}; training it broke down")
    return network.eval()
