"""Saves that a full disk or a kill breaks off at any of their calls, twice in a row: the old state or the new one is there, and goes on."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

import pytest
import torch

from agents.network.checkpoint import load_checkpoint, load_critic, save_checkpoint
from agents.network.nets import Actor, Critic
from agents.training.distributed import Workers
from agents.training.resume import ResumeFiles
from ginenv.errors import GinError
from tests.support.faults import Killed, faults


def _actor(number: int) -> Actor:
    actor = Actor((1,))
    torch.nn.init.constant_(actor.trunk.suit_layers()[0].pooled.bias, number)
    return actor


class Resume:
    """Writes and reads numbered states in a directory, in files that belong together."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, number: int) -> None:
        ResumeFiles(self.path, Workers("cpu")).save({"batches": number})

    def read(self) -> int:
        files = ResumeFiles(self.path, Workers("cpu"))
        newest = files.find()
        assert newest is not None
        return int(files.read(newest)["batches"])


class Checkpoint(Resume):
    def save(self, number: int) -> None:
        critic = Critic((1,))
        torch.nn.init.constant_(critic.trunk.suit_layers()[0].pooled.bias, number)
        save_checkpoint(self.path, _actor(number), (1,), {"number": number}, critic, (1,))

    def read(self) -> int:
        actor, metadata = load_checkpoint(self.path)
        number = metadata["about"]["number"]
        for network in (actor, load_critic(self.path)):
            assert set(network.trunk.suit_layers()[0].pooled.bias.tolist()) == {number}
        return number


@pytest.mark.parametrize(("writer", "broken"), [(Resume, "full"), (Checkpoint, "killed")])
def test_a_save_that_is_broken_off_leaves_the_old_state_or_the_new(
    writer: type[Resume], broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Takes most of the time.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    (tmp_path / "saved").mkdir()
    written = writer(tmp_path / "saved")
    written.save(0)

    def check(failed: str) -> None:
        if not written.path.exists():
            # Killed between two renames: the old state has another name.
            assert broken == "killed" and failed == "rename"
            (before,) = tmp_path.glob(".saved.*/before")
            before.rename(written.path)
        assert written.read() in (0, 1)
        left = [*tmp_path.glob(".*"), *written.path.glob(".*")]
        for path in left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert not left or broken == "killed" or failed in ("unlink", "rmdir")
        written.save(0)
        assert written.read() == 0

    # Broken off at its first call, twice in a row; then at its second, and so on until it is no longer broken.
    for at in itertools.count():
        for _ in range(2):
            with faults(at, broken == "killed", monkeypatch) as state:
                try:
                    written.save(1)
                except (OSError, GinError, Killed):
                    pass
        check(state.failed)
        if not state.happened:
            assert at > 3
            return
