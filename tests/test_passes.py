"""The compiled passes of a gradient step against automatic differentiation: the same figures and the same gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.config import parse_config
from agents.learning import cpu_training as passes
from agents.learning.losses import Weights
from agents.learning.ppo import Trainer
from agents.network.nets import FrozenActor

CONFIG = {
    "games": 48,
    "ticks": 24,
    "network": {"actor": [32, 24], "critic": [24, 16], "advice": True},
    "rules": {"eaai": 1, "gr-oklahoma": 1},
    "bfloat16": "no",
}
ROWS = 333


class Knowing(Trainer):
    """Is told three numbers about every opponent."""

    habits = 3

    def limit_observations(self, tick: int) -> None:
        self.known[tick] = np.random.default_rng(tick).normal(size=self.known[tick].shape)


def prepared(kind: type[Trainer], threads: int) -> tuple[Trainer, dict[str, np.ndarray], np.ndarray]:
    """A trainer whose policy is no longer that of its batch, and rows of the batch."""
    trainer = kind(parse_config({**CONFIG, "threads": threads}))
    batch = trainer.collect()
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in (*trainer.actor.parameters(), *trainer.critic.parameters()):
            parameter += 0.03 * torch.randn_like(parameter)
        trainer.actor.policy.weight *= 30
    rollout = trainer.rollout
    flat = trainer._flat | {name: batch[name].reshape(-1) for name in ("advantages", "returns", "next")}
    # Play that has not learned seldom comes to a choice between knocking and waiting, so such choices are made up.
    rng = np.random.default_rng(1)
    actions = rollout.actions.reshape(-1)
    legal = rng.integers(0, 2**52, (len(actions), 3)) & rng.integers(0, 2**52, (len(actions), 3)) & [-1, -1, 7]
    legal[rng.random(len(legal)) < 0.3, 1] = 0
    np.bitwise_or.at(legal, (np.arange(len(legal)), actions // 52), 1 << (actions % 52))
    both = (legal[:, :2] != 0).all(1)
    waiting = np.where(both, rng.normal(size=len(legal)), np.nan).astype(np.float32)
    flat |= {"legal": legal, "waiting": waiting, "actions": actions, "logps": rollout.logps.reshape(-1)}
    rows = np.random.default_rng(0).permutation(np.flatnonzero(rollout.learns))[:ROWS]
    assert len(rows) == ROWS
    return trainer, flat, rows


def gradients(trainer: Trainer) -> dict[str, torch.Tensor]:
    found = {}
    for name, network in (("actor", trainer.actor), ("critic", trainer.critic)):
        for key, parameter in network.named_parameters():
            assert parameter.grad is not None
            found[f"{name}.{key}"] = parameter.grad.clone()
            parameter.grad = None
    return found


@pytest.mark.parametrize("kind", [Trainer, Knowing])
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_passes_equal_automatic_differentiation(
    kind: type[Trainer], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses one by one, so that a large one hides no small one; chunks of a size that does not divide the rows."""
    monkeypatch.setattr(passes, "CHUNK", 64)
    trainer, flat, rows = prepared(kind, threads)
    assert np.isfinite(flat["waiting"][rows]).any() and (flat["next"][rows] < 0).any()
    assert trainer.passes is not None
    nothing = {"clip": 0.15, "knock": 0.0, "entropy": 0.0, "belief": 0.0, "next_action": 0.0, "cloning": False}
    cases = [
        {},
        {"cloning": True},
        {"knock": 1.0},
        {"entropy": 1.0},
        {"belief": 1.0},
        {"next_action": 1.0},
        {"knock": 0.7, "entropy": 0.02, "belief": 0.1, "next_action": 0.02},
    ]
    for case in cases:
        weights = Weights(**{**nothing, **case})
        expected_figures = trainer._gradients(flat, rows, weights)
        expected = gradients(trainer)
        figures = trainer.passes.gradients(flat, rows, weights)
        assert figures == pytest.approx(expected_figures, rel=1e-4, abs=1e-5), case
        assert 0.05 < figures["clip_fraction"] < 1
        for name, gradient in gradients(trainer).items():
            difference = (gradient - expected[name]).abs().max()
            assert difference <= 1e-5 + 1e-5 * expected[name].abs().max(), (case, name)


@pytest.mark.parametrize("kind", [Trainer, Knowing])
def test_logits_and_values_are_the_networks(kind: type[Trainer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "CHUNK", 64)
    trainer, flat, rows = prepared(kind, 2)
    assert trainer.passes is not None
    trainer.passes.refresh()
    logits = trainer.passes.logits(flat, rows)
    assert logits == pytest.approx(FrozenActor(trainer.actor, False)(trainer.inputs_of(rows)[0]).numpy(), abs=1e-4)
    for committed in (False, True):
        with torch.no_grad():
            expected = trainer.critic(trainer.inputs_of(rows, committed)[1]).numpy()
        assert trainer.passes.values(flat, rows, committed) == pytest.approx(expected, abs=1e-4)


def test_inputs_are_what_the_networks_were_made_for() -> None:
    """Both read observation and condition first and the extras last; the critic reads its secrets in between."""
    trainer, flat, rows = prepared(Knowing, 1)
    actor, critic = (inputs.numpy() for inputs in trainer.inputs_of(rows))
    cards = flat["hidden"][rows, None] >> np.arange(52) & 1
    shown, conditions = flat["obs"][rows], flat["conditions"][rows]
    extras = [flat["habits"][rows], flat["advice"][rows]]
    assert np.array_equal(actor, np.concatenate([shown, conditions[:, :1], *extras], 1, dtype=np.float32))
    secrets = [conditions, cards, flat["future"][rows]]
    assert np.array_equal(critic, np.concatenate([shown, *secrets, *extras], 1, dtype=np.float32))
    assert critic.shape[1] == len(trainer.critic.trunk.scale)


def test_a_run_is_the_same_whatever_the_threads_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "CHUNK", 16)
    found = []
    for _ in range(4):
        trainer, flat, rows = prepared(Trainer, 4)
        assert trainer.passes is not None
        trainer.passes.gradients(flat, rows, Weights(0.15, 1.0, 0.02, 0.1, 0.02, False))
        found.append(gradients(trainer))
    assert all(torch.equal(found[0][name], again[name]) for again in found[1:] for name in again)
