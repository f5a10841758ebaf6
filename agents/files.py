"""Files that survive: written beside the old file or directory, flushed, and put in its place; and the only reader of files of JSON."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from ginenv.errors import GinError, reason_of


class FileError(GinError):
    """A file that cannot be written."""


class JsonError(GinError):
    """A text that is not JSON; the message is the reason alone."""


# The largest file of JSON that this project writes is some megabytes.
MAX_BYTES = 64 << 20


def read_bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """The content of a file of at most so many bytes. A pipe, which might never end, is refused, as is a file that is too large.

    Raises:
        OSError: if it cannot be read, is not a regular file, or is larger than ``most``.
    """
    # Without O_NONBLOCK, opening a pipe would wait until somebody writes into it. On Windows there is none, but two kinds of files.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        if about.st_size > most:
            raise OSError(errno.EFBIG, f"Larger than {most >> 20} MiB", str(path))
        return file.read()


def digest_of_file(path: str | Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text (UTF-8). The parser bounds depth and digits, and refuses half a character (a lone surrogate).

    What the value must look like is not checked here, but by its schema where the value is used.

    Raises:
        JsonError: if it is not JSON.
    """
    try:
        return from_json(text)
    # For a ``str`` that is no text, a TypeError.
    except (ValueError, TypeError) as error:
        raise JsonError(str(error)) from None


def read_json(path: str | Path) -> Any:
    """The value of a file of JSON (see ``read_bytes`` and ``parse_json``).

    Raises:
        OSError: if the file cannot be read.
        JsonError: if it does not hold JSON.
    """
    return parse_json(read_bytes(path))


def read_json_object(path: Path, source: str) -> dict[str, Any]:
    """The JSON object of a file.

    Args:
        path: of the file.
        source: whose file it is, for error messages.

    Raises:
        GinError: if the file cannot be read or holds anything else.
    """
    try:
        values = read_json(path)
    except OSError as error:
        raise GinError(f"{source}: {path.name} cannot be read ({error.strerror})") from None
    except JsonError as error:
        raise GinError(f"{source}: {path.name} does not hold JSON ({error})") from None
    if not isinstance(values, dict):
        raise GinError(f"{source}: {path.name} does not hold a JSON object")
    return values


