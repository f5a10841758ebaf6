"""Levels as directories and files: exported, imported, built."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.arena.series import play_series
from agents.cli.levels import levels
from agents.cli.networks import export
from agents.levels.dial import LEVELS, shipped_dial
from agents.levels.level import LEVEL, NAMES, Level, LevelError, build_level, copy_level, load_level
from agents.levels.player import LevelPlayer
from agents.network.checkpoint import METADATA, WEIGHTS, save_checkpoint
from agents.network.model_card import CARD
from agents.network.nets import Actor
from ginenv.bots.heuristics import make_simple
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from tests.support.refusals import refuses

# --- copies ----------------------------------------------------------------------------------------------------------


def test_a_level_travels_as_a_directory(directory: Path, level: Level, tmp_path: Path) -> None:
    assert copy_level(str(directory), tmp_path / "out").directory == tmp_path / "out"
    assert load_level(str(tmp_path / "out")).digest == level.digest
    assert repr(level) == f"<Level {level.name}, sha256 {level.digest[:12]}>"
    assert copy_level(str(tmp_path / "out"), tmp_path / "in").digest == level.digest
    player = make_player(str(tmp_path / "in"), seed=3)
    assert (
        play_series(player, make_simple(2), series=2, hands=4, seed=5)
        == play_series(LevelPlayer(level, 3), make_simple(2), series=2, hands=4, seed=5)
    ).all()
    with refuses(LevelError, tmp_path):
        copy_level(str(directory), tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"format": 9}, "format"), ({"secret": 1}, "'secret'"), ({"learned": {"hands": 1}}, "learned"),
        ({"settings": {"title": "x", "noticed_actions": 3}}, "noticed_actions"),
        ({"settings": {"title": "x", "habits": {"any knok": 1}}}, "any knock"),
    ],
)  # fmt: skip
def test_a_copy_is_checked_and_leaves_nothing_behind(directory, tmp_path, change, fact):
    copy_level(str(directory), tmp_path / "bad")
    values = json.loads((tmp_path / "bad" / LEVEL).read_text())
    (tmp_path / "bad" / LEVEL).write_text(json.dumps(values | change))
    with refuses(GinError, fact):
        copy_level(str(tmp_path / "bad"), tmp_path / "in")
    assert os.listdir(tmp_path) == ["bad"]


def test_a_level_that_does_not_exist_suggests_one(tmp_path: Path) -> None:
    with refuses(LevelError, "levl-3", "level-3"):
        load_level("levl-3")
    with refuses(LevelError, tmp_path, LEVEL):
        load_level(str(tmp_path))
    assert [load_level(k).name for k in range(1, 5)] == list(NAMES)


def test_a_level_is_built_of_a_run_or_any_checkpoint_plays_and_travels(tmp_path):
    torch.manual_seed(1)
    checkpoint = tmp_path / "run" / "best"
    save_checkpoint(checkpoint, Actor((16,)), (16,), {"decisions": 5, "config": {"seed": 7}})
    # How strong the network was says nothing of a level, which errs.
    metadata = json.loads((checkpoint / METADATA).read_text(encoding="utf-8"))
    (checkpoint / METADATA).write_text(json.dumps(metadata | {"measured": ["a match"]}), encoding="utf-8")
    build = [
        "build",
        str(checkpoint.parent),
        "--out",
        str(tmp_path / "out" / "mine"),
        "--like",
        "level-2",
        "--set",
        "worlds=0",
    ]
    levels(build)
    built = load_level(str(tmp_path / "out" / "mine"))
    assert built.name == "mine" and built.settings == load_level("level-2").settings
    metadata = json.loads((built.directory / METADATA).read_text(encoding="utf-8"))
    assert metadata["about"]["decisions"] == 5 and "measured" not in metadata
    with refuses(LevelError, built.directory):
        levels(build)
    export(str(built.directory), tmp_path / "exported")
    export(str(tmp_path / "exported"), tmp_path / "imported")
    for directory in (built.directory, tmp_path / "exported", tmp_path / "imported"):
        assert "## Limits" in (directory / CARD).read_text(encoding="utf-8")
    points = [
        play_series(make_player(str(path), 3), make_simple(2), series=2, hands=4, seed=5)
        for path in (built.directory, tmp_path / "imported")
    ]
    assert (points[0] == points[1]).all() and points[0].any()
    with refuses(GinError, "opponent", "''"):
        levels(["learned", str(built.directory), "--opponent", "", "--home", str(tmp_path / "out")])
    for place, source in ((tmp_path / "run", checkpoint), (tmp_path / "new", tmp_path / "nowhere")):
        with refuses(LevelError, place if place.exists() else source):
            build_level(place, built.settings, source)
    assert sorted(os.listdir(tmp_path)) == ["exported", "imported", "out", "run"]


def test_a_directory_that_is_named_like_an_installed_level_is_the_directory(
    level: Level, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    levels(["build", str(directory), "--out", "level-2", "--like", "level-1"])
    built = load_level(Path("level-2"))
    assert built.digest != load_level("level-2").digest
    assert f"level-2 is in level-2 (sha256 {built.digest})." in capsys.readouterr().out
    export("./level-2", Path("level-3"))
    assert f"level-3: a copy of level-2 (sha256 {built.digest})" in capsys.readouterr().out
    assert copy_level("./level-2", Path("level-4")).digest == built.digest
    levels(["build", "level-3", "--out", "mine"])
    assert Path("mine", WEIGHTS).read_bytes() == (load_level("level-3").directory / WEIGHTS).read_bytes()


def test_four_levels_are_places_of_one_network_in_order() -> None:
    found = [load_level(name) for name in NAMES]
    assert len({level.weights_sha256 for level in found}) == 1 and len({level.digest for level in found}) == 4
    ratings = shipped_dial().ratings
    places = [np.interp(place.place, np.arange(len(ratings)), ratings) for place in LEVELS.values()]
    assert (np.diff(places) > 50).all()
