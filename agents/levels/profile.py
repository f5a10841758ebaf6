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
from typing import Any, Literal

import numpy as np
from filelock import FileLock
from pydantic import Field, FiniteFloat

from agents.config import Config, ConfigError, parse_config
from agents.files import write_json
from agents.levels.level import Level, LevelError
from agents.levels.plans import NUM_PLANS, RECORD
from agents.levels.prior import Prior

FORMAT_VERSION = 2
DIRECTORY = "levels"
# What records of format 1 kept besides, and what the plans of files of that format were called where they were numbers of turns.
_GONE = {"hits", "chances", "gain", "scatter", "failures"}
_TURNS = "turns"


class _Belief(Config):
    """A belief as lists of numbers."""

    hands: list[FiniteFloat] = Field(min_length=1, max_length=1)
    mean: list[FiniteFloat] = Field(min_length=NUM_PLANS, max_length=NUM_PLANS)
    cov: list[FiniteFloat] = Field(min_length=NUM_PLANS**2, max_length=NUM_PLANS**2)


class _Record(_Belief):
    """A ``RECORD`` as lists of numbers."""

    plans: list[FiniteFloat] = Field(min_length=2 * NUM_PLANS, max_length=2 * NUM_PLANS)


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
        prior: what was learned from everybody.
        opponents: ``RECORD[1]`` by name.
    """

    prior: Prior
    opponents: dict[str, np.ndarray] = field(default_factory=dict)

    def record_of(self, opponent: str) -> np.ndarray:
        """A copy of what is known of an opponent; for a stranger what the level begins with: ``RECORD[1]``."""
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
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return learned
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LevelError(f"{path} cannot be read ({reason}); reset the level, or remove the file") from None
    try:
        values = json.loads(text)
        if values["checksum"] != _checksum(values):
            raise ConfigError("its checksum does not match")
        file: _File = parse_config(_from_format_1(values) if values["format"] == 1 else values, _File, path.name)
    except (ValueError, TypeError, KeyError) as error:
        advice = f"reset the level ({path.stem}) to begin anew, or put an older copy of {path} in its place"
        raise LevelError(f"{path.name} is damaged or of another version ({error}); {advice}") from None
    for name, lists in file.opponents.items():
        record = learned.opponents[name] = np.zeros(1, RECORD)
        for key, numbers in lists.model_dump().items():
            record[key] = np.reshape(numbers, record[key].shape)
    if file.prior:
        learned.prior.restore(file.prior.model_dump())
    return learned


def _from_format_1(values: dict[str, Any]) -> dict[str, Any]:
    whole = {"format": FORMAT_VERSION, "level": values["level"], "prior": None, "opponents": {}}
    if values.get("plans", _TURNS) != _TURNS:
        return whole
    opponents = {
        name: {key: numbers for key, numbers in record.items() if key not in _GONE}
        for name, record in values["opponents"].items()
    }
    return whole | {"prior": values["whole"] or None, "opponents": opponents}


def write_learned(path: Path, learned: Learned, level: Level) -> None:
    """Replaces a profile's file.

    Raises:
        LevelError: if it cannot be written (a full disk); the old one stays.
    """
    values = {
        "format": FORMAT_VERSION,
        "level": level.name,
        "prior": learned.prior.to_json(),
        "opponents": {
            opponent: {name: [round(float(x), 6) for x in record[name].reshape(-1)] for name in RECORD.names or ()}
            for opponent, record in learned.opponents.items()
        },
    }
    values["checksum"] = _checksum(values)
    try:
        write_json(path, values)
    except OSError as error:
        reason = error.strerror or error
        raise LevelError(f"what {level.name} learned of this hand cannot be written to {path}: {reason}") from None


class Profile:
    """What a level has learned of one opponent, and of everybody, kept on disk; empty where there is no file yet.

    Args:
        home: directory of all profiles.
        level: the level.
        opponent: name of the opponent.

    Attributes:
        prior: what was learned from everybody.
        record: what is known of the opponent, ``RECORD[1]``.

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

    def update(self, add: Callable[[np.ndarray, Prior], None]) -> None:
        """Learns: ``add`` changes the opponent's record and the prior as they stand on disk.

        Raises:
            LevelError: if the file is damaged or cannot be written; it is left as it was.
        """
        try:
            with FileLock(self.path.with_suffix(".lock")):
                learned = read_learned(self.path, self.level)
                record = learned.record_of(self.opponent)
                add(record, learned.prior)
                learned.opponents[self.opponent] = record
                write_learned(self.path, learned, self.level)
        except OSError as error:
            raise LevelError(f"{self.path.parent} cannot be used ({error.strerror or error})") from None
        self._take(learned)


def reset_level(home: Path, level: Level) -> str:
    """Puts a level back to how it was installed; returns a sentence with the hash that proves it.

    Raises:
        LevelError: if the file cannot be removed.
    """
    path = profile_path(home, level.name)
    if not path.parent.is_dir():
        return f"{level.name} is as installed (sha256 {level.digest}); it had learned nothing."
    try:
        with FileLock(path.with_suffix(".lock")):
            had = path.exists()
            path.unlink(missing_ok=True)
    except OSError as error:
        raise LevelError(f"{path} cannot be removed ({error.strerror or error})") from None
    what = "what it had learned is gone" if had else "it had learned nothing"
    return f"{level.name} is as installed (sha256 {level.digest}); {what}."
