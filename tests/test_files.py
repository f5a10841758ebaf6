"""Writing files: nothing older is lost to a full disk or a kill, links stay links, no name means the current directory by accident."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import numpy as np
import pytest

from agents import cli
from agents.files import FileError, check_writable, copy_files, replacing, write_json, write_text
from agents.levels.level import Level, LevelError
from agents.levels.memory import Profile
from agents.play.game import Game
from agents.play.store import Home
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.engine.rules import Rules
from ginenv.errors import UnknownNameError
from ginenv.tables.players import make_player
from ginenv.view.view import VIEW
from tests.support.disk import SmallDisk
from tests.support.level_scenes import hands_of
from tests.support.refusals import refuses

ROOT = Path(__file__).parent.parent


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with refuses(FileError, pipe):
            check_writable(path)
        with pytest.raises(OSError):
            write_text(path, "new")
    assert pipe.is_fifo() and set(tmp_path.iterdir()) == {pipe, link}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    target, link = tmp_path / "disk" / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    check_writable(link)
    write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
    dangling = tmp_path / "dangling.txt"
    dangling.symlink_to(tmp_path / "later.txt")
    write_text(dangling, "new")
    assert dangling.is_symlink() and (tmp_path / "later.txt").read_text() == "new"
    (tmp_path / "directory").symlink_to(tmp_path / "disk")
    with refuses(FileError, tmp_path / "disk"):
        check_writable(tmp_path / "directory")


def test_a_linked_directory_is_copied_with_its_files(tmp_path: Path) -> None:
    source, out, elsewhere = (tmp_path / name for name in ("source", "out", "elsewhere"))
    for directory in (source, out, elsewhere):
        directory.mkdir()
    write_text(elsewhere / "card", "9C")
    (source / "linked").symlink_to(elsewhere)
    copy_files(source, out)
    assert (out / "linked" / "card").read_text() == "9C"


def test_an_interrupt_between_two_renames_leaves_the_old_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> None:
        rename(self, target)
        raise KeyboardInterrupt

    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "kept").touch()
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "run"):
        pass
    assert (tmp_path / "run" / "kept").exists() and len(list(tmp_path.iterdir())) == 1


def test_files_of_a_person_are_nobody_elses(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        for path, private in ((tmp_path / "new", False), (tmp_path / "private", True)):
            write_text(path, "", private=private)
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "private")] == [0o640, 0o600]


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("train --export taken", "taken/checkpoint.json"),
        ("evaluate simple easy --out taken/b/c.json", "taken/b/c.json"),
    ],
)
def test_a_wrong_path_is_named_once(words: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GINENV_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("kept")
    command, *rest = words.split()
    with pytest.raises(SystemExit) as ended:
        cli.run("gin", command, rest)
    message = str(ended.value.code).replace(f"{os.path.realpath(tmp_path)}/", "")
    assert message.startswith(f"gin {command}: ") and len(re.findall(rf"(?<!\S){path}(?![\w/])", message)) == 1
    assert Path("taken").read_text() == "kept"


@pytest.mark.parametrize("name", ["", " ", ":worlds=3"])
def test_an_empty_name_is_not_the_current_directory(
    name: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a level or a checkpoint lies."""
    monkeypatch.chdir(directory)
    with pytest.raises(UnknownNameError):
        make_player(name)
    assert make_player(".").name


# --- disks that are full or cannot be written


def test_what_was_written_before_survives_a_full_disk(
    level: Level, small_disk: SmallDisk, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, no half of a file, and the figures of what was played are shown."""
    out = small_disk.path / "x.json"
    cli.run("gin", "evaluate", ["simple", "easy", "--games", "2", "--out", str(out)])
    home = Home(small_disk.path / "home")
    file = home.create("Ann")
    profile = Profile(small_disk.path / "home", level, "Ann")
    hands = np.array(hands_of(make_simple(1), make_formula(2), 1), VIEW)
    profile.learn(hands)
    before, learned = out.read_bytes(), profile.path.read_bytes()
    small_disk.fill()
    capsys.readouterr()
    with refuses(SystemExit, "gin evaluate: ", "No space left") as refused:
        cli.run("gin", "evaluate", ["simple", "easy", "--games", "2", "--seed", "1", "--out", str(out)])
    assert "\n" not in str(refused.value) and "games won" in capsys.readouterr().out.lower()
    with refuses(LevelError, "No space left"):
        profile.learn(hands)
    assert out.read_bytes() == before and profile.path.read_bytes() == learned
    file.game = Game.begin(Rules(), "x" * 1_000_000, easy=False)
    file.save()
    assert any("full" in notice and "what was saved before is still there" in notice for notice in file.notices)
    file.close()
    assert not [path for path in small_disk.path.rglob(".*") if path.is_file()]
    (small_disk.path / "filling").unlink()
    again = home.open("Ann")
    assert again.game is None and not again.notices
    again.close()


def test_a_disk_that_cannot_be_written_is_one_sentence(small_disk: SmallDisk) -> None:
    small_disk.make_read_only()
    with refuses(SystemExit, "gin play: ", "Read-only file system"):
        cli.run("gin", "play", ["--player", "Ann", "--home", str(small_disk.path / "home")])


def test_files_have_the_modes_that_the_user_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mode(path: Path) -> int:
        return path.stat().st_mode & 0o777

    before = os.umask(0o027)
    try:
        for path, private in ((tmp_path / "new", False), (tmp_path / "private", True)):
            write_text(path, "", private=private)
        (tmp_path / "old").touch()
        (tmp_path / "old").chmod(0o604)
        write_json(tmp_path / "old", {})
        with replacing(tmp_path / "new directory") as made:
            write_json(made / "x", {})
        (tmp_path / "new directory").chmod(0o700)
        with replacing(tmp_path / "new directory", keep=True):
            pass
    finally:
        os.umask(before)
    assert [mode(tmp_path / name) for name in ("new", "private", "old")] == [0o640, 0o600, 0o604]
    assert mode(tmp_path / "new directory") == 0o700 and mode(tmp_path / "new directory" / "x") == 0o640

    # A file system that knows no modes loses nothing.
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chmod", refuse)
    write_text(tmp_path / "old", "again")
    with replacing(tmp_path / "new directory", keep=True) as made:
        write_text(made / "y", "again")
    assert (tmp_path / "old").read_text() == "again" and len(list((tmp_path / "new directory").iterdir())) == 2
