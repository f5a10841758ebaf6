"""An executor whose tasks run on a Ray cluster (extra ``ray``), to which the files of players travel.

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
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import cache
from pathlib import Path
from typing import Any

import agents
import ginenv
from agents.arena.results import versions
from ginenv.errors import GinError, quoted, reason_of
from ginenv.tables.player_names import PlayerSpec, holds_player, parse_player

# The resource by which a node says that it has outside programs, and how much of it a task takes: the least that Ray can count.
PROGRAMS, _LEAST = "ginenv_programs", 0.0001
# How often a task runs again whose process or node was lost: a task that kills its process must end, too.
_RUNS_AGAIN = 10
_ANSWER_SECONDS = 20.0
# What players read; a run's resume files and pictures stay where they are.
_SUFFIXES = (".json", ".safetensors", ".bin")


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


def player_files(player: Any) -> dict[str, dict[str, bytes]]:
    """The files of the directories in a player's parsed name, by directory; none of a program or of an object.

    Raises:
        GinError: if one cannot be read.
    """
    if not isinstance(player, PlayerSpec) or player.kind in ("cmd", "py"):
        return {}
    places = [place for place in (player.argument, *player.options.values()) if holds_player(place)]
    try:
        return {
            place: {path.name: path.read_bytes() for path in Path(place).iterdir() if path.suffix in _SUFFIXES}
            for place in places
        }
    except OSError as error:
        raise GinError(f"player {player.text} cannot be sent to another machine: {reason_of(error)}") from None


def received_player(player: Any, files: dict[str, dict[str, bytes]], folder: Path) -> Any:
    """The player on this machine, where its files are written into an empty folder."""
    if not files:
        return player
    written = {place: folder / str(number) for number, place in enumerate(files)}
    for place, contents in files.items():
        written[place].mkdir(parents=True)
        for name, content in contents.items():
            (written[place] / os.path.basename(name)).write_bytes(content)
    options = {name: str(written.get(value, value)) for name, value in player.options.items()}
    argument = str(written.get(player.argument, player.argument))
    return parse_player(PlayerSpec("", player.kind, argument).with_options(**options))


def _run(theirs: dict[str, str], play: Callable[..., Any], arguments: Sequence[Any], *sent: tuple[Any, Any]) -> Any:
    """A task, on the node."""
    mine = build()
    # Ray itself compares Python; torch may be missing where nothing needs it.
    other = [f"{name} {mine[name]}, not {theirs[name]}" for name in mine.keys() & theirs.keys() - {"python"}
             if mine[name] != theirs[name]]  # fmt: skip
    if other:
        raise GinError(f"a node of the cluster has {', '.join(sorted(other))}; install the same build everywhere")
    with tempfile.TemporaryDirectory(prefix="gin-") as folder:
        players = [received_player(*each, Path(folder, str(number))) for number, each in enumerate(sent)]
        return play(players, *arguments)


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
        is_main = threading.current_thread() is threading.main_thread()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if is_main else {}
        try:
            if at := re.fullmatch(r"(?:ray://)?([^/]+):([0-9]{1,5})", address):
                # Where nobody listens, Ray would wait for minutes.
                socket.create_connection((at[1].strip("[]"), int(at[2])), _ANSWER_SECONDS).close()
            self._ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            # Depending on the kind of address, Ray raises a dozen kinds of errors.
            raise GinError(f"Ray has no cluster at {quoted(address)}: {_first_line(error)}") from None
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        self._max_workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._task = self._ray.remote(_run)
        self._sent: dict[str, Any] = {}

    def _send(self, player: Any) -> Any:
        """A reference to a player and its files in Ray's store, where a named one is put once."""
        if not isinstance(player, PlayerSpec):
            return self._ray.put((player, {}))
        if player.kind in ("cmd", "py") and not self._ray.cluster_resources().get(PROGRAMS):
            raise GinError(
                f"{player.text} is code of your own, and no node of the cluster says that it has it; "
                f"one that does is started with ray start --resources '{{\"{PROGRAMS}\": 1}}'"
            )
        if player.text not in self._sent:
            self._sent[player.text] = self._ray.put((player, player_files(player)))
        return self._sent[player.text]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs ``fn(players, ...)`` on some node; the first argument holds the players, parsed names or objects.

        Raises:
            GinError: if a player is a program, and no node says that it has programs.
        """
        players, *arguments = args
        is_code = any(isinstance(player, PlayerSpec) and player.kind in ("cmd", "py") for player in players)
        task = self._task.options(num_cpus=1, max_retries=_RUNS_AGAIN, resources={PROGRAMS: _LEAST} if is_code else {})
        reference = task.remote(build(), fn, arguments, *map(self._send, players))
        future: Future[Any] = Future()
        future.add_done_callback(
            lambda done: done.cancelled() and self._ray.is_initialized() and self._ray.cancel(reference)
        )
        reference.future().add_done_callback(lambda done: _pass_on(done, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster, which ends the tasks that are not done."""
        self._ray.shutdown()


def _pass_on(done: Future[Any], future: Future[Any]) -> None:
    """Gives a future the result of Ray's, or its error without Ray's account of it."""
    if not future.set_running_or_notify_cancel():
        return
    if (error := done.exception()) is None:
        future.set_result(done.result())
        return
    cause = getattr(error, "cause", None)
    failed = GinError(f"a task failed on the cluster: {_first_line(error)}")
    future.set_exception(cause if isinstance(cause, Exception) else failed)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or reason_of(error)  # type: ignore[arg-type]
