"""The player contract, and a registry of names.

A player is whatever turns a batch of views into actions. ``ginenv`` never imports ``agents``: names are registered as
``"module:attribute"`` and imported when used, as Gymnasium does with its entry points.

A player's name may carry options: ``search:worlds=128,belief=uniform``. A path to a checkpoint directory is a name too, and so is
``cmd:PROGRAM ARGUMENTS`` for a program that speaks the line protocol.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ginenv.errors import GinError, UnknownNameError, unknown_name


@runtime_checkable
class Player(Protocol):
    """Whoever plays: a batch of views in, a batch of actions out.

    A player without memory is a pure function of the views (their ``luck`` words are its randomness, mixed with its seed), so
    that results do not depend on how games are batched. One that learns keeps what it learned per ``slots`` entry. One that holds
    something open, a program for instance, has a ``close`` (see ``close_players``).
    """

    name: str

    def reset(self, seed: int = 0) -> None:
        """Forgets everything that belongs to games in play and takes a new seed."""
        ...

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view.

        Args:
            views: ``VIEW[n]``, each of a seat that is to move; ``views["legal"]`` (or ``view.action_masks``) says what is legal.
            slots: ``[n]`` which game each view belongs to, for players that remember; ``None`` where that does not matter.

        Returns:
            ``int64[n]``, a legal action for each.
        """
        ...

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Is shown the final views of hands that ended (its own seat's), in which a knocked hand lies open."""
        ...


class BasePlayer:
    """What most players share: a name, a seed, and no interest in finished hands."""

    name = "player"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed."""
        self.seed = seed

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Ignores finished hands."""


_REGISTRY: dict[str, str] = {}


def register_player(name: str, target: str) -> None:
    """Registers a player under a name.

    Args:
        name: what users write.
        target: ``"module:attribute"`` of a callable that takes options as keyword arguments and returns a ``Player``.
    """
    _REGISTRY[name] = target


def player_names() -> list[str]:
    """All registered names, sorted."""
    return sorted(_REGISTRY)


# Registered, but not by name alone: a directory or a command stands in the name's place.
_NEED_MORE = ("checkpoint", "cmd")


def _parse_options(text: str, spec: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition("=")
        if not separator:
            raise GinError(f"player {spec!r}: {part!r} is no option; options are written name:key=value,key=value")
        options[key.strip()] = _value(value.strip())
    return options


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def make_player(spec: str | Player, seed: int = 0) -> Player:
    """A player of a name (with options), a checkpoint's path, or ``cmd:...``; a ``Player`` is returned as it is.

    Raises:
        UnknownNameError: if nothing of that name is registered and no such path exists.
        GinError: if an option does not exist or has a value that it cannot have.
    """
    if not isinstance(spec, str):
        if not callable(getattr(spec, "act", None)):
            raise GinError(
                f"{spec!r} is no player; allowed is a name, a checkpoint's directory, cmd:PROGRAM or a Player"
            )
        return spec
    if spec.startswith("cmd:"):
        return _load(_REGISTRY["cmd"], spec)(command=spec[len("cmd:") :], seed=seed)
    if Path(spec).is_dir():
        return _load(_REGISTRY["checkpoint"], spec)(path=spec, seed=seed)
    name, _, text = spec.partition(":")
    if name not in _REGISTRY or name in _NEED_MORE:
        if "/" in name:
            raise UnknownNameError(f"player {spec!r}: there is no such directory")
        known = [known for known in _REGISTRY if known not in _NEED_MORE]
        raise UnknownNameError(unknown_name("player", name, known) + ", or a checkpoint's directory, or cmd:PROGRAM")
    options = _parse_options(text, spec)
    try:
        player = _load(_REGISTRY[name], spec)(seed=seed, **options)
    except TypeError as error:
        raise GinError(f"player {spec!r} cannot be made: {error}") from None
    except ImportError as error:
        raise _not_installed(spec, error) from None
    player.name = spec
    return player


def close_players(players: Iterable[Player]) -> None:
    """Calls ``close`` of those that have one; a player may be used again after it."""
    for player in players:
        close = getattr(player, "close", None)
        if callable(close):
            close()


def _load(target: str, spec: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise _not_installed(spec, error) from None


def _not_installed(spec: str, error: ImportError) -> GinError:
    return GinError(
        f"player {spec!r} needs something that is not installed ({error}); public engines come with make peers"
    )


for _name, _target in {
    "random": "agents.bots.heuristics:make_random",
    "easy": "agents.bots.heuristics:make_easy",
    "simple": "agents.bots.heuristics:make_simple",
    "formula": "agents.bots.heuristics:make_formula",
    "camper": "agents.bots.heuristics:make_camper",
    "knocker": "agents.bots.heuristics:make_knocker",
    "style": "agents.bots.heuristics:make_style",
    "hints": "agents.bots.heuristics:HintFollower",
    "level": "agents.levels.player:make_level",
    "level-1": "agents.levels.player:make_level_1",
    "level-2": "agents.levels.player:make_level_2",
    "level-3": "agents.levels.player:make_level_3",
    "level-4": "agents.levels.player:make_level_4",
    "population": "agents.bots.heuristics:PopulationPlayer",
    "search": "agents.search:make_search",
    "network": "agents.network.player:make_network",
    "checkpoint": "agents.network.player:load_player",
    "openspiel-simple": "agents.bots.peers:OpenSpielSimple",
    "rlcard-novice": "agents.bots.peers:RlcardNovice",
    "cmd": "agents.programs.player:OutsidePlayer",
}.items():
    register_player(_name, _target)
