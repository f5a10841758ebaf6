"""``Gin/Hand-v0`` and ``Gin/Game-v0``: one learner at one table, with the opponent inside the environment.

``reset`` and ``step`` play the opponent's moves until it is the learner's turn or the episode is over, so a reward includes the
opponent's reply. ``info`` is described in ``ginenv.tables.info``, observations in ``ginenv.view.encoding``, actions in
``ginenv.engine.actions``.
"""

from __future__ import annotations

import operator
from typing import Any, Unpack

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.rules import Rules
from ginenv.errors import IllegalActionError, check_choice, must_be
from ginenv.hands.hand import Hand
from ginenv.tables.episodes import Episodes, TableOptions, names_its_options
from ginenv.tables.info import info_of
from ginenv.tables.players import Player, close_players
from ginenv.view.encoding import FLAT_SCALE, OBSERVATION_SIZE, PLANES_SHAPE

_OBSERVATIONS = ("planes", "flat")
RENDER_MODES = ("ansi", "rgb_array", "human")
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}


def observation_space(observation: str) -> spaces.Box:
    """The observation space of a named encoding: ``planes`` is ``uint8[10, 4, 13]``, ``flat`` is ``float32[520]``.

    Raises:
        GinError: for any other name.
    """
    if check_choice("observation", observation, _OBSERVATIONS) == 0:
        return spaces.Box(0, 255, PLANES_SHAPE, np.uint8)
    return spaces.Box(0.0, np.float32(255.0), (OBSERVATION_SIZE,), np.float32)


