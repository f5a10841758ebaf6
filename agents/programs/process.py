"""Programs in other processes: exchanges lines with them, under time limits and without trusting them.

A program may crash, stall, flood its output or refuse to end. None of this blocks the caller, and nothing of its process group is left
behind. What leaves that group on purpose is a container's business.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
import weakref
from typing import Any

from ginenv.errors import GinError, quoted, reason_of

# The answer to a full batch takes some 15 kB; a longer line than this is a flood.
_MAX_LINE = 1_000_000
# Room for a stack of a thousand calls, as Java prints it after the exception.
_MAX_STDERR = 200_000
# Of what a program writes after the bye; who writes more finds its outputs closed.
_MAX_FAREWELL = 10_000_000
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
    try:
        words = shlex.split(command)
        if not words:
            why = "the command is empty"
        elif not shutil.which(words[0]):
            is_file = "/" in words[0] and os.path.isfile(words[0])
            why = f"{quoted(words[0])} {'is a file that may not be run' if is_file else 'is no program'}"
        else:
            return words
    except ValueError as error:
        # shlex's message, such as "No closing quotation".
        why = str(error).lower()
    raise GinError(
        f"{quoted(command)} cannot be started: {why}; a command is a program and its arguments, as in a shell"
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
        try:
            self._process = subprocess.Popen(
                split_command(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except GinError as error:
            raise BotFault("cannot start", str(error)) from None
        except (OSError, ValueError) as error:
            raise BotFault("cannot start", f"{command!r} cannot be started: {reason_of(error)}") from None
        process: Any = self._process
        self._stdin, self._stdout, self._stderr = (
            stream.fileno() for stream in (process.stdin, process.stdout, process.stderr)
        )
        self._poll = select.poll()
        for fd in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(fd, False)
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._buffer = b""
        self._errors = b""
        self._finalizer = weakref.finalize(self, _end_own, os.getpid(), self._process, farewell, seconds)

    @property
    def pid(self) -> int:
        """Id of the process and of its process group."""
        return self._process.pid

    def _read_errors(self) -> bool:
        """Reads the error output that is there; returns whether there was any."""
        try:
            text = os.read(self._stderr, 65536)
        except BlockingIOError:
            return False
        if not text:
            self._poll.unregister(self._stderr)
        self._errors = (self._errors + text)[-_MAX_STDERR:]
        return bool(text)

    def _crash(self) -> BotFault:
        try:
            status = self._process.wait(0.5)
            how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
        except subprocess.TimeoutExpired:
            how = "closed its output"
        with contextlib.suppress(OSError, ValueError, KeyError):
            while self._read_errors():
                pass
        words = last_words(self._errors.decode("utf-8", "replace"))
        last_output = f"; its last words: {words[:200]}" if words else ""
        return BotFault("crash", f"the program {how} while an answer was due{last_output}")

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Sends a line and waits for one line of answer.

        Raises:
            BotFault: if the program has said something unasked, ends, sends too much, or takes too long.
        """
        deadline = time.monotonic() + seconds
        if self._buffer:
            raise BotFault("unasked", f"said without being asked: {excerpt(self._buffer)}")
        rest = memoryview(line + b"\n")
        self._poll.register(self._stdin, select.POLLOUT)
        writing = True
        searched = 0
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._late(seconds, writing)
                ready = self._poll.poll(min(left, _LOOK_SECONDS) * 1000)
                if not ready and self._process.poll() is not None:
                    # A process that it left behind may hold its output open, so that the output never ends.
                    raise self._crash()
                for fd, _ in ready:
                    if fd == self._stdin:
                        try:
                            rest = rest[os.write(fd, rest) :]
                        except BlockingIOError:
                            continue
                        except OSError:
                            raise self._crash() from None
                        if not rest:
                            self._poll.unregister(fd)
                            writing = False
                    elif fd == self._stdout:
                        self._receive()
                    else:
                        self._read_errors()
                end = self._buffer.find(b"\n", searched)
                searched = len(self._buffer)
                if end >= 0:
                    if writing:
                        raise BotFault("unasked", f"answered before the question was read: {excerpt(self._buffer)}")
                    answer, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
                    return answer
                if len(self._buffer) > _MAX_LINE:
                    raise BotFault("flood", f"more than {_MAX_LINE:,} bytes without an end of the line")
        finally:
            if writing:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(self._stdin)

    def _late(self, seconds: float, writing: bool) -> BotFault:
        last_output = f"; said {excerpt(self._buffer)} without ending the line" if self._buffer else ""
        return BotFault(
            "timeout", f"no answer in {seconds:g} s{'; did not read its input' if writing else last_output}"
        )

    def _receive(self) -> None:
        try:
            text = os.read(self._stdout, 1 << 20)
        except BlockingIOError:
            return
        if not text:
            raise self._crash()
        self._buffer += text

    def close(self, farewell: bytes = b"", seconds: float = 0.0) -> int | None:
        """Ends the program and its process group: politely within the seconds, then by force.

        Returns:
            The program's status; ``None`` if it had to be killed.
        """
        self._finalizer.detach()
        return _end(self._process, farewell, seconds)


def _write_all(stream: int, text: bytes, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    rest = memoryview(text)
    while rest and select.select([], [stream], [], max(0.0, deadline - time.monotonic()))[1]:
        rest = rest[os.write(stream, rest) :]


def _listen_to_the_end(process: subprocess.Popen[bytes], deadline: float) -> None:
    """Waits until a program has ended, and reads what it still writes: a program fails that writes into a closed pipe."""
    poll, left_to_read = select.poll(), _MAX_FAREWELL
    for stream in (process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            poll.register(stream.fileno(), select.POLLIN)
    while process.poll() is None and left_to_read > 0 and (left := deadline - time.monotonic()) > 0:
        for fd, _ in poll.poll(min(10, 1000 * left)):
            try:
                text = os.read(fd, 65536)
            except BlockingIOError:
                continue
            left_to_read -= len(text)
            if not text:
                poll.unregister(fd)


def _end(process: subprocess.Popen[bytes], farewell: bytes, seconds: float) -> int | None:
    if farewell and process.stdin is not None and process.poll() is None:
        with contextlib.suppress(OSError):
            _write_all(process.stdin.fileno(), farewell + b"\n", seconds)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    deadline = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        _listen_to_the_end(process, deadline)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    status = process.poll()
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return status


def _end_own(owner: int, process: subprocess.Popen[bytes], farewell: bytes, seconds: float) -> None:
    """Ends a program that was never closed, unless this process is a fork of the one that started it."""
    if os.getpid() == owner:
        _end(process, farewell, seconds)


# Words with which languages mark the line that names an error. In Python it is the last line; in Java the stack follows it.
_ERROR = re.compile(r"exception|error|panic|fatal|caused by", re.IGNORECASE)


def last_words(text: str) -> str:
    """The line of an error output that says why a program ended: the last that names an error, else the last one.

    Indented lines are taken to be a stack trace.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    heads = [line for line in lines if not line[0].isspace()]
    named = [line for line in heads if _ERROR.search(line)]
    return next((found[-1].strip() for found in (named, heads, lines) if found), "")


def excerpt(text: bytes, length: int = 80) -> str:
    """The beginning of what a program said, for messages."""
    shown = text[:length].decode("utf-8", "replace")
    return repr(shown) + ("…" if len(text) > length else "")
