"""Resume files: everything needed to continue a training run bit for bit, the last three of each process.

Tensors and plain values only, so that reading one executes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from agents.files import write_atomic
from agents.learning.distributed import Workers
from ginenv.errors import GinError

KEPT = 3
NO_BATCHES = -1


class ResumeFiles:
    """The resume files of one process of a run.

    Args:
        out: directory of the run.
        workers: the processes that train together; each keeps files of its own.
    """

    def __init__(self, out: Path, workers: Workers) -> None:
        self.out, self.workers = out, workers
        self.name = "resume.pt" if workers.rank == 0 else f"resume-{workers.rank}.pt"

    def save(self, state: dict[str, Any]) -> None:
        """Writes the newest file; of older ones two are kept."""
        for age in range(KEPT - 1, 0, -1):
            older = self.out / f"{self.name}.{age}"
            newer = self.out / (f"{self.name}.{age - 1}" if age > 1 else self.name)
            if newer.exists():
                newer.replace(older) if age > 1 else older.unlink(missing_ok=True) or os.link(newer, older)
        write_atomic(self.out / self.name, lambda temporary: torch.save(state, temporary))

    def find(self) -> Path | None:
        """The file to continue from: the newest, or that of the latest batch which every process has kept.

        A crash may have come between two processes' files of a batch.

        Raises:
            GinError: if files are there but no batch is common to all processes.
        """
        if self.workers.world == 1:
            newest = self.out / self.name
            return newest if newest.exists() else None
        paths = [self.out / f"{self.name}{age}" for age in ("", *(f".{k}" for k in range(1, KEPT)))]
        kept = self.workers.gather([_batches_of(path) for path in paths])
        common = set.intersection(*(set(batches) for batches in kept)) - {NO_BATCHES}
        if common:
            return paths[kept[self.workers.rank].index(max(common))]
        if any(batches != [NO_BATCHES] * KEPT for batches in kept):
            raise GinError(
                f"the resume files of {self.workers.world} processes have no batch in common; "
                "allowed is as many processes as the run had before, or a fresh start"
            )
        return None


def _batches_of(path: Path) -> int:
    """How many batches a resume file holds, or ``NO_BATCHES`` for a file that is missing or damaged."""
    try:
        return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["batches"])
    except Exception:
        return NO_BATCHES
