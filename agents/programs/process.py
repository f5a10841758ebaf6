"""Programs in other processes: exchanges lines with them, under time limits and without trusting them.

A program may crash, stall, flood its output or refuse to end. None of this blocks the caller, and nothing of its process group is left
behind. What leaves that group on purpose is a container's business.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import time
import weakref
from subprocess import PIPE
from typing import Any

from ginenv.errors import GinError, quoted, reason_of

# The answer to a full batch takes some 15 kB; a longer line than this is a flood.
_MAX_LINE = 1_000_000
# Room for a stack of a thousand calls, as Java prints it after the exception.
_MAX_STDERR = 200_000
# How often to check whether a silent program is still there.
_LOOK_SECONDS = 0.25


class BotFault(Exception):
    """Something that a program did wrong.

    Attributes:
        kind: ``cannot start``, ``handshake``, ``rules``, ``crash``, ``timeout``, ``rubbish``, ``flood``, ``unasked``, ``illegal move`` or
            ``ending``.
        words: what happened, as a sentence; the end of a very long one is cut off.
    """

    # A program can say a megabyte; the results keep no more than a reader wants.
    LONGEST = 1000

    def __init__(self, kind: str, words: str):
        self.kind = kind
        self.words = words if len(words) <= self.LONGEST else f"{words[: self.LONGEST]}…"
        super().__init__(f"{kind}: {self.words}")


def split_command(command: str) -> list[str]:
    """A program and its arguments, split as a shell would.

    Raises:
        GinError: if the command cannot be split, or its program does not exist or may not be run.
    """
    run_by = "python bot.py"
    try:
        words = shlex.split(command)
        if not words:
            why = "the command is empty"
        elif not shutil.which(words[0]):
            is_file = "/" in words[0] and os.path.isfile(words[0])
            why = f"{quoted(words[0])} {'is a file that may not be run' if is_file else 'is no program'}"
            if words[0].endswith(".py"):
                run_by = f"python {command}"
        else:
            return words
    except ValueError as error:
        # shlex's message, such as "No closing quotation".
        why = str(error).lower()
    raise GinError(
        f'{quoted(command)} cannot be started: {why}; write a program and its arguments as in a shell: cmd:"{run_by}"'
    )


class LineProcess:
    """A program that gets lines on its standard input and answers with lines on its standard output.

    It ends when it is closed, when nothing refers to it any more, or when the interpreter ends.

    Args:
        command: the program and its arguments (see ``split_command``).
        farewell: the last line that it is sent if it was never closed.
        seconds: how long it then has to end.

    Raises:
        BotFault: if the program cannot be started.
    """

    def __init__(self, command: str, farewell: bytes = b"", seconds: float = 0.0):
        if not hasattr(select, "poll"):
            raise BotFault("cannot start", "outside programs need Linux or macOS (on Windows: WSL)")
        try:
            words = split_command(command)
            self._process = subprocess.Popen(words, -1, None, PIPE, PIPE, PIPE, start_new_session=True)
        except GinError as error:
            raise BotFault("cannot start", str(error)) from None
        except (OSError, ValueError) as error:
            raise BotFault("cannot start", f"{command!r} cannot be started: {reason_of(error)}") from None
        streams: Any = self._process
        self._stdin, self._stdout, self._stderr = (
            stream.fileno() for stream in (streams.stdin, streams.stdout, streams.stderr)
        )
        os.set_blocking(self._stdin, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._buffer, self._errors = b"", b""
        self._finalizer = weakref.finalize(self, _end_own, os.getpid(), self._process, farewell, seconds)

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Sends a line and waits for one line of answer.

        Raises:
            BotFault: if the program has said something unasked, ends, sends too much, or takes too long.
        """
        deadline = time.monotonic() + seconds
        if self._buffer:
            raise BotFault("unasked", f"said without being asked: {excerpt(self._buffer)}")
        unread, searched = self._send(memoryview(line + b"\n")), 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > _MAX_LINE:
                raise BotFault("flood", f"more than {_MAX_LINE:,} bytes without an end of the line")
            left = deadline - time.monotonic()
            if left <= 0:
                said = f"; said {excerpt(self._buffer)} without ending the line" if self._buffer else ""
                why = "; did not read its input" if unread else said
                raise BotFault("timeout", f"no answer in {seconds:g} s{why}")
            ready = dict(self._poll.poll(min(left, _LOOK_SECONDS) * 1000))
            if not ready and self._process.poll() is not None:
                # A process that it left behind may hold its output open, so that the output never ends.
                raise self._crash()
            if self._stderr in ready:
                self._read_errors()
            if self._stdin in ready:
                unread = self._send(unread)
            if self._stdout in ready:
                text = os.read(self._stdout, 1 << 20)
                if not text:
                    raise self._crash()
                self._buffer += text
        if unread:
            raise BotFault("unasked", f"answered before the question was read: {excerpt(self._buffer)}")
        answer, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        return answer

    def _send(self, text: memoryview) -> memoryview:
        """Sends as much as the program's input takes; returns the rest, for which ``poll`` then waits."""
        try:
            text = text[os.write(self._stdin, text) :]
        except BlockingIOError:
            pass
        except OSError:
            raise self._crash() from None
        if text:
            self._poll.register(self._stdin, select.POLLOUT)
        else:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._stdin)
        return text

    def _read_errors(self) -> None:
        text = os.read(self._stderr, 65536)
        if not text:
            self._poll.unregister(self._stderr)
        self._errors = (self._errors + text)[-_MAX_STDERR:]

    def _crash(self) -> BotFault:
        try:
            status = self._process.wait(0.5)
            how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
        except subprocess.TimeoutExpired:
            how = "closed its output"
        os.set_blocking(self._stderr, False)
        with contextlib.suppress(OSError):
            while text := os.read(self._stderr, 65536):
                self._errors = (self._errors + text)[-_MAX_STDERR:]
        words = last_words(self._errors.decode("utf-8", "replace"))
        last_output = f"; its last words: {words[:200]}" if words else ""
        return BotFault("crash", f"the program {how} while an answer was due{last_output}")

    def close(self, farewell: bytes = b"", seconds: float = 0.0) -> int | None:
        """Ends the program and its process group: politely within the seconds, then by force.

        Returns:
            The program's status; ``None`` if it had to be killed.
        """
        self._finalizer.detach()
        return _end(self._process, farewell, seconds)


def _end(process: subprocess.Popen[bytes], farewell: bytes, seconds: float) -> int | None:
    # What it still writes is read: a program fails that writes into a closed pipe.
    with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
        process.communicate(farewell + b"\n" if farewell else None, max(seconds, 0.001))
    status = process.poll()
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    return status


def _end_own(owner: int, process: subprocess.Popen[bytes], farewell: bytes, seconds: float) -> None:
    """Ends a program that was never closed, unless this process is a fork of the one that started it."""
    if os.getpid() == owner:
        _end(process, farewell, seconds)


def last_words(text: str) -> str:
    """The line of an error output that says why a program ended: the last one that is not indented, as lines of stack traces are."""
    lines = [line for line in text.splitlines() if line.strip()]
    return ([line for line in lines if not line[0].isspace()] or lines or [""])[-1].strip()


def excerpt(text: bytes, length: int = 80) -> str:
    """The beginning of what a program said, for messages."""
    shown = text[:length].decode("utf-8", "replace")
    return repr(shown) + ("…" if len(text) > length else "")
