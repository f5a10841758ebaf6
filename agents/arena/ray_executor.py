"""An executor whose tasks run on a Ray cluster (extra ``ray``).

Every node needs the same build of this package. Ray runs the tasks of a lost node again on another one. Its own connections are not
protected: whoever reaches a cluster can run code there.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import cache, partial
from pathlib import Path
from typing import Any

import agents
import ginenv
from agents.arena.results import versions
from agents.arena.sent_players import SentPlayer, received_player, send_player
from ginenv.errors import GinError, quoted, reason_of
from ginenv.tables.players import Player

# The resource by which a node says that it has outside programs, and how much of it a task takes: the least that Ray can count.
PROGRAMS, _LEAST = "ginenv_programs", 0.0001
# How often a task runs again whose process or node was lost: a task that kills its process must end, too.
_RUNS_AGAIN = 10
# How long a cluster may take to accept a connection.
_ANSWER_SECONDS = 20.0


@cache
def build() -> dict[str, str]:
    """What results depend on here: versions of libraries, and a hash of this project's files."""
    digest = hashlib.sha256()
    for package in (ginenv, agents):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*")):
            if path.suffix in (".py", ".json", ".safetensors"):
                digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {**versions(), "files": digest.hexdigest()[:12]}


def _run(theirs: dict[str, str], play: Callable[..., Any], arguments: Sequence[Any], *players: Any) -> Any:
    """A task, on the node."""
    mine = build()
    # Ray itself compares Python; torch may be missing where nothing needs it.
    other = [f"{name} {mine[name]}, not {theirs[name]}" for name in mine.keys() & theirs.keys() - {"python"}
             if mine[name] != theirs[name]]  # fmt: skip
    if other:
        raise GinError(f"a node of the cluster has {', '.join(sorted(other))}; install the same build everywhere")
    return play([received_player(player) for player in players], *arguments)


def _check_answers(address: str) -> None:
    """Raises where nobody listens, for which Ray would wait for minutes."""
    if found := re.fullmatch(r"(?:ray://)?([^/]+):([0-9]{1,5})", address):
        try:
            socket.create_connection((found[1].strip("[]"), int(found[2])), _ANSWER_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise GinError(f"Ray has no cluster at {quoted(address)}: {reason_of(error)}") from None


class RayExecutor(Executor):
    """Runs tasks of ``run_tasks`` on a Ray cluster; to be used by one thread.

    Args:
        address: of the cluster (``auto`` finds the one that this machine belongs to), or ``local`` for one that begins and ends with
            this executor.

    Raises:
        GinError: if there is no cluster.
    """

    def __init__(self, address: str) -> None:
        # Otherwise Ray would report to its makers that it was used.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray: Any = importlib.import_module("ray")
        _check_answers(address)
        is_main = threading.current_thread() is threading.main_thread()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if is_main else {}
        try:
            self._ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            # Depending on the kind of address, Ray raises a dozen kinds of errors.
            reason = str(error).strip().partition("\n")[0] or reason_of(error)
            raise GinError(f"Ray has no cluster at {quoted(address)}: {reason}") from None
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        self._max_workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._task = self._ray.remote(_run)
        self._sent: dict[str, tuple[Any, bool]] = {}

    def _send(self, player: str | Player) -> tuple[Any, bool]:
        """A reference to the player in Ray's store, where it is put once, and whether it is a program."""
        if not isinstance(player, str):
            return self._ray.put(player), False
        if player not in self._sent:
            sent = send_player(player)
            is_program = isinstance(sent, SentPlayer) and sent.is_program
            if is_program and not self._ray.cluster_resources().get(PROGRAMS):
                raise GinError(
                    f"{player} is code of your own, and no node of the cluster says that it has it; "
                    f"one that does is started with ray start --resources '{{\"{PROGRAMS}\": 1}}'"
                )
            self._sent[player] = self._ray.put(sent), is_program
        return self._sent[player]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs ``fn(players, ...)`` on some node, to which the files of the players, the first argument, are sent.

        Raises:
            GinError: if a player is a program, and no node says that it has programs.
        """
        players, *arguments = args
        sent = [self._send(player) for player in players]
        needed = {PROGRAMS: _LEAST} if any(is_program for _, is_program in sent) else {}
        task = self._task.options(num_cpus=1, max_retries=_RUNS_AGAIN, resources=needed)
        reference = task.remote(build(), partial(fn, **kwargs), arguments, *(player for player, _ in sent))
        future: Future[Any] = Future()

        def end(_: Future[Any]) -> None:
            if future.cancelled() and self._ray.is_initialized():
                self._ray.cancel(reference)

        future.add_done_callback(end)
        reference.future().add_done_callback(lambda found: self._pass_on(found, future))
        return future

    def _pass_on(self, found: Future[Any], future: Future[Any]) -> None:
        """Gives a future the result of Ray's, or its error without Ray's account of it."""
        if not future.set_running_or_notify_cancel():
            return
        error = found.exception()
        if error is None:
            future.set_result(found.result())
            return
        cause = getattr(error, "cause", None)
        reason = str(error).strip().partition("\n")[0]
        future.set_exception(
            cause if isinstance(cause, Exception) else GinError(f"a task failed on the cluster: {reason}")
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster, which ends the tasks that are not done."""
        self._ray.shutdown()
