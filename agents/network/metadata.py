"""What a checkpoint says about itself: its metadata, and the check that a file of weights is the one that it describes. Without torch."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

from agents.config import MAX_LAYERS, WIDEST
from agents.files import JsonError, digest_of_file, read_json
from agents.network.inputs import NUM_CONDITIONS, NUM_HEURISTIC_FEATURES
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


VERSION = {
    "format": FORMAT_VERSION,
    "kind": "actor",
    "observation_version": OBSERVATION_VERSION,
    "observation_size": OBSERVATION_SIZE,
    "conditions": NUM_CONDITIONS,
    "heuristic_features": NUM_HEURISTIC_FEATURES,
    "actions": NUM_ACTIONS,
}


class CheckpointError(GinError):
    """A checkpoint that cannot be used."""


def check_weights(path: Path, described: str, about: dict[str, Any]) -> str:
    """Checks that a file of weights is the one described; returns its name for messages.

    Raises:
        CheckpointError: if the file is missing, truncated, or not the one described.
    """
    name = f"checkpoint {path.parent}: {path.name}"
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise OSError(errno.EINVAL, f"Not a regular file of at most {_MAX_BYTES >> 30} GiB")
        found = digest_of_file(path)
    except OSError as error:
        raise CheckpointError(f"{name} cannot be read ({error.strerror})") from None
    if found != about.get("weights_sha256"):
        raise CheckpointError(f"{name} is truncated or not the file that {described} describes")
    return name


def read_metadata(directory: str | Path) -> dict[str, Any]:
    """The metadata of a checkpoint.

    Raises:
        CheckpointError: if it cannot be read or is of another version.
    """
    if directory == "":
        raise CheckpointError("checkpoint must be a directory, not empty")
    metadata = _read_json(Path(directory))
    for key, value in VERSION.items():
        if metadata.get(key) != value:
            raise CheckpointError(
                f"checkpoint {directory}: {key} is {quoted(metadata.get(key))}; this version reads {value!r}"
            )
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
