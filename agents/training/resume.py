"""What a run continues from: resume files, read without executing anything, and the check that a directory holds the same run.

A resume file continues a run bit for bit; the last three of each process are kept. Only the same run may go on in a directory, so that its
metadata stays true.
"""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from agents.config import TrainConfig
from agents.files import read_json_object, write_bytes
from agents.network.checkpoint import WEIGHTS, read_metadata
from agents.network.player import network_directory
from agents.training.distributed import Workers
from ginenv.errors import GinError

CONFIG = "config.json"
# Settings that may differ when a run is continued: how long it goes on, how it is measured and saved, and what computes it. With another
# number of threads new games are begun and sums are added in another order.
_MAY_CHANGE = {"decisions", "minutes", "eval_games", "eval_every", "threads", "device"}
NUM_COPIES = 3
NO_BATCHES = -1


class ResumeFiles:
    """The resume files of one process of a run in directory ``out``; each of the workers has its own."""

    def __init__(self, out: Path, workers: Workers) -> None:
        self.workers = workers
        name = "resume.pt" if workers.rank == 0 else f"resume-{workers.rank}.pt"
        self.paths = [out / f"{name}{age}" for age in ("", *(f".{k}" for k in range(1, NUM_COPIES)))]

    def save(self, state: dict[str, Any]) -> None:
        """Writes the newest file and keeps two older ones."""
        made = io.BytesIO()
        torch.save(state, made)
        for older, newer in pairwise(reversed(self.paths)):
            if newer.exists():
                newer.replace(older)
        write_bytes(self.paths[0], made.getbuffer())

    def find(self) -> Path | None:
        """The file to continue from: the newest, or with several processes that of the latest batch that all of them have.

        Raises:
            GinError: if there are files but no batch is common to all processes.
        """
        if self.workers.world == 1:
            return next((path for path in self.paths if path.exists()), None)
        saved = self.workers.gather([_batches_of(path) for path in self.paths])
        common = set.intersection(*(set(batches) for batches in saved)) - {NO_BATCHES}
        if common:
            return self.paths[saved[self.workers.rank].index(max(common))]
        if any(batches != [NO_BATCHES] * NUM_COPIES for batches in saved):
            raise GinError(
                f"the resume files of {self.workers.world} processes have no batch in common; "
                "continue with as many processes as the run had before, or start afresh"
            )
        return None

    def read(self, path: Path) -> dict[str, Any]:
        """What was saved.

        Raises:
            GinError: if the file is damaged.
        """
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except Exception:
            raise GinError(f"{path} is damaged; without it an older one continues, and --fresh begins again") from None


def _batches_of(path: Path) -> int:
    """The number of batches in a resume file, or ``NO_BATCHES`` if it is missing or damaged."""
    try:
        return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["batches"])
    except Exception:
        return NO_BATCHES


def parent_of(start: str | None) -> dict[str, str | None]:
    """What a checkpoint's metadata says of the checkpoint that its run began from."""
    weights = None if start is None else read_metadata(network_directory(start))["weights_sha256"]
    return {"parent": start, "parent_sha256": weights}


def read_saved_run(
    out: Path, config: TrainConfig, parent: dict[str, str | None], command: str
) -> tuple[list[str], int]:
    """Checks that a directory holds the run that is to be continued there.

    Args:
        out: the directory.
        config: of the run.
        parent: what it began from (``parent_of``).
        command: that continues it.

    Returns:
        The commands that began and continued it, oldest first, without this one; and the decisions after which it was last measured, 0
        if it was not.

    Raises:
        GinError: if it holds a run that learned with other settings, or began from another checkpoint.
    """
    _check_settings(out, config)
    if not (out / "last" / WEIGHTS).exists():
        return [], 0
    about = read_metadata(out / "last")["about"]
    _check_parent(out, about, parent)
    earlier, curve = about.get("earlier_commands"), about.get("curve")
    commands = list(earlier) if isinstance(earlier, list) else []
    if about.get("command") not in (None, command):
        commands.append(about["command"])
    # After an interrupt there is a checkpoint, but no measurement of it.
    return commands, curve[-1]["decisions"] if curve else 0


def _check_settings(out: Path, config: TrainConfig) -> None:
    path = out / CONFIG
    if not path.exists():
        # A resume file without a configuration can be used too.
        return
    recorded = read_json_object(path, f"the run in {out}")
    mine = config.model_dump(mode="json")
    for settings in (recorded, mine):
        settings |= {f"network.{key}": value for key, value in settings.pop("network", {}).items()}
    other = [
        f"{key} is {recorded.get(key)} there and {mine[key]} here"
        for key in mine
        if key not in _MAY_CHANGE and recorded.get(key) != mine[key]
    ]
    if other:
        raise GinError(f"{out} holds a run of other settings ({', '.join(other)}); choose another --out, or --fresh")


def _check_parent(out: Path, about: dict[str, Any], parent: dict[str, str | None]) -> None:
    if about.get("parent_sha256") != parent["parent_sha256"]:
        there, here = (str(one or "scratch")[:300] for one in (about.get("parent"), parent["parent"]))
        other = f"{there}, and here it is {here}" if there != here else f"what {there} was then"
        raise GinError(f"{out} holds a run that began from {other}; choose another --out, or --fresh")
