"""A trained network as a player: it draws its actions from the policy's logits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from agents.network.checkpoint import CheckpointError, load_checkpoint
from agents.network.inputs import bind_to_gin, observe_views
from agents.network.nets import FrozenActor, has_bfloat16_units
from ginenv.bots.hand_kernels import choose_lay_off, choose_spread
from ginenv.engine.actions import NUM_ACTIONS, PHASE_LAYOFF, PHASE_SPREAD
from ginenv.engine.jit import kernel, mix
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, must_be
from ginenv.tables.players import BasePlayer
from ginenv.view.sampling import sample_actions, write_policy
from ginenv.view.view import VIEW

# The strongest trained network.
SHIPPED = Path(__file__).resolve().parents[1] / "data" / "network"
# Temperature at which checkpoints play: close to the most probable action, but varied. Chosen by matches (docs/log/training.md).
PLAYED = 0.1


def network_directory(name: str) -> str:
    """The directory of a network: ``network`` names the one that ships, any other name is a directory.

    Raises:
        CheckpointError: if the name is empty, which a path would take for the current directory.
    """
    if name == "":
        raise CheckpointError("checkpoint must be a directory, or network for the one that ships, not empty")
    return str(SHIPPED) if name == "network" else name


@kernel
def _prepare(views, seed, legal, words):
    """Writes legal actions and random words; a seat that declined a knock plays for gin, as in training."""
    for i in range(views.shape[0]):
        v = views[i]
        legal[i, 0] = v.legal[0]
        legal[i, 1] = bind_to_gin(v.hand, v.legal[0], v.legal[1]) if v.declined > 0 else v.legal[1]
        legal[i, 2] = v.legal[2]
        words[i] = mix(v.luck ^ mix(np.uint64(seed)))


@kernel
def _arithmetic(views, actions, policy):
    """Replaces spreads and lay-offs by exact choices, without chance."""
    for i in range(views.shape[0]):
        if views[i].phase != PHASE_SPREAD and views[i].phase != PHASE_LAYOFF:
            continue
        actions[i] = choose_spread(views[i]) if views[i].phase == PHASE_SPREAD else choose_lay_off(views[i])
        if policy.shape[0]:
            policy[i] = 0.0


class NetworkPlayer(BasePlayer):
    """Plays an actor's policy without memory: actions depend only on the views and the seed.

    Args:
        actor: the network.
        seed: of the draws from the policy.
        temperature: 1 plays the policy as trained, 0 its most probable action.
        name: shown in tables.

    Raises:
        GinError: if the temperature is negative.
    """

    def __init__(self, actor: FrozenActor, seed: int = 0, temperature: float = 1.0, name: str = "network") -> None:
        super().__init__(seed)
        if temperature < 0:
            raise GinError(must_be("temperature", "0 (the most probable action) or more", temperature))
        self.actor, self.temperature, self.name = actor, temperature, name

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view: ``VIEW[n]`` to ``int64[n]``."""
        return self._act(as_batch(views, VIEW, "VIEW"), np.zeros((0, NUM_ACTIONS), np.float32))

    def act_with_policy(self, views: np.ndarray, slots: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The actions that ``act`` chooses, and the probabilities of all (see ``ginenv.tables.players.KnownPolicy``)."""
        views = as_batch(views, VIEW, "VIEW")
        policy = np.zeros((len(views), NUM_ACTIONS), np.float32)
        return self._act(views, policy), policy

    def _act(self, views: np.ndarray, policy: np.ndarray) -> np.ndarray:
        """Chooses, and writes the probabilities if there is room for them."""
        n = len(views)
        legal = np.empty((n, 3), np.int64)
        words = np.empty(n, np.uint64)
        _prepare(views, self.seed & 0xFFFFFFFF, legal, words)
        logits = self.actor(torch.from_numpy(observe_views(views))).numpy()
        if self.temperature not in (0.0, 1.0):
            logits /= self.temperature
        actions = np.empty(n, np.int64)
        sample_actions(logits, legal, words, self.temperature == 0, actions)
        if len(policy) and self.temperature > 0:
            write_policy(logits, legal, policy)
        _arithmetic(views, actions, policy)
        return actions


def make_network(seed: int = 0, temperature: float = PLAYED) -> NetworkPlayer:
    """The player of the network that ships with the package, ``data/network``."""
    return load_network(str(SHIPPED), seed, temperature)


def load_network(path: str, seed: int = 0, temperature: float = PLAYED) -> NetworkPlayer:
    """The player of a checkpoint's network.

    Raises:
        CheckpointError: if the checkpoint cannot be used.
    """
    actor, _ = load_checkpoint(path)
    return NetworkPlayer(FrozenActor(actor, has_bfloat16_units()), seed, temperature, Path(path).name)
