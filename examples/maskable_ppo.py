"""sb3-contrib's MaskablePPO on ginenv's vector environment: first imitates a bot, then continues with PPO.

    pip install "ginenv[agents,sb3]"
    python examples/maskable_ppo.py

Stable-Baselines3 has its own vector interface, which MaskablePPO asks for action masks; `ginenv.adapters.sb3` has it. At the end the
script prints decisions per second and the strength against the bots of `strength.py`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from strength import Policy, report

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


def train(imitated: int, decisions: int, seed: int = 0, progress: Callable[[str], None] = print) -> Policy:
    """Runs both phases; returns the policy, which plays the most probable action."""
    began, used = time.perf_counter(), time.process_time()
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
    seconds, done = time.perf_counter() - began, imitated + decisions
    progress(
        f"{done:,} decisions in {seconds:.0f} s ({time.process_time() - used:.0f} s of processor time): {done / seconds:,.0f} a second"
    )

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return model.predict(observations * FLAT_SCALE, action_masks=masks.astype(bool), deterministic=True)[0]

    return policy


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Trains and measures; returns the shares of games won."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imitate", type=int, default=1_500_000, help="decisions of imitation")
    parser.add_argument("--decisions", type=int, default=1_000_000, help="decisions of PPO after it")
    parser.add_argument("--games", type=int, default=1000, help="games to measure with, against each bot")
    parser.add_argument("--threads", type=int, default=2, help="of torch")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    return report(train(options.imitate, options.decisions, options.seed), "maskable-ppo", options.games)


if __name__ == "__main__":
    main()
