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
        done: how much of it is done, of ``total``, which is 0 before that is known.
        result: what came of it, once it is ``over``.
        error: why nothing came of it; empty if there was no error.
        abandoned: whether it ended because nobody waited for it.
        asked: when somebody asked for it last.
    """

    def __init__(self, work: Work, slot: threading.Semaphore | None = None, stays: bool = True) -> None:
        self.done, self.total, self.error, self.over, self.abandoned = 0, 0, "", False, False
        self.result: Any = None
        self.began = self.asked = time.monotonic()
        self._stays = stays
        self._thread = threading.Thread(target=self._run, args=(work, slot or threading.Semaphore()), daemon=True)
        self._thread.start()

    def _run(self, work: Work, slot: threading.Semaphore) -> None:
        try:
            while not slot.acquire(timeout=0.5):
                self._check()
            try:
                self.result = work(self._tell)
            finally:
                slot.release()
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
        if not self._stays and time.monotonic() - self.asked > _ABANDONED:
            raise _AbandonedError

    @property
    def seconds(self) -> float:
        """How long ago it began."""
        return time.monotonic() - self.began

    def wait(self, seconds: float) -> bool:
        """Waits at most this long for it to be over; returns whether it is."""
        self._thread.join(seconds)
        return self.over


class Jobs(OrderedDict[Hashable, Job]):
    """Jobs by key, of which ``at_once`` work at the same time, so that asking again does not begin the same work again."""

    def __init__(self, at_once: int = 2) -> None:
        super().__init__()
        self._slot = threading.Semaphore(at_once)

    def job(self, key: Hashable, work: Work, stays: bool = False) -> Job:
        """The job of a key, begun at the first call, and again where it was abandoned."""
        if key not in self or self[key].abandoned:
            self[key] = Job(work, self._slot, stays)
            if len(self) > _MAX_JOBS:
                self.popitem(last=False)
        self.move_to_end(key)
        self[key].asked = time.monotonic()
        return self[key]
