"""Training on the CPU against automatic differentiation: the same figures and the same gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.network.nets import FrozenActor
from agents.training import cpu_training
from agents.training.losses import Weights
from tests.support.loss_scenes import LOSSES, Known, gradients, prepared


@pytest.mark.parametrize("context", [None, Known()])
@pytest.mark.parametrize("share_suits", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_passes_equal_automatic_differentiation(
    context: Known | None, share_suits: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In chunks of a size that does not divide the rows."""
    monkeypatch.setattr(cpu_training, "CHUNK", 64)
    learner, _, rows = prepared(context, threads, share_suits)
    for weights in LOSSES:
        expected_figures = learner.torch_backend.gradients(rows, weights)
        expected = gradients(learner.actor, learner.critic)
        figures = learner.backend.gradients(rows, weights)
        assert figures == pytest.approx(expected_figures, rel=1e-4, abs=1e-5), weights
        assert 0.05 < figures["clip_fraction"] < 1
        for name, gradient in gradients(learner.actor, learner.critic).items():
            difference = (gradient - expected[name]).abs().max()
            assert difference <= 1e-5 + 1e-5 * expected[name].abs().max(), (weights, name)


@pytest.mark.parametrize("context", [None, Known()])
@pytest.mark.parametrize("share_suits", [False, True])
def test_logits_and_values_are_the_networks(
    context: Known | None, share_suits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_training, "CHUNK", 64)
    learner, _, rows = prepared(context, 2, share_suits)
    backend = learner.backend
    backend.refresh()
    logits = backend.logits(rows)
    assert logits == pytest.approx(FrozenActor(learner.actor, False)(learner.inputs.read(rows)[0]).numpy(), abs=1e-4)
    for committed in (False, True):
        with torch.no_grad():
            expected = learner.critic(learner.inputs.read(rows, committed)[1]).numpy()
        assert backend.values(rows, committed) == pytest.approx(expected, abs=1e-4)


def test_inputs_are_what_the_networks_were_made_for() -> None:
    """Both read observation and condition first and the extras last; the critic reads its secrets in between."""
    learner, batch, rows = prepared(Known(), 1)
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
        learner, _, rows = prepared(None, 4)
        learner.backend.gradients(rows, Weights(0.15, 1.0, 0.02, 0.1, 0.02, False))
        found.append(gradients(learner.actor, learner.critic))
    assert all(torch.equal(found[0][name], again[name]) for again in found[1:] for name in again)
