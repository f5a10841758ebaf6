"""One thread for matrices: tests run in several processes, and threads that wait for a busy core take longer than small batches.

And the small level that several files of tests play with; what it is made of is imported by those alone who use it.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents.interrupts import STOPS

os.environ["OMP_NUM_THREADS"] = "1"

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from agents.levels.level import Level
    from agents.play.game import Game
    from tests.support.disk import SmallDisk
    from tests.support.programs import Lines
    from tests.support.session_scenes import Talk
    from tests.support.web_scenes import Guest


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Handlers of signals as they were before: commands set their own."""
    before = {number: signal.getsignal(number) for number in STOPS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def deals(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same cards for a test whenever it runs, in games at a table of this process; `GINENV_TEST_SEED` deals others."""
    drawn = random.Random(f"{os.environ.get('GINENV_TEST_SEED', '')} {request.node.nodeid}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "randbits", drawn.getrandbits)
        yield


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    """A real browser; skips the test where there is none."""
    from tests.support.browser import browser

    with browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def pool() -> Iterator[Executor]:
    """Two processes that play."""
    from agents.arena.executors import process_pool

    with process_pool(2) as made:
        yield made


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A level of a small untrained network."""
    from tests.support.level_scenes import write_small_level

    path = tmp_path_factory.mktemp("levels") / "small"
    write_small_level(path)
    return path


@pytest.fixture
def level(directory: Path) -> Level:
    """The same, loaded."""
    from agents.levels.level import load_level

    return load_level(str(directory))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of its own, which can be filled or made read-only; skips where nobody may mount one."""
    from tests.support.disk import SmallDisk

    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.close()


@pytest.fixture
def logger(tmp_path: Path) -> Callable[..., tuple[str, Lines]]:
    """A program that writes down what it is told."""
    from tests.support.programs import make_logger

    return make_logger(tmp_path)


@pytest.fixture
def unrunnable(tmp_path: Path) -> str:
    """A program that is there and that the system cannot run: its interpreter is missing."""
    path = tmp_path / "unrunnable"
    path.write_text("#!/nowhere/python\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    """A session at the table that is talked to in this process."""
    from tests.support.session_scenes import Talk

    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    talk = Talk(tmp_path)
    yield talk
    talk.session.close()


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Guest]]:
    """Makes guests of the table in the browser, who all share one home."""
    from tests.support.web_scenes import Guest

    guests: list[Guest] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def make(game: Game | None = None, **options: str) -> Guest:
        guests.append(Guest(tmp_path, game, **options))
        return guests[-1]

    yield make
    for each in guests:
        each.close()
