"""Resume files, which continue a training run bit for bit: the last three of each process, read without executing anything."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import torch

from agents.files import write_bytes
from agents.training.distributed import Workers
from ginenv.errors import GinError

KEPT = 3
NO_BATCHES = -1


class ResumeFiles:
    """The resume files of one process of a run in directory ``out``; each of the workers has its own."""

    def __init__(self, out: Path, workers: Workers) -> None:
        self.workers = workers
        name = "resume.pt" if workers.rank == 0 else f"resume-{workers.rank}.pt"
        self.paths = [out / f"{name}{age}" for age in ("", *(f".{k}" for k in range(1, KEPT)))]

    def save(self, state: dict[str, Any]) -> None:
        """Writes the newest file and keeps two older ones."""
        newest, newer, oldest = self.paths
        # A save that was broken off after the link has left one file under two names, and the older files are in their places.
        if newest.exists() and not (newer.exists() and newer.samefile(newest)):
            if newer.exists():
                newer.replace(oldest)
            os.link(newest, newer)
        made = io.BytesIO()
        torch.save(state, made)
        write_bytes(newest, made.getbuffer())

    def find(self) -> Path | None:
        """The file to continue from: the newest, or with several processes that of the latest batch that all of them have.

        Raises:
            GinError: if there are files but no batch is common to all processes.
        """
        if self.workers.world == 1:
            return self.paths[0] if self.paths[0].exists() else None
        kept = self.workers.gather([_batches_of(path) for path in self.paths])
        common = set.intersection(*(set(batches) for batches in kept)) - {NO_BATCHES}
        if common:
            return self.paths[kept[self.workers.rank].index(max(common))]
        if any(batches != [NO_BATCHES] * KEPT for batches in kept):
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
            older = next((str(other) for other in self.paths if other != path and other.exists()), None)
            how = f"renaming {older} to it goes back to an earlier state" if older else "--fresh begins anew"
            raise GinError(f"{path} is damaged; {how}") from None


def _batches_of(path: Path) -> int:
    """The number of batches in a resume file, or ``NO_BATCHES`` if it is missing or damaged."""
    try:
        return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["batches"])
    except Exception:
        return NO_BATCHES
