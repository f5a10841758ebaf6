"""The players in training that do not learn: a pool's fixed players, earlier selves, and teachers to imitate."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from agents.config import TrainConfig
from agents.network.nets import Actor, FrozenActor
from agents.network.player import NetworkPlayer
from agents.training.rollout import Rollout
from ginenv.tables.players import Player, ask_player, make_player


class Opponents:
    """The players in training that do not learn, one set for each thread that plays.

    Args:
        config: of the run.
        threads: how many play; players of different threads share nothing but the weights of earlier selves.

    Attributes:
        bfloat16: whether earlier selves multiply in bfloat16.
    """

    def __init__(self, config: TrainConfig, threads: int) -> None:
        self.config, self.bfloat16 = config, False
        seeds = [config.seed + 100 * thread for thread in range(threads)]
        # The second one plays where the learner is committed to gin.
        self.teachers = [[make_player(name, seed) for name in (config.teacher, config.gin_teacher)] for seed in seeds]
        self.pool = [[make_player(member.player, seed + k) for k, member in enumerate(config.pool)] for seed in seeds]
        self.selves: list[Actor] = []
        self.self_players: list[list[Player]] = [[] for _ in seeds]

    def seated(self, thread: int) -> tuple[list[Player], list[float]]:
        """A thread's opponents, the pool's members and then earlier selves, and the shares of its games against each.

        Every self plays in one thread alone, if there are enough of them: the more rows a network has, the less each costs.
        """
        weights = np.array([member.weight for member in self.config.pool], float)
        pool = list(self.config.pool_share * weights / weights.sum()) if len(weights) else []
        threads, count = len(self.pool), len(self.selves)
        mine = [count < threads or k % threads == thread for k in range(count)]
        shares = pool + [self.config.selves_share * one / max(1, sum(mine)) for one in mine]
        return self.pool[thread] + self.self_players[thread], shares

    def add_self(self, actor: Actor, generator: torch.Generator) -> None:
        """Adds a copy of an actor, which plays on the CPU; if there are too many, drops one of the older half."""
        self.selves.append(copy.deepcopy(actor).cpu())
        if len(self.selves) > self.config.selves:
            # Games against the dropped one go on against its successor in the list.
            del self.selves[int(torch.randint(len(self.selves) // 2 + 1, (1,), generator=generator))]
        self._seat_selves()

    def _seat_selves(self) -> None:
        frozen = [FrozenActor(actor, self.bfloat16) for actor in self.selves]
        self.self_players = [
            [NetworkPlayer(actor, seed=1000 * (thread + 1) + k, name="self") for k, actor in enumerate(frozen)]
            for thread in range(len(self.pool))
        ]

    def act(self, rollout: Rollout, tick: int) -> None:
        """Writes the opponents' actions where they are to move."""
        for number, views, rows, ids in rollout.waiting():
            rollout.steps["action"][tick, rows] = ask_player(rollout.players[number], views, ids)

    def teach(self, rollout: Rollout, tick: int, thread: int) -> None:
        """Writes the teachers' actions in place of the learner's."""
        steps = rollout.steps[tick]
        for bound, teacher in enumerate(self.teachers[thread]):
            rows = np.flatnonzero((steps["learns"] == 1) & (steps["conditions"][:, 0] == bound))
            if rows.size:
                steps["action"][rows] = teacher.act(rollout.views[rows], rows)

    def state_dict(self) -> list[dict[str, Any]]:
        """The earlier selves' weights."""
        return [copy.deepcopy(actor.state_dict()) for actor in self.selves]

    def load_state_dict(self, saved: list[dict[str, Any]], like: Actor) -> None:
        """Restores saved earlier selves, networks of the same shape as ``like``."""
        self.selves = [copy.deepcopy(like).cpu() for _ in saved]
        for actor, weights in zip(self.selves, saved, strict=True):
            actor.load_state_dict(weights)
        self._seat_selves()
