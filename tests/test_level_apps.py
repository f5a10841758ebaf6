"""Levels for apps: what the directory says is what is played, and a damaged one is refused."""

from __future__ import annotations

import base64
import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import agents.levels.app_export as app_export
from agents.cli.networks import export
from agents.levels.app import APP, NETWORK
from agents.levels.app_export import APPS, export_app
from agents.levels.level import Level, load_level
from agents.levels.player import make_level
from ginenv.envs.selfplay import SelfPlayBatch
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from ginenv.view.view import action_masks
from tests.support.refusals import refuses
from tests.test_interrupts import signalling


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what ships: nothing is distilled."""
    directory = tmp_path_factory.mktemp("apps") / "level-1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_export, "distill", None)
        export("level-1", directory, app=True)
    assert (directory / NETWORK).read_bytes() == (APPS / "level-1" / NETWORK).read_bytes()
    return directory


def test_what_ships_was_distilled_from_the_levels_as_they_are() -> None:
    made = {path.name: json.loads((path / APP).read_text())["about"]["level_sha256"] for path in APPS.iterdir()}
    assert made == {f"level-{k}": load_level(k).digest for k in (1, 2, 3)}, "make app makes them again"


def test_it_has_learned_what_the_level_plays(app: Path) -> None:
    """Nearer to its own level than a policy that plays all legal actions alike."""
    tables, player, seen = SelfPlayBatch(64, "dg-standard"), make_player("formula"), []
    tables.reset(seed=5)
    for _ in range(12):
        seen.append(tables.views)
        tables.step(player.act(seen[-1]))
    views = np.concatenate(seen)
    _, level = make_level(3, 1, learn=False).act_with_policy(views)
    _, found = make_player(str(app), 3).act_with_policy(views)
    legal = action_masks(views)
    alike = legal / legal.sum(1, keepdims=True)
    assert np.abs(found - level).sum() < 0.5 * np.abs(alike - level).sum()


def test_golden_positions_hold_the_bounds_and_each_has_its_legal_action(app: Path) -> None:
    lines = [json.loads(line) for line in (app / "golden.jsonl").open()]
    behaviour = json.loads((app / APP).read_text())["behaviour"]
    assert len(lines) == 500 and behaviour["remembered_discards"] == 3 and behaviour["noticed_actions"] == 0
    for line in lines:
        planes = np.frombuffer(base64.b64decode(line["input"]), np.uint8).reshape(10, 52)
        assert planes[0].nonzero()[0].tolist() == line["view"]["hand"]
        assert planes[3].nonzero()[0].tolist() == sorted(line["view"]["pile"][-3:])
        assert not planes[[4, 6, 7]].any()
        chance = line["probabilities"][line["view"]["legal"].index(line["action"])]
        assert chance > 0 and abs(sum(line["probabilities"]) - 1) < 1e-5


@pytest.mark.parametrize("damage", ["cut", "layers", "version"])
def test_a_damaged_directory_is_no_player(damage: str, app: Path, tmp_path: Path) -> None:
    directory = tmp_path / "app"
    shutil.copytree(app, directory)
    about = json.loads((directory / APP).read_text())
    if damage == "cut":
        (directory / NETWORK).write_bytes((directory / NETWORK).read_bytes()[:-4])
    elif damage == "layers":
        about["layers"][0]["suit_outputs"] += 1
    else:
        about["observation_version"] = 99
    (directory / APP).write_text(json.dumps(about))
    with refuses(GinError, str(directory)):
        make_player(str(directory))


def test_a_network_that_is_no_level_is_refused(tmp_path: Path) -> None:
    with refuses(GinError, "network", "level-1"):
        export("network", tmp_path / "out", app=True)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few positions that all of them are learned from in a second."""
    for name, value in {"POSITIONS": 3000, "_CHUNK": 1000, "_BATCH": 256}.items():
        monkeypatch.setattr(app_export, name, value)
    monkeypatch.setattr(app_export, "_PAIRS", 20)


@pytest.mark.usefixtures("small")
def test_the_same_seed_writes_the_same_files_and_a_student_that_errs_varies_less_than_its_level(tmp_path: Path) -> None:
    level, shares = load_level("level-3").with_settings(title="another"), []
    for name in ("one", "again"):
        export_app(level, tmp_path / name, 60.0, 7, shares.append)
    one, again = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "again"))
    made = json.loads(one[APP])
    assert one == again and len(one) == 5 and made["about"]["finished"]
    assert 0 < shares[0] < shares[1] <= 1 == shares[-1]
    assert 0 < made["behaviour"]["max_logit_gap"] < level.settings.max_logit_gap


@pytest.mark.usefixtures("small")
def test_where_time_ends_the_learning_the_progress_is_that_of_the_time(level: Level, tmp_path: Path) -> None:
    shares: list[float] = []
    about = export_app(level, tmp_path / "app", 1e-3, 7, shares.append)
    assert shares == [1.0] and not about["finished"] and about["positions"] < app_export.POSITIONS
    make_player(str(tmp_path / "app"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("function", ["_step", "_golden"])
def test_an_interrupt_leaves_nothing(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    monkeypatch.setattr(app_export, function, signalling(getattr(app_export, function), 1, signal.SIGINT))
    # A command that ran before in this process leaves it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            export(str(directory), tmp_path / "app", app=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []
