"""Networks for other programs: as ONNX they play as with torch, without it, and a card beside each says what it is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.arena.matches import play_match
from agents.cli.networks import export, write_model_card
from agents.cli.train import train
from agents.levels.level import INSTALLED, NAMES
from agents.network import onnx_export
from agents.network.checkpoint import load_checkpoint, save_checkpoint
from agents.network.features import NUM_HEURISTIC_FEATURES
from agents.network.inputs import actor_inputs
from agents.network.model_card import CARD, model_card, write_card
from agents.network.nets import Actor, FrozenActor
from agents.network.onnx_export import export_onnx
from agents.network.onnx_player import OnnxError, load_onnx
from agents.network.player import SHIPPED, NetworkPlayer
from ginenv.envs.vector import HandVectorEnv
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from ginenv.view.encoding import encode_views
from tests.support.refusals import refuses


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network."""
    torch.manual_seed(3)
    directory = tmp_path_factory.mktemp("networks") / "small"
    actor = Actor((24, 16), NUM_HEURISTIC_FEATURES)
    for head in (actor.policy, actor.belief, actor.next_action):
        torch.nn.init.normal_(head.weight, 0, 0.3)
    about = {"command": "python train.py", "decisions": 1234567, "rules": {"eaai": "x"}, "minutes": 3.0}
    panel = {"simple": {"games_won": 0.625, "half_width": 0.04}}
    save_checkpoint(directory, actor, (24, 16), about | {"panel": panel})
    return directory


@pytest.fixture(scope="module")
def exported(checkpoint: Path) -> Path:
    directory = checkpoint.parent / "onnx"
    export(str(checkpoint), directory, onnx=True)
    return directory


@pytest.fixture(scope="module")
def views() -> np.ndarray:
    envs = HandVectorEnv(64, "simple", "eaai")
    envs.reset(seed=2)
    player, seen = make_player("formula"), []
    for _ in range(10):
        seen.append(envs.views)
        envs.step(player.act(seen[-1]))
    return np.concatenate(seen)


