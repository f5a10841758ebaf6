"""RLlib's PPO with action masks: against a bot from scratch.

    pip install ".[agents]" "ray[rllib]"
    python examples/rllib_ppo.py

RLlib ships a module that masks the logits; it reads the mask from the observation, where `MaskedObservation` puts it. RLlib asks for a
version of Gymnasium of its own. At the end the script prints decisions per second and the strength against the bots of `strength.py`.
"""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import numpy as np
import ray
import torch
import tyro
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune import register_env
from strength import Policy, clock, report, speed

from ginenv import FLAT_SCALE, MaskedObservation

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
TABLES, BATCH = 32, 8192


def make_env(config: dict[str, Any]) -> gym.Env[Any, Any]:
    """One table, whose observations hold the mask."""
    env = gym.make("Gin/Hand-v0", observation="flat", reward="scaled", disable_env_checker=True, **config)
    return MaskedObservation(env, "rllib")


def train(decisions: int, seed: int) -> Policy:
    """Trains; returns the policy, which plays the most probable action."""
    register_env("gin-hand", make_env)
    config = (
        PPOConfig()
        .environment("gin-hand", env_config={"opponent": "simple"})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=TABLES)
        .training(
            train_batch_size_per_learner=BATCH, minibatch_size=512, num_epochs=4, lr=1e-3, gamma=1.0, lambda_=0.95,
            entropy_coeff=0.005, vf_clip_param=float("inf"), grad_clip=0.5,
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config={"fcnet_hiddens": [128, 128], "fcnet_activation": "relu", "head_fcnet_hiddens": []},
            )
        )
        .debugging(seed=seed, log_level="ERROR")
    )  # fmt: skip
    algorithm = config.build_algo()
    began, done = clock(), 0
    while done < decisions:
        found = algorithm.train()
        done += BATCH
        print(
            f"{done:,} decisions: {found['env_runners'].get('episode_return_mean', float('nan')):+.3f} a hand",
            flush=True,
        )
    print(speed(done, began))
    module = algorithm.get_module()
    algorithm.stop()
    ray.shutdown()

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        seen = {"observations": observations * FLAT_SCALE, "action_mask": masks.astype(np.float32)}
        with torch.no_grad():
            found = module.forward_inference({Columns.OBS: {key: torch.from_numpy(rows) for key, rows in seen.items()}})
        return found[Columns.ACTION_DIST_INPUTS].argmax(dim=1).numpy()

    return policy


def main(decisions: int = 1_000_000, games: int = 1000, seed: int = 0) -> dict[str, float]:
    """Trains and measures; returns the shares of games won.

    Args:
        decisions: decisions to learn from.
        games: games to measure with, against each bot.
        seed: seed of the run.
    """
    return report(train(decisions, seed), "rllib-ppo", games)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
