"""Gin rummy for learning and benchmarking: an exact, fast engine behind Gymnasium environments.

Importing the package registers ``Gin/Hand-v0`` and ``Gin/Game-v0``. The names below are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register, registry

if TYPE_CHECKING:
    from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PASS, STOCK, UPCARD, action_name, actions_of, parse_action
    from ginenv.engine.cards import card_name, cards_of, format_cards, mask_of, parse_cards
    from ginenv.engine.outcome import Outcome
    from ginenv.engine.rules import PRESETS, Rules, get_rules
    from ginenv.engine.state import End
    from ginenv.envs.env import GameEnv, HandEnv
    from ginenv.envs.selfplay import SelfPlay, SelfPlayBatch
    from ginenv.envs.vector import GameVectorEnv, HandVectorEnv
    from ginenv.envs.wrappers import MaskedObservation
    from ginenv.errors import GinError, IllegalActionError
    from ginenv.hands.hand import Hand, Match, deadwood
    from ginenv.hands.records import Record, format_record, parse_record, read_record
    from ginenv.hands.text import format_position, format_view, parse_position, parse_view
    from ginenv.tables.player_names import player_names, register_directory, register_player
    from ginenv.tables.players import BasePlayer, Player, close_players, make_player
    from ginenv.view.encoding import (
        FACTS,
        FLAT_SCALE,
        OBSERVATION_SIZE,
        OBSERVATION_VERSION,
        PLANES,
        PLANES_SHAPE,
        encode_views,
    )
    from ginenv.view.view import VIEW, action_masks, make_views

__version__ = "0.2.0"

_MODULES = {
    "engine.actions": ("KNOCK", "NUM_ACTIONS", "PASS", "STOCK", "UPCARD", "action_name", "actions_of", "parse_action"),
    "engine.cards": ("card_name", "cards_of", "format_cards", "mask_of", "parse_cards"),
    "engine.outcome": ("Outcome",),
    "engine.rules": ("PRESETS", "Rules", "get_rules"),
    "engine.state": ("End",),
    "envs.env": ("GameEnv", "HandEnv"),
    "envs.selfplay": ("SelfPlay", "SelfPlayBatch"),
    "envs.vector": ("GameVectorEnv", "HandVectorEnv"),
    "envs.wrappers": ("MaskedObservation",),
    "errors": ("GinError", "IllegalActionError"),
    "hands.hand": ("Hand", "Match", "deadwood"),
    "hands.records": ("Record", "format_record", "parse_record", "read_record"),
    "hands.text": ("format_position", "format_view", "parse_position", "parse_view"),
    "tables.player_names": ("player_names", "register_directory", "register_player"),
    "tables.players": ("BasePlayer", "Player", "close_players", "make_player"),
    "view.encoding": (
        "FACTS",
        "FLAT_SCALE",
        "OBSERVATION_SIZE",
        "OBSERVATION_VERSION",
        "PLANES",
        "PLANES_SHAPE",
        "encode_views",
    ),
    "view.view": ("VIEW", "action_masks", "make_views"),
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "FACTS",
    "FLAT_SCALE",
    "KNOCK",
    "NUM_ACTIONS",
    "OBSERVATION_SIZE",
    "OBSERVATION_VERSION",
    "PASS",
    "PLANES",
    "PLANES_SHAPE",
    "PRESETS",
    "STOCK",
    "UPCARD",
    "VIEW",
    "BasePlayer",
    "End",
    "GameEnv",
    "GameVectorEnv",
    "GinError",
    "Hand",
    "HandEnv",
    "HandVectorEnv",
    "IllegalActionError",
    "MaskedObservation",
    "Match",
    "Outcome",
    "Player",
    "Record",
    "Rules",
    "SelfPlay",
    "SelfPlayBatch",
    "__version__",
    "action_masks",
    "action_name",
    "actions_of",
    "card_name",
    "cards_of",
    "close_players",
    "deadwood",
    "encode_views",
    "format_cards",
    "format_position",
    "format_record",
    "format_view",
    "get_rules",
    "make_player",
    "make_views",
    "mask_of",
    "parse_action",
    "parse_cards",
    "parse_position",
    "parse_record",
    "parse_view",
    "player_names",
    "read_record",
    "register_directory",
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
