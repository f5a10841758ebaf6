"""Training on a GPU, where there is one: the card computes what the CPU does, and a run is measured, stopped and continued."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.config import parse_config
from agents.network.player import NetworkPlayer
from agents.training.learner import Learner
from agents.training.ppo import train
from agents.training.run import TrainingRun
from agents.training.torch_training import Networks, TorchBackend
from tests.support.loss_scenes import LOSSES, Known, gradients, prepared

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

CONFIG: dict[str, Any] = {
    "games": 64,
    "ticks": 64,
    "threads": 2,
    "minibatch": 32,
    "decisions": 6000,
    "clone_decisions": 2000,
    "network": {"actor": [32, 24], "critic": [24, 16], "share_suits": True, "heuristic_features": True},
    "rules": {"eaai": 1, "dg-oklahoma": 1},
    "reward": "game",
    "pool_share": 0.2,
    "pool": [{"player": "simple", "weight": 1}],
    "selves_share": 0.4,
    "selves_every": 1,
    "panel": ["random"],
    "panel_games": 20,
}


@pytest.mark.parametrize("context", [None, Known()])
@pytest.mark.parametrize("share_suits", [False, True])
def test_a_gpu_computes_what_the_cpu_does(context: Known | None, share_suits: bool) -> None:
    """The same weights over the same batch: logits, values, every loss and every gradient."""
    learner, _, rows = prepared(context, 1, share_suits)
    device = torch.device("cuda")
    moved = Networks(*copy.deepcopy((learner.actor, learner.critic, learner.anchor)))
    for network in moved:
        assert network is not None
        network.to(device)
    card = TorchBackend(moved, learner.inputs, False, device)
    learner.torch_backend.refresh()
    assert card.logits(rows) == pytest.approx(learner.torch_backend.logits(rows), abs=1e-4)
    for committed in (False, True):
        expected = learner.torch_backend.values(rows, committed)
        assert expected.std() > 0.01 and card.values(rows, committed) == pytest.approx(expected, abs=1e-4)
    for weights in LOSSES:
        expected_figures = learner.torch_backend.gradients(rows, weights)
        expected_gradients = gradients(learner.actor, learner.critic)
        figures = card.gradients(rows, weights)
        assert figures == pytest.approx(expected_figures, rel=1e-4, abs=1e-5), weights
        for name, gradient in gradients(moved.actor, moved.critic).items():
            difference = (gradient.cpu() - expected_gradients[name]).abs().max()
            assert difference <= 1e-6 + 1e-3 * expected_gradients[name].abs().max(), (weights, name)


@pytest.mark.parametrize("algorithm", ["ppo", "dmc"])
def test_a_run_on_a_gpu_is_measured_and_continued(
    tmp_path: Path, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With earlier selves and a panel, which play on the CPU; another processor goes on with its weights."""
    moves = {"self": 0, "network": 0}

    def counted(player: NetworkPlayer, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        moves[player.name] += len(views)
        assert {parameter.device.type for parameter in player.actor.network.parameters()} == {"cpu"}
        return play(player, views, slots)

    play = NetworkPlayer.act
    monkeypatch.setattr(NetworkPlayer, "act", counted)
    changed = CONFIG | {"device": "cuda", "algorithm": algorithm}
    first = TrainingRun(parse_config(changed), tmp_path, "a command")
    assert first.train() and set(first.curve[-1]["panel"]) == {"random"}
    assert all(moves.values())
    again = TrainingRun(parse_config(changed | {"decisions": 9000}), tmp_path, "a command")
    _equal(again.learner, first.learner)
    assert again.train() and again.learner.decisions >= 9000
    later = Learner(parse_config(changed | {"decisions": 12000, "device": "cpu"}), tmp_path)
    assert later.resume()
    _equal(later, again.learner)
    if algorithm == "ppo":
        train(later, lambda figures: False)
        assert later.decisions > again.learner.decisions


def _equal(one: Learner, other: Learner) -> None:
    assert one.decisions == other.decisions
    for mine, theirs in zip(one.actor.parameters(), other.actor.parameters(), strict=True):
        assert torch.equal(mine.cpu(), theirs.cpu())
