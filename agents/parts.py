"""Work that goes on where it was stopped: each part that is done is a file, found again by what the part depends on."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import digest_of_file, parse_json, write_atomic, writing

_FILES = "files:"  # beside a part's own values, the digests of its files


class Parts:
    """Parts of some work in a directory.

    A file's name is a hash of everything that its part depends on, so parts of other work, or of other versions of it, are never found;
    they may lie in the same directory. A part is whole or missing: it is written beside its place and renamed.

    A part may also depend on files, such as those of a program. If one of them has changed, the part is missing, and a sentence says so. A
    file that changes while a part is done is taken for one that the program writes, and the part does not depend on it.

    Args:
        directory: made when the first part is saved.
        depends: what all parts depend on, as JSON values.
    """

    def __init__(self, directory: Path, **depends: Any) -> None:
        self.directory, self._depends = directory, depends
        self._done: set[Path] = set()
        self._seen: dict[str, str] = {}

    def _path(self, depends: dict[str, Any]) -> Path:
        text = json.dumps(self._depends | depends, sort_keys=True)
        return self.directory / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"

    def load(self, files: Iterable[str] = (), **depends: Any) -> dict[str, Any] | None:
        """A part's arrays and JSON values as they were saved; ``None`` if it is missing or damaged, so that it is to be done again.

        Args:
            files: paths of files on which it depends; those that do not exist do not count.
            depends: what this part depends on besides.

        Raises:
            OSError: if it is there and cannot be read.
        """
        now = _digests(files)
        self._seen |= now
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
        if changed := [name for name, digest in part.pop(_FILES, {}).items() if now.get(name) != digest]:
            return _say_changed(changed[0])
        self._done.add(path)
        return part

    def save(self, part: dict[str, Any], files: Iterable[str] = (), **depends: Any) -> None:
        """Keeps a part: arrays, and JSON values; ``files`` and ``depends`` as in ``load``, which was called before the part was done.

        Raises:
            FileError: if it cannot be written.
        """
        arrays: dict[str, Any] = {name: value for name, value in part.items() if isinstance(value, np.ndarray)}
        now = _digests(files)
        unchanged = dict(now.items() & self._seen.items())
        self._seen |= now
        values = json.dumps({name: value for name, value in part.items() if name not in arrays} | {_FILES: unchanged})
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


def _digests(paths: Iterable[str]) -> dict[str, str]:
    """The digests of those paths that are files which can be read; they may be any words."""
    found = {path: os.stat(path) for path in paths if os.path.isfile(path) and os.access(path, os.R_OK)}
    # A name need not be text, which JSON is.
    return {ascii(path): _digest(path, about.st_mtime_ns, about.st_size) for path, about in found.items()}


@cache
def _say_changed(name: str) -> None:
    print(f"{name} has changed, so what was done with it before is done again.", file=sys.stderr)


@cache
def _digest(path: str, *_: int) -> str:
    """The digest of a file, which is read again if its time or its size is another one."""
    return digest_of_file(path)
