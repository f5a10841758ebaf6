"""Names of players: how one is written, what is registered, and what a name says.

``ginenv`` never imports ``agents``: names are registered as ``"module:attribute"`` and imported when used, as Gymnasium does with its
entry points.

A name may carry options: ``search:worlds=128,slack=4``. Three more kinds of names are possible: a directory that holds a player (a
checkpoint, a level), recognised by a marker file in it; ``py:MODULE:CLASS``, a Python class, whose module may lie in the working
directory; and ``cmd:PROGRAM ARGUMENTS``, a program that speaks the line protocol.
"""

from __future__ import annotations

import os.path
import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ginenv.errors import GinError, UnknownNameError, must_be, quoted, unknown_name

OTHER_NAMES = "a player's directory, py:MODULE:CLASS or cmd:PROGRAM"
# Names that no player can have: what follows them is no option.
_PREFIXES = ("cmd", "py")
# A program with a short name before it, for results and tables: theirs=cmd:PROGRAM.
_NAMED_PROGRAM = re.compile(r"([\w.-]{1,40})=(cmd:.*)", re.DOTALL)


@dataclass(frozen=True)
class Entry:
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

    @property
    def entry(self) -> Entry:
        """What is registered for it."""
        return {**_NAMES, **_DIRECTORIES, "cmd": _PROGRAM, "py": Entry(self.argument)}[self.kind]

    def with_options(self, **options: str) -> str:
        """The name of this player, which is registered or a directory, with other options."""
        name = f"./{self.argument}" if self.argument in _NAMES else self.argument or self.kind
        written = ",".join(f"{name}={value}" for name, value in options.items())
        return ":".join(filter(None, ("py" * (self.kind == "py"), name, written)))

    @property
    def is_level(self) -> bool:
        """Whether it names a level, one that ships or one in a directory."""
        return self.kind in ("level.json", "matched") or self.kind.startswith("level-")


# --- the registry --------------------------------------------------------------------------------------------------------

_NAMES: dict[str, Entry] = {}
_DIRECTORIES: dict[str, Entry] = {}
_PROGRAM = Entry("agents.programs.player:OutsidePlayer", "ginenv[match]", argument="command")


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
    _NAMES[name] = Entry(target, requirement, fixed)


def register_directory(marker: str, target: str, requirement: str = "", argument: str = "path") -> None:
    """Registers a kind of directory that holds a player.

    Args:
        marker: name of the file that such a directory contains. Where a directory has several markers, the one registered first counts.
        target: as for ``register_player``.
        requirement: as for ``register_player``.
        argument: the callable's argument that takes the directory.
    """
    _DIRECTORIES[marker] = Entry(target, requirement, argument=argument)


@cache
def _register_installed() -> None:
    """Registers the players that installed packages provide (``plain = "my_bots:Plain"``), under names that are not taken."""
    for point in entry_points(group="ginenv.players"):
        if point.name not in (*_NAMES, *_PREFIXES):
            _NAMES[point.name] = Entry(point.value)


def player_names() -> list[str]:
    """All registered names, sorted."""
    _register_installed()
    return sorted(_NAMES)


# --- a name as text ------------------------------------------------------------------------------------------------------


def parse_player(text: str) -> PlayerSpec:
    """Parses a player's name without making the player.

    Raises:
        UnknownNameError: if nothing of that name is registered, and it is neither a directory, ``py:MODULE:CLASS`` nor ``cmd:PROGRAM``.
        GinError: if its options are not written ``key=value``, each once, or no class follows ``py:`` or no program ``cmd:``.
    """
    if named := _NAMED_PROGRAM.fullmatch(text):
        if named[1] in player_names() or os.path.isdir(named[1]):
            raise GinError(f"{named[1]!r} is a player's name already; give the program another short name")
        return PlayerSpec(text, "cmd", parse_player(named[2]).argument)
    name, _, written = text.partition(":")
    if not name.strip():
        # To a file system an empty name is the current directory.
        raise UnknownNameError(f"{unknown_name('player', text, _NAMES)}, or {OTHER_NAMES}")
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
    # A directory's name may hold colons, and so may an option's value.
    for place, _, options in ((text, "", ""), text.partition(":"), text.rpartition(":")):
        if os.path.isdir(place):
            return PlayerSpec(text, _marker_in(place), place, _split_options(text, options))
    if os.path.isfile(name):
        raise UnknownNameError(f"player {not_a_directory(name)}")
    if "/" in name:
        raise UnknownNameError(f"player {text!r}: there is no such directory")
    raise UnknownNameError(f"{unknown_name('player', name, _NAMES)}, or {OTHER_NAMES}")


def not_a_directory(path: str) -> str:
    """The message for a file where a player's directory is needed; it says how a program becomes a player."""
    hint = f"; cmd:{path} runs it, if it is a program that speaks the line protocol"
    if path.endswith(".py"):
        hint = f"; py:{Path(path).stem}:CLASS names a class in it, and 'cmd:python {path}' runs it as a program"
    return f"{quoted(path)} is a file, not a directory that holds a player{hint}"


def _marker_in(directory: str) -> str:
    for marker in _DIRECTORIES:
        if (Path(directory) / marker).is_file():
            return marker
    raise UnknownNameError(f"player {directory!r} is a directory without {' or '.join(_DIRECTORIES)} in it")


def short_name(spec: Any) -> str:
    """What results and tables call a player (an object with a name, or a name as it was written).

    Of a program it is its short name, or its command without directories: results are exchanged, and directories are those of one machine.
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


def _split_options(text: str, written: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, written.split(",")):
        key, separator, value = part.partition("=")
        if not separator:
            raise GinError(f"player {text!r}: expected an option such as key=value, got {part!r}")
        key = key.strip()
        if key in options:
            raise GinError(f"player {text!r}: option {key!r} is given twice")
        options[key] = value.strip()
    return options


for _name in ("random", "easy", "simple", "formula", "camper", "knocker", "style"):
    register_player(_name, f"ginenv.bots.heuristics:make_{_name}")
register_player("openspiel-simple", "ginenv.bots.engine_adapters:OpenSpielSimple", "open_spiel")
register_player("network", "agents.network.player:make_network", "ginenv[agents]")
register_player("search", "agents.search.player:make_search", "ginenv[agents]")
register_player("population", "ginenv.bots.population:PopulationPlayer")
for _number in range(1, 5):
    register_player(f"level-{_number}", "agents.levels.player:make_level", "ginenv[agents]", level=_number)
register_player("matched", "agents.levels.matched:make_matched", "ginenv[agents]")
register_player("like", "agents.levels.like:make_like", "ginenv[agents]")
# A level's directory is also a checkpoint's, so its marker is registered first.
register_directory("level.json", "agents.levels.player:make_level", "ginenv[agents]", argument="level")
register_directory("checkpoint.json", "agents.network.player:load_network", "ginenv[agents]")
register_directory("app.json", "agents.levels.app:load_app", "ginenv[agents]")
