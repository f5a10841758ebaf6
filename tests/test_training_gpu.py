"""Training on a GPU, where there is one: the card computes what the CPU does, and a run is measured, stopped and continued."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.config import parse_config
from agents.network.player import NetworkPlayer
from agents.training import learner as learner_module
from agents.training import ppo
from agents.training.learner import Learner, Schedule
from agents.training.run import TrainingRun

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

CONFIG: dict[str, Any] = {
    "num_envs": 64,
    "num_steps": 64,
    "threads": 2,
    "minibatch": 32,
    "decisions": 6000,
    "imitation_decisions": 2000,
    "network": {"actor": [32, 24], "critic": [24, 16]},
    "rules": {"eaai": 1, "dg-oklahoma": 1},
    "reward": "game",
    "pool_share": 0.2,
    "pool": [{"player": "simple", "weight": 1}],
    "past_policy_share": 0.4,
    "eval_games": 20,
}


def test_a_gpu_computes_what_the_cpu_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same weights over the same batch: values, every loss and every gradient, in float32."""
    monkeypatch.setattr("agents.training.learner.has_bfloat16_units", lambda: False)
    config = CONFIG | {"threads": 1}
    cpu, card = (Learner(parse_config(config | {"device": device})) for device in ("cpu", "cuda"))
    ppo.collect(cpu)
    ppo.compute_advantages(cpu)
    card.batch.steps[:], card.batch.inputs[:] = cpu.batch.steps, cpu.batch.inputs
    card.load_state_dict(cpu.state_dict())
    rows = np.flatnonzero(cpu.steps["learns"])
    assert card.values(rows) == pytest.approx(cpu.values(rows), abs=1e-4)
    schedule = Schedule(0.001, 0.02, 0.7, False)
    expected, found = (
        learner.backward(partial(ppo.loss, learner.batch, learner.config, schedule), rows[:1024])
        for learner in (cpu, card)
    )
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-5)
    for one, other in zip(cpu.parameters(), card.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None
        assert (one.grad - other.grad.cpu()).abs().max() <= 1e-6 + 1e-3 * one.grad.abs().max()


def test_a_run_on_a_gpu_is_measured_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With past policies and a panel, which play on the CPU; another processor goes on with its weights."""
    moves = {"past policy": 0, "network": 0}

    def counted(player: NetworkPlayer, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        moves[player.name] += len(views)
        assert {parameter.device.type for parameter in player.actor.network.parameters()} == {"cpu"}
        return play(player, views, slots)

    play = NetworkPlayer.act
    monkeypatch.setattr(NetworkPlayer, "act", counted)
    monkeypatch.setattr(learner_module, "SNAPSHOT_EVERY", 1)
    changed = CONFIG | {"device": "cuda"}
    first = TrainingRun(parse_config(changed), tmp_path, "a command")
    assert first.train() and set(first.curve[-1]["panel"]) == {"baseline", "random"}
    assert all(moves.values())
    again = TrainingRun(parse_config(changed | {"decisions": 9000}), tmp_path, "a command")
    _equal(again.learner, first.learner)
    assert again.train() and again.learner.decisions >= 9000
    later = Learner(parse_config(changed | {"decisions": 12000, "device": "cpu"}), tmp_path)
    assert later.resume()
    _equal(later, again.learner)
    ppo.train(later, lambda figures: False)
    assert later.decisions > again.learner.decisions


def _equal(one: Learner, other: Learner) -> None:
    assert one.decisions == other.decisions
    for mine, theirs in zip(one.actor.parameters(), other.actor.parameters(), strict=True):
        assert torch.equal(mine.cpu(), theirs.cpu())
