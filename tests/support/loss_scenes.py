"""A learner in the middle of its training, and all its losses one by one, so that a large one hides no small one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from agents.config import parse_config
from agents.network.nets import Actor, Critic
from agents.training.learner import Learner
from agents.training.losses import Weights
from agents.training.ppo import judge
from agents.training.rollout import Batch, Rollout

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
_NOTHING = Weights(clip=0.15, knock=0.0, entropy=0.0, belief=0.0, next_action=0.0, cloning=False, anchor=0.0)
LOSSES = [
    _NOTHING._replace(**case)
    for case in (
        {},
        {"cloning": True},
        {"knock": 1.0},
        {"entropy": 1.0},
        {"belief": 1.0},
        {"next_action": 1.0},
        {"anchor": 1.0},
        {"knock": 0.7, "entropy": 0.02, "belief": 0.1, "next_action": 0.02},
    )
]


class Known:
    """Three numbers of context for every seat to move."""

    width = 3

    def __call__(self, rollout: Rollout, tick: int, out: np.ndarray) -> None:
        out[:] = np.random.default_rng(tick).normal(size=out.shape)


def prepared(context: Known | None, threads: int, share_suits: bool = False) -> tuple[Learner, Batch, np.ndarray]:
    """A learner whose policy is no longer that of its batch, the flat batch, and rows of it."""
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
    assert len(rows) == ROWS
    assert np.isfinite(batch.steps["waiting"][rows]).any() and (batch.steps["next_action"][rows] < 0).any()
    return learner, batch, rows


def gradients(actor: Actor, critic: Critic) -> dict[str, torch.Tensor]:
    """The gradients of both networks, which are taken off them."""
    found = {}
    for name, network in (("actor", actor), ("critic", critic)):
        for key, parameter in network.named_parameters():
            assert parameter.grad is not None
            found[f"{name}.{key}"] = parameter.grad.clone()
            parameter.grad = None
    return found
