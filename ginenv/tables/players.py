"""The player contract, and players by their names.

A player turns a batch of views into actions. ``make_player`` makes one from a name, whose grammar and registry are in
``ginenv.tables.player_names``.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, get_args, get_type_hints, runtime_checkable

import numpy as np

from ginenv.errors import GinError, must_be, unknown_name
from ginenv.tables.player_names import OTHER_NAMES, Entry, PlayerSpec, parse_player


@runtime_checkable
class Player(Protocol):
    """A player: a batch of views in, a batch of actions out.

    A player without memory is a pure function of the views: its randomness is their ``luck`` words, mixed with its seed. Results
    therefore do not depend on how games are batched. A player that learns keeps what it learned per ``slots`` entry. A player
    that holds a resource, such as a program, has a ``close`` method (see ``close_players``).
    """

    name: str

    def reset(self, seed: int = 0) -> None:
        """Drops everything that belongs to games in play and sets a new seed."""
        ...

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses an action for every view.

        Args:
            views: ``VIEW[n]``, each of a seat that is to move; ``views["legal"]`` (or ``view.action_masks``) says what is legal.
            slots: ``[n]``, the game that each view belongs to, for players that remember; ``None`` if that does not matter.

        Returns:
            ``int64[n]``, a legal action for each.
        """
        ...

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Observes hands that ended, as the final views of its own seat; in these a knocked hand lies open."""
        ...


@runtime_checkable
class KnownPolicy(Protocol):
    """A player that can say with which probabilities it chooses: luck in its own choices can then be measured."""

    def act_with_policy(self, views: np.ndarray, slots: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The actions that ``act`` chooses, and the probabilities of all: ``float32[n, 107]``, a row of zeros where they are not known."""
        ...


# What ``act`` returns for a player that failed to answer and therefore loses; only where the arena allows that.
FORFEIT = -1
_CONTRACT = ("name", "reset", "act", "observe_hands")


