"""Interrupts where results are at stake: they wait until the program is ready for one.

A match holds interrupts, so that none falls between playing and recording what was played; it releases them while it plays. The command
that writes the match holds them around both.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ginenv.engine.jit import interrupt, take_interrupt

# Handlers that would raise KeyboardInterrupt; others, such as a training run's, are left alone.
_RAISING = (signal.default_int_handler, interrupt)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Held:
    """The state of interrupts while they are held.

    Attributes:
        asked: whether there was one that has not been raised yet.
    """

    def __init__(self) -> None:
        self.asked = False
        self.before: dict[int, Any] = {}

    def note(self, number: int, frame: FrameType | None) -> None:
        """The handler while interrupts are held."""
        self.asked = True

    def hold(self) -> None:
        """From now on interrupts are noted."""
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if handler in _RAISING:
                self.before[number] = handler
                signal.signal(number, self.note)
        self.asked = take_interrupt() or self.asked

    def release(self) -> None:
        """From now on interrupts are raised."""
        for number, handler in self.before.items():
            signal.signal(number, handler)


_held: Held | None = None


@contextmanager
def held() -> Iterator[Held]:
    """Within this context an interrupt is noted, and raised where interrupts are ``released``; a nested context is part of the outer one.

    Signals reach the main thread alone, so in other threads this does nothing.
    """
    global _held
    if _held is not None or threading.current_thread() is not threading.main_thread():
        yield _held or Held()
        return
    _held = Held()
    _held.hold()
    try:
        yield _held
    finally:
        _held.release()
        _held = None


@contextmanager
def released() -> Iterator[None]:
    """Within this context an interrupt raises ``KeyboardInterrupt``, as does one that was noted before."""
    if _held is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        _held.release()
        if _held.asked:
            _held.asked = False
            raise KeyboardInterrupt
        yield
    finally:
        _held.hold()


@contextmanager
def born_deaf() -> Iterator[None]:
    """Processes started within this context get no Ctrl-C, which a terminal sends to all processes of a program, until they unblock it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
