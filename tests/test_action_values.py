"""Values of the actions that a learner could have taken: true successors, advantages over the policy's mean, learning from all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.config import parse_config
from agents.training.action_values import ActionValues
from agents.training.batch import OTHER, STEP, VALUED, Batch, Minibatch, action_advantages, generalised_advantages
from agents.training.learner import Learner
from agents.training.ppo import all_actions_gain, select_training_rows
from agents.training.selfplay import Rollout
from ginenv.bots.heuristics import make_simple
from tests.support.training_scenes import TINY

QUIET = {"minibatch": 16, "num_envs": 48, "num_steps": 50, "seed": 3, "reward": "game", "q_weight": 0.7}
BOOSTED = {**TINY, "q_weight": 0.7}


def play(rollout: Rollout, step: int) -> np.ndarray:
    """A bot chooses in all games, so that hands end; returns the rows in which there was a choice."""
    rows = rollout.observe(step)
    rollout.steps["action"][step] = make_simple().act(rollout.views)
    return rows


@pytest.mark.parametrize("commit", [0.0, 1.0])
def test_each_other_action_leads_to_the_state_that_playing_it_leads_to(commit: float) -> None:
    config = parse_config({**QUIET, "commit": commit, "gin_only": 0})
    form = (config.num_steps, config.num_envs), torch.device("cpu"), torch.float32
    first, second = (Rollout(config, Batch.empty(*form, others=True)) for _ in range(2))
    others, values = first.batch.others, ActionValues(first)
    rng, seen, ends = np.random.default_rng(5), 0, 0
    for step in range(config.num_steps):
        logits = rng.normal(scale=2, size=(config.num_envs, 107)).astype(np.float32)
        logits[:, 52:104] += 4
        rows = play(first, step)
        play(second, step)
        # A critic that numbers the successors tells which one belongs to which action.
        values.gather(step, rows, logits[rows], True, lambda inputs: torch.arange(len(inputs.pooled)) + 1000.0)
        ended = np.abs(others["advantage"][step]) < 999
        saved = {name: getattr(second, name).copy() for name in ("states", "tables", "games", "tally")}
        for j in range(VALUED):
            found = others[step, :, j]
            valued = np.flatnonzero((others["action"][step, :, 0] >= 0) & (found["action"] >= 0))
            assert (found["action"][valued] != first.steps["action"][step, valued]).all()
            second.steps["action"][step, valued] = found["action"][valued]
            second.advance(step)
            second.observe(step + 1)
            for i in valued:
                after, row = second.batch.steps[step + 1, i], second.steps[step, i]
                if ended[i, j]:
                    sign = 1 if row["turn"] == 0 else -1
                    assert row["done"] and found["advantage"][i] == pytest.approx(sign * row["reward"])
                    ends += 1
                    continue
                assert not row["done"]
                m = int(abs(found["advantage"][i])) - 1000
                same = values.views["seat"][m] == row["turn"]
                assert np.sign(found["advantage"][i]) == (1 if same else -1)
                assert (values.views["legal"][m] == after["legal"]).all() and values.views["seat"][m] == after["turn"]
                assert values.batch.inputs[0, m] == second.batch.inputs[step + 1, i]
                seen += 1
            for name, value in saved.items():
                getattr(second, name)[:] = value
            second.steps["action"][step] = first.steps["action"][step]
        first.advance(step)
        second.advance(step)
    assert seen > 1000 and ends > 20


def scene(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    steps, others = np.zeros((9, 4), STEP), np.zeros((8, 4, VALUED), OTHER)
    steps["value"], steps["reward"] = rng.normal(size=(2, 9, 4))
    steps["turn"], steps["done"] = rng.integers(0, 2, (9, 4)), rng.random((9, 4)) < 0.2
    steps["logp"] = np.log(0.5)
    others["action"][:, :, 2], others["logp"] = -1, np.log(0.25)
    others["action"][::2, :, 0] = -1
    others["advantage"] = rng.normal(size=others.shape)
    return steps, others


def test_advantages_of_actions_are_zero_in_the_policys_mean_and_differ_as_the_values_do() -> None:
    steps, others = scene(np.random.default_rng(2))
    before = others.copy()
    action_advantages(steps, others)
    assert np.isnan(steps["choice"][:8:2]).all() and (steps["sampled"][:8:2] == 0).all()
    taken, other = steps["choice"][1:8:2], others["advantage"][1::2, :, :2]
    assert 0.5 * taken + 0.25 * other.sum(2) == pytest.approx(0, abs=1e-5)
    assert np.diff(other, axis=2) == pytest.approx(np.diff(before["advantage"][1::2, :, :2], axis=2), abs=1e-5)
    row, after = steps[1, 0], steps[2, 0]
    value = row["reward"] * (1 if row["turn"] == 0 else -1)
    if not row["done"]:
        value += after["value"] * (1 if row["turn"] == after["turn"] else -1)
    assert taken[0, 0] - other[0, 0, 0] == pytest.approx(value - before["advantage"][1, 0, 0], abs=1e-5)


def test_what_the_draw_of_later_actions_brought_is_taken_out_of_advantages() -> None:
    """With lambda 1 and exact values of actions, a row's advantage does not depend on what was drawn after it."""
    steps, others = scene(np.random.default_rng(4))
    action_advantages(steps, others)
    plain = steps.copy()
    plain["sampled"] = 0
    generalised_advantages(steps, 1.0)
    generalised_advantages(plain, 1.0)
    sign = np.where(steps["turn"] == 0, 1, -1)
    for g in range(4):
        for t in range(8):
            last = t + int(np.argmax(np.append(steps["done"][t:8, g], 1)))
            later = (steps["sampled"] * sign)[t + 1 : min(last, 7) + 1, g].sum()
            assert (plain["advantage"] - steps["advantage"])[t, g] * sign[t, g] == pytest.approx(later, abs=1e-4)


