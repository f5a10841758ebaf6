"""Training on the CPU against automatic differentiation: the same figures and the same gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from agents.config import parse_config
from agents.learning import cpu_training
from agents.learning.cpu_training import CpuBackend
from agents.learning.learner import Learner
from agents.learning.losses import Weights
from agents.learning.ppo import judge
from agents.learning.rollout import Batch, Rollout
from agents.network.nets import FrozenActor

CONFIG: dict[str, Any] = {
    "games": 48,
    "ticks": 24,
    "minibatch": 512,
    "network": {"actor": [32, 24], "critic": [24, 16], "heuristic_features": True},
    "rules": {"eaai": 1, "gr-oklahoma": 1},
    "bfloat16": "no",
    "anchor": 0.1,
}
ROWS = 333


class Known:
    """Three numbers of context for every seat to move."""

    width = 3

    def __call__(self, rollout: Rollout, tick: int, out: np.ndarray) -> None:
        out[:] = np.random.default_rng(tick).normal(size=out.shape)


def prepared(
    context: Known | None, threads: int, share_suits: bool = False
) -> tuple[Learner, CpuBackend, Batch, np.ndarray]:
    """A learner whose policy is no longer that of its batch, its backend, the flat batch, and rows of it."""
    config = {**CONFIG, "threads": threads, "network": CONFIG["network"] | {"share_suits": share_suits}}
    learner = Learner(parse_config(config), context=context)
    learner.play()
    judge(learner)
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in (*learner.actor.parameters(), *learner.critic.parameters()):
            parameter += 0.03 * torch.randn_like(parameter)
        for parameter in learner.actor.policy.parameters():
            parameter *= (10 if share_suits else 30) if parameter.ndim > 1 else 1
    batch = learner.inputs.batch
    # Play that has not learned seldom comes to a choice between knocking and waiting, so such choices are made up.
    rng = np.random.default_rng(1)
    actions = batch.steps["action"]
    legal = rng.integers(0, 2**52, (len(actions), 3)) & rng.integers(0, 2**52, (len(actions), 3)) & [-1, -1, 7]
    legal[rng.random(len(legal)) < 0.3, 1] = 0
    np.bitwise_or.at(legal, (np.arange(len(legal)), actions // 52), 1 << (actions % 52))
    both = (legal[:, :2] != 0).all(1)
    batch.steps["legal"] = legal
    batch.steps["waiting"] = np.where(both, rng.normal(size=len(legal)), np.nan)
    rows = np.random.default_rng(0).permutation(np.flatnonzero(learner.steps["learns"]))[:ROWS]
    assert len(rows) == ROWS and isinstance(learner.backend, CpuBackend)
    return learner, learner.backend, batch, rows


def gradients(learner: Learner) -> dict[str, torch.Tensor]:
    found = {}
    for name, network in (("actor", learner.actor), ("critic", learner.critic)):
        for key, parameter in network.named_parameters():
            assert parameter.grad is not None
            found[f"{name}.{key}"] = parameter.grad.clone()
            parameter.grad = None
    return found


@pytest.mark.parametrize("context", [None, Known()])
@pytest.mark.parametrize("share_suits", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_passes_equal_automatic_differentiation(
    context: Known | None, share_suits: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses one by one, so that a large one hides no small one; chunks of a size that does not divide the rows."""
    monkeypatch.setattr(cpu_training, "CHUNK", 64)
    learner, backend, batch, rows = prepared(context, threads, share_suits)
    assert np.isfinite(batch.steps["waiting"][rows]).any() and (batch.steps["next_action"][rows] < 0).any()
    nothing = {
        "clip": 0.15,
        "knock": 0.0,
        "entropy": 0.0,
        "belief": 0.0,
        "next_action": 0.0,
        "anchor": 0.0,
        "cloning": False,
    }
    cases = [
        {},
        {"cloning": True},
        {"knock": 1.0},
        {"entropy": 1.0},
        {"belief": 1.0},
        {"next_action": 1.0},
        {"anchor": 1.0},
        {"knock": 0.7, "entropy": 0.02, "belief": 0.1, "next_action": 0.02},
    ]
    for case in cases:
        weights = Weights(**{**nothing, **case})
        expected_figures = learner.torch_backend.gradients(rows, weights)
        expected = gradients(learner)
        figures = backend.gradients(rows, weights)
        assert figures == pytest.approx(expected_figures, rel=1e-4, abs=1e-5), case
        assert 0.05 < figures["clip_fraction"] < 1
        for name, gradient in gradients(learner).items():
            difference = (gradient - expected[name]).abs().max()
            assert difference <= 1e-5 + 1e-5 * expected[name].abs().max(), (case, name)


@pytest.mark.parametrize("context", [None, Known()])
@pytest.mark.parametrize("share_suits", [False, True])
def test_logits_and_values_are_the_networks(
    context: Known | None, share_suits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_training, "CHUNK", 64)
    learner, backend, _, rows = prepared(context, 2, share_suits)
    backend.refresh()
    logits = backend.logits(rows)
    assert logits == pytest.approx(FrozenActor(learner.actor, False)(learner.inputs.read(rows)[0]).numpy(), abs=1e-4)
    for committed in (False, True):
        with torch.no_grad():
            expected = learner.critic(learner.inputs.read(rows, committed)[1]).numpy()
        assert backend.values(rows, committed) == pytest.approx(expected, abs=1e-4)


def test_inputs_are_what_the_networks_were_made_for() -> None:
    """Both read observation and condition first and the extras last; the critic reads its secrets in between."""
    learner, _, batch, rows = prepared(Known(), 1)
    actor, critic = (inputs.numpy() for inputs in learner.inputs.read(rows))
    steps = batch.steps[rows]
    cards = steps["hidden"][:, None] >> np.arange(52) & 1
    shown, conditions = batch.obs[rows], steps["conditions"]
    extras = [batch.context[rows], batch.features[rows]]
    assert all(each.any() for each in extras)
    assert np.array_equal(actor, np.concatenate([shown, conditions[:, :1], *extras], 1, dtype=np.float32))
    secrets = [conditions, cards, steps["future"]]
    assert np.array_equal(critic, np.concatenate([shown, *secrets, *extras], 1, dtype=np.float32))
    assert critic.shape[1] == len(learner.critic.trunk.scale)


def test_a_run_is_the_same_whatever_the_threads_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_training, "CHUNK", 16)
    found = []
    for _ in range(4):
        learner, backend, _, rows = prepared(None, 4)
        backend.gradients(rows, Weights(0.15, 1.0, 0.02, 0.1, 0.02, False))
        found.append(gradients(learner))
    assert all(torch.equal(found[0][name], again[name]) for again in found[1:] for name in again)
