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
import agents.levels.distill as distill
from agents.cli.networks import export
from agents.levels.app import APP, NETWORK
from agents.levels.level import load_level
from agents.levels.player import make_level
from ginenv.envs.selfplay import SelfPlayBatch
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from ginenv.view.view import action_masks
from tests.support.refusals import refuses
from tests.test_interrupts import signalling


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("apps") / "level-1"
    export("level-1", directory, app=True, minutes=0.1)
    return directory


def _views() -> np.ndarray:
    tables, player, seen = SelfPlayBatch(64, "dg-standard"), make_player("formula"), []
    tables.reset(seed=5)
    for _ in range(12):
        seen.append(tables.views)
        tables.step(player.act(seen[-1]))
    return np.concatenate(seen)


def test_it_has_learned_what_the_level_plays(app: Path) -> None:
    """Nearer to its own level than a policy that plays all legal actions alike."""
    views = _views()
    _, level = make_level(3, 1, learn=False).act_with_policy(views)
    _, found = make_player(str(app), 3).act_with_policy(views)
    legal = action_masks(views)
    alike = legal / legal.sum(1, keepdims=True)
    assert np.abs(found - level).sum() < 0.8 * np.abs(alike - level).sum()


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


def test_the_onnx_network_takes_a_batch_of_any_size(app: Path) -> None:
    network = pytest.importorskip("onnx.reference").ReferenceEvaluator(str(app / "network.onnx"))
    for count in (0, 1, 3):
        assert network.run(None, {"input": np.zeros((count, 520), np.float32)})[0].shape == (count, 107)


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
        monkeypatch.setattr(distill, name, value)
    monkeypatch.setattr(app_export, "_PAIRS", 20)


@pytest.mark.usefixtures("small")
def test_the_same_seed_writes_the_same_files_and_a_student_that_errs_varies_less_than_its_level(tmp_path: Path) -> None:
    for name in ("one", "again"):
        export("level-3", tmp_path / name, app=True, seed=7)
    one, again = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "again"))
    made = json.loads(one[APP])
    assert one == again and len(one) == 6 and made["about"]["finished"]
    assert 0 < made["behaviour"]["max_logit_gap"] < load_level("level-3").settings.max_logit_gap


@pytest.mark.usefixtures("small")
def test_an_interrupt_ends_the_learning_and_what_was_learned_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distill, "_step", signalling(distill._step, 10, signal.SIGINT))
    export("level-1", tmp_path / "app", app=True)
    about = json.loads((tmp_path / "app" / APP).read_text())["about"]
    assert not about["finished"] and 0 < about["positions"] < distill.POSITIONS
    make_player(str(tmp_path / "app"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("module", "function"), [(distill, "_label"), (app_export, "_golden")])
def test_an_interrupt_before_or_after_the_learning_leaves_nothing(
    module: object, function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, function, signalling(getattr(module, function), 1, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        export("level-1", tmp_path / "app", app=True)
    assert list(tmp_path.iterdir()) == []
