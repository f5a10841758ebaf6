"""Both environments as native vector environments: thousands of tables in one compiled step.

Sub-environment ``i`` with seed ``s`` deals what the single environment deals with seed ``s + i``. Compiled opponents
(``ginenv.tables.compiled_players``) move inside the compiled step. Any other opponent gets all tables that wait for it in one call.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.rules import Rules
from ginenv.envs.env import METADATA, RENDER_MODES, observation_space
from ginenv.errors import GinError, check_choice, check_integer, must_be
from ginenv.tables.episodes import Episodes, TableOptions, names_its_options
from ginenv.tables.info import final_infos, infos_of
from ginenv.tables.players import Player, close_players
from ginenv.view.encoding import FLAT_SCALE, OBSERVATION_SIZE, PLANES_SHAPE

_MODES = {mode.name.lower(): mode for mode in AutoresetMode}

_NOTHING = np.empty(0, np.uint8)
_MAX_BUFFERS = 4


def _references(buffers: list[np.ndarray]) -> list[int]:
    return [sys.getrefcount(buffer) for buffer in buffers]


# References to a buffer held by the list and by the counting itself; their number depends on the Python version.
_OWN_REFERENCES = _references([_NOTHING.copy()])[0]


def _reusable_buffer(buffers: list[np.ndarray], shape: tuple[int, int], dtype: type) -> np.ndarray:
    """A buffer to which no caller and no array view refers any more, or a new one."""
    for buffer, references in zip(buffers, _references(buffers), strict=True):
        if references <= _OWN_REFERENCES:
            return buffer
    buffer = np.empty(shape, dtype)
    if len(buffers) < _MAX_BUFFERS:
        buffers.append(buffer)
    return buffer


class TableVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """What ``HandVectorEnv`` and ``GameVectorEnv`` share."""

    _is_game = False
    _reward = "points"

    @names_its_options
    def __init__(
        self,
        num_envs: int = 1,
        opponent: str | Player | Sequence[str | Player] = "simple",
        rules: str | Rules | dict[str, Any] = "eaai",
        observation: str = "planes",
        autoreset_mode: str | AutoresetMode = "same_step",
        render_mode: str | None = None,
        **options: Unpack[TableOptions],
    ) -> None:
        """Makes the tables.

        Args:
            num_envs: number of tables.
            opponent: as for ``HandEnv``, or a list, of which table ``i`` gets item ``i % len``.
            rules: as for ``HandEnv``.
            observation: ``"planes"`` is ``uint8[n, 10, 4, 13]``, ``"flat"`` is ``float32[n, 520]``.
            autoreset_mode: ``"same_step"``: the step that ends an episode returns the first observation of the next, and
                ``info["final_obs"]`` and ``info["final_info"]`` hold the last observation and info of the old one. ``"next_step"``:
                the step after it begins the next episode, whatever the action. ``"disabled"``: the caller resets the tables whose
                episodes ended, with ``reset(options={"reset_mask": ...})``.
            render_mode: ``"ansi"``, ``"rgb_array"`` or None.
            seat: as for ``HandEnv``.
            reward: as for ``HandEnv``.
            on_illegal: as for ``HandEnv``; with ``"raise"``, no table is stepped if any action is illegal.
            opponent_memory: as for ``HandEnv``.
        """
        check_integer("num_envs", num_envs, 1)
        mode = autoreset_mode
        if not isinstance(mode, AutoresetMode):
            check_choice("autoreset_mode", mode, tuple(_MODES))
            mode = _MODES[mode]
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES[:2])
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = METADATA | {"autoreset_mode": mode}
        self.single_observation_space = observation_space(observation)
        self.single_action_space = Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._flat = observation == "flat"
        self._same_step, self._is_disabled = mode == AutoresetMode.SAME_STEP, mode == AutoresetMode.DISABLED
        options.setdefault("reward", self._reward)
        # None is not a valid opponent, as in the single environment; Episodes would take it for self-play.
        opponents = [opponent] if opponent is None else opponent
        self._batch = Episodes(
            num_envs, rules=rules, opponents=opponents, is_game=self._is_game, same_step=self._same_step, **options
        )
        self._rows = np.zeros((num_envs, OBSERVATION_SIZE), np.uint8)
        self._masks = np.ones((num_envs, NUM_ACTIONS), np.int8)
        self._row_buffers: list[np.ndarray] = []
        self._mask_buffers: list[np.ndarray] = []

    @property
    def rules(self) -> Rules:
        """The rules played."""
        return self._batch.rules

    @property
    def views(self) -> np.ndarray:
        """What the learner may see at each table: ``VIEW[n]``, for players and rendering; ``ResetNeeded`` before the first reset."""
        return self._batch.views()

    @property
    def opponents(self) -> list[str]:
        """The name of the opponent at each table now; where a step has begun another episode, that is the new opponent."""
        return [self._batch.name_at(slot) for slot in range(self.num_envs)]

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """Where Gymnasium's own vector environments have it, besides ``metadata``."""
        return self.metadata["autoreset_mode"]

    def set_opponent(self, opponent: str | Player | Sequence[str | Player]) -> None:
        """Changes the opponents; each table uses its new one from its next episode on.

        Args:
            opponent: a name, a path, a ``Player``, or a list of these, which the tables get in turn.
        """
        self._batch.set_opponents(opponent)

    def action_masks(self) -> np.ndarray:
        """The legal actions: ``bool[n, 107]``."""
        self._batch.check_begun()
        return self._masks.astype(bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode at every table, or at some.

        Args:
            seed: one number, and table ``i`` gets ``seed + i``; or a list with one seed for each table.
            options: as for the single environment, the same for all tables. ``reset_mask``, ``bool[n]``: only the marked tables
                begin an episode; the others play on, keep their observations, and have no infos.

        Raises:
            GinError: for an unknown option or an invalid value.
            ResetNeeded: if only some tables are reset before the first reset, or after a step that was broken off.
        """
        options = dict(options) if isinstance(options, dict) else options
        chosen = None
        if isinstance(options, dict) and "reset_mask" in options:
            chosen = self._chosen(options.pop("reset_mask"))
        self._batch.check_options(options)
        is_seeded = self._batch.is_seeded
        seeds = self._seeds(seed)
        seeded = []
        slots = np.arange(self.num_envs) if chosen is None else np.flatnonzero(chosen)
        for slot in slots.tolist():
            one = seeds[slot]
            if one is not None:
                self._batch.seed(slot, seeding.np_random(one)[0])
                seeded.append(slot)
            elif not is_seeded:
                self._batch.seed(slot, self.np_random)
        before = self._rows, self._masks
        self._new_buffers()
        if chosen is not None:
            self._rows[:], self._masks[:] = before
        self._batch.reset(self._rows, self._masks, options=options, seeded=seeded, slots=slots)
        return self._observations(self._rows), infos_of(self._batch, self._masks, chosen)

    def _chosen(self, mask: Any) -> np.ndarray:
        """``reset_mask``, if it is one."""
        self._batch.check_usable()
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
            expected = f"an array of {self.num_envs} truth values, at least one of them true"
            raise GinError(must_be("reset_mask", expected, mask))
        return mask.copy()

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
            return [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        if isinstance(seed, str) or not isinstance(seed, Sequence | np.ndarray):
            raise GinError(must_be("seed", "a whole number, or one for each environment", seed))
        if len(seed) != self.num_envs:
            raise GinError(
                f"{len(seed)} seeds are given for {self.num_envs} environments; give one for each, or one for all"
            )
        return [None if one is None else check_integer("a seed", one, 0) for one in seed]

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Plays an action at every table, and the opponents' replies.

        Args:
            actions: ``int[n]``.

        Returns:
            observations, rewards ``float64[n]``, terminations ``bool[n]``, truncations (never), infos.

        Raises:
            IllegalActionError: for an illegal action if ``on_illegal`` is ``"raise"``, and always if ``actions`` is not one whole
                number from 0 to 106 for each table.
            ResetNeeded: before the first reset, and with ``autoreset_mode="disabled"`` if an episode is over.
        """
        batch = self._batch
        batch.take(actions)
        if self._is_disabled and batch.over.any():
            over = ", ".join(map(str, np.flatnonzero(batch.over)))
            raise ResetNeeded(f"the episodes at these tables are over; reset them first: {over}")
        self._new_buffers()
        batch.step(self._rows, self._masks)
        done = batch.done.astype(bool)
        infos = infos_of(batch, self._masks)
        ended = done.nonzero()[0]
        if self._same_step and len(ended):
            rows, infos["final_info"] = final_infos(batch, done, ended)
            infos["final_obs"] = final_obs = np.empty(self.num_envs, object)
            for slot, observation in zip(ended.tolist(), self._observations(rows), strict=True):
                final_obs[slot] = observation
            infos["_final_info"] = infos["_final_obs"] = done.copy()
        return self._observations(self._rows), batch.paid.copy(), done, np.zeros(self.num_envs, bool), infos

    def _observations(self, rows: np.ndarray) -> np.ndarray:
        return rows * FLAT_SCALE if self._flat else rows.reshape(-1, *PLANES_SHAPE)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs: none of the arrays that are used again once nobody refers to them, which views of a pickle's do not."""
        return self.__dict__ | {"_row_buffers": [], "_mask_buffers": []}

    def _new_buffers(self) -> None:
        """Selects arrays to write into that no caller holds; allocating new ones would cost a quarter of the step."""
        self._rows = self._masks = _NOTHING
        self._rows = _reusable_buffer(self._row_buffers, (self.num_envs, OBSERVATION_SIZE), np.uint8)
        self._masks = _reusable_buffer(self._mask_buffers, (self.num_envs, NUM_ACTIONS), np.int8)

    def render(self) -> tuple[Any, ...] | None:
        """Every table from its learner's seat, as text or as ``uint8[height, width, 3]``."""
        from ginenv.pictures.render import draw

        if self.render_mode is None:
            return draw(self.views[0], "", None)
        return tuple(draw(view, name, self.render_mode) for view, name in zip(self.views, self.opponents, strict=True))

    def close_extras(self, **kwargs: Any) -> None:
        """Closes opponents that hold a resource, such as an external program; ``close`` calls this."""
        close_players(self._batch.players)


class HandVectorEnv(TableVectorEnv):
    """``Gin/Hand-v0`` at many tables; see ``HandEnv``."""


class GameVectorEnv(TableVectorEnv):
    """``Gin/Game-v0`` at many tables; see ``GameEnv``."""

    _is_game = True
    _reward = "win"
