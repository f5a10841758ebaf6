"""Training on a GPU, where there is one: it learns from what the CPU would, and a run is measured, stopped and continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.config import parse_config
from agents.learning.learner import Learner
from agents.learning.losses import Weights
from agents.learning.ppo import judge, train
from agents.learning.run import TrainingRun
from agents.network.checkpoint import load_checkpoint

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

CONFIG: dict[str, Any] = {
    "games": 64,
    "ticks": 24,
    "threads": 2,
    "minibatch": 128,
    "decisions": 4000,
    "clone_decisions": 500,
    "network": {"actor": [32, 24], "critic": [24, 16], "share_suits": True, "heuristic_features": True},
    "rules": {"eaai": 1, "dg-oklahoma": 1},
    "reward": "game",
    "pool_share": 0.2,
    "pool": [{"player": "simple", "weight": 1}],
    "selves_share": 0.2,
    "selves_every": 1,
    "panel": ["random"],
    "panel_games": 20,
}


def test_a_gpu_computes_what_the_cpu_does() -> None:
    """The same weights over the same batch: logits, values, losses and gradients."""
    learners = [Learner(parse_config(CONFIG | {"device": device, "bfloat16": "no"})) for device in ("cpu", "cuda")]
    for learner in learners:
        learner.play()
        judge(learner)
    cpu, gpu = learners
    rows = np.flatnonzero(cpu.steps["learns"])
    for mine, other in zip(gpu.inputs.batch, cpu.inputs.batch, strict=True):
        mine[:] = other
    gpu.actor.load_state_dict(cpu.actor.state_dict())
    gpu.critic.load_state_dict(cpu.critic.state_dict())
    for learner in learners:
        learner.backend.refresh()
    assert gpu.backend.logits(rows) == pytest.approx(cpu.backend.logits(rows), abs=1e-4)
    assert gpu.backend.values(rows) == pytest.approx(cpu.backend.values(rows), abs=1e-4)
    weights = Weights(0.15, 1.0, 0.02, 0.1, 0.02, False)
    figures = [learner.backend.gradients(rows, weights) for learner in learners]
    assert figures[1] == pytest.approx(figures[0], rel=1e-3, abs=1e-5)
    for mine, other in zip(gpu.actor.parameters(), cpu.actor.parameters(), strict=True):
        assert mine.grad is not None and other.grad is not None
        assert mine.grad.cpu() == pytest.approx(other.grad, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("algorithm", ["ppo", "dmc"])
def test_a_run_on_a_gpu_is_measured_and_continued(tmp_path: Path, algorithm: str) -> None:
    """With earlier selves and a panel, which play on the CPU; another processor goes on with its weights."""
    changed = CONFIG | {"device": "cuda", "algorithm": algorithm}
    first = TrainingRun(parse_config(changed), tmp_path, "a command")
    assert first.train() and first.curve[-1]["panel"]["random"]["games_won"] > 0
    assert first.learner.opponents.selves and load_checkpoint(tmp_path / "best")
    again = TrainingRun(parse_config(changed | {"decisions": 8000}), tmp_path, "a command")
    assert again.learner.decisions == first.learner.decisions
    for mine, other in zip(again.learner.actor.parameters(), first.learner.actor.parameters(), strict=True):
        assert torch.equal(mine, other)
    assert again.train() and again.learner.decisions >= 8000
    later = Learner(parse_config(changed | {"decisions": 12000, "device": "cpu"}), tmp_path)
    assert later.resume() and later.decisions == again.learner.decisions
    if algorithm == "ppo":
        train(later, lambda figures: False)
        assert later.decisions > again.learner.decisions
