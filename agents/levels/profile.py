"""What a level has learned, on disk: one file for each level, written after every hand.

The file is replaced as a whole, under a lock, from what stood in it a moment before: a process that is killed loses at most the hand in
play, and two that play at the same time both count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from filelock import FileLock
from pydantic import Field

from agents.config import Config, ConfigError, parse_config
from agents.files import parse_json, read_bytes, write_json
from agents.levels.level import Level, LevelError
from agents.levels.plans import NUM_PLANS, RECORD
from agents.levels.prior import Prior

FORMAT_VERSION = 2
DIRECTORY = "levels"
# What records of format 1 kept besides, and what the plans of files of that format were called where they were numbers of turns.
_GONE = {"hits", "chances", "gain", "scatter", "failures"}
_TURNS = "turns"


# More hands than a record can count, and more points than these hands can bring, are no result of play.
_Hands = Annotated[float, Field(ge=0, le=np.iinfo(np.int32).max)]
_Number = Annotated[float, Field(ge=-1e12, le=1e12)]


class _Belief(Config):
    """A belief as lists of numbers."""

    hands: list[_Hands] = Field(min_length=1, max_length=1)
    mean: list[_Number] = Field(min_length=NUM_PLANS, max_length=NUM_PLANS)
    cov: list[_Number] = Field(min_length=NUM_PLANS**2, max_length=NUM_PLANS**2)


class _Record(_Belief):
    """A ``RECORD`` as lists of numbers."""

    plans: list[_Number] = Field(min_length=2 * NUM_PLANS, max_length=2 * NUM_PLANS)


class _File(Config):
    """A profile's file."""

    format: Literal[2] = FORMAT_VERSION
    level: str
    prior: _Belief | None
    opponents: dict[str, _Record]
    checksum: str = ""


def profile_path(home: Path, level: str) -> Path:
    """Where a level keeps what it learns under a home directory."""
    return home / DIRECTORY / f"{Path(level).name}.json"


def _checksum(values: dict[str, Any]) -> str:
    content = {key: value for key, value in values.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass
class Learned:
    """The content of a profile's file.

    Attributes:
        prior: learned from all opponents.
        opponents: ``RECORD[1]`` by name.
    """

    prior: Prior
    opponents: dict[str, np.ndarray] = field(default_factory=dict)

    def record_of(self, opponent: str) -> np.ndarray:
        """A copy of the record of an opponent, ``RECORD[1]``; an empty one for a stranger."""
        record = self.opponents.get(opponent)
        return self.prior.stranger() if record is None else record.copy()


def read_learned(path: Path, level: Level) -> Learned:
    """What a file holds for a level; nothing where there is none.

    A file of format 1 is read as far as its plans are numbers of turns; what else it counted affected no action.

    Raises:
        LevelError: if it is damaged or of another version. It is left as it is.
    """
    learned = Learned(level.nothing_learned())
    try:
        text = read_bytes(path)
    except FileNotFoundError:
        return learned
    except OSError as error:
        raise LevelError(f"{path} cannot be read ({error.strerror}); reset the level, or remove the file") from None
    try:
        values = parse_json(text)
        if not isinstance(values, dict):
            raise ConfigError("it does not hold a JSON object")
        if values.get("checksum") != _checksum(values):
            raise ConfigError("its checksum does not match")
        file: _File = parse_config(_from_format_1(values) if values.get("format") == 1 else values, _File, path.name)
    except ValueError as error:
        remedy = f"reset the level ({path.stem}) to begin anew, or put an older copy of {path} in its place"
        raise LevelError(f"{path.name} is damaged or of another version ({error}); {remedy}") from None
    for name, lists in file.opponents.items():
        record = learned.opponents[name] = np.zeros(1, RECORD)
        for key, numbers in lists.model_dump().items():
            record[key] = np.reshape(numbers, record[key].shape)
    if file.prior:
        learned.prior.restore(file.prior.model_dump())
    return learned


def _from_format_1(values: dict[str, Any]) -> dict[str, Any]:
    """What the schema then checks; what is missing or of another kind is left for it to find."""
    converted = {"format": FORMAT_VERSION, "level": values.get("level"), "prior": None, "opponents": {}}
    if values.get("plans", _TURNS) != _TURNS:
        return converted
    opponents = values.get("opponents")
    if isinstance(opponents, dict):
        opponents = {
            name: {key: numbers for key, numbers in record.items() if key not in _GONE}
            if isinstance(record, dict)
            else record
            for name, record in opponents.items()
        }
    return converted | {"prior": values.get("whole") or None, "opponents": opponents}


class Profile:
    """What a level has learned of one opponent, and of everybody, kept on disk; empty where there is no file yet.

    Args:
        home: directory of all profiles.
        level: the level.
        opponent: name of the opponent.

    Attributes:
        prior: learned from all opponents.
        record: of the opponent, ``RECORD[1]``.

    Raises:
        LevelError: if the file is damaged, or its directory cannot be made.
    """

    def __init__(self, home: Path, level: Level, opponent: str) -> None:
        self.level, self.opponent = level, opponent
        self.path = profile_path(home, level.name)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LevelError(f"{self.path.parent} cannot be made ({error.strerror})") from None
        self._take(read_learned(self.path, level))

    def _take(self, learned: Learned) -> None:
        self.record, self.prior = learned.record_of(self.opponent), learned.prior

    def _values(self, learned: Learned) -> dict[str, Any]:
        opponents = {
            opponent: {name: [round(float(x), 6) for x in record[name].reshape(-1)] for name in RECORD.names or ()}
            for opponent, record in learned.opponents.items()
        }
        prior = learned.prior.to_json()
        values = {"format": FORMAT_VERSION, "level": self.level.name, "prior": prior, "opponents": opponents}
        return values | {"checksum": _checksum(values)}

    def update(self, add: Callable[[np.ndarray, Prior], None]) -> None:
        """Learns: ``add`` changes the opponent's record and the prior as they are on disk.

        Raises:
            LevelError: if the file is damaged or cannot be written; it is left as it was.
        """
        try:
            with FileLock(self.path.with_suffix(".lock")):
                learned = read_learned(self.path, self.level)
                record = learned.record_of(self.opponent)
                add(record, learned.prior)
                learned.opponents[self.opponent] = record
                write_json(self.path, self._values(learned))
        except OSError as error:
            reason = f"cannot be written to {self.path}: {error.strerror or error}"
            raise LevelError(f"what {self.level.name} learned of this hand {reason}") from None
        self._take(learned)


def reset_level(home: Path, level: Level) -> str:
    """Resets a level to how it was installed; returns a sentence with its hash.

    Raises:
        LevelError: if the file cannot be removed.
    """
    path = profile_path(home, level.name)
    what = "it had learned nothing"
    try:
        if path.exists():
            with FileLock(path.with_suffix(".lock")):
                path.unlink(missing_ok=True)
            what = "what it had learned is gone"
    except OSError as error:
        raise LevelError(f"{path} cannot be removed ({error.strerror or error})") from None
    return f"{level.name} is as installed (sha256 {level.digest}); {what}."
