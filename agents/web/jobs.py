"""Work that takes seconds, in a thread of its own; a page asks for its progress until it is done."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from ginenv.errors import GinError

_MAX_JOBS = 64
# How long a page waits, in seconds, for a result that can be shown at once.
PATIENCE = 0.4
# A job ends when nobody has asked for it for so many seconds: its page asks several times in that time.
_ABANDONED = 60.0
# Does something, and tells how much of how much is done.
Work = Callable[[Callable[[int, int], None]], Any]


class _AbandonedError(Exception):
    """Nobody waits for a job any more."""


class Job:
    """A piece of work.

    Args:
        work: what is done.
        slot: held while it is done; work with the same slot waits for its turn.
        stays: whether it goes on when nobody asks for it any more.

    Attributes:
        done: how much of it is done.
        total: how much there is; 0 before that is known.
        result: what came of it, once it is over.
        error: why nothing came of it; empty if there was no error.
        over: whether it is over.
        abandoned: whether it ended because nobody waited for it.
    """

    def __init__(self, work: Work, slot: threading.Semaphore | None = None, stays: bool = True) -> None:
        self.done, self.total, self.error, self.over, self.abandoned = 0, 0, "", False, False
        self.result: Any = None
        self._began = self._asked = time.monotonic()
        self._work, self._slot, self._stays = work, slot or threading.Semaphore(), stays
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._slot.acquire(timeout=0.5):
                self._check()
            try:
                self.result = self._work(self._tell)
            finally:
                self._slot.release()
        except _AbandonedError:
            self.abandoned = True
        except (GinError, OSError) as error:
            self.error = str(error)
        except BaseException as error:
            self.error = f"something went wrong here ({type(error).__name__})"
            raise
        finally:
            self.over = True

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        self._check()

    def _check(self) -> None:
        if not self._stays and time.monotonic() - self._asked > _ABANDONED:
            raise _AbandonedError

    @property
    def seconds(self) -> float:
        """How long ago it began."""
        return time.monotonic() - self._began

    def ask(self) -> None:
        """Says that somebody still waits for it."""
        self._asked = time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Waits at most this long for it to be over; returns whether it is."""
        self._thread.join(seconds)
        return self.over


class Jobs:
    """Jobs by key, so that asking again does not begin the same work again.

    Args:
        at_once: how many of them work at the same time; the others wait.
    """

    def __init__(self, at_once: int = 2) -> None:
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()
        self._slot = threading.Semaphore(at_once)

    def job(self, key: Hashable, work: Work, stays: bool = False) -> Job:
        """The job of a key, begun at the first call, and again where it was abandoned."""
        if key not in self._jobs or self._jobs[key].abandoned:
            self._jobs[key] = Job(work, self._slot, stays)
            while len(self._jobs) > _MAX_JOBS:
                self._jobs.popitem(last=False)
        self._jobs.move_to_end(key)
        self._jobs[key].ask()
        return self._jobs[key]

    def find(self, key: Hashable) -> Job | None:
        """The job of a key, if there is one."""
        return self._jobs.get(key)

    def forget(self, key: Hashable) -> None:
        """Makes the next call start the job again."""
        self._jobs.pop(key, None)
