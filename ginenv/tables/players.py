"""The player contract, and a registry of names.

A player turns a batch of views into actions. ``ginenv`` never imports ``agents``: names are registered as
``"module:attribute"`` and imported when used, as Gymnasium does with its entry points.

A name may carry options: ``search:worlds=128,slack=4``. Three more kinds of names are possible: a directory that holds a player (a
checkpoint, a level), recognised by a marker file in it; ``py:MODULE:CLASS``, a Python class, whose module may lie in the working
directory; and ``cmd:PROGRAM ARGUMENTS``, a program that speaks the line protocol.

Double quotes around a directory or an option's value keep the characters ``:``, ``,`` and ``=`` in it from
separating: ``"levels/12:00":learn=false``; a double quote inside is written twice.
"""

from __future__ import annotations

import importlib
import inspect
import os.path
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, get_args, get_type_hints, runtime_checkable

import numpy as np

from ginenv.errors import GinError, UnknownNameError, must_be, quoted, unknown_name


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


@dataclass(frozen=True)
class _Entry:
    """What is registered: where a player comes from, what it needs, and which arguments are not options.

    ``argument`` is the callable's argument that takes the directory or the program; a registered name has none.
    """

    target: str
    requirement: str = ""
    fixed: dict[str, Any] = field(default_factory=dict)
    argument: str = ""


