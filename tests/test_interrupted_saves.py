"""Saves that a full disk or a kill breaks off at any of their calls, twice in a row: the old state or the new one is there, and goes on."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import agents.files
from agents.arena.configs import TournamentConfig
from agents.arena.tournament import Tournament
from agents.cli.networks import export
from agents.config import parse_config
from agents.levels.level import LevelSettings, load_level
from agents.levels.package import build_level
from agents.network.checkpoint import load_checkpoint, load_critic, save_checkpoint
from agents.network.nets import Actor, Critic
from agents.training.distributed import Workers
from agents.training.resume import ResumeFiles
from ginenv.errors import GinError
from tests.support.faults import Killed, faults


class Writer:
    """Writes and reads numbered states in a directory, in files that belong together (``save``, ``read``)."""

    def __init__(self, path: Path) -> None:
        self.path = path


def _actor(number: int) -> Actor:
    actor = Actor((1,))
    torch.nn.init.constant_(actor.trunk.linear_layers()[0].bias, number)
    return actor


class Resume(Writer):
    def save(self, number: int) -> None:
        ResumeFiles(self.path, Workers("cpu")).save({"batches": number})

    def read(self) -> int:
        files = ResumeFiles(self.path, Workers("cpu"))
        newest = files.find()
        assert newest is not None
        return int(files.read(newest)["batches"])


class Checkpoint(Writer):
    def save(self, number: int) -> None:
        critic = Critic((1,))
        torch.nn.init.constant_(critic.trunk.linear_layers()[0].bias, number)
        save_checkpoint(self.path, _actor(number), (1,), {"number": number}, critic, (1,))

    def read(self) -> int:
        actor, metadata = load_checkpoint(self.path)
        number = metadata["about"]["number"]
        for network in (actor, load_critic(self.path)):
            assert network.trunk.linear_layers()[0].bias.tolist() == [number]
        return number


class LevelWriter(Writer):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        for number in range(2):
            save_checkpoint(path.parent / str(number), _actor(number), (1,), {})

    def save(self, number: int) -> None:
        settings = parse_config({"title": str(number)}, LevelSettings)
        build_level(self.path, settings, self.path.parent / str(number), replace=True)

    def read(self) -> int:
        level = load_level(self.path)
        assert level.actor.trunk.linear_layers()[0].bias.tolist() == [int(level.settings.title)]
        return int(level.settings.title)


WRITERS: list[Callable[[Path], Any]] = [Resume, Checkpoint, LevelWriter]


def break_all(
    monkeypatch: pytest.MonkeyPatch, kill: bool, save: Callable[[], object], check: Callable[[str], None]
) -> None:
    """Breaks ``save`` off at its first call, twice in a row, then ``check``; then at its second, and so on until it is no longer broken."""
    for at in itertools.count():
        for _ in range(2):
            with faults(at, kill, monkeypatch) as state:
                try:
                    save()
                except (OSError, GinError, Killed):
                    pass
        check(state.failed)
        if not state.happened:
            assert at > 3
            return


@pytest.mark.parametrize("broken", ["full", "killed", "full, without exchange"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_save_that_is_broken_off_leaves_the_old_state_or_the_new(
    writer: Callable[[Path], Any], broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "without" in broken:
        monkeypatch.setattr(agents.files, "_exchange", lambda *paths: False)
    # Takes most of the time.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    (tmp_path / "saved").mkdir()
    written = writer(tmp_path / "saved")
    written.save(0)

    def check(failed: str) -> None:
        assert written.read() in (0, 1)
        left = [*tmp_path.glob(".*"), *written.path.glob(".*")]
        for path in left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert not left or broken == "killed" or failed in ("unlink", "rmdir")
        written.save(0)
        assert written.read() == 0

    break_all(monkeypatch, broken == "killed", lambda: written.save(1), check)


@pytest.mark.parametrize("kill", [False, True])
def test_an_export_that_is_broken_off_leaves_nothing_or_a_whole_copy(
    kill: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    save_checkpoint(tmp_path / "net", _actor(0), (1,), {})
    numbers = itertools.count()

    def check(failed: str) -> None:
        made = [sorted(path.name for path in out.iterdir()) for out in tmp_path.glob("out-*")]
        assert failed or made
        assert all(names == made[0] and len(names) >= 3 for names in made)
        for path in (*tmp_path.glob("out-*"), *tmp_path.glob(".*")):
            shutil.rmtree(path)

    break_all(monkeypatch, kill, lambda: export(str(tmp_path / "net"), tmp_path / f"out-{next(numbers)}"), check)


@pytest.mark.parametrize("kill", [False, True])
def test_a_tournament_that_is_broken_off_goes_on(kill: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    players = {"a": "simple", "b": "random"}
    config = parse_config({"players": players, "pairs": 2, "block": 1, "out": str(tmp_path / "t")}, TournamentConfig)
    complete = []

    def check(failed: str) -> None:
        again = Tournament(config)
        assert again.play()
        complete.append(again.standings().matches[0, 1].share)
        assert complete[-1] == complete[0]
        shutil.rmtree(tmp_path / "t")

    break_all(monkeypatch, kill, lambda: Tournament(config).play(), check)