def ask_player(player: Player, views: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """The actions of a player for some views: ``VIEW[n]`` and ``int64[n]`` to ``int64[n]``; their legality is not checked.

    Raises:
        GinError: if the answer is not one whole number for each view, or the code of ``py:MODULE:CLASS`` fails.
    """
    try:
        actions = np.asarray(player.act(views, slots))
    except Exception as error:
        _raise_failure(player.name, error)
        raise
    if actions.shape != (len(views),) or actions.dtype.kind not in "iu":
        raise GinError(
            f"player {player.name!r} must return {len(views)} whole numbers, not {actions.dtype} {actions.shape}"
        )
    return actions.astype(np.int64, copy=False)


def show_hands(player: Player, views: np.ndarray, slots: np.ndarray) -> None:
    """Shows a player hands that ended: ``observe_hands``, whose errors are reported as those of ``ask_player``."""
    try:
        player.observe_hands(views, slots)
    except Exception as error:
        _raise_failure(player.name, error)
        raise


def _raise_failure(name: str, error: Exception) -> None:
    """Raises one sentence for an error in the code of a ``py:MODULE:CLASS``, with the line of its file; nothing for another player."""
    if not name.startswith("py:"):
        return
    module = sys.modules.get(name.split(":")[1])
    frames = traceback.extract_tb(error.__traceback__)
    # The line of the player's own file, even where what it called is what failed.
    own = [frame for frame in frames if frame.filename == getattr(module, "__file__", "")] or frames
    where, what = f"{own[-1].filename}, line {own[-1].lineno}", f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        where, what = f"{error.filename}, line {error.lineno}", f"{type(error).__name__}: {error.msg}"
    raise GinError(f"player {name!r} failed at {where}: {what}") from error


class BasePlayer:
    """Base class of most players: a name, a seed, and finished hands ignored."""

    name = "player"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def reset(self, seed: int = 0) -> None:
        """Sets a new seed."""
        self.seed = seed

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Ignores finished hands."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def directory_name(spec: str | Path | Player) -> str | Player:
    """A ``Path`` as text that names the directory, even if a player has the same name; everything else unchanged."""
    if not isinstance(spec, Path):
        return spec
    return str(spec) if "/" in str(spec) else f"./{spec}"


def make_player(spec: str | Path | PlayerSpec | Player, seed: int = 0, **defaults: Any) -> Player:
    """Makes a player from a name (with options), a directory, ``py:MODULE:CLASS`` or ``cmd:PROGRAM``; returns a ``Player`` unchanged.

    Args:
        spec: what to make; a name may be parsed already (``parse_player``).
        seed: seed of the player's choices.
        defaults: options for a player that has them, unless ``spec`` sets them.

    Raises:
        UnknownNameError: if nothing of that name is registered and no such directory exists.
        GinError: if an option is unknown or has an invalid value, if something the player needs is not installed, or if an object is
            not a ``Player``.
    """
    named = spec if isinstance(spec, PlayerSpec) else directory_name(spec)
    if not isinstance(named, str | PlayerSpec):
        return _checked_player(named)
    parsed = parse_player(named) if isinstance(named, str) else named
    entry = parsed.entry
    if parsed.kind == "py" and not {"", os.getcwd()} & {*sys.path}:
        # Last, so that no file there stands in for a module of another package.
        sys.path.append(os.getcwd())
    given = {entry.argument: parsed.argument} if entry.argument else entry.fixed
    module, _, attribute = entry.target.partition(":")
    try:
        loaded = importlib.import_module(module)
        if not hasattr(loaded, attribute):
            # A class of one's own may be looked for in another module of that name.
            place = loaded.__file__ if parsed.kind == "py" else module
            raise GinError(f"player {parsed.text!r}: there is no {attribute} in {place}")
        factory = getattr(loaded, attribute)
        options = _read_options(parsed, factory, given)
        accepted = inspect.signature(factory).parameters if defaults else {}
        options = {name: value for name, value in defaults.items() if name in accepted} | options
        try:
            inspect.signature(factory).bind(seed=seed, **given, **options)
        except (TypeError, ValueError) as error:
            raise GinError(f"player {parsed.text!r}: {attribute} cannot be called with seed={seed}: {error}") from None
        player = _checked_player(factory(seed=seed, **given, **options))
    except ImportError as error:
        raise _not_installed(parsed, entry, error) from None
    except GinError:
        raise
    except Exception as error:
        _raise_failure(parsed.text, error)
        raise
    player.name = parsed.name
    return player


def _checked_player(player: Any) -> Player:
    """The object, if it is a ``Player``."""
    if not callable(getattr(player, "act", None)):
        raise GinError(f"expected a player's name, a Player, or {OTHER_NAMES}, got {player!r}, which has no method act")
    if isinstance(player, type):
        raise GinError(must_be("a player", "an object, not a class", player))
    if missing := [part for part in _CONTRACT if not hasattr(player, part)]:
        raise GinError(f"a Player needs {', '.join(_CONTRACT)}; {player!r} has no {' and no '.join(missing)}")
    return player


def _read_options(spec: PlayerSpec, factory: Callable[..., Player], given: dict[str, Any]) -> dict[str, Any]:
    """The options as values of the types that the factory's annotations name; a factory checks its ``**options`` itself."""
    if not spec.options:
        return {}
    parameters = inspect.signature(factory).parameters
    types = get_type_hints(factory.__init__ if isinstance(factory, type) else factory)
    accepted = [
        name for name, one in parameters.items() if one.kind != one.VAR_KEYWORD and name not in (*given, "seed")
    ]
    is_open = len(accepted) < len(parameters) and any(one.kind == one.VAR_KEYWORD for one in parameters.values())
    values: dict[str, Any] = {}
    for name, text in spec.options.items():
        if name not in accepted and (not is_open or name in parameters):
            what = (
                unknown_name("option", name, accepted) if accepted else f"unknown option {name!r}; this player has none"
            )
            raise GinError(f"player {spec.text!r}: {what}")
        values[name] = _read_value(f"player {spec.text!r}: option {name}", text, types.get(name))
    return values


_WORDS: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number"}


def _read_value(name: str, text: str, annotation: Any) -> Any:
    """The value of an option's text; if several types are possible, the first of bool, int, float and str that fits."""
    types = get_args(annotation) or (annotation,)
    is_open = not {*types} & {bool, int, float, str}
    for kind in (bool, int, float, str):
        if not is_open and kind not in types:
            continue
        try:
            return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
        except (KeyError, ValueError):
            continue
    raise GinError(must_be(name, " or ".join(_WORDS[kind] for kind in types if kind in _WORDS), text))


def close_players(players: Iterable[Player]) -> None:
    """Calls ``close`` on the players that have one; a player may be used again afterwards."""
    for player in players:
        if callable(close := getattr(player, "close", None)):
            close()


def _not_installed(spec: PlayerSpec, entry: Entry, error: ImportError) -> GinError:
    missing = error.name or str(error)
    if spec.kind == "py":
        return GinError(
            f"player {spec.text!r}: Python finds no module {missing}, in the working directory or installed"
        )
    advice = f"; pip install '{entry.requirement}' brings it" if entry.requirement else ""
    return GinError(f"player {spec.text!r} needs {missing}, which is not installed{advice}")
