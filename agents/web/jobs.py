"""Work that takes seconds, in a thread of its own; a page asks for its progress until it is done."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from ginenv.errors import GinError

_MOST_KEPT = 64


class Job:
    """A piece of work.

    Attributes:
        done: how much of it is done.
        total: how much there is; 0 before that is known.
        result: what came of it, once it is over.
        error: why nothing came of it; empty if there was no error.
        over: whether it is over.
    """

    def __init__(self, work: Callable[[Callable[[int, int], None]], Any]) -> None:
        self.done, self.total, self.error, self.over = 0, 0, "", False
        self._began = time.monotonic()
        self.result: Any = None
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._work(self._tell)
        except (GinError, OSError) as error:
            self.error = str(error)
        except BaseException as error:
            self.error = f"something went wrong here ({type(error).__name__})"
            raise
        finally:
            self.over = True

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    @property
    def seconds(self) -> float:
        """How long ago it began."""
        return time.monotonic() - self._began

    def wait(self, seconds: float) -> bool:
        """Waits at most this long for it to be over; returns whether it is."""
        self._thread.join(seconds)
        return self.over


class Jobs:
    """Jobs by key, so that asking again does not begin the same work again."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()
        self._lock = threading.Lock()

    def job(self, key: Hashable, work: Callable[[Callable[[int, int], None]], Any]) -> Job:
        """The job of a key, begun at the first call; ``work`` gets a function to which it reports its progress."""
        with self._lock:
            if key not in self._jobs:
                self._jobs[key] = Job(work)
                while len(self._jobs) > _MOST_KEPT:
                    self._jobs.popitem(last=False)
            self._jobs.move_to_end(key)
            return self._jobs[key]

    def known(self, key: Hashable) -> Job | None:
        """The job of a key, if there is one."""
        return self._jobs.get(key)

    def forget(self, key: Hashable) -> None:
        """Makes the next call begin the job anew."""
        with self._lock:
            self._jobs.pop(key, None)
