"""Any player of ours as an agent of Kaggle's ``open_spiel_gin_rummy`` environment (``pip install --no-deps kaggle-environments``).

    env = kaggle_environments.make("open_spiel_gin_rummy")
    env.run([make_agent("level-2"), make_agent("simple")])

Its dependencies are left out because it pins another OpenSpiel, whose gin rummy is the same. The environment sends every agent the whole
state, hidden cards included; the agent reads it as ``OpenSpielBot`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyspiel

# Registers Kaggle's name of the game, without which its states cannot be read.
from kaggle_environments.envs.open_spiel_env.games.gin_rummy import gin_rummy_proxy  # noqa: F401

from bridges.openspiel_bot import OpenSpielBot
from ginenv.tables.players import Player

_NO_ACTION = -1


def make_agent(player: str | Player = "network", seed: int = 0) -> Callable[[Any, Any], dict[str, int]]:
    """An agent that plays either seat, one episode after the other.

    Args:
        player: as for ``bridges.hosted_player.HostedPlayer``.
        seed: likewise.
    """
    bots: dict[tuple[str, int], OpenSpielBot] = {}

    def agent(observation: Any, configuration: Any = None) -> dict[str, int]:
        """The action of an observation, as ``{"submission": ACTION}``; -1 where the seat is not to move."""
        number = observation.get("playerId", _NO_ACTION)
        # In the first step the cards are not dealt yet, and both agents are asked for nothing.
        if number == _NO_ACTION or observation["currentPlayer"] != number:
            return {"submission": _NO_ACTION}
        _, state = pyspiel.deserialize_game_and_state(observation["serializedGameAndState"])
        # The proxy of Kaggle's environment hides the state's own methods.
        state = getattr(state, "__wrapped__", state)
        key = str(state.get_game()), number
        if key not in bots:
            bots[key] = OpenSpielBot(state.get_game(), number, player, seed)
        return {"submission": bots[key].step(state)}

    return agent
