"""PPO on the vector environment, in one file: first imitates a bot, then improves on it with proximal policy optimisation.

    pip install ".[train]"
    python examples/ppo.py

It uses nothing but `ginenv.HandVectorEnv` and torch: no features beyond the observation, no critic that sees both hands. From scratch,
PPO needs tens of millions of decisions for this game. A first phase saves most of them: the policy learns a bot's actions, and the
value network what they are worth. At the end the script prints decisions per second and the strength against the bots of `strength.py`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
import tyro
from strength import clock, report, speed
from torch import Tensor, nn

from ginenv import FLAT_SCALE, NUM_ACTIONS, OBSERVATION_SIZE, HandVectorEnv, Player, make_player

ILLEGAL = -60.0  # the logit of illegal actions, which no legal action has


@dataclass(frozen=True)
class Settings:
    """Settings of a run."""

    opponents: tuple[str, ...] = ("simple", "formula", "knocker", "camper")  # assigned to the tables in turn
    imitated: str = "knocker"  # the bot that is imitated
    tables: int = 512  # how many are played at once
    num_steps: int = 32  # decisions at each table between two updates
    minibatch: int = 1024  # rows of a gradient step
    epochs: int = 2  # passes over the rows of an update, in PPO; imitation makes one
    learning_rate: float = 1e-3  # of imitation; PPO starts at 0.3 of it, and both decay to a tenth
    clip: float = 0.2  # how far PPO lets the probability of an action move, as a ratio
    gae_lambda: float = 0.95  # of generalised advantage estimation; rewards are not discounted
    entropy: float = 0.01  # weight of the policy's entropy
    seed: int = 0


class Net(nn.Module):
    """Policy and value: two networks that share nothing."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.register_buffer("scale", torch.from_numpy(FLAT_SCALE))

        def tower(outputs: int) -> nn.Sequential:
            sizes = (OBSERVATION_SIZE, width, width)
            layers = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
            return nn.Sequential(*layers, nn.Linear(width, outputs))

        self.policy, self.value = tower(NUM_ACTIONS), tower(1)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities `[n, 107]` and values `[n]` of observations `uint8[n, 520]` and masks `bool[n, 107]`."""
        x = observations.float() * self.scale
        return self.policy(x).masked_fill(~masks, ILLEGAL).log_softmax(1), self.value(x)[:, 0]


@dataclass
class Rollout:
    """What was played between two updates, `[num_steps, tables]`, and the values of the states after it."""

    observations: Tensor
    masks: Tensor
    actions: Tensor
    logps: Tensor
    values: Tensor
    rewards: Tensor
    done: Tensor
    last: Tensor

    def targets(self, gae_lambda: float) -> tuple[Tensor, Tensor]:
        """Advantages and returns, one row per decision."""
        advantages, running, after = torch.zeros_like(self.values), torch.zeros_like(self.last), self.last
        for t in reversed(range(len(self.values))):
            goes_on = 1 - self.done[t]
            running = self.rewards[t] + goes_on * after - self.values[t] + gae_lambda * goes_on * running
            advantages[t], after = running, self.values[t]
        return advantages.flatten(), (advantages + self.values).flatten()


class Trainer:
    """The environment, the network and the two phases."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        torch.manual_seed(settings.seed)
        self.envs = HandVectorEnv(settings.tables, list(settings.opponents), "eaai", reward="scaled")
        self.imitated = make_player(settings.imitated)
        self.net = Net()
        self.optimizer = torch.optim.Adam(self.net.parameters(), settings.learning_rate, eps=1e-5)
        seen, infos = self.envs.reset(seed=settings.seed)
        self.observations, self.masks = seen.reshape(settings.tables, -1), infos["action_mask"]
        self.done = 0

    @torch.no_grad()
    def play(self, imitated: Player | None) -> Rollout:
        """Plays `num_steps` decisions at every table: the imitated bot's if there is one, else the policy's own."""
        rows: list[tuple[Tensor, ...]] = []
        for _ in range(self.settings.num_steps):
            observations, masks = self._seen()
            logps, values = self.net(observations, masks)
            chosen = torch.from_numpy(imitated.act(self.envs.views)) if imitated else logps.exp().multinomial(1)[:, 0]
            seen, rewards, done, _, infos = self.envs.step(chosen.numpy())
            self.observations, self.masks = seen.reshape(len(seen), -1), infos["action_mask"]
            paid, over = torch.from_numpy(rewards).float(), torch.from_numpy(done).float()
            rows.append((observations, masks, chosen, logps.gather(1, chosen[:, None])[:, 0], values, paid, over))
        return Rollout(*map(torch.stack, zip(*rows, strict=True)), last=self.net(*self._seen())[1])

    def _seen(self) -> tuple[Tensor, Tensor]:
        return torch.from_numpy(self.observations), torch.from_numpy(self.masks).bool()

    def update(self, rollout: Rollout, imitates: bool) -> None:
        """Takes gradient steps on a rollout."""
        settings, net = self.settings, self.net
        advantages, returns = rollout.targets(settings.gae_lambda)
        observations, masks = rollout.observations.flatten(0, 1), rollout.masks.flatten(0, 1)
        actions, before = rollout.actions.flatten(), rollout.logps.flatten()
        for _ in range(1 if imitates else settings.epochs):
            for rows in torch.randperm(len(actions)).split(settings.minibatch):
                logps, values = net(observations[rows], masks[rows])
                chosen = logps.gather(1, actions[rows, None])[:, 0]
                loss = (values - returns[rows]).square().mean()
                if imitates:
                    loss = loss - chosen.mean()
                else:
                    gain = (advantages[rows] - advantages[rows].mean()) / (advantages[rows].std() + 1e-8)
                    ratio = (chosen - before[rows]).exp()
                    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
                    entropy = -(logps.exp() * logps).sum(1).mean()
                    loss = loss - torch.minimum(ratio * gain, clipped * gain).mean() - settings.entropy * entropy
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                self.optimizer.step()

    def phase(self, name: str, decisions: int, imitates: bool) -> None:
        """Plays and learns for this many decisions, and prints its progress."""
        begun, spoken = self.done, time.perf_counter()
        rate = self.settings.learning_rate * (1.0 if imitates else 0.3)
        points, hands = 0.0, 0
        while self.done < begun + decisions:
            left = 1 - (self.done - begun) / decisions
            self.optimizer.param_groups[0]["lr"] = rate * (0.1 + 0.9 * left)
            rollout = self.play(self.imitated if imitates else None)
            self.update(rollout, imitates)
            self.done += rollout.actions.numel()
            points, hands = points + 100 * float(rollout.rewards.sum()), hands + int(rollout.done.sum())
            if time.perf_counter() - spoken > 30:
                print(f"{name}: {self.done:,} decisions, {points / hands:+.2f} points per hand", flush=True)
                spoken, points, hands = time.perf_counter(), 0.0, 0

    @torch.no_grad()
    def policy(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """The most probable actions."""
        return self.net(torch.from_numpy(observations), torch.from_numpy(masks).bool())[0].argmax(1).numpy()


def main(imitate: int = 2_000_000, decisions: int = 2_000_000, games: int = 1000, seed: int = 0) -> dict[str, float]:
    """Trains and measures; returns the shares of games won.

    Args:
        imitate: decisions of imitation.
        decisions: decisions of PPO after it.
        games: games to measure with, against each bot.
        seed: seed of the run.
    """
    trainer, began = Trainer(Settings(seed=seed)), clock()
    trainer.phase("imitating", imitate, imitates=True)
    trainer.phase("PPO", decisions, imitates=False)
    print(speed(trainer.done, began))
    return report(trainer.policy, "ppo", games)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
