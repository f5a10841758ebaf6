"""Where matches, tournaments and series are played: in this process, or as tasks in the processes of an executor.

Any ``concurrent.futures.Executor`` will do. Deals and luck follow from a seed and a pair's number, so results are the same to the digit
wherever and in whatever order the tasks are played.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from typing import Any

from agents.interrupts import FROM_TERMINAL, allow_interrupts, ignore_interrupts_in_child
from ginenv.errors import GinError, check_integer

# The most pairs in a task: far more work than sending it, for the quickest players too (benchmarks/results/executors.json).
TASK_PAIRS = 500
# Tasks at once for each process: one that is played, and others so that none waits for the next.
_TASKS_AHEAD = 4
# How long processes may take to close their programs.
_ENDING_SECONDS = 10.0


def _num_processes(executor: Executor) -> int:
    """How many tasks an executor plays at once; the number of this machine's processors if it does not say."""
    return max(1, getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


def task_size(executor: Executor, count: int, most: int) -> int:
    """The size of tasks into which ``count`` pairs (or series) are split: several for each process, none with more than ``most``."""
    return max(1, min(most, -(-count // (_TASKS_AHEAD * _num_processes(executor)))))


def chunks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """The first number and the length of each chunk of ``count`` numbers."""
    for first in range(0, count, size):
        yield first, min(size, count - first)


def run_tasks(
    executor: Executor, play: Callable[..., Any], tasks: Iterable[tuple[Sequence[Any], tuple[Any, ...]]]
) -> Generator[tuple[int, Any], None, None]:
    """Calls ``play(players, *arguments)`` in the processes of an executor.

    Interrupts are raised while it waits; tasks that have not begun are then cancelled.

    Args:
        executor: the executor.
        play: a function of a module.
        tasks: players and arguments of each task.

    Yields:
        Number and result of each task, as soon as it is finished.

    Raises:
        GinError: if a task raises it, or a process ends by itself.
    """
    waiting: dict[Future[Any], int] = {}
    rest = iter(enumerate(tasks))
    try:
        while True:
            most = _TASKS_AHEAD * _num_processes(executor)
            for number, (players, arguments) in islice(rest, most - len(waiting)):
                waiting[executor.submit(play, players, *arguments)] = number
            if not waiting:
                return
            with allow_interrupts():
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=waiting.__getitem__):
                yield waiting.pop(future), future.result()
    except BrokenExecutor as error:
        raise GinError(
            "a process that played games was ended from outside, perhaps for want of memory, or could not begin, "
            f"because a script starts processes outside of 'if __name__ == \"__main__\":' ({error})"
        ) from None
    finally:
        for future in waiting:
            future.cancel()


def in_order(results: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """The results of ``run_tasks`` in the order of their numbers."""
    early: dict[int, Any] = {}
    expected = 0
    for number, result in results:
        early[number] = result
        while expected in early:
            yield early.pop(expected)
            expected += 1


def open_executor(workers: int = 1) -> AbstractContextManager[Executor | None]:
    """So many processes on this machine; ``None`` for this process alone.

    Raises:
        GinError: if the number is less than 1.
    """
    return process_pool(workers) if check_integer("workers", workers, 1) > 1 else nullcontext()


class _Pool(ProcessPoolExecutor):
    """A process pool that knows whether something is still being played."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, multiprocessing.get_context("spawn"), initializer=_start_worker)
        self._unfinished: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(_in_worker, fn, *args, **kwargs)
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)
        return future

    @property
    def is_idle(self) -> bool:
        return not self._unfinished


@contextmanager
def process_pool(workers: int) -> Iterator[Executor]:
    """Processes on this machine: started afresh (a fork would copy compiled threads), and ended with the ``with`` block.

    A script must use it under ``if __name__ == "__main__":``, because each process imports the script.

    Args:
        workers: number of processes.
    """
    others = set(multiprocessing.active_children())
    pool = _Pool(workers)
    is_done = False
    try:
        with ignore_interrupts_in_child():
            # Each submission of nothing to do starts a worker, since none is ready yet.
            for _ in range(workers):
                pool.submit(int)
        yield pool
        is_done = True
    finally:
        # Workers without work end by themselves; a signal would hit one that is still starting, and others that wait behind it.
        is_done = is_done and pool.is_idle
        pool.shutdown(wait=False, cancel_futures=True)
        processes = set(multiprocessing.active_children()) - others
        for process in () if is_done else processes:
            process.terminate()
        until = time.monotonic() + _ENDING_SECONDS
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
            # The compiler drops the exception that a signal raises.
            process.kill()


def _in_worker(play: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A task in a worker. When the worker is to leave, it does: the pool would take the exit for the task's result and wait for another."""
    try:
        return play(*args, **kwargs)
    except SystemExit:
        # The players are closed by now.
        os._exit(1)


def _start_worker() -> None:
    """Prepares a worker: the parent catches interrupts and ends its workers, which close their players on the way out."""
    for number in FROM_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FROM_TERMINAL)
    signal.signal(signal.SIGTERM, _leave)
    # Several threads in each of several processes would only wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Ends this worker when its parent is gone: a killed parent ends no workers, and they would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_ENDING_SECONDS)
        # The compiler drops the exception that a signal raises.
        os._exit(1)


def _leave(*_: object) -> None:
    # Once is enough: another exit would keep the first from closing the players.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # An exception raised inside the compiler is dropped, which needs no message.
    sys.unraisablehook = lambda _: None
    sys.exit(1)
