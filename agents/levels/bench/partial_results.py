"""The parts of a long benchmark as files, so that an interrupted one continues with the part that it had reached."""

from __future__ import annotations

import contextlib
import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.series import report_hands
from agents.files import write_atomic, writing
from agents.interrupts import allow_interrupts, defer_interrupts


class PartialResults:
    """The parts of one benchmark that have been played; those of other benchmarks lie beside them under other names.

    Args:
        directory: of the files; made with the first one. ``None`` keeps nothing.
        about: everything that the results depend on, as plain JSON values.
    """

    def __init__(self, directory: Path | None, about: dict[str, Any]) -> None:
        self.directory = directory
        self.digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]

    def play(self, name: str, hands: int, play: Callable[[], Sequence[np.ndarray]]) -> list[np.ndarray]:
        """The points of a part: from its file, or played now and kept. Interrupts are raised only while it plays.

        Args:
            name: of the part.
            hands: number of hands that it plays, for the progress.
            play: plays it.
        """
        if self.directory is None:
            return list(play())
        path = self.directory / f"{self.digest}-{name}.npz"
        with contextlib.suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            with np.load(path, allow_pickle=False) as stored:
                points = [stored[f"arr_{k}"] for k in range(len(stored.files))]
            report_hands(hands)
            return points
        with defer_interrupts():
            with allow_interrupts():
                points = list(play())

            def write(temporary: str) -> None:
                with open(temporary, "wb") as file:
                    np.savez_compressed(file, *points)

            with writing(path):
                write_atomic(path, write)
        return points

    def __len__(self) -> int:
        """How many parts have been played."""
        return 0 if self.directory is None else len(list(self.directory.glob(f"{self.digest}-*.npz")))

    def drop(self) -> None:
        """Removes the files, once the results are written."""
        if self.directory is not None and self.directory.is_dir():
            for path in self.directory.glob(f"{self.digest}-*.npz"):
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                # Parts of other benchmarks may lie there.
                self.directory.rmdir()
