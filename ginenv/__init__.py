"""Gin rummy for learning and benchmarking: an exact, fast engine behind Gymnasium environments.

Importing the package registers ``Gin/Hand-v0`` and ``Gin/Game-v0``. The names below are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register, registry

if TYPE_CHECKING:
    from ginenv.engine.outcome import Outcome
    from ginenv.engine.rules import PRESETS, Rules, get_rules
    from ginenv.envs.env import GameEnv, HandEnv
    from ginenv.envs.selfplay import SelfPlay, SelfPlayBatch
    from ginenv.envs.vector import GameVectorEnv, HandVectorEnv
    from ginenv.errors import GinError, IllegalActionError
    from ginenv.hands.hand import Hand, Match
    from ginenv.tables.players import Player, make_player, player_names, register_player
    from ginenv.view.encoding import encode_views
    from ginenv.view.view import action_masks, make_views

__version__ = "0.1.0"

_MODULES = {
    "engine.outcome": ("Outcome",),
    "engine.rules": ("PRESETS", "Rules", "get_rules"),
    "envs.env": ("GameEnv", "HandEnv"),
    "envs.selfplay": ("SelfPlay", "SelfPlayBatch"),
    "envs.vector": ("GameVectorEnv", "HandVectorEnv"),
    "errors": ("GinError", "IllegalActionError"),
    "hands.hand": ("Hand", "Match"),
    "tables.players": ("Player", "make_player", "player_names", "register_player"),
    "view.encoding": ("encode_views",),
    "view.view": ("action_masks", "make_views"),
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "PRESETS",
    "GameEnv",
    "GameVectorEnv",
    "GinError",
    "Hand",
    "HandEnv",
    "HandVectorEnv",
    "IllegalActionError",
    "Match",
    "Outcome",
    "Player",
    "Rules",
    "SelfPlay",
    "SelfPlayBatch",
    "__version__",
    "action_masks",
    "encode_views",
    "get_rules",
    "make_player",
    "make_views",
    "player_names",
    "register_player",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'ginenv' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"ginenv.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])


for _kind in ("Hand", "Game"):
    if f"Gin/{_kind}-v0" not in registry:
        register(
            id=f"Gin/{_kind}-v0",
            entry_point=f"ginenv.envs.env:{_kind}Env",
            vector_entry_point=f"ginenv.envs.vector:{_kind}VectorEnv",
        )
