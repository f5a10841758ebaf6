"""Files that survive: written beside the old one, flushed, and renamed over it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ginenv.errors import GinError


class FileError(GinError):
    """A file that cannot be written."""


def write_atomic(path: str | Path, write: Callable[[str], None]) -> None:
    """Writes a file so that a reader, or a machine that stops in between, sees the old one or the new one, never a half.

    Args:
        path: the file's final place.
        write: is called with the name of a temporary file in the same directory, which it writes.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        write(temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Says in one sentence what could not be written, in programs that can only end then.

    Raises:
        FileError: in place of any ``OSError`` within.
    """
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None


def check_writable(path: str | Path) -> None:
    """Refuses a place for a file before the work whose result it is to hold; makes the directories that lead there.

    Raises:
        FileError: if a file cannot be written there.
    """
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} cannot be written: it is a directory, not a file")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        Path(temporary).unlink()


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file atomically."""

    def write(temporary: str) -> None:
        Path(temporary).write_text(text, encoding="utf-8")

    write_atomic(path, write)


def write_json(path: str | Path, value: Any) -> None:
    """Writes a JSON file atomically, readable and with sorted keys."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")
