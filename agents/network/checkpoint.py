"""Checkpoints: a directory with weights (safetensors) and a readable JSON that says what they are and how they came about.

Nothing in a checkpoint can execute code. The JSON names the hash of the weights, so a pair that does not belong together, a truncated
file or a file of another version is refused with one sentence.

``gin convert DIRECTORY`` converts checkpoints of networks that read habits of their opponents.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from agents.files import write_atomic, write_json
from agents.network.nets import NUM_CONDITIONS, NUM_FUTURE, Actor, Critic, Network
from ginenv.actions import NUM_ACTIONS
from ginenv.encoding import OBSERVATION_SIZE, OBSERVATION_VERSION
from ginenv.errors import GinError

FORMAT_VERSION = 1
WEIGHTS = "weights.safetensors"
# What training knew of the worth of positions with both hands open: for the search, which deals the hidden cards itself.
CRITIC = "critic.safetensors"
METADATA = "checkpoint.json"


class CheckpointError(GinError):
    """A checkpoint that cannot be used."""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _save_weights(path: Path, network: nn.Module) -> str:
    tensors = {name: value.detach().to(torch.bfloat16).contiguous() for name, value in network.state_dict().items()}
    write_atomic(path, lambda temporary: save_file(tensors, temporary))
    return _digest(path)


def save_checkpoint(
    directory: str | Path,
    actor: Actor,
    widths: tuple[int, ...],
    about: dict[str, Any],
    critic: Critic | None = None,
    critic_widths: tuple[int, ...] = (),
    reward: str = "game",
) -> None:
    """Writes an actor as a checkpoint, and its critic beside it.

    Args:
        directory: made if need be; an older checkpoint in it is replaced, weights first.
        actor: the network.
        widths: of its hidden layers.
        about: everything that made it (rules, steps, seed, results, command); plain JSON values.
        critic: the value network, where there is one.
        critic_widths: of its hidden layers.
        reward: what it foresees, ``points`` or ``game`` (see ``TrainConfig``).
    """
    directory = Path(directory)
    digest = _save_weights(directory / WEIGHTS, actor)
    value = None
    if critic is not None:
        digest_of_critic = _save_weights(directory / CRITIC, critic)
        value = {"widths": list(critic_widths), "reward": reward, "weights_sha256": digest_of_critic}
    metadata = {
        "format": FORMAT_VERSION,
        "kind": "actor",
        "observation_version": OBSERVATION_VERSION,
        "observation_size": OBSERVATION_SIZE,
        "conditions": NUM_CONDITIONS,
        "context": actor.context,
        "heuristic_features": actor.heuristic_features,
        "actions": NUM_ACTIONS,
        "widths": list(widths),
        "weights_sha256": digest,
        "critic": value,
    }
    write_json(directory / METADATA, metadata | {"about": about})


def read_metadata(directory: str | Path) -> dict[str, Any]:
    """The JSON of a checkpoint, checked against this version.

    Raises:
        CheckpointError: if it cannot be read or is of another version.
    """
    metadata = _read_json(Path(directory))
    if habits := metadata.pop("habits", 0):
        raise CheckpointError(
            f"checkpoint {directory}: its network reads {habits} habits of the opponent, which nobody counts any more; "
            f"gin convert {directory} drops them"
        )
    if "advice" in metadata:
        metadata["heuristic_features"] = metadata.pop("advice")
    expected = {
        "format": FORMAT_VERSION,
        "kind": "actor",
        "observation_version": OBSERVATION_VERSION,
        "observation_size": OBSERVATION_SIZE,
        "conditions": NUM_CONDITIONS,
        "actions": NUM_ACTIONS,
    }
    for key, value in expected.items():
        if metadata.get(key) != value:
            raise CheckpointError(
                f"checkpoint {directory}: {key} is {metadata.get(key)!r}; this version reads {value!r}"
            )
    for key in ("context", "heuristic_features"):
        width = metadata.setdefault(key, 0)
        if not isinstance(width, int) or not 0 <= width <= 1024:
            raise CheckpointError(
                f"checkpoint {directory}: {key} is {width!r}; allowed is a whole number from 0 to 1024"
            )
    widths = metadata.get("widths")
    if not isinstance(widths, list) or not widths or not all(isinstance(w, int) and 0 < w <= 8192 for w in widths):
        raise CheckpointError(
            f"checkpoint {directory}: widths is {widths!r}; allowed is a list of layer widths from 1 to 8192"
        )
    return metadata


def _read_json(directory: Path) -> dict[str, Any]:
    try:
        metadata = json.loads((directory / METADATA).read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"checkpoint {directory}: {METADATA} cannot be read ({error.strerror})") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"checkpoint {directory}: {METADATA} is no JSON ({error})") from None
    return metadata if isinstance(metadata, dict) else {}


def load_checkpoint(directory: str | Path) -> tuple[Actor, dict[str, Any]]:
    """The actor of a checkpoint, and its JSON.

    Raises:
        CheckpointError: if a file is missing, truncated, of another version, or does not belong to the other.
    """
    directory = Path(directory)
    metadata = read_metadata(directory)
    extras = metadata["context"], metadata["heuristic_features"]
    actor = _load(directory, WEIGHTS, metadata.get("weights_sha256"), lambda: Actor(metadata["widths"], *extras))
    return actor, metadata


def load_critic(directory: str | Path) -> Critic:
    """The critic of a checkpoint.

    Raises:
        CheckpointError: if it has none, or a file is missing, truncated, or does not belong to the other.
    """
    directory = Path(directory)
    metadata = read_metadata(directory)
    about = metadata.get("critic")
    if not isinstance(about, dict) or not isinstance(about.get("widths"), list):
        raise CheckpointError(f"checkpoint {directory}: it has no critic; allowed are checkpoints that training wrote")
    extras = metadata["context"], metadata["heuristic_features"]
    return _load(directory, CRITIC, about.get("weights_sha256"), lambda: Critic(about["widths"], *extras))


def _load(directory: Path, name: str, digest: str | None, make: Callable[[], Network]) -> Network:
    path = directory / name
    try:
        found = _digest(path)
    except OSError as error:
        raise CheckpointError(f"checkpoint {directory}: {name} cannot be read ({error.strerror})") from None
    if found != digest:
        raise CheckpointError(f"checkpoint {directory}: {name} is truncated or not the file that {METADATA} describes")
    try:
        tensors: dict[str, Tensor] = load_file(str(path))
        network = make()
        network.load_state_dict({name: value.float() for name, value in tensors.items()})
    except (SafetensorError, RuntimeError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(
            f"checkpoint {directory}: {name} does not fit the network that {METADATA} names ({reason})"
        ) from None
    network.eval()
    return network


def drop_context(directory: str | Path) -> bool:
    """Converts the checkpoint of a network that read habits of its opponent: the columns for them go.

    Nothing that ships ever told such a network a habit, so it plays as before.

    Returns:
        Whether there was anything to convert.

    Raises:
        CheckpointError: if the checkpoint cannot be read.
    """
    directory = Path(directory)
    metadata = _read_json(directory)
    habits = metadata.pop("habits", 0)
    if habits:
        shown, features = OBSERVATION_SIZE + NUM_CONDITIONS, metadata.get("advice", 0)
        metadata["weights_sha256"] = _drop_columns(directory / WEIGHTS, shown, habits, features)
        if metadata.get("critic"):
            told = shown + NUM_CONDITIONS + 52 + NUM_FUTURE
            metadata["critic"]["weights_sha256"] = _drop_columns(directory / CRITIC, told, habits, features)
        write_json(directory / METADATA, metadata)
    return bool(habits)


def _drop_columns(path: Path, first: int, count: int, after: int) -> str:
    """Rewrites weights without the middle columns of the first layer; returns their new digest."""
    try:
        tensors = load_file(str(path))
        weight = tensors["trunk.layers.0.weight"]
    except (OSError, SafetensorError, KeyError) as error:
        raise CheckpointError(f"checkpoint {path.parent}: {path.name} cannot be read ({error})") from None
    # A conversion that broke off before the JSON was written may have dropped them already.
    if weight.shape[1] == first + count + after:
        tensors["trunk.layers.0.weight"] = torch.cat([weight[:, :first], weight[:, first + count :]], 1)
        write_atomic(path, lambda temporary: save_file(tensors, temporary))
    return _digest(path)
