"""A disk that fails, or a process that is killed, at a chosen one of the calls that change files."""

import builtins
import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# ``open`` and what is written to open files are counted too.
_CALLS = ("mkdir", "rename", "replace", "link", "unlink", "remove", "rmdir", "chmod", "fsync", "sendfile")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Killed(BaseException):
    """Stands for the end of the process: nothing that it still tries changes a file."""


class Faults:
    """Counts the calls that change files; the one with number ``at`` fails for want of space, or comes after a kill.

    Attributes:
        happened: whether there were as many calls.
        failed: name of the call.
    """

    def __init__(self, at: int, kill: bool) -> None:
        self.left, self.kill, self.happened, self.failed = at, kill, False, ""

    def count(self, name: str) -> None:
        """Counts a call, before it is made."""
        if self.happened and self.kill:
            raise Killed
        if self.left == 0 and not self.happened:
            self.happened, self.failed = True, name
            raise Killed if self.kill else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1

    def counted(self, name: str, call: Any) -> Any:
        """The same function, counted."""

        def counting(*args: Any, **options: Any) -> Any:
            self.count(name)
            return call(*args, **options)

        return counting


class _File(io.FileIO):
    faults: Faults

    def write(self, content: Any) -> int:
        try:
            self.faults.count("write")
        except BaseException as error:
            # A disk takes what it still can. What a killed process had not written yet is lost.
            if isinstance(error, OSError) or not self.faults.kill:
                super().write(memoryview(content)[: len(content) // 2])
                raise
            return len(content)
        return super().write(content)


@contextmanager
def faults(at: int, kill: bool, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """Within this context the ``at``-th call that changes a file fails once, or kills."""
    state = Faults(at, kill)
    plain_open, plain_os_open = builtins.open, os.open

    def counting_open(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if not set(mode) & set("wxa+") or isinstance(file, int):
            return plain_open(file, mode, *args, **options)
        state.count("open")
        raw = _File(file, mode.replace("b", "").replace("t", ""))
        raw.faults = state
        written = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return written if "b" in mode else io.TextIOWrapper(written, options.get("encoding"), options.get("errors"))

    def counting_os_open(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & _WRITES:
            state.count("open")
        return plain_os_open(path, flags, *args, **options)

    with monkeypatch.context() as patched:
        for module in (builtins, io):
            patched.setattr(module, "open", counting_open)
        patched.setattr(os, "open", counting_os_open)
        for name in _CALLS:
            patched.setattr(os, name, state.counted(name, getattr(os, name)))
        yield state
