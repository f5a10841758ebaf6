"""A trained network as a player."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.network.checkpoint import CheckpointError, load_checkpoint
from agents.network.inputs import actor_inputs
from agents.network.nets import FrozenActor, has_bfloat16_units
from agents.network.policy import PLAYED, PolicyPlayer

# The strongest trained network.
SHIPPED = Path(__file__).resolve().parents[1] / "data" / "network"


def network_directory(name: str) -> str:
    """The directory of a network: ``network`` names the one that ships, any other name is a directory.

    Raises:
        CheckpointError: if the name is empty, which a path would take for the current directory.
    """
    if name == "":
        raise CheckpointError("checkpoint must be a directory, or network for the one that ships, not empty")
    return str(SHIPPED) if name == "network" else name


class NetworkPlayer(PolicyPlayer):
    """Plays an actor's policy without memory: actions depend only on the views and the seed.

    Args:
        actor: the network.
        seed: of the draws from the policy.
        temperature: 1 plays the policy as trained, 0 its most probable action.
        commits: whether declining a knock commits to gin for the rest of the hand, as in training.
        name: shown in tables.

    Raises:
        GinError: if the temperature is negative.
    """

    def __init__(
        self, actor: FrozenActor, seed: int = 0, temperature: float = 1.0, commits: bool = True, name: str = "network"
    ) -> None:
        super().__init__(seed, temperature, commits, name)
        self.actor = actor

    def logits(
        self, views: np.ndarray, observations: np.ndarray, conditions: np.ndarray, slots: np.ndarray | None
    ) -> np.ndarray:
        """The policy's logits: ``float32[n, 107]``."""
        return self.actor(actor_inputs(self.actor, views, observations, conditions)).numpy()


def make_network(seed: int = 0, temperature: float = PLAYED, commits: bool = True) -> NetworkPlayer:
    """The player of the network that ships with the package, ``data/network``."""
    return load_network(str(SHIPPED), seed, temperature, commits)


def load_network(path: str, seed: int = 0, temperature: float = PLAYED, commits: bool = True) -> NetworkPlayer:
    """The player of a checkpoint's network.

    Raises:
        CheckpointError: if the checkpoint cannot be used.
    """
    actor, _ = load_checkpoint(path)
    return NetworkPlayer(FrozenActor(actor, has_bfloat16_units()), seed, temperature, commits, Path(path).name)
