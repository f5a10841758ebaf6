"""Programs in other processes: exchanges lines with them, under time limits and without trusting them.

A program may crash, stall, flood its output or refuse to end. None of this blocks the caller, and no process is left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import psutil

from ginenv.errors import GinError, quoted, reason_of

# The answer to a full batch takes some 15 kB. A line over ``MAX_LINE`` is a flood at once, one over ``_LONG_LINE`` when time is up.
MAX_LINE = 1_000_000
_LONG_LINE = 65_536
# Room for a stack of a thousand calls, as Java prints it after the exception.
_MAX_STDERR = 200_000
# Of what a program writes after the bye; who writes more finds its outputs closed.
_MAX_FAREWELL = 10_000_000
# How often to check whether a silent program is still there.
_LOOK_SECONDS = 0.25
# An environment variable that all descendants of the program inherit; it finds those that left its process group.
_MARK = "GINENV_BOT"


class BotFault(Exception):
    """Something that a program did wrong.

    Attributes:
        kind: one of ``KINDS``.
        words: what happened, as a sentence; the end of a very long one is cut off.
    """

    # A program can say a megabyte; the results keep no more than a reader wants.
    LONGEST = 1000
    KINDS = (
        "cannot start",
        "handshake",
        "rules",
        "crash",
        "timeout",
        "rubbish",
        "flood",
        "unasked",
        "illegal move",
        "ending",
    )

    def __init__(self, kind: str, words: str):
        assert kind in self.KINDS
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
        self._token = secrets.token_hex(8)
        try:
            words = split_command(command)
            with _orphans.lock:
                self._process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**os.environ, _MARK: self._token},
                    start_new_session=True,
                )
                _orphans.running.add(self._process.pid)
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
        self._finalizer = weakref.finalize(self, _end_own, os.getpid(), self._process, self._token, farewell, seconds)

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
                if len(self._buffer) > MAX_LINE:
                    raise BotFault("flood", f"more than {MAX_LINE:,} bytes without an end of the line")
        finally:
            if writing:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(self._stdin)

    def _late(self, seconds: float, writing: bool) -> BotFault:
        if len(self._buffer) > _LONG_LINE:
            return BotFault("flood", f"{len(self._buffer):,} bytes without an end of the line in {seconds:g} s")
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
        """Ends the program and everything that it started: politely within the seconds, then by force.

        Returns:
            The program's status; ``None`` if it had to be killed.
        """
        self._finalizer.detach()
        return _end(self._process, self._token, farewell, seconds)


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


def _end(process: subprocess.Popen[bytes], token: str, farewell: bytes, seconds: float) -> int | None:
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
    kill_marked(token)
    _orphans.ended(process.pid)
    return status


def _end_own(owner: int, process: subprocess.Popen[bytes], token: str, farewell: bytes, seconds: float) -> None:
    """Ends a program that was never closed, unless this process is a fork of the one that started it."""
    if os.getpid() == owner:
        _end(process, token, farewell, seconds)


# A killed process is gone only when the system has reclaimed its memory, which takes a moment.
_DYING_SECONDS = 5.0


def marked(name: str, token: str) -> list[psutil.Process]:
    """Processes that inherited this environment variable with this value, whatever their parent is by now.

    This process is not among them: a variable that it sets itself was not there when it was started.
    """
    found = []
    for process in psutil.process_iter():
        # A process that ends meanwhile, or belongs to another user, cannot be one of them.
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(name) == token:
                found.append(process)
    return found


def kill_marked(token: str) -> None:
    """Kills processes that inherited a program's mark but left its process group, and waits until they are gone."""
    deadline = time.monotonic() + _DYING_SECONDS
    while (left := marked(_MARK, token)) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.005)


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


class _Orphans:
    """Processes that programs left behind and that dropped their session and their mark, so that nothing shows whose they are.

    Attributes:
        lock: held while a program is started, and while orphans are ended.
        running: ids of the programs that run.
        others: ids of the children that this process had before.
        adopted: whether orphans become children of this process.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.others: set[int] = set()
        self.adopted = False

    def ended(self, pid: int) -> None:
        """Ends the orphans when the last program has ended; until then they may belong to one that still runs."""
        with self.lock:
            self.running.discard(pid)
            deadline = time.monotonic() + _DYING_SECONDS
            while self.adopted and not self.running and self._kill() and time.monotonic() < deadline:
                time.sleep(0.005)

    def _kill(self) -> int:
        """Kills the children of this process in other sessions; returns how many there were."""
        found = 0
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error, OSError):
                if child.pid not in self.others and os.getsid(child.pid) != os.getsid(0):
                    found += 1
                    child.kill()
                    os.waitpid(child.pid, os.WNOHANG)
        return found


_orphans = _Orphans()
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(adopt: bool = True) -> None:
    """Makes sure that whatever programs leave behind ends with the last of them, even if it dropped its session and environment.

    Linux then makes orphans children of this process. Call it only in processes that do nothing but play, such as the command line's:
    every new child in another session is taken for an orphan. On other systems it changes nothing, and a process that hides so well
    survives its program.

    Args:
        adopt: ``False`` ends the adoption.
    """
    if sys.platform == "linux":
        _orphans.others = {child.pid for child in psutil.Process().children()}
        _orphans.adopted = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0) == 0 and adopt


def excerpt(text: bytes, length: int = 80) -> str:
    """The beginning of what a program said, for messages."""
    shown = text[:length].decode("utf-8", "replace")
    return repr(shown) + ("…" if len(text) > length else "")