def free_name(base: str, taken: Container[str]) -> str:
    """The name, or the first of ``NAME-2``, ``NAME-3`` and so on that is not taken."""
    names = itertools.chain([base], (f"{base}-{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)


def new_results_file(name: str) -> Path:
    """Where a command puts its results unless told otherwise: ``runs/NAME.json``, or a numbered one if results are there already."""
    return Path("runs", f"{free_name(name, [path.stem for path in Path('runs').glob('*.json')])}.json")


def write_atomic(path: str | Path, write: Callable[[str], object], private: bool = False) -> None:
    """Writes a file so that readers find the old or the new one, never half of one, even if the machine stops in between.

    A new file is what the user's umask makes of it; a file that is replaced keeps its mode.

    Args:
        path: the file's final place.
        write: called with the name of a temporary file in the same directory, which it writes.
        private: whether nobody but this user may read the file.

    Raises:
        OSError: if it cannot be written, or a device or a pipe is in its place, which would be lost.
    """
    # For a link, the file that it points to is replaced.
    path = Path(os.path.realpath(path))
    _check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = stat.S_IMODE(path.stat().st_mode) if path.exists() and not private else None
    temporary = _new_beside(path, 0o600 if private else 0o666 if before is None else before | stat.S_IWUSR)
    try:
        write(temporary)
        _flush(temporary)
        if before is not None:
            # Some file systems (CIFS, FAT, Windows' disks under WSL) know no modes.
            with contextlib.suppress(OSError):
                os.chmod(temporary, before)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _new_beside(path: Path, mode: int) -> str:
    """Makes an empty file in the same directory, under another name."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    return str(temporary)


def copy_files(source: Path, to: Path) -> None:
    """Copies what a directory holds into another one; unlike ``shutil.copytree`` also where a file system knows no modes."""
    for path in sorted(source.iterdir()):
        copy = to / path.name
        if path.is_dir():
            copy.mkdir(exist_ok=True)
            copy_files(path, copy)
        else:
            shutil.copyfile(path, copy)
            with contextlib.suppress(OSError):
                shutil.copymode(path, copy)


@contextmanager
def replacing(directory: Path, keep: bool = False) -> Iterator[Path]:
    """A new directory that takes the place of ``directory`` once it is filled; files that belong together change together.

    A killed process leaves the old directory or the new one. Only a kill between two renames leaves the old one under another name
    (``.NAME.*/before``).

    Args:
        directory: to make or to replace, with everything in it.
        keep: whether the new directory begins as a copy of the old one, and not empty.

    Raises:
        OSError: if it cannot be written; the old directory is left as it was.
    """
    directory = Path(os.path.realpath(directory))
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as beside:
        made, before = Path(beside) / directory.name, Path(beside) / "before"
        made.mkdir(stat.S_IMODE(directory.stat().st_mode) | stat.S_IRWXU if directory.exists() else 0o777)
        if keep and directory.is_dir():
            copy_files(directory, made)
        yield made
        for path in made.rglob("*"):
            if path.is_file():
                _flush(path)
        try:
            if directory.exists():
                directory.rename(before)
            made.rename(directory)
        except BaseException:
            # With what is beside, the old one would be removed.
            if before.exists() and not directory.exists():
                before.rename(directory)
            raise


def _flush(path: str | Path) -> None:
    # Windows flushes only what may be written.
    with open(path, "rb" if os.name == "posix" else "r+b") as file:
        os.fsync(file.fileno())


def _check_replaceable(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Says in one sentence what could not be written, for programs that can then only end.

    Raises:
        FileError: in place of any ``OSError`` within.
    """
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be written: {reason_of(error)}") from None


def private_directory(path: Path) -> None:
    """Makes a directory, and those above it that are missing, for this user alone; one that others may look into already is named once.

    Raises:
        OSError: if it cannot be made.
    """
    for missing in [place for place in reversed((path, *path.parents)) if not place.exists()]:
        missing.mkdir(0o700, exist_ok=True)
    path.mkdir(exist_ok=True)
    if hasattr(os, "getuid") and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        _say_open(os.path.realpath(path))


@cache
def _say_open(path: str) -> None:
    print(f"Other users of this machine may look into {path}; chmod 700 on it keeps them out.", file=sys.stderr)


def check_writable(path: str | Path) -> None:
    """Checks that a file can be written, before the work whose result it is to hold; makes the directories that lead there.

    Raises:
        FileError: if a file cannot be written there.
    """
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise FileError(f"{path} cannot be written: it is a directory, not a file")
    with writing(path):
        _check_replaceable(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        Path(_new_beside(path, 0o600)).unlink()


def check_own(directory: Path, what: str, *marks: str) -> None:
    """Refuses a directory that holds something, but nothing that marks it as one to write into.

    Args:
        directory: to write into; a missing or an empty one will do.
        what: what the marks mark it as.
        marks: names of files, of which one is enough; ``*`` stands for anything. Errors name the first.

    Raises:
        FileError: if it holds other files.
    """
    # The names are listed once, and half-written files count too: another process may be writing the first file.
    names = os.listdir(directory) if directory.is_dir() else []
    marked = [name for name in names for mark in marks if fnmatch(name, mark) or fnmatch(name, f".{mark}.*")]
    if names and not marked:
        raise FileError(
            f"{directory} holds other files, and is no {what} (it has no {marks[0]}); choose a new or an empty directory"
        )


def write_bytes(path: str | Path, content: bytes | memoryview, private: bool = False) -> None:
    """Atomically writes content that a library has made; most libraries' own errors do not say that a disk is full."""
    write_atomic(path, lambda temporary: Path(temporary).write_bytes(content), private)


def write_text(path: str | Path, text: str, private: bool = False) -> None:
    """Writes a text file atomically; a lone surrogate, as in a file name that is not UTF-8, is written as its number."""
    write_bytes(path, text.encode(errors="backslashreplace"), private)


def write_json(path: str | Path, value: Any, private: bool = False) -> None:
    """Writes a JSON file atomically, readable and with sorted keys."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n", private)
