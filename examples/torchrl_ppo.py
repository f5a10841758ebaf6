"""TorchRL learns from games on disk, then continues with its own PPO.

    pip install ".[data,torchrl,train]"
    python examples/torchrl_ppo.py

A bot's games are played and written as Parquet, as `gin games play` does. A policy and a value network learn from the files through the
loader for torch. TorchRL's collector, GAE and clipped loss then improve them on the vector environment, which TorchRL takes with
`ginenv.adapters.torchrl.with_masks`. At the end the script prints decisions per second and the strength against the bots of `strength.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
import tyro
from strength import clock, report, speed
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.envs import EnvBase, FlattenObservation, GymWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from agents.arena import MatchSettings
from agents.datasets.load import Games
from agents.datasets.source import PlayedGames
from agents.datasets.store import write_games
from ginenv import FLAT_SCALE, NUM_ACTIONS, OBSERVATION_SIZE
from ginenv.adapters.torchrl import with_masks

TABLES, NUM_STEPS, MINIBATCH = 512, 32, 1024
OPPONENTS = ("simple", "formula", "knocker", "camper")


def make_tables(seed: int) -> EnvBase:
    """All tables as one TorchRL environment, with masks, and observations as rows."""
    envs = gym.make_vec(
        "Gin/Hand-v0", num_envs=TABLES, opponent=list(OPPONENTS), reward="scaled", autoreset_mode="disabled"
    )
    tables = with_masks(GymWrapper(envs, categorical_action_encoding=True))
    tables.append_transform(FlattenObservation(-3, -1, in_keys=["observation"]))
    tables.set_seed(seed)
    return tables


class Scaled(nn.Module):
    """A perceptron that reads the observation's bytes."""

    def __init__(self, outputs: int, width: int = 256) -> None:
        super().__init__()
        self.register_buffer("scale", torch.from_numpy(FLAT_SCALE))
        layers = (
            nn.Linear(OBSERVATION_SIZE, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, outputs),
        )
        self.layers = nn.Sequential(*layers)

    def forward(self, observation: Tensor) -> Tensor:
        """Outputs `[n, outputs]` for observations `uint8[n, 520]`."""
        return self.layers(observation.float() * self.scale)


def clone(actor: ProbabilisticActor, critic: ValueOperator, hands: int, seed: int) -> int:
    """Plays a bot's games, writes them, and learns its moves and the points they brought; returns the number of decisions."""
    rows = 0
    networks = nn.ModuleList([actor, critic])
    optimizer = torch.optim.Adam(networks.parameters(), 1e-3, eps=1e-5)
    with tempfile.TemporaryDirectory() as scratch:
        for opponent in OPPONENTS:
            path = Path(scratch) / f"{opponent}.parquet"
            players = ("knocker", opponent)
            write_games(
                path,
                PlayedGames(players, hands // len(OPPONENTS), MatchSettings(unit="hands", seed=seed)),
                {"players": players},
            )
        written = sorted(Path(scratch).glob("*.parquet"))
        files = [Games(path).batches(MINIBATCH, player="knocker", also=("points",), seed=seed) for path in written]
        for arrays in (arrays for parts in zip(*files, strict=False) for arrays in parts):
            batch = {name: torch.from_numpy(values) for name, values in arrays.items()}
            values = critic(TensorDict(batch, [len(batch["action"])]))["state_value"][:, 0]
            dist = actor.get_dist(
                TensorDict({"observation": batch["observation"], "action_mask": batch["mask"].bool()}, [len(values)])
            )
            loss = (values - batch["points"] / 100).square().mean() - dist.log_prob(batch["action"]).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(networks.parameters(), 0.5)
            optimizer.step()
            rows += len(values)
    return rows


def improve(actor: ProbabilisticActor, critic: ValueOperator, decisions: int, seed: int) -> None:
    """PPO with TorchRL's parts."""
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    loss_of = ClipPPOLoss(
        actor,
        critic,
        clip_epsilon=0.2,
        entropy_coeff=0.01,
        critic_coeff=1.0,
        loss_critic_type="l2",
        normalize_advantage=True,
    )
    optimizer = torch.optim.Adam(loss_of.parameters(), 2e-4, eps=1e-5)
    collector = Collector(
        make_tables(seed),
        actor,
        frames_per_batch=TABLES * NUM_STEPS,
        total_frames=decisions,
        auto_register_policy_transforms=False,
    )
    for data in collector:
        with torch.no_grad():
            advantage(data)
        rows = data.reshape(-1)
        for _ in range(2):
            for chosen in torch.randperm(len(rows)).split(MINIBATCH):
                losses = loss_of(rows[chosen])
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(loss_of.parameters(), 0.5)
                optimizer.step()
    collector.shutdown()


def main(hands: int = 80_000, decisions: int = 500_000, games: int = 1000, seed: int = 0) -> dict[str, float]:
    """Trains and measures; returns the shares of games won.

    Args:
        hands: hands of a bot to learn from.
        decisions: decisions of PPO after it.
        games: games to measure with, against each bot.
        seed: seed of the run.
    """
    torch.manual_seed(seed)
    network = TensorDictModule(Scaled(NUM_ACTIONS), in_keys=["observation"], out_keys=["logits"])
    actor = ProbabilisticActor(
        network,
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        distribution_kwargs={"neg_inf": -60.0},
        return_log_prob=True,
    )
    critic = ValueOperator(Scaled(1), in_keys=["observation"])
    began = clock()
    done = clone(actor, critic, hands, seed)
    if decisions:
        improve(actor, critic, decisions, seed)
        done += decisions
    print(speed(done, began))

    @torch.no_grad()
    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        logits = network.module(torch.from_numpy(observations))
        return logits.masked_fill(~torch.from_numpy(masks).bool(), -60.0).argmax(1).numpy()

    return report(policy, "torchrl-ppo", games)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
