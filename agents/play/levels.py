"""The levels as the desk needs them: across the table with what they keep of this player, told what they learned, put back.

What needs the levels' networks is imported when a level is asked for: whoever plays a built-in bot does not wait for torch.
"""

from __future__ import annotations

from pathlib import Path

from ginenv.errors import GinError
from ginenv.players import Player, make_player


def is_level(spec: str) -> bool:
    """Whether a player's name is that of a level, or a directory that holds one."""
    name = spec.partition(":")[0]
    return name == "level" or name.startswith("level-") or (Path(spec) / "level.json").is_file()


def make_level_player(spec: str, seed: int, person: str, home: Path, learns: bool) -> Player:
    """A level that keeps what it learns of a person.

    Args:
        spec: the level's name, with options if any, or its directory.
        seed: of its choices.
        person: name of whoever sits across.
        home: directory in which what was learned is kept.
        learns: ``False`` for the frozen default.

    Raises:
        GinError: if there is no such level, or what it has learned cannot be read.
    """
    from agents.levels.player import LevelPlayer, make_level
    from agents.levels.profile import Profile

    plain = make_level(seed, spec) if Path(spec).is_dir() else make_player(spec, seed)
    assert isinstance(plain, LevelPlayer)
    return LevelPlayer(plain.level, seed, learns and plain.learns, Profile.open(home, plain.level, person))


def checked_level(level: str) -> str:
    """A level's name without options.

    Raises:
        GinError: if it is not that of a level.
    """
    name = level.partition(":")[0] if level.startswith("level-") else level
    if not is_level(level):
        raise GinError(f"{level!r} is no level; levels are level-1 to level-4, and directories that hold one")
    return name


def learned(level: str, person: str | None, home: Path) -> str:
    """What a level has learned of a person (of everybody when left out) and as a whole, in words and numbers.

    Raises:
        GinError: if there is no such level, or what it has learned cannot be read.
    """
    name = checked_level(level)
    from agents.levels.level import load_level
    from agents.levels.words import what_did_you_learn

    return what_did_you_learn(home, load_level(name), person)


def reset(level: str, home: Path) -> str:
    """Puts a level back to how it was installed; returns a sentence that says so.

    Raises:
        GinError: if there is no such level, or what it has learned cannot be removed.
    """
    name = checked_level(level)
    from agents.levels.level import load_level
    from agents.levels.profile import reset_level

    return reset_level(home, load_level(name))
