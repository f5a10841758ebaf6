"""Gin rummy as a PettingZoo AEC environment: two agents, ``player_0`` and ``player_1``, in turn.

    >>> from ginenv.adapters.pettingzoo import env
    >>> table = env(rules="eaai", episode="hand")
    >>> table.reset(seed=7)
    >>> for agent in table.agent_iter():
    ...     observation, reward, termination, truncation, info = table.last()
    ...     over = termination or truncation
    ...     table.step(None if over else table.action_space(agent).sample(observation["action_mask"]))
    >>> table.agents
    []

An observation is ``{"observation": uint8[10, 4, 13], "action_mask": int8[107]}``. The same seed gives the same deals as in the
environments. An agent that plays an illegal action loses, by PettingZoo's own wrapper. Needs the extra ``pettingzoo``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.rules import Rules
from ginenv.envs.env import METADATA, RENDER_MODES
from ginenv.envs.selfplay import SelfPlay
from ginenv.errors import check_choice
from ginenv.tables.episode_kernels import ILLEGAL_REWARD
from ginenv.tables.episodes import RESET_OPTIONS, names_its_options
from ginenv.view.encoding import PLANES_SHAPE

try:
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed; pip install 'ginenv[pettingzoo]' installs it", name=error.name
    ) from None

_AGENTS = ("player_0", "player_1")


def env(**options: Any) -> AECEnv:
    """The environment with PettingZoo's usual wrappers; options as for ``GinAEC``."""
    table = GinAEC(**options)
    guarded = wrappers.TerminateIllegalWrapper(table, illegal_reward=ILLEGAL_REWARD[table.reward])
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(guarded))


class GinAEC(AECEnv):
    """The environment without wrappers.

    Args:
        rules: a preset name, ``Rules``, or a dictionary of rules.
        episode: ``"hand"`` or ``"game"``.
        reward: as for ``HandEnv`` or ``GameEnv``.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None; the table is drawn from the seat that is to move.
    """

    metadata: dict[str, Any] = METADATA | {"name": "gin_rummy_v0", "is_parallelizable": False}

    @names_its_options
    def __init__(
        self,
        rules: str | Rules | dict[str, Any] = "eaai",
        episode: str = "hand",
        reward: str = "points",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self.reward = reward
        self.possible_agents = list(_AGENTS)
        self._game = SelfPlay(rules, episode, reward)
        self._observation_space = spaces.Dict(
            {
                "observation": spaces.Box(0, 255, PLANES_SHAPE, np.uint8),
                "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
            }
        )
        self._action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in _AGENTS}

    def observation_space(self, agent: str) -> spaces.Dict:
        """The same for both agents."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Discrete:
        """``Discrete(107)`` for both agents."""
        return self._action_spaces[agent]

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent may see; the mask is all zeros for one that is not to move."""
        observation, mask = self._game.observe(_AGENTS.index(agent))
        return {"observation": observation, "action_mask": mask}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode; options as for ``HandEnv``. Unknown ones are ignored, since PettingZoo's own tests send one."""
        allowed = {name: value for name, value in (options or {}).items() if name in RESET_OPTIONS}
        self._game.reset(seed, allowed)
        self.agents = list(_AGENTS)
        self.rewards = dict.fromkeys(_AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(_AGENTS, 0.0)
        self.terminations = dict.fromkeys(_AGENTS, False)
        self.truncations = dict.fromkeys(_AGENTS, False)
        self.infos = {agent: {} for agent in _AGENTS}
        self.agent_selection = _AGENTS[self._game.seat]

    def step(self, action: int | None) -> None:
        """Plays an action of the selected agent.

        Raises:
            IllegalActionError: for an illegal action (with the wrappers of ``env()``, the agent loses instead).
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._game.step(action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(_AGENTS, self._game.rewards, strict=True))
        if self._game.over:
            self.terminations = dict.fromkeys(_AGENTS, True)
            self.agent_selection = _AGENTS[1 - _AGENTS.index(agent)]
        else:
            self.agent_selection = _AGENTS[self._game.seat]
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """The table from the seat that is to move: text (``ansi``), a picture (``rgb_array``), or printed (``human``)."""
        from ginenv.pictures.render import draw

        return draw(self._game.view()[0], _AGENTS[1 - self._game.seat], self.render_mode)
