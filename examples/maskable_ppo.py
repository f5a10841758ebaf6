"""sb3-contrib's MaskablePPO learns gin rummy on `Gin/Hand-v0`.

    pip install "ginenv[sb3]"
    python examples/maskable_ppo.py --steps 200000

Before and after learning it plays hands against the opponent and prints the mean points per hand with a 95 % interval.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

import ginenv

NUM_ENVS = 16


def points_per_hand(
    model: MaskablePPO, hands: int, opponent: str = "random", rules: Any = "eaai", seed: int = 1_000_000
) -> tuple[float, float]:
    """Mean points of the model's hands, and half the width of a 95 % interval; skipped hands count."""
    envs = ginenv.HandVectorEnv(256, opponent, rules, observation="flat")
    observations, infos = envs.reset(seed=seed)
    points: list[float] = []
    while len(points) < hands:
        actions, _ = model.predict(observations, action_masks=infos["action_mask"].astype(bool))
        observations, rewards, done, _, infos = envs.step(actions)
        points.extend(rewards[done])
        points.extend(score for skipped in infos["skipped"] for _, score in skipped)
    return float(np.mean(points)), float(1.96 * np.std(points) / np.sqrt(len(points)))


def learn(steps: int, opponent: str = "random", rules: Any = "eaai", seed: int = 0, verbose: int = 0) -> MaskablePPO:
    """Trains a small policy."""

    def make() -> gym.Env:
        return gym.make("Gin/Hand-v0", opponent=opponent, rules=rules, observation="flat", reward="scaled")

    envs = DummyVecEnv([make] * NUM_ENVS)
    envs.seed(seed)
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=128,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,
        learning_rate=1e-3,
        ent_coef=0.005,
        seed=seed,
        device="cpu",
        verbose=verbose,
    )
    return model.learn(steps)


def main() -> None:
    """Parses the command line, trains, and prints how much it helped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200_000, help="decisions to learn from")
    parser.add_argument("--opponent", default="random", help="name of the opponent")
    parser.add_argument("--hands", type=int, default=2000, help="hands to measure with")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for when, steps in (("before", 0), ("after", options.steps)):
        model = learn(steps, options.opponent, seed=options.seed, verbose=int(steps > 0))
        mean, interval = points_per_hand(model, options.hands, options.opponent)
        print(f"{when}: {mean:+.1f} ± {interval:.1f} points per hand")


if __name__ == "__main__":
    main()