def test_outputs_agree(checkpoint: Path, exported: Path, views: np.ndarray) -> None:
    actor, _ = load_checkpoint(checkpoint)
    player, rng = load_onnx(str(exported)), np.random.default_rng(0)
    network = player.network
    assert {one.name: one.shape[1] for one in network.session.get_inputs()} == {"seen": 521 + NUM_HEURISTIC_FEATURES}
    frozen, conditions = FrozenActor(actor, bfloat16=False), rng.integers(0, 2, len(views)).astype(np.uint8)
    inputs = actor_inputs(frozen, views, encode_views(views), conditions)
    with torch.no_grad():
        expected = [values.numpy() for values in actor(inputs)]
    seen = player.seen(views, encode_views(views), conditions)
    for found, values in zip(network(seen), expected, strict=True):
        assert np.allclose(found, values, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_it_plays_what_the_network_plays(
    checkpoint: Path, exported: Path, views: np.ndarray, temperature: float
) -> None:
    torch_player = NetworkPlayer(FrozenActor(load_checkpoint(checkpoint)[0], False), 5, temperature)
    player = make_player(f"{exported}:temperature={temperature}", 5)
    assert (player.act(views) == torch_player.act(views)).mean() > 0.999
    assert len(play_match(player, "random", pairs=4, unit="hands").games) == 8


def test_a_level_is_not_written_as_its_network_alone(tmp_path: Path) -> None:
    """Levels of one network would all be the same file."""
    shutil.copytree(INSTALLED / NAMES[0], tmp_path / "own")
    for level in (NAMES[0], NAMES[2], str(tmp_path / "own")):
        with refuses(GinError, "gin export network"):
            export(level, tmp_path / "level", onnx=True)
        assert not (tmp_path / "level").exists()


def test_it_plays_without_torch(exported: Path) -> None:
    code = f"import sys; sys.modules['torch'] = None; import ginenv; player = ginenv.make_player({str(exported)!r})\n"
    code += "envs = ginenv.HandVectorEnv(2, player); envs.reset(seed=3)\n"
    code += "while not (info := envs.step(player.act(envs.views))[-1]).get('final_info'): pass\nprint(info['final_info']['outcome'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "points" in done.stdout


def test_a_graph_that_does_not_agree_is_not_written(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Actor((24, 16), NUM_HEURISTIC_FEATURES)
    graph = onnx_export._graph_of(other.eval())
    monkeypatch.setattr(onnx_export, "_graph_of", lambda actor: graph)
    with pytest.raises(OnnxError):
        export_onnx(checkpoint, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_damaged_exports_are_refused_in_a_sentence(exported: Path, tmp_path: Path) -> None:
    for name in ("network.onnx", "onnx.json"):
        (tmp_path / name).write_bytes((exported / name).read_bytes())
    about = json.loads((tmp_path / "onnx.json").read_text())
    (tmp_path / "network.onnx").write_bytes(b"not a graph")
    with pytest.raises(OnnxError):
        make_player(str(tmp_path))
    (tmp_path / "onnx.json").write_text(json.dumps(about | {"observation_version": 99}))
    with refuses(OnnxError, "observation_version", 99):
        make_player(str(tmp_path))


def test_bad_sources_and_places_are_refused(exported: Path, tmp_path: Path) -> None:
    with refuses(GinError, exported):
        export("network", exported, onnx=True)
    for onnx in (False, True):
        with refuses(GinError, "nowhere", "checkpoint.json"):
            export("nowhere", tmp_path / "out", onnx=onnx)
    assert not (tmp_path / "out").exists()


def test_a_copy_of_a_checkpoint_has_a_card(checkpoint: Path, tmp_path: Path) -> None:
    export(str(checkpoint), tmp_path / "copy")
    text = (tmp_path / "copy" / CARD).read_text()
    assert text == model_card(tmp_path / "copy")
    for message in (
        "1,234,567",
        "`python train.py`",
        "simple 62.5 ± 4.0 %",
        "## Limits",
    ):
        assert message in text
    assert make_player(str(tmp_path / "copy")).name == str(tmp_path / "copy")


def test_measured_strength_is_stored_with_its_interval(checkpoint: Path, tmp_path: Path) -> None:
    export(str(checkpoint), tmp_path / "copy")
    result = play_match(str(tmp_path / "copy"), "random", pairs=10)
    (tmp_path / "results.json").write_text(json.dumps({"matches": [result.to_dict()]}))
    write_model_card(tmp_path / "copy", [tmp_path / "results.json"])
    share = result.share
    row = f"| `random` | eaai | 20 games | {share.text(percent=True)} |"
    assert row in (tmp_path / "copy" / CARD).read_text()
    # From its JSON alone from then on.
    assert write_card(tmp_path / "copy") == (tmp_path / "copy" / CARD).read_text() == model_card(tmp_path / "copy")
    assert make_player(str(tmp_path / "copy"))
    for other in ("cmd:./copy", "simple", str(tmp_path / "other" / "copy")):
        export(str(SHIPPED), tmp_path / "other" / "copy") if "other" in other else None
        (tmp_path / "others.json").write_text(
            json.dumps({"matches": [result.to_dict() | {"players": [other, "random"]}]})
        )
        with refuses(GinError, tmp_path / "copy"):
            write_model_card(tmp_path / "copy", [tmp_path / "others.json"])
        assert row in (tmp_path / "copy" / CARD).read_text()
    with refuses(GinError, tmp_path / "copy" / CARD):
        write_model_card(tmp_path / "copy", [tmp_path / "copy" / CARD])


@pytest.mark.parametrize("directory", [SHIPPED, *(INSTALLED / name for name in NAMES)], ids=lambda path: path.name)
def test_the_cards_of_what_ships_are_those_of_its_json(directory: Path) -> None:
    """`gin model-card DIRECTORY` writes one again."""
    assert (directory / CARD).read_text(encoding="utf-8") == model_card(directory)


def test_a_runs_checkpoints_and_its_export_get_their_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Run:
        """A run whose training is to save what it began with."""

        main = True

        def __init__(self, settings: object, out: Path, *others: object, **more: object) -> None:
            self.out = out

        def train(self) -> bool:
            for name in ("best", "last"):
                save_checkpoint(self.out / name, Actor((16,)), (16,), {"decisions": 4321, "panel": {}})
            return True

    monkeypatch.setattr("agents.training.run.TrainingRun", Run)
    train(Path("configs/smoke.yaml"), tmp_path / "run", export=tmp_path / "export")
    for directory in (tmp_path / "run" / "best", tmp_path / "run" / "last", tmp_path / "export"):
        assert "4,321" in (directory / CARD).read_text(encoding="utf-8")
