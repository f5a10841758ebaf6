"""Files that survive: written beside the old one, flushed, and renamed over it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


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


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file atomically."""

    def write(temporary: str) -> None:
        Path(temporary).write_text(text, encoding="utf-8")

    write_atomic(path, write)


def write_json(path: str | Path, value: Any) -> None:
    """Writes a JSON file atomically, readable and with sorted keys."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")