@dataclass(frozen=True)
class PlayerSpec:
    """A parsed player name.

    Attributes:
        text: the name as it was written.
        kind: the registered name, the marker file of a directory, ``py`` or ``cmd``.
        argument: the directory, ``module:class``, or the program with its arguments; empty for a registered name.
        options: the options as they were written, by name.
    """

    text: str
    kind: str
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What results and tables call the player."""
        return short_name(self.text)

    def with_options(self, **options: str) -> str:
        """The name of this player, which is registered or a directory, with other options."""
        name = f"./{self.argument}" if self.argument in _NAMES else self.argument or self.kind
        written = ",".join(f"{name}={_quote(value)}" for name, value in options.items())
        return ":".join(filter(None, (f"py:{name}" if self.kind == "py" else _quote(name), written)))

    @property
    def is_level(self) -> bool:
        """Whether it names a level, one that ships or one in a directory."""
        return self.kind in ("level.json", "matched") or self.kind.startswith("level-")


_NAMES: dict[str, _Entry] = {}
_DIRECTORIES: dict[str, _Entry] = {}
# Names that no player can have: what follows them is no option.
_PREFIXES = ("cmd", "py")
_PROGRAM = _Entry("agents.programs.player:OutsidePlayer", "ginenv[match]", argument="command")


def register_player(name: str, target: str, requirement: str = "", **fixed: Any) -> None:
    """Registers a player under a name.

    Args:
        name: what users write.
        target: ``"module:attribute"`` of a callable that takes ``seed`` and the player's options as keyword arguments and returns a
            ``Player``. Options are checked against its signature and annotations (``bool``, ``int``, ``float``, ``str``).
        requirement: what pip installs for the player, such as ``ginenv[agents]``; the error names it if something is missing.
        fixed: arguments of the callable that this name fixes; they are not options of the player.

    Raises:
        GinError: if the name is empty or holds a separator of options or directories, or the target is malformed.
    """
    if not isinstance(name, str) or not name.strip() or set(name) & set(":/,=") or name in _PREFIXES:
        raise GinError(must_be("a player's name", "a word without any of : / , = (and not cmd or py)", name))
    if not isinstance(target, str) or not re.fullmatch(r"[\w.]+:\w+", target):
        raise GinError(must_be(f"player {name!r}: target", "'module:attribute'", target))
    _NAMES[name] = _Entry(target, requirement, fixed)


def register_directory(marker: str, target: str, requirement: str = "", argument: str = "path") -> None:
    """Registers a kind of directory that holds a player.

    Args:
        marker: name of the file that such a directory contains. Where a directory has several markers, the one registered first counts.
        target: as for ``register_player``.
        requirement: as for ``register_player``.
        argument: the callable's argument that takes the directory.
    """
    _DIRECTORIES[marker] = _Entry(target, requirement, argument=argument)


@cache
def _register_installed() -> None:
    """Registers the players that installed packages provide (``plain = "my_bots:Plain"``), under names that are not taken."""
    for point in entry_points(group="ginenv.players"):
        if point.name not in (*_NAMES, *_PREFIXES):
            _NAMES[point.name] = _Entry(point.value)


def player_names() -> list[str]:
    """All registered names, sorted."""
    _register_installed()
    return sorted(_NAMES)


_OTHER_NAMES = "a player's directory, py:MODULE:CLASS or cmd:PROGRAM"
# A program with a short name before it, for results and tables: theirs=cmd:PROGRAM.
_NAMED_PROGRAM = re.compile(r"([\w.-]{1,40})=(cmd:.*)", re.DOTALL)


def short_name(spec: str | Player) -> str:
    """What results and tables call a player: its name as it was written; of a program its short name, or its command without directories.

    Results and records are exchanged, and directories are those of one machine.
    """
    if not isinstance(spec, str):
        return spec.name
    if named := _NAMED_PROGRAM.fullmatch(spec):
        return named[1]
    return f"cmd:{_without_directories(spec[4:])}" if spec.startswith("cmd:") else spec


def _without_directories(command: str) -> str:
    try:
        words = [word.rpartition("=") for word in shlex.split(command)]
    except ValueError:
        # It cannot be started either.
        return command
    return " ".join(option + equals + (os.path.basename(value) or value) for option, equals, value in words)


def parse_player(text: str) -> PlayerSpec:
    """Parses a player's name without making the player.

    Raises:
        UnknownNameError: if nothing of that name is registered, and it is neither a directory, ``py:MODULE:CLASS`` nor ``cmd:PROGRAM``.
        GinError: if its options are not written ``key=value``, each once, or no class follows ``py:`` or no program ``cmd:``.
    """
    if is_quoted := _QUOTED.fullmatch(text):
        name, written = _unquote(is_quoted[1]), is_quoted[2] or ""
        if os.path.isdir(name):
            return PlayerSpec(text, _marker_in(name), name, _split_options(text, written))
        raise UnknownNameError(f"player {text!r}: {quoted(name)} is not a directory")
    if named := _NAMED_PROGRAM.fullmatch(text):
        if named[1] in player_names() or os.path.isdir(named[1]):
            raise GinError(f"{named[1]!r} is a player's name already; give the program another short name")
        return PlayerSpec(text, "cmd", parse_player(named[2]).argument)
    name, _, written = text.partition(":")
    if not name.strip():
        # To a file system an empty name is the current directory.
        raise UnknownNameError(f"{unknown_name('player', text, _NAMES)}, or {_OTHER_NAMES}")
    if name == "cmd" and text != name:
        if not written.strip():
            raise GinError(f"{text!r} does not name a program; write cmd:PROGRAM ARGUMENTS as in a shell")
        return PlayerSpec(text, name, written)
    if name == "py" and text != name:
        if not (found := re.fullmatch(r"([\w.]+:\w+)(?::(.*))?", written, re.DOTALL)):
            raise GinError(
                f"{text!r} does not name a class; write py:MODULE:CLASS, or py:MODULE:CLASS:OPTION=VALUE,..."
            )
        return PlayerSpec(text, name, found[1], _split_options(text, found[2] or ""))
    if name not in _NAMES:
        _register_installed()
    if name in _NAMES:
        return PlayerSpec(text, name, "", _split_options(text, written))
    if os.path.isdir(text):
        return PlayerSpec(text, _marker_in(text), text)
    if os.path.isdir(name):
        return PlayerSpec(text, _marker_in(name), name, _split_options(text, written))
    if os.path.isfile(name):
        raise UnknownNameError(f"player {not_a_directory(name)}")
    if os.path.isfile(f"{name}.py"):
        raise UnknownNameError(f"unknown player {name!r}; py:{name}:CLASS names a class in {name}.py")
    if "/" in name:
        hint = "; double quotes around a path that holds a : end it before its options" if ":" in written else ""
        raise UnknownNameError(f"player {text!r}: there is no such directory{hint}")
    raise UnknownNameError(f"{unknown_name('player', name, _NAMES)}, or {_OTHER_NAMES}")


def holds_player(directory: str) -> bool:
    """Whether a path is a directory that holds a player."""
    return bool(directory) and any((Path(directory) / marker).is_file() for marker in _DIRECTORIES)


def _marker_in(directory: str) -> str:
    for marker in _DIRECTORIES:
        if (Path(directory) / marker).is_file():
            return marker
    inside = [child.parent for marker in _DIRECTORIES for child in sorted(Path(directory).glob(f"*/{marker}"))]
    hint = f"; there is one in {inside[0]}" if inside else f"; expected {' or '.join(_DIRECTORIES)} in it"
    raise UnknownNameError(f"player {directory!r}: that directory holds no player{hint}")


def not_a_directory(path: str) -> str:
    """The message for a file where a player's directory is needed; it says how a program becomes a player."""
    hint = f"; cmd:{path} runs it, if it is a program that speaks the line protocol"
    if path.endswith(".py"):
        hint = f"; py:{Path(path).stem}:CLASS names a class in it, and 'cmd:python {path}' runs it as a program"
    return f"{quoted(path)} is a file, not a directory that holds a player{hint}"


