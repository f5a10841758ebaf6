"""Puts the action mask where a library looks for it.

Gymnasium defines no masks in observations. These libraries read them there, each under its own keys:

| dialect | observation | where it is documented |
|---|---|---|
| ``rllib`` | ``{"observations": ..., "action_mask": float32[107]}`` | RLlib's example ``action_mask_env.py`` |
| ``tianshou`` | ``{"obs": ..., "mask": bool[107]}`` | Tianshou's ``Batch`` for masked discrete policies |

``sb3-contrib`` needs no wrapper: it calls the environment's ``action_masks()``. PettingZoo and TorchRL have adapters (``ginenv.adapters``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.errors import UnknownNameError, unknown_name


class Dialect(NamedTuple):
    """The keys of observation and mask that a library expects, and the mask's dtype."""

    observation: str
    mask: str
    dtype: Any


DIALECTS = {
    "rllib": Dialect("observations", "action_mask", np.float32),
    "tianshou": Dialect("obs", "mask", np.bool_),
}


class MaskedObservation(gym.Wrapper[Any, Any, Any, Any]):
    """Puts the action mask into the observation, in a library's dialect.

    Args:
        env: ``Gin/Hand-v0`` or ``Gin/Game-v0``.
        dialect: a name in ``DIALECTS``.

    Raises:
        UnknownNameError: for any other name.
    """

    def __init__(self, env: gym.Env[Any, Any], dialect: str) -> None:
        super().__init__(env)
        if dialect not in DIALECTS:
            raise UnknownNameError(unknown_name("mask dialect", str(dialect), DIALECTS))
        self._dialect = DIALECTS[dialect]
        mask_space = spaces.Box(0, 1, (NUM_ACTIONS,), self._dialect.dtype)
        self.observation_space = spaces.Dict(
            {self._dialect.observation: env.observation_space, self._dialect.mask: mask_space}
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Like the environment's ``reset``, with the mask in the observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._masked(observation, info), info

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], Any, bool, bool, dict[str, Any]]:
        """Like the environment's ``step``, with the mask in the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._masked(observation, info), reward, terminated, truncated, info

    def _masked(self, observation: np.ndarray, info: dict[str, Any]) -> dict[str, np.ndarray]:
        mask = info["action_mask"].astype(self._dialect.dtype)
        return {self._dialect.observation: observation, self._dialect.mask: mask}
