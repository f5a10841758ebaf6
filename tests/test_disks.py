"""Disks that are full or cannot be written, under everything that writes: one sentence, a status, no half of a file, nothing older lost."""

from __future__ import annotations

import numpy as np
import pytest

from agents import cli
from agents.levels.level import Level, LevelError
from agents.levels.profile import Profile
from agents.play.store import Home
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.view.view import VIEW
from tests.support.disk import SmallDisk
from tests.support.level_scenes import hands_of
from tests.support.refusals import refuses


# Each is written in another way; OUT stands for the disk.
@pytest.mark.parametrize(
    ("words", "state", "reason"),
    [
        ("evaluate simple easy --games 2 --out OUT/x.json", "full", "No space left"),
        ("play --player Ann --home OUT/home", "read-only", "Read-only file system"),
    ],
)
def test_a_disk_that_takes_nothing_is_one_sentence(
    words: str, state: str, reason: str, small_disk: SmallDisk, capsys: pytest.CaptureFixture[str]
) -> None:
    if state == "full":
        small_disk.fill()
    else:
        small_disk.make_read_only()
    command, *rest = words.replace("OUT", str(small_disk.path)).split()
    with pytest.raises(SystemExit) as ended:
        cli.run("gin", command, rest)
    message = str(ended.value.code)
    assert message.startswith(f"gin {command}: ") and "\n" not in message and reason in message
    assert not [path for path in small_disk.path.rglob(".*") if path.is_file()]
    if command == "evaluate":
        # The figures of what was played are shown where they could not be written.
        assert "games won" in capsys.readouterr().out.lower()


def test_what_was_written_before_survives_a_full_disk(level: Level, small_disk: SmallDisk) -> None:
    out = small_disk.path / "x.json"
    cli.run("gin", "evaluate", ["simple", "easy", "--games", "2", "--out", str(out)])
    home = Home(small_disk.path / "home")
    file = home.create("Ann")
    profile = Profile(small_disk.path / "home", level, "Ann")
    hands = np.array(hands_of(make_simple(1), make_formula(2), 1), VIEW)
    profile.learn(hands)
    before, learned = out.read_bytes(), profile.path.read_bytes()
    small_disk.fill()
    with refuses(SystemExit, "No space left"):
        cli.run("gin", "evaluate", ["simple", "easy", "--games", "2", "--seed", "1", "--out", str(out)])
    with refuses(LevelError, "No space left"):
        profile.learn(hands)
    assert out.read_bytes() == before and profile.path.read_bytes() == learned
    file.game = {"name": "x" * 1_000_000}
    file.save()
    assert any("full" in notice and "what was saved before is still there" in notice for notice in file.notices)
    file.close()
    (small_disk.path / "filling").unlink()
    again = home.open("Ann")
    assert again.game is None and not again.notices
    again.close()


def test_an_error_that_is_no_disks_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.cli._function", lambda *rest: open("/no/such/file"))
    with pytest.raises(FileNotFoundError):
        cli.run("gin", "evaluate", [])
