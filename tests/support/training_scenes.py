"""A tiny training run, which several files of tests use."""

from __future__ import annotations

import torch

from agents.training import ppo
from agents.training.learner import Learner

TINY = {
    "num_envs": 24,
    "num_steps": 12,
    "minibatch": 64,
    "decisions": 10_000_000,
    "network": {"actor": [32], "critic": [32]},
    "rules": {"eaai": 1, "dg-standard": 1, "gr-oklahoma": 1, "ht2-simple": 1},
    "pool": [{"player": "simple"}, {"player": "camper"}],
    "pool_share": 0.3,
    "past_policy_share": 0.2,
    "reward": "game",
    "threads": 1,
}


def batches(learner: Learner, count: int) -> None:
    target = learner.batches + count
    ppo.train(learner, lambda figures: learner.batches < target)


def weights(learner: Learner) -> torch.Tensor:
    parts = [p.detach().reshape(-1) for net in (learner.actor, learner.critic, learner.ema) for p in net.parameters()]
    return torch.cat(parts)
