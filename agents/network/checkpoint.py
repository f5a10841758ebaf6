"""Checkpoints: a directory with weights (safetensors) and a readable JSON that says what they are and how they came about.

Nothing in a checkpoint can execute code. The JSON names the hash of the weights, so a pair that does not belong together, a truncated
file or a file of another version is refused with one sentence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from agents.files import write_atomic, write_json
from agents.network.nets import NUM_CONDITIONS, Actor, Critic
from ginenv.actions import NUM_ACTIONS
from ginenv.encoding import OBSERVATION_SIZE, OBSERVATION_VERSION
from ginenv.errors import GinError

FORMAT_VERSION = 1
Network = TypeVar("Network", Actor, Critic)
WEIGHTS = "weights.safetensors"
# What training knew of the worth of positions with both hands open: for the search, which deals the hidden cards itself.
CRITIC = "critic.safetensors"
CARD = "checkpoint.json"


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
    card = {
        "format": FORMAT_VERSION,
        "kind": "actor",
        "observation_version": OBSERVATION_VERSION,
        "observation_size": OBSERVATION_SIZE,
        "conditions": NUM_CONDITIONS,
        "habits": actor.habits,
        "advice": actor.advice,
        "actions": NUM_ACTIONS,
        "widths": list(widths),
        "weights_sha256": digest,
        "critic": value,
    }
    write_json(directory / CARD, card | {"about": about})


def read_card(directory: str | Path) -> dict[str, Any]:
    """The JSON of a checkpoint, checked against this version.

    Raises:
        CheckpointError: if it cannot be read or is of another version.
    """
    path = Path(directory) / CARD
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"checkpoint {directory}: {CARD} cannot be read ({error.strerror})") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"checkpoint {directory}: {CARD} is no JSON ({error})") from None
    expected = {
        "format": FORMAT_VERSION,
        "kind": "actor",
        "observation_version": OBSERVATION_VERSION,
        "observation_size": OBSERVATION_SIZE,
        "conditions": NUM_CONDITIONS,
        "actions": NUM_ACTIONS,
    }
    for key, value in expected.items():
        found = card.get(key) if isinstance(card, dict) else None
        if found != value:
            raise CheckpointError(f"checkpoint {directory}: {key} is {found!r}; this version reads {value!r}")
    habits = card.setdefault("habits", 0)
    if not isinstance(habits, int) or not 0 <= habits <= 1024:
        raise CheckpointError(f"checkpoint {directory}: habits is {habits!r}; allowed is a whole number from 0 to 1024")
    widths = card.get("widths")
    if not isinstance(widths, list) or not widths or not all(isinstance(w, int) and 0 < w <= 8192 for w in widths):
        raise CheckpointError(
            f"checkpoint {directory}: widths is {widths!r}; allowed is a list of layer widths from 1 to 8192"
        )
    return card


def load_checkpoint(directory: str | Path) -> tuple[Actor, dict[str, Any]]:
    """The actor of a checkpoint, and its JSON.

    Raises:
        CheckpointError: if a file is missing, truncated, of another version, or does not belong to the other.
    """
    directory = Path(directory)
    card = read_card(directory)
    actor = _load(
        directory,
        WEIGHTS,
        card.get("weights_sha256"),
        lambda: Actor(card["widths"], card["habits"], card.get("advice", 0)),
    )
    return actor, card


def load_critic(directory: str | Path) -> Critic:
    """The critic of a checkpoint.

    Raises:
        CheckpointError: if it has none, or a file is missing, truncated, or does not belong to the other.
    """
    directory = Path(directory)
    card = read_card(directory)
    about = card.get("critic")
    if not isinstance(about, dict) or not isinstance(about.get("widths"), list):
        raise CheckpointError(f"checkpoint {directory}: it has no critic; allowed are checkpoints that training wrote")
    digest = about.get("weights_sha256")
    return _load(directory, CRITIC, digest, lambda: Critic(about["widths"], card["habits"], card.get("advice", 0)))


def _load(directory: Path, name: str, digest: str | None, make: Callable[[], Network]) -> Network:
    path = directory / name
    try:
        found = _digest(path)
    except OSError as error:
        raise CheckpointError(f"checkpoint {directory}: {name} cannot be read ({error.strerror})") from None
    if found != digest:
        raise CheckpointError(f"checkpoint {directory}: {name} is truncated or not the file that {CARD} describes")
    try:
        tensors: dict[str, Tensor] = load_file(str(path))
        network = make()
        network.load_state_dict({name: value.float() for name, value in tensors.items()})
    except (SafetensorError, RuntimeError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(
            f"checkpoint {directory}: {name} does not fit the network that {CARD} names ({reason})"
        ) from None
    network.eval()
    return network