class TableEnv(gym.Env[np.ndarray, np.int64]):
    """What ``HandEnv`` and ``GameEnv`` share. Before the first reset, ``step``, ``render``, ``view`` and ``hand`` raise ``ResetNeeded``."""

    metadata = METADATA
    _is_game = False
    _reward = "points"

    # The arguments are described here, not in the class: ``help(HandEnv)`` shows this docstring, but not that of a base class.
    @names_its_options
    def __init__(
        self,
        opponent: str | Player = "simple",
        rules: str | Rules | dict[str, Any] = "eaai",
        observation: str = "planes",
        render_mode: str | None = None,
        **options: Unpack[TableOptions],
    ) -> None:
        """Makes the table.

        Args:
            opponent: a registered name (``player_names()``), which may have options after a colon; a checkpoint
                directory; ``cmd:PROGRAM``; or a ``Player``.
            rules: a preset name, ``Rules``, or a dictionary such as ``{"preset": "eaai", "knock_limit": 5}``.
            observation: ``"planes"`` or ``"flat"``.
            render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None.
            seat: the learner's seat: 0, 1, ``"alternate"`` (by hands or games dealt) or ``"random"`` (the default). The rules decide
                who starts.
            reward: how the learner is rewarded; see the class.
            on_illegal: what an illegal action does. ``"terminate"`` (the default): it ends the episode with a loss and sets
                ``info["illegal_action"]``. ``"raise"``: it raises an error that names it and lists the legal actions; nothing is lost.
            opponent_memory: what a learning opponent remembers. ``"env"`` (the default): this environment (in a vector, each
                sub-environment separately) until a reset with a seed. ``"profile"``: what
                ``"level-2:profile=DIRECTORY,opponent=NAME"`` keeps on disk, which no reset clears. ``"level-2:learn=false"`` does
                not learn.

        Raises:
            GinError: for an invalid argument; the message says what is allowed.
        """
        self.observation_space = observation_space(observation)
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self._flat = observation == "flat"
        options.setdefault("reward", self._reward)
        self._batch = Episodes(1, rules=rules, opponents=[opponent], is_game=self._is_game, same_step=False, **options)
        self._ready = False
        self._mask = np.ones(NUM_ACTIONS, np.int8)

    @property
    def rules(self) -> Rules:
        """The rules played."""
        return self._batch.rules

    @property
    def view(self) -> np.void:
        """What the learner may see, as a ``VIEW`` record: for players and rendering."""
        return self._batch.views()[0]

    @property
    def hand(self) -> Hand:
        """A copy of the hand in play with all cards open, even the opponent's and the stock: for tests and analysis, not for play."""
        self._batch.check_begun()
        return Hand(self._batch.states.copy(), self.rules)

    @property
    def opponent(self) -> str:
        """The name of the opponent at the table, including its options; for a directory, the name of its level or its own."""
        return self._batch.name_at(0)

    def set_opponent(self, opponent: str | Player) -> None:
        """Changes the opponent from the next reset on."""
        self._batch.set_opponents([opponent])

    def action_masks(self) -> np.ndarray:
        """The legal actions as ``bool[107]``, where sb3-contrib looks for them."""
        self._batch.check_begun()
        return self._mask.astype(bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: the same seed gives the same deals in every environment of this package.
            options: ``deal``: the cards in the order dealt, as numbers or as text (the starter's, the other seat's, the upcard,
                the stock); ``starter``: a seat; ``seat``: the learner's seat for this episode. If the hand ends before
                the learner's first move, another is dealt. It keeps that ``seat``, but the deal and the starter are new.

        Raises:
            GinError: for an unknown option or an invalid value.
        """
        super().reset(seed=seed)
        if seed is not None or not self._batch.is_seeded:
            self._batch.seed(0, self.np_random)
        rows, masks = _buffers()
        self._batch.reset(rows, masks, options=options, seeded=() if seed is None else (0,))
        self._ready = True
        return self._result(rows, masks)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Plays an action and the opponent's reply.

        Raises:
            IllegalActionError: for an illegal action if ``on_illegal`` is ``"raise"``, and always for what is no action: anything
                but a whole number from 0 to 106. Nothing is lost.
            ResetNeeded: before the first reset and after the end of an episode.
        """
        batch = self._batch
        if not self._ready:
            raise ResetNeeded("step is called before reset, or after the end of the episode; call reset first")
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if not 0 <= number < NUM_ACTIONS:
            raise IllegalActionError(must_be("action", f"a whole number from 0 to {NUM_ACTIONS - 1}", action))
        batch.take(number)
        rows, masks = _buffers()
        batch.step(rows, masks)
        over = bool(batch.over[0])
        self._ready = not over
        observation, info = self._result(rows, masks)
        return observation, float(batch.paid[0]), over, False, info

    def _result(self, rows: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        self._mask = masks[0]
        if self.render_mode == "human":
            self.render()
        row = rows[0]
        observation = row * FLAT_SCALE if self._flat else row.reshape(PLANES_SHAPE)
        return observation, info_of(self._batch, masks[0])

    def render(self) -> Any:
        """The table from the learner's seat: text (``ansi``), ``uint8[544, 480, 3]`` (``rgb_array``), or printed (``human``)."""
        from ginenv.pictures.render import draw

        return draw(self.view, self.opponent, self.render_mode)

    def close(self) -> None:
        """Closes opponents that hold a resource, such as an external program."""
        close_players(self._batch.players)


def _buffers() -> tuple[np.ndarray, np.ndarray]:
    return np.empty((1, OBSERVATION_SIZE), np.uint8), np.empty((1, NUM_ACTIONS), np.int8)


class HandEnv(TableEnv):
    """``Gin/Hand-v0``: an episode is one hand.

    ``reward`` is paid when the hand ends: ``"points"``, the learner's points (negative: the opponent's); ``"scaled"``, a
    hundredth of that; ``"win"``, 1, 0 or -1. An illegal action costs 100 with ``"points"`` and 1 otherwise.

    If a hand ends before the learner's first move, it is counted in ``info["skipped_hands"]`` and another is dealt. When you measure
    a player, add these results to the others.
    """


class GameEnv(TableEnv):
    """``Gin/Game-v0``: an episode is a game to the rules' ``target``.

    ``reward``: ``"points"``, the points of each hand when it ends; ``"scaled"``, a hundredth of that; ``"win"``, 1, 0 or -1 when
    the game ends; ``"win+points"``, both ``win`` and ``scaled``; ``"total"``, the difference of the final totals, bonuses included,
    when the game ends. An illegal action ends the game and costs 100 with ``"points"`` or ``"total"``, and 1 otherwise.

    Hands that end before the learner could move count in the game like any other, and in ``info["skipped_hands"]``. If a whole game
    ends so, another is dealt. When you measure a player, add the results of these hands to the others.
    """

    _is_game = True
    _reward = "win"
