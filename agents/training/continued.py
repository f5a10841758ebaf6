"""Checks what a run's directory holds before it is continued: only the same run may go on there, so that its metadata stays true."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.config import TrainConfig, parse_config
from agents.files import read_json
from agents.network.checkpoint import WEIGHTS, read_metadata
from agents.network.player import network_directory
from ginenv.errors import GinError, reason_of

CONFIG = "config.json"
# Settings that may differ when a run is continued: how long it goes on, how it is measured and saved, and what computes it. With another
# number of threads new games are begun and sums are added in another order.
_MAY_CHANGE = {"decisions", "minutes", "panel", "panel_games", "panel_every", "save_every", "threads", "device"}


@dataclass
class Held:
    """What a directory holds of a run that is continued.

    Attributes:
        commands: that began and continued it, oldest first, without the one that continues it now.
        measured: decisions after which its last checkpoint was measured; 0 if it was not.
    """

    commands: list[str] = field(default_factory=list)
    measured: int = 0


def parent_of(start: str | None) -> dict[str, str | None]:
    """What a checkpoint's metadata says of the checkpoint that its run began from."""
    weights = None if start is None else read_metadata(network_directory(start))["weights_sha256"]
    return {"parent": start, "parent_sha256": weights}


def read_held(out: Path, config: TrainConfig, parent: dict[str, str | None], command: str) -> Held:
    """Checks that a directory holds the run that is to be continued there.

    Args:
        out: the directory.
        config: of the run.
        parent: what it began from (``parent_of``).
        command: that continues it.

    Raises:
        GinError: if it holds a run that learned with other settings, or began from another checkpoint.
    """
    _check_settings(out, config)
    if not (out / "last" / WEIGHTS).exists():
        return Held()
    about = read_metadata(out / "last")["about"]
    _check_parent(out, about, parent)
    earlier, decisions = about.get("earlier_commands"), about.get("decisions")
    commands = list(earlier) if isinstance(earlier, list) else []
    if about.get("command") not in (None, command):
        commands.append(about["command"])
    # After an interrupt there is a checkpoint, but no measurement of it.
    is_measured = bool(about.get("panel")) or not config.eval_opponents
    return Held(commands, decisions if is_measured and isinstance(decisions, int) else 0)


def _check_settings(out: Path, config: TrainConfig) -> None:
    path = out / CONFIG
    if not path.exists():
        # A resume file without a configuration can be used too.
        return
    try:
        held = parse_config(read_json(path), source=str(path)).model_dump(mode="json")
    except (OSError, ValueError) as error:
        raise GinError(
            f"{path} cannot be read, so nobody knows by what settings its run learned ({reason_of(error)}); "
            "choose another --out, or --fresh"
        ) from None
    mine = config.model_dump(mode="json")
    for settings in (held, mine):
        settings |= {f"network.{key}": value for key, value in settings.pop("network").items()}
    other = [
        f"{key} is {held[key]} there and {mine[key]} here"
        for key in mine
        if key not in _MAY_CHANGE and held[key] != mine[key]
    ]
    if other:
        raise GinError(f"{out} holds a run of other settings ({', '.join(other)}); choose another --out, or --fresh")


def _check_parent(out: Path, about: dict[str, Any], parent: dict[str, str | None]) -> None:
    # Checkpoints of earlier versions have the parent's path alone.
    key = "parent_sha256" if "parent_sha256" in about else "parent"
    if about.get(key) != parent[key]:
        there, here = (str(one or "nothing")[:300] for one in (about.get("parent"), parent["parent"]))
        other = f"{there}, and here it is {here}" if there != here else f"what {there} was then"
        raise GinError(f"{out} holds a run that began from {other}; choose another --out, or --fresh")
