"""sb3-contrib's MaskablePPO on ginenv's vector environment: first imitates a bot, then continues with PPO.

    pip install ".[agents,sb3]"
    python examples/maskable_ppo.py

Stable-Baselines3 has its own vector interface, which MaskablePPO asks for action masks; `ginenv.adapters.sb3` has it. At the end the
script prints decisions per second and the strength against the bots of `strength.py`.
"""

from __future__ import annotations

import numpy as np
import torch
import tyro
from sb3_contrib import MaskablePPO
from strength import Policy, clock, report, speed

from ginenv import FLAT_SCALE, HandVectorEnv, make_player
from ginenv.adapters.sb3 import GinVecEnv

TABLES, NUM_STEPS = 512, 32
OPPONENTS = ("simple", "formula", "knocker", "camper")


def imitate(model: MaskablePPO, envs: HandVectorEnv, decisions: int, imitated: str = "knocker") -> None:
    """Trains the policy on a bot's actions, and the value network on their returns."""
    bot, policy = make_player(imitated), model.policy
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3, eps=1e-5)
    observations = envs.reset(seed=model.seed)[0]
    rounds = -(-decisions // (TABLES * NUM_STEPS))
    for number in range(rounds):
        optimizer.param_groups[0]["lr"] = 1e-3 * (1 - 0.9 * number / rounds)
        seen, masks, actions, rewards, ends = [], [], [], [], []
        for _ in range(NUM_STEPS):
            seen.append(observations)
            masks.append(envs.action_masks())
            actions.append(bot.act(envs.views))
            observations, paid, done, _, _ = envs.step(actions[-1])
            rewards.append(paid)
            ends.append(done)
        with torch.no_grad():
            later = policy.predict_values(torch.from_numpy(observations))[:, 0].numpy()
        returns = []
        for paid, done in zip(reversed(rewards), reversed(ends), strict=True):
            later = paid + np.where(done, 0.0, later)
            returns.append(later)
        rows = [np.concatenate(part) for part in (seen, masks, actions, returns[::-1])]
        for chosen in np.array_split(np.random.default_rng(number).permutation(len(rows[0])), NUM_STEPS // 2):
            x, mask, action, target = (torch.from_numpy(part[chosen]) for part in rows)
            values, logps, _ = policy.evaluate_actions(x, action, mask)
            loss = (values[:, 0] - target.float()).square().mean() - logps.mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()


def train(imitated: int, decisions: int, seed: int) -> Policy:
    """Runs both phases; returns the policy, which plays the most probable action."""
    began = clock()
    envs = HandVectorEnv(TABLES, list(OPPONENTS), "eaai", observation="flat", reward="scaled")
    model = MaskablePPO(
        "MlpPolicy",
        GinVecEnv(envs),
        n_steps=NUM_STEPS,
        batch_size=1024,
        n_epochs=2,
        gamma=1.0,
        learning_rate=2e-4,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [256, 256], "activation_fn": torch.nn.ReLU},
        seed=seed,
        device="cpu",
    )
    imitate(model, envs, imitated)
    if decisions:
        model.learn(decisions)
    print(speed(imitated + decisions, began))

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return model.predict(observations * FLAT_SCALE, action_masks=masks.astype(bool), deterministic=True)[0]

    return policy


def main(imitate: int = 1_500_000, decisions: int = 1_000_000, games: int = 1000, seed: int = 0) -> dict[str, float]:
    """Trains and measures; returns the shares of games won.

    Args:
        imitate: decisions of imitation.
        decisions: decisions of PPO after it.
        games: games to measure with, against each bot.
        seed: seed of the run.
    """
    return report(train(imitate, decisions, seed), "maskable-ppo", games)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
