"""Work that goes on where it was stopped: each part that is done is a file, found again by what the part depends on."""

from __future__ import annotations

import hashlib
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import parse_json, write_atomic, writing


class Parts:
    """Parts of some work in a directory.

    A file's name is a hash of everything that its part depends on, so parts of other work, or of other versions of it, are never found;
    they may lie in the same directory. A part is whole or missing: it is written beside its place and renamed.

    Args:
        directory: made when the first part is saved.
        depends: what all parts depend on, as JSON values.
    """

    def __init__(self, directory: Path, **depends: Any) -> None:
        self.directory, self._depends = directory, depends
        self._done: set[Path] = set()

    def _path(self, depends: dict[str, Any]) -> Path:
        text = json.dumps(self._depends | depends, sort_keys=True)
        return self.directory / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"

    def load(self, **depends: Any) -> dict[str, Any] | None:
        """A part's arrays and JSON values as they were saved; ``None`` if it is missing or damaged, so that it is to be done again.

        Args:
            depends: what this part depends on besides.

        Raises:
            OSError: if it is there and cannot be read.
        """
        path = self._path(depends)
        if not path.exists():
            return None
        content = io.BytesIO(path.read_bytes())
        try:
            with np.load(content, allow_pickle=False) as stored:
                arrays = dict(stored)
            part = parse_json(arrays.pop("values").tobytes()) | arrays
        except Exception:  # what reads a damaged archive fails in many ways
            return None
        self._done.add(path)
        return part

    def save(self, part: dict[str, Any], **depends: Any) -> None:
        """Keeps a part: arrays, and JSON values.

        Raises:
            FileError: if it cannot be written.
        """
        arrays: dict[str, Any] = {name: value for name, value in part.items() if isinstance(value, np.ndarray)}
        values = json.dumps({name: value for name, value in part.items() if name not in arrays})
        path = self._path(depends)

        def write(temporary: str) -> None:
            with open(temporary, "wb") as file:
                np.savez_compressed(file, values=np.frombuffer(values.encode(), np.uint8), **arrays)

        with writing(path):
            write_atomic(path, write)
        self._done.add(path)

    def remove(self) -> None:
        """Removes the parts that were loaded or saved, once a result holds what they say, and the directory if it held no others."""
        with suppress(OSError):
            for path in self._done:
                path.unlink(missing_ok=True)
            self.directory.rmdir()
