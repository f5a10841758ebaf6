"""Any player of ours as a policy in PettingZoo's ``gin_rummy_v4`` (``pip install "ginenv[agents,rlcard]"``), which is RLCard's game.

    env = gin_rummy_v4.env()
    policies = {"player_0": PettingZooPolicy("level-2"), "player_1": PettingZooPolicy("simple")}
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        env.step(None if termination or truncation else policies[agent](observation))

PettingZoo 1.27 has no gin rummy any more; the extra installs an earlier one.
"""

from __future__ import annotations

import numpy as np

from bridges.rlcard_agent import Observer
from ginenv.tables.players import Player


class PettingZooPolicy:
    """A player of ours that sees all observations of one agent; arguments as for ``bridges.hosted_player.HostedPlayer``."""

    def __init__(self, player: str | Player = "network", seed: int = 0) -> None:
        self._observer = Observer(player, seed)

    def __call__(self, observation: dict[str, np.ndarray]) -> int:
        """The action for an observation with ``"observation"`` and ``"action_mask"``."""
        return self._observer.decide(observation["observation"], np.flatnonzero(observation["action_mask"]).tolist())
