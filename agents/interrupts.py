"""Interrupts where results are at stake, or where one would be lost: they wait until the program is ready for one.

The compiler of kernels is C++ code that calls back into Python. An exception raised there is dropped, and leaves half a kernel; so
interrupts wait until it is done.

A match holds interrupts, so that none falls between playing and recording what was played; it releases them while it plays. The command
that writes the match holds them around both.
"""

from __future__ import annotations

import _thread
import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any


def _in_main_thread() -> bool:
    """Whether this is the main thread, the only one that handles signals."""
    return threading.current_thread() is threading.main_thread()


# The interrupt that waits for a compilation or an import to end, and looks again later.
_waiting: threading.Timer | None = None

# In these modules Python runs under code that drops an exception or turns it into another: the compiler, and libraries that are
# being loaded.
_NOT_RAISED_IN = ("numba", "llvmlite", "_frozen_importlib", "importlib")


def interrupt(signum: int, frame: FrameType | None) -> None:
    """A signal handler that raises ``KeyboardInterrupt``; during a compilation or an import, it waits until that is done."""
    global _waiting
    leave_terminal(signum)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_RAISED_IN:
            take_interrupt()
            _waiting = threading.Timer(0.1, _thread.interrupt_main, (signum,))
            _waiting.daemon = True
            _waiting.start()
            return
        frame = frame.f_back
    _waiting = None
    raise KeyboardInterrupt


def take_interrupt() -> bool:
    """Whether an interrupt waits for a compilation or an import to end; the caller takes it over."""
    global _waiting
    waiting, _waiting = _waiting, None
    if waiting is not None:
        waiting.cancel()
    return waiting is not None


# Handlers that would raise KeyboardInterrupt; others, such as a training run's, are left alone.
_RAISING = (signal.default_int_handler, interrupt)
# What asks a program to stop: Ctrl-C, a kill, and the end of the terminal. Windows has no SIGHUP.
STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# Of these, what a terminal sends to all processes of a program.
FROM_TERMINAL = tuple(stop for stop in STOPS if stop != signal.SIGTERM)


def leave_terminal(number: int) -> None:
    """For handlers: after a hang-up, what is still printed to the terminal goes nowhere, since writing to it would be an error."""
    if number in (signal.SIGINT, signal.SIGTERM):
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                os.dup2(nowhere, stream)
    os.close(nowhere)


def handle_stops(handler: Any) -> None:
    """Sets the handler of all signals that ask a program to stop, except for a hang-up that ``nohup`` has it ignore."""
    for stop in STOPS:
        if stop in (signal.SIGINT, signal.SIGTERM) or signal.getsignal(stop) != signal.SIG_IGN:
            signal.signal(stop, handler)


@contextmanager
def stops_handled(handler: Any) -> Iterator[None]:
    """Within this context a handler gets the signals that ask a program to stop; in other threads than the main one, nobody does."""
    before = {stop: signal.getsignal(stop) for stop in STOPS} if _in_main_thread() else {}
    if before:
        handle_stops(handler)
    try:
        yield
    finally:
        for stop, earlier in before.items():
            signal.signal(stop, earlier)


class DeferredInterrupts:
    """The state of interrupts while they are held.

    Attributes:
        requested: whether there was one that has not been raised yet.
    """

    def __init__(self) -> None:
        self.requested = False
        self.before: dict[int, Any] = {}

    def note(self, number: int, frame: FrameType | None) -> None:
        """The handler while interrupts are held."""
        leave_terminal(number)
        self.requested = True

    def hold(self) -> None:
        """From now on interrupts are noted."""
        for number in STOPS:
            handler = signal.getsignal(number)
            if handler in _RAISING:
                self.before[number] = handler
                signal.signal(number, self.note)
        self.requested = take_interrupt() or self.requested

    def release(self) -> None:
        """From now on interrupts are raised."""
        for number, handler in self.before.items():
            signal.signal(number, handler)


_deferred: DeferredInterrupts | None = None


@contextmanager
def defer_interrupts() -> Iterator[DeferredInterrupts]:
    """Within this context an interrupt is noted, and raised where interrupts are ``released``; a nested context is part of the outer one.

    Signals reach the main thread alone, so in other threads this does nothing.
    """
    global _deferred
    if _deferred is not None or not _in_main_thread():
        yield _deferred or DeferredInterrupts()
        return
    _deferred = DeferredInterrupts()
    _deferred.hold()
    try:
        yield _deferred
    finally:
        _deferred.release()
        _deferred = None


@contextmanager
def allow_interrupts() -> Iterator[None]:
    """Within this context an interrupt raises ``KeyboardInterrupt``, as does one that was noted before."""
    if _deferred is None or not _in_main_thread():
        yield
        return
    try:
        _deferred.release()
        if _deferred.requested:
            _deferred.requested = False
            raise KeyboardInterrupt
        yield
    finally:
        _deferred.hold()


@contextmanager
def ignore_interrupts_in_child() -> Iterator[None]:
    """Processes started within this context get nothing that a terminal sends to all processes of a program, until they unblock it."""
    if not hasattr(signal, "pthread_sigmask"):
        # On Windows they ignore it once they run.
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FROM_TERMINAL)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