# A quoted directory, and its options; a quote inside is doubled.
_QUOTED = re.compile(r'("(?:[^"]|"")+")(?::(.*))?', re.DOTALL)
# What stands between commas, of which those between quotes do not count.
_OPTION = re.compile(r'(?:"[^"]*"|[^,])+')


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(':,="') or text != text.strip() else text


def _unquote(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"') if is_quoted else text


def _split_options(text: str, written: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in _OPTION.findall(written):
        key, separator, value = part.partition("=")
        if not separator:
            raise GinError(f"player {text!r}: expected an option such as key=value, got {part!r}")
        key = key.strip()
        if key in options:
            raise GinError(f"player {text!r}: option {key!r} is given twice")
        options[key] = _unquote(value.strip())
    return options


def directory_name(spec: str | Path | Player) -> str | Player:
    """A ``Path`` as text that names the directory, even if a player has the same name; everything else unchanged."""
    if not isinstance(spec, Path):
        return spec
    return str(spec) if "/" in str(spec) else f"./{spec}"


def make_player(spec: str | Path | Player, seed: int = 0, **defaults: Any) -> Player:
    """Makes a player from a name (with options), a directory, ``py:MODULE:CLASS`` or ``cmd:PROGRAM``; returns a ``Player`` unchanged.

    Args:
        spec: what to make.
        seed: seed of the player's choices.
        defaults: options for a player that has them, unless ``spec`` sets them.

    Raises:
        UnknownNameError: if nothing of that name is registered and no such directory exists.
        GinError: if an option is unknown or has an invalid value, if something the player needs is not installed, or if an object is
            not a ``Player``.
    """
    spec = directory_name(spec)
    if not isinstance(spec, str):
        return _checked_player(spec)
    parsed = parse_player(spec)
    entries = {**_NAMES, **_DIRECTORIES, "cmd": _PROGRAM, "py": _Entry(parsed.argument)}
    entry = entries[parsed.kind]
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
        _raise_failure(spec, error)
        raise
    player.name = short_name(spec)
    return player


def _checked_player(player: Any) -> Player:
    """The object, if it is a ``Player``."""
    if not callable(getattr(player, "act", None)):
        raise GinError(
            f"expected a player's name, a Player, or {_OTHER_NAMES}, got {player!r}, which has no method act"
        )
    if isinstance(player, type):
        name = player.__name__
        raise GinError(f"expected a Player, got the class {name}; give an object of it, such as {name}()")
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


def _not_installed(spec: PlayerSpec, entry: _Entry, error: ImportError) -> GinError:
    missing = error.name or str(error)
    if missing.startswith("agents."):
        # Both packages are installed together, so what has been imported is another one of that name.
        place = importlib.import_module("agents").__file__
        return GinError(
            f"player {spec.text!r} needs ginenv's package 'agents', but Python finds {place} first; rename that"
        )
    if spec.kind == "py":
        return GinError(
            f"player {spec.text!r}: Python finds no module {missing}, in the working directory or installed"
        )
    advice = f"; pip install '{entry.requirement}' brings it" if entry.requirement else ""
    return GinError(f"player {spec.text!r} needs {missing}, which is not installed{advice}")


for _name in ("random", "easy", "simple", "formula", "camper", "knocker", "style"):
    register_player(_name, f"ginenv.bots.heuristics:make_{_name}")
register_player("openspiel-simple", "ginenv.bots.engine_adapters:OpenSpielSimple", "open_spiel")
register_player("network", "agents.network.player:make_network", "ginenv[agents]")
register_player("search", "agents.search:make_search", "ginenv[agents]")
register_player("population", "ginenv.bots.population:PopulationPlayer")
for _number in range(1, 5):
    register_player(f"level-{_number}", "agents.levels.player:make_level", "ginenv[agents]", level=_number)
register_player("matched", "agents.levels.matched:make_matched", "ginenv[agents]")
register_player("like", "agents.levels.like:make_like", "ginenv[agents]")
# A level's directory is also a checkpoint's, so its marker is registered first.
register_directory("level.json", "agents.levels.player:make_level", "ginenv[agents]", argument="level")
register_directory("checkpoint.json", "agents.network.player:load_network", "ginenv[agents]")
register_directory("app.json", "agents.levels.app:load_app", "ginenv[agents]")
