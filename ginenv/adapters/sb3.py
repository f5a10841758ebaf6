"""A vector environment behind the vector interface of Stable-Baselines3, with the masks that sb3-contrib's MaskablePPO asks for.

    >>> from sb3_contrib import MaskablePPO
    >>> from ginenv import HandVectorEnv
    >>> from ginenv.adapters.sb3 import GinVecEnv
    >>> model = MaskablePPO("MlpPolicy", GinVecEnv(HandVectorEnv(64, observation="flat", reward="scaled")), n_steps=32)

All tables advance in one compiled step. A single environment needs no adapter: Stable-Baselines3 takes it by its id, and MaskablePPO
finds its ``action_masks``. Needs the extra ``sb3``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from ginenv.envs.vector import TableVectorEnv
from ginenv.errors import GinError, must_be

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed; pip install 'ginenv[sb3]' installs it", name=error.name
    ) from None


class GinVecEnv(VecEnv):
    """A vector environment of this package as a ``VecEnv``, inside of Gymnasium's vector wrappers or not.

    Args:
        envs: a ``HandVectorEnv`` or ``GameVectorEnv``, or what ``gym.make_vec`` makes of their ids. Gymnasium's wrappers of
            observations need ``autoreset_mode="disabled"``; this class then resets the tables whose episodes ended.

    Raises:
        GinError: for any other environment, and with ``autoreset_mode="next_step"``.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        inner = envs.unwrapped
        if not isinstance(inner, TableVectorEnv) or inner.autoreset_mode == AutoresetMode.NEXT_STEP:
            expected = 'a vector environment of ginenv with autoreset_mode="same_step" or "disabled"'
            raise GinError(must_be("envs", expected, envs))
        self.envs: Any = envs
        self.render_mode = inner.render_mode
        self.actions = np.zeros(inner.num_envs, np.int64)
        self._same_step = inner.autoreset_mode == AutoresetMode.SAME_STEP
        # The wrappers, the outermost first, and the environment.
        self._layers: list[Any] = [envs]
        while self._layers[-1] is not inner:
            self._layers.append(self._layers[-1].env)
        super().__init__(inner.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        """The first observations; a seed that ``seed`` set is used once."""
        observations = self.envs.reset(seed=self._seeds[0])[0]
        self._reset_seeds()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Keeps the actions for ``step_wait``."""
        self.actions = np.asarray(actions)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Plays the actions; where an episode ended, the table's info holds its last observation (``terminal_observation``).

        Of what wrappers report, it holds the sums of ``RecordEpisodeStatistics`` (``episode``), which Stable-Baselines3 shows.
        """
        observations, rewards, done, _, infos = self.envs.step(self.actions)
        by_table: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if done.any():
            last = infos["final_obs"] if self._same_step else observations.copy()
            sums = infos.get("episode", {})
            for table in np.flatnonzero(done):
                by_table[table]["terminal_observation"] = last[table]
                if sums:
                    by_table[table]["episode"] = {name: values[table].item() for name, values in sums.items()}
            if not self._same_step:
                observations = self.envs.reset(options={"reset_mask": done})[0]
        return observations, rewards.astype(np.float32), done, by_table

    def env_method(
        self, method_name: str, *args: Any, indices: int | Iterable[int] | None = None, **kwargs: Any
    ) -> list[Any]:
        """The results of some tables, of a method that returns one for each; MaskablePPO calls ``action_masks``."""
        results = getattr(self._layer_with(method_name), method_name)(*args, **kwargs)
        return [results[table] for table in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute of all tables, once for each of some."""
        return [getattr(self._layer_with(attr_name), attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Sets an attribute of all tables."""
        setattr(self._layer_with(attr_name), attr_name, value)

    def _layer_with(self, name: str) -> Any:
        """The outermost wrapper, or else the environment, that has an attribute."""
        return next((layer for layer in self._layers if hasattr(layer, name)), self._layers[-1])

    def env_is_wrapped(self, wrapper_class: Any, indices: int | Iterable[int] | None = None) -> list[bool]:
        """Whether all tables are wrapped so: wrappers stand around the vector."""
        wrapped = any(isinstance(layer, wrapper_class) for layer in self._layers[:-1])
        return [wrapped for _ in self._get_indices(indices)]

    def get_images(self) -> list[np.ndarray | None]:
        """The picture of every table with ``render_mode="rgb_array"``."""
        return list(self.envs.render() or ())

    def close(self) -> None:
        """Closes the opponents."""
        self.envs.close()
