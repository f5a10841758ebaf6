"""Files that survive: written beside the old file or directory, flushed, and put in its place; and the only reader of JSON from outside."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ginenv.errors import GinError, is_text, reason_of


class FileError(GinError):
    """A file that cannot be written."""


class JsonError(GinError):
    """A text that is not JSON, or exceeds the limits of what is read; the message is the reason alone."""


# The largest file of JSON that this project writes is some megabytes, its deepest value some ten lists and objects deep, and its
# longest whole number has 20 digits.
MAX_BYTES = 64 << 20
MAX_DEPTH = 64
MAX_DIGITS = 40
# No file takes this long to write.
LEFT_OVER_SECONDS = 3600.0


def read_bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """The content of a file of at most so many bytes. A pipe, which might never end, is refused, as is a file that is too large.

    Raises:
        OSError: if it cannot be read, is not a regular file, or is larger than ``most``.
    """
    # Without O_NONBLOCK, opening a pipe would wait until somebody writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        if about.st_size > most:
            raise OSError(errno.EFBIG, f"Larger than {most >> 20} MiB", str(path))
        return file.read()


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text (UTF-8), within limits of depth and of digits.

    What the value must look like is not checked here, but by its schema where the value is used.

    Raises:
        JsonError: if it is not JSON, not text, or exceeds the limits.
    """
    try:
        text = text.decode() if isinstance(text, bytes) else text
        value = json.loads(text, parse_int=_parse_whole)
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 text: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise JsonError(str(error)) from None
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, _HOLDERS)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            break
    else:
        raise JsonError(_TOO_DEEP)
    # A lone surrogate comes from an escape, or from a text that was given as ``str``; UTF-8 bytes cannot hold one.
    if ("\\u" in text or not text.isascii()) and not is_text(json.dumps(value, ensure_ascii=False)):
        raise JsonError("half a character (a lone surrogate)")
    return value


_HOLDERS = (dict, list)
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


def _parse_whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise JsonError(f"a number of {len(digits):,} digits; the longest allowed has {MAX_DIGITS}")
    return int(digits)


def read_json(path: str | Path) -> Any:
    """The value of a file of JSON (see ``read_bytes`` and ``parse_json``).

    Raises:
        OSError: if the file cannot be read.
        JsonError: if it does not hold JSON, or the JSON exceeds the limits.
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


def write_atomic(path: str | Path, write: Callable[[str], object]) -> None:
    """Writes a file so that readers find the old or the new one, never half of one, even if the machine stops in between.

    Args:
        path: the file's final place.
        write: called with the name of a temporary file in the same directory, which it writes.

    Raises:
        OSError: if it cannot be written, or a device or a pipe is in its place, which would be lost.
    """
    # For a link, the file that it points to is replaced.
    path = Path(os.path.realpath(path))
    _check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _drop_left_over(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        write(temporary)
        _flush(temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def replacing(directory: Path, keep: bool = False) -> Iterator[Path]:
    """A new directory that takes the place of ``directory`` once it is filled; files that belong together change together.

    A killed process leaves the old directory or the new one. Only where the system cannot exchange two directories, a kill between two
    renames leaves the old one under another name (``.NAME.*/before``).

    Args:
        directory: to make or to replace, with everything in it.
        keep: whether the new directory begins as a copy of the old one, and not empty.

    Raises:
        OSError: if it cannot be written; the old directory is left as it was.
    """
    directory = Path(os.path.realpath(directory))
    directory.parent.mkdir(parents=True, exist_ok=True)
    _drop_left_over(directory)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as beside:
        made, before = Path(beside) / directory.name, Path(beside) / "before"
        if keep and directory.exists():
            shutil.copytree(directory, made)
        else:
            made.mkdir()
        yield made
        for path in made.rglob("*"):
            if path.is_file():
                _flush(path)
        if not directory.exists():
            made.rename(directory)
        elif not _exchange(made, directory):
            directory.rename(before)
            try:
                made.rename(directory)
            except BaseException:
                before.rename(directory)
                raise


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two directories in one step; returns ``False`` if the system or the file system cannot."""
    library, here, swap = ctypes.CDLL(None), -100, 2
    a, b = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        return library.renameat2(here, a, here, b, swap) == 0
    return sys.platform == "darwin" and library.renamex_np(a, b, swap) == 0


def _flush(path: str | Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _check_replaceable(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))


def _drop_left_over(path: Path) -> None:
    """Removes temporary files and directories that killed writers left beside a path; a writer at work has a younger one."""
    oldest = time.time() - LEFT_OVER_SECONDS
    name = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if not name.fullmatch(entry.name) or entry.stat(follow_symlinks=False).st_mtime >= oldest:
                continue
            if entry.is_file(follow_symlinks=False):
                os.unlink(entry)
            elif entry.is_dir(follow_symlinks=False) and not os.path.exists(Path(entry) / "before"):
                shutil.rmtree(entry)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Says in one sentence what could not be written, for programs that can then only end.

    Raises:
        FileError: in place of any ``OSError`` within.
    """
    try:
        yield
    except OSError as error:
        # For a copied directory, the error holds a list of what failed.
        reason = error.args[0][0][-1] if isinstance(error, shutil.Error) else reason_of(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            # A file is in the way, of which the system says only that it exists.
            places = [place for place in (Path(path), *Path(path).parents) if os.path.isfile(place)]
            if places:
                named = "it" if places[0] == Path(path) else f"{places[0]}"
                reason = f"{named} is a file, not a directory"
        raise FileError(f"{path} cannot be written: {reason}") from None


def parse_path(text: str) -> Path:
    """A path as somebody wrote it; an empty one, which a file system takes for the current directory, is refused.

    Raises:
        FileError: if it is empty; the caller adds what it is the path of.
    """
    if not text:
        raise FileError("must be the path of a directory or a file, not empty")
    return Path(text)


def check_directory(name: str, path: Path) -> None:
    """Refuses a file where a directory is needed; the directory need not exist yet.

    Args:
        name: what the directory is, for the message.
        path: of the directory.

    Raises:
        FileError: if something else is there.
    """
    # If the place may not be looked at, whatever is made there later says why it cannot be made.
    if os.path.exists(path) and not os.path.isdir(path):
        raise FileError(f"{name} {path} is a file; it must be a directory, which may be a new one")


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
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        Path(temporary).unlink()


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


def write_bytes(path: str | Path, content: bytes | memoryview) -> None:
    """Atomically writes content that a library has made; most libraries' own errors do not say that a disk is full."""
    write_atomic(path, lambda temporary: Path(temporary).write_bytes(content))


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file atomically; a lone surrogate, as in a file name that is not UTF-8, is written as its number."""
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_json(path: str | Path, value: Any) -> None:
    """Writes a JSON file atomically, readable and with sorted keys."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")
