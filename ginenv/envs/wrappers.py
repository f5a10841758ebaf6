"""Puts the action mask where a library looks for it.

Gymnasium defines no masks in observations; RLlib (its example ``action_mask_env.py``) and Tianshou (its ``Batch`` for masked discrete
policies) read them there, each under its own keys. ``sb3-contrib`` needs no wrapper: it calls the environment's ``action_masks()``.
PettingZoo and TorchRL have adapters (``ginenv.adapters``).
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.errors import check_choice

# The keys of observation and mask that a library expects, and the mask's dtype.
DIALECTS: dict[str, tuple[str, str, Any]] = {
    "rllib": ("observations", "action_mask", np.float32),
    "tianshou": ("obs", "mask", np.bool_),
}


class MaskedObservation(gym.ObservationWrapper[Any, Any, Any]):
    """Puts the action mask into the observation, in a library's dialect.

    Args:
        env: ``Gin/Hand-v0`` or ``Gin/Game-v0``.
        dialect: a name in ``DIALECTS``.

    Raises:
        GinError: for any other name.
    """

    def __init__(self, env: gym.Env[Any, Any], dialect: str) -> None:
        super().__init__(env)
        check_choice("dialect", dialect, tuple(DIALECTS))
        self._observation, self._mask, self._dtype = DIALECTS[dialect]
        mask_space = spaces.Box(0, 1, (NUM_ACTIONS,), self._dtype)
        self.observation_space = spaces.Dict({self._observation: env.observation_space, self._mask: mask_space})

    def observation(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        """The observation and the mask, under their keys."""
        table: Any = self.unwrapped
        return {self._observation: observation, self._mask: table.action_masks().astype(self._dtype)}
