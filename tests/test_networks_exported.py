"""Networks for other programs: a card beside each says what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import yaml

from agents.cli.evaluate import MatchConfig, evaluate
from agents.cli.networks import export
from agents.cli.train import train
from agents.levels.level import load_level
from agents.network.checkpoint import save_checkpoint
from agents.network.model_card import CARD, model_card, write_card
from agents.network.nets import Actor
from agents.network.player import SHIPPED
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from tests.support.refusals import refuses


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network."""
    torch.manual_seed(3)
    directory = tmp_path_factory.mktemp("networks") / "small"
    actor = Actor((24, 16))
    for head in (actor.policy, actor.belief):
        torch.nn.init.normal_(head.layer.pooled.weight, 0, 0.3)
    about = {"command": "python train.py", "decisions": 1234567, "rules": {"eaai": "x"}, "minutes": 3.0}
    panel = {"simple": {"games_won": 0.625, "half_width": 0.04}}
    save_checkpoint(directory, actor, (24, 16), about | {"panel": panel})
    return directory


def test_bad_sources_and_places_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    with refuses(GinError, checkpoint):
        export("network", checkpoint)
    with refuses(GinError, "nowhere", "checkpoint.json"):
        export("nowhere", tmp_path / "out")
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
    """And a later match with the same opponent takes the place of that one alone."""
    export(str(checkpoint), copy := tmp_path / "copy")

    def measure(opponent: str, games: int) -> str:
        evaluate(
            MatchConfig(
                players=(str(copy), opponent), games=games, out=tmp_path / "results.json", luck=False, card=True
            )
        )
        share = json.loads((tmp_path / "results.json").read_text())["matches"][0]["share"]
        return f"| `{opponent}` | eaai | {games} games | {100 * share['mean']:.1f} % ({100 * share['low']:.1f} to "

    before, other, after = measure("random", 4), measure("easy", 4), measure("random", 6)
    text = (copy / CARD).read_text()
    assert before not in text and other in text and after in text
    # What a hub of models reads.
    header = yaml.safe_load(text.split("---\n")[1])
    results = header["model-index"][0]["results"]
    assert header["library_name"] == "ginenv" and header["model-index"][0]["name"] == "copy"
    assert [one["dataset"]["name"] for one in results] == ["eaai against easy", "eaai against random"]
    assert all(0 <= one["metrics"][0]["value"] <= 100 for one in results)
    # From its JSON alone from then on.
    assert write_card(copy) == text == model_card(copy)
    assert make_player(str(copy))


def test_only_a_networks_card_is_written_and_that_is_known_before_the_match(tmp_path: Path) -> None:
    export("level-2", tmp_path / "level")
    digest = load_level(tmp_path / "level").digest
    for player in ("simple", str(tmp_path / "level")):
        with refuses(GinError, player):
            evaluate(
                MatchConfig(
                    players=(player, "random"), games=10**9, out=tmp_path / "results.json", luck=False, card=True
                )
            )
    assert load_level(tmp_path / "level").digest == digest and not (tmp_path / "results.json").exists()


def test_the_card_of_what_ships_is_that_of_its_json() -> None:
    """`write_card` writes one again."""
    assert (SHIPPED / CARD).read_text(encoding="utf-8") == model_card(SHIPPED)


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
