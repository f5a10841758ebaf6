"""The players in training that do not learn: a pool's fixed players, past policies, and players to imitate."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from agents.config import TrainConfig
from agents.network.nets import Actor, FrozenActor
from agents.network.player import NetworkPlayer
from agents.training.selfplay import Rollout
from ginenv.tables.players import Player, ask_player, make_player

# The players that are imitated: where the learner is free, and where it is committed to gin.
IMITATED = "knocker", "camper"
# Copies of the policy that stay as opponents.
NUM_PAST_POLICIES = 6


class Opponents:
    """The players in training that do not learn, one set for each thread that plays.

    Args:
        config: of the run.
        threads: how many play; players of different threads share nothing but the weights of past policies.

    Attributes:
        bfloat16: whether past policies multiply in bfloat16.
    """

    def __init__(self, config: TrainConfig, threads: int) -> None:
        self.config, self.bfloat16 = config, False
        seeds = [config.seed + 100 * thread for thread in range(threads)]
        self.imitated = [[make_player(name, seed) for name in IMITATED] for seed in seeds]
        self.pool = [[make_player(member.player, seed + k) for k, member in enumerate(config.pool)] for seed in seeds]
        self.past_policies: list[Actor] = []
        self.past_players: list[list[Player]] = [[] for _ in seeds]

    def seated(self, thread: int) -> tuple[list[Player], list[float]]:
        """A thread's opponents, the pool's members and then past policies, and the shares of its games against each.

        Every one of these plays in one thread alone, if there are enough of them: the more rows a network has, the less each costs.
        """
        weights = np.array([member.weight for member in self.config.pool], float)
        pool = list(self.config.pool_share * weights / weights.sum()) if len(weights) else []
        threads, count = len(self.pool), len(self.past_policies)
        mine = [count < threads or k % threads == thread for k in range(count)]
        shares = pool + [self.config.past_policy_share * one / max(1, sum(mine)) for one in mine]
        return self.pool[thread] + self.past_players[thread], shares

    def add_past_policy(self, actor: Actor, generator: torch.Generator) -> None:
        """Adds a copy of an actor, which plays on the CPU; if there are too many, drops one of the older half."""
        self.past_policies.append(copy.deepcopy(actor).cpu())
        if len(self.past_policies) > NUM_PAST_POLICIES:
            # Games against the dropped one go on against its successor in the list.
            del self.past_policies[int(torch.randint(len(self.past_policies) // 2 + 1, (1,), generator=generator))]
        self._seat_past_policies()

    def _seat_past_policies(self) -> None:
        frozen = [FrozenActor(actor, self.bfloat16) for actor in self.past_policies]
        self.past_players = [
            [NetworkPlayer(actor, seed=1000 * (thread + 1) + k, name="past policy") for k, actor in enumerate(frozen)]
            for thread in range(len(self.pool))
        ]

    def act(self, rollout: Rollout, step: int) -> None:
        """Writes the opponents' actions where they are to move."""
        for number, views, rows, ids in rollout.waiting():
            rollout.steps["action"][step, rows] = ask_player(rollout.players[number], views, ids)

    def imitate(self, rollout: Rollout, step: int, thread: int) -> None:
        """Writes the imitated players' actions in place of the learner's."""
        steps = rollout.steps[step]
        for bound, player in enumerate(self.imitated[thread]):
            rows = np.flatnonzero((steps["learns"] == 1) & (steps["conditions"][:, 0] == bound))
            if rows.size:
                steps["action"][rows] = player.act(rollout.views[rows], rows)

    def state_dict(self) -> list[dict[str, Any]]:
        """The past policies' weights."""
        return [copy.deepcopy(actor.state_dict()) for actor in self.past_policies]

    def load_state_dict(self, saved: list[dict[str, Any]], like: Actor) -> None:
        """Restores saved past policies, networks of the same shape as ``like``."""
        self.past_policies = [copy.deepcopy(like).cpu() for _ in saved]
        for actor, weights in zip(self.past_policies, saved, strict=True):
            actor.load_state_dict(weights)
        self._seat_past_policies()
