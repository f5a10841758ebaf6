"""Self-play: the caller acts for both seats and gets the observation of the seat to move.

    >>> from ginenv import SelfPlay
    >>> game = SelfPlay(rules="eaai")
    >>> game.reset(seed=7)
    >>> while not game.over:
    ...     observation, mask = game.observe()
    ...     game.step(mask.argmax())
    >>> sum(game.rewards)
    0.0

``SelfPlay`` is one table, ``SelfPlayBatch`` many in lock-step with autoreset. Deals are those of the
environments: table ``i`` with seed ``s`` plays what ``Gin/Hand-v0`` deals with seed ``s + i``.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.rules import Rules
from ginenv.errors import check_choice
from ginenv.tables.episodes import Episodes, names_its_options
from ginenv.view.encoding import OBSERVATION_SIZE, PLANES_SHAPE, encode_views
from ginenv.view.view import action_masks, make_views

_EPISODES = ("hand", "game")


class SelfPlayBatch:
    """Many tables in lock-step, with the caller acting for both seats; the next episode begins in the step that ends one.

    Args:
        num_envs: number of tables.
        rules: a preset name, ``Rules``, or a dictionary of rules.
        episode: ``"hand"`` or ``"game"``.
        reward: as for the environments; given for seat 0 only, since the game is zero-sum.
        autoreset: ``False`` keeps an episode's end on the table; the step after it begins the next episode, whatever the action.

    An illegal action raises ``IllegalActionError``; no action is then played at any table.
    """

    @names_its_options
    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Rules | dict[str, Any] = "eaai",
        episode: str = "hand",
        reward: str = "points",
        autoreset: bool = True,
    ) -> None:
        is_game = check_choice("episode", episode, _EPISODES) == 1
        self.num_envs = num_envs
        self._batch = Episodes(
            num_envs,
            rules=rules,
            opponents=None,
            is_game=is_game,
            same_step=autoreset,
            reward=reward,
            on_illegal="raise",
        )
        self._rows = np.zeros((num_envs, OBSERVATION_SIZE), np.uint8)
        self._masks = np.zeros((num_envs, NUM_ACTIONS), np.int8)

    @property
    def rules(self) -> Rules:
        """The rules played."""
        return self._batch.rules

    @property
    def seats(self) -> np.ndarray:
        """The seat that is to move at each table: ``uint8[n]``."""
        self._batch.check_begun()
        return self._batch.seats.copy()

    @property
    def observations(self) -> np.ndarray:
        """The observations of the seats to move: ``uint8[n, 10, 4, 13]``."""
        self._batch.check_begun()
        return self._rows.reshape(-1, *PLANES_SHAPE)

    @property
    def masks(self) -> np.ndarray:
        """The action masks of the seats to move: ``int8[n, 107]``; all ones at a table whose episode is over."""
        return self._masks

    @property
    def views(self) -> np.ndarray:
        """The views of the seats to move, as players get them: ``VIEW[n]``."""
        return self._batch.views()

    def views_from(self, seats: np.ndarray | int) -> np.ndarray:
        """The views of given seats (one for each table, or one for all): ``VIEW[n]``."""
        self._batch.check_begun()
        return make_views(self._batch.states, seats)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode at every table; options as for the environments."""
        self._batch.check_options(options)
        if seed is not None or not self._batch.is_seeded:
            for slot in range(self.num_envs):
                self._batch.seed(slot, seeding.np_random(None if seed is None else seed + slot)[0])
        self._new_buffers()
        self._batch.reset(self._rows, self._masks, options=options)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Plays the actions of the seats that are to move.

        Args:
            actions: ``int[n]``.

        Returns:
            rewards of seat 0 (``float64[n]``; seat 1's are the negative) and whether the episode ended (``bool[n]``).

        Raises:
            IllegalActionError: names the first illegal action and lists the legal ones.
        """
        self._batch.take(actions)
        self._new_buffers()
        self._batch.step(self._rows, self._masks)
        return self._batch.paid.copy(), self._batch.done.astype(bool)

    def _new_buffers(self) -> None:
        self._rows, self._masks = np.empty_like(self._rows), np.empty_like(self._masks)


class SelfPlay:
    """One table, with the caller acting for both seats.

    Args:
        rules: a preset name, ``Rules``, or a dictionary of rules.
        episode: ``"hand"`` or ``"game"``.
        reward: as for the environments.
    """

    @names_its_options
    def __init__(
        self, rules: str | Rules | dict[str, Any] = "eaai", episode: str = "hand", reward: str = "points"
    ) -> None:
        self._tables = SelfPlayBatch(1, rules, episode, reward, autoreset=False)
        self._over = True
        self.rewards = (0.0, 0.0)

    @property
    def rules(self) -> Rules:
        """The rules played."""
        return self._tables.rules

    @property
    def seat(self) -> int:
        """The seat that is to move."""
        return int(self._tables.seats[0])

    @property
    def over(self) -> bool:
        """Whether the episode is over (or none has begun)."""
        return self._over

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode; options as for the environments."""
        self._tables.reset(seed, options)
        self._over = False
        self.rewards = (0.0, 0.0)

    def view(self, seat: int | None = None) -> np.ndarray:
        """What a seat, by default the seat to move, may see: ``VIEW[1]``."""
        return self._tables.views_from(self.seat if seat is None else seat)

    def observe(self, seat: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Observation ``uint8[10, 4, 13]`` and mask ``int8[107]`` of a seat, by default the seat to move.

        The mask of a seat that is not to move is all zeros. Once the episode is over, every mask is all ones.
        """
        if seat is None or seat == self.seat:
            return self._tables.observations[0], self._tables.masks[0]
        view = self.view(seat)
        mask = np.ones(NUM_ACTIONS, np.int8) if self._over else action_masks(view)[0]
        return encode_views(view)[0].reshape(PLANES_SHAPE), mask

    def step(self, action: Any) -> None:
        """Plays an action of the seat that is to move; ``rewards`` then holds both seats' rewards for the step.

        Raises:
            IllegalActionError: names the action and lists the legal ones.
            ResetNeeded: once the episode is over.
        """
        if self._over:
            raise ResetNeeded("step is called before reset, or after the end of the episode; call reset first")
        rewards, done = self._tables.step(np.array([operator.index(action)]))
        self.rewards = (float(rewards[0]), -float(rewards[0]) + 0.0)
        self._over = bool(done[0])