def test_a_policy_learns_from_actions_that_it_did_not_take() -> None:
    """The gradient of the objective is that of the expected advantage: it raises what is better, though it never was taken."""
    logits = torch.zeros((3, 107))
    logits[:, 8:] = -60
    logits.requires_grad_(True)
    logps = logits.log_softmax(1)
    b = Minibatch(*[torch.zeros(0)] * len(Minibatch._fields))._replace(  # type: ignore[arg-type]
        logp=logps[:, 0].detach(),
        choice=torch.tensor([0.0, 2.0, torch.nan]),
        others={
            "action": torch.tensor([[5, 6, -1], [5, -1, -1], [-1, -1, -1]]),
            "logp": torch.full((3, VALUED), 1 / 8).log(),
            "advantage": torch.tensor([[1.0, -1, 9], [-2, 9, 9], [9, 9, 9]]),
        },
    )
    gain = all_actions_gain(b, logits, logits[:, 0] - logps[:, 0], (logps[:, 0] - b.logp).exp(), 0.15)
    (gradient,) = torch.autograd.grad(gain.sum(), logits)
    assert gradient[0, 5] > 0 > gradient[0, 6] and gradient[0, 0] == pytest.approx(0, abs=1e-6)
    assert gradient[1, 0] > 0 > gradient[1, 5] and (gradient[2] == 0).all()


def test_rows_with_a_choice_are_all_trained_on_and_the_others_whatever_their_advantages() -> None:
    learner = Learner(parse_config({**BOOSTED, "trained_fraction": 0.5}))
    steps = learner.steps.reshape(-1)
    steps["waiting"], steps["choice"] = np.nan, np.nan
    steps["advantage"] = np.arange(len(steps))
    rows = np.arange(len(steps))[: len(steps) // 2 * 2]
    steps["choice"][rows[:10]] = 0
    chosen = select_training_rows(learner, rows)
    assert set(rows[:10]) <= set(chosen) and len(chosen) == len(rows) // 2
    # Those of the largest advantages would all be in the second half.
    assert 0.3 < (chosen[chosen >= 10] < len(rows) // 2).mean() < 0.7
