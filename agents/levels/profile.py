"""What a level has learned, on disk beside its frozen default: one file for each level, written after every hand.

The file is replaced as a whole, under a lock, from what stood in it a moment before: a process that is killed loses at most the hand in
play, and two that play at the same time both count.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from agents.files import write_json
from agents.levels.level import Level, LevelError
from agents.levels.plans import NUM_PLANS, RECORD
from agents.levels.prior import Prior

FORMAT_VERSION = 2
DIRECTORY = "levels"
# What files of format 1 kept besides, and what the plans of which they told were called where they were numbers of turns.
_GONE = {"hits", "chances", "gain", "scatter", "failures"}
_TURNS = "turns"


def profile_path(home: Path, level: str) -> Path:
    """Where a level keeps what it learns under a home directory."""
    return home / DIRECTORY / f"{Path(level).name}.json"


def _numbers(name: str, values: Any, size: int, path: Path) -> np.ndarray:
    if not isinstance(values, list) or len(values) != size:
        raise LevelError(f"{path.name}: {name} must be {size} numbers, not {str(values)[:40]!r}")
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in values):
        raise LevelError(f"{path.name}: {name} must hold finite numbers alone")
    return np.array(values, np.float64)


def _record_of(values: Any, path: Path) -> np.ndarray:
    if not isinstance(values, dict) or set(values) != set(RECORD.names or ()):
        raise LevelError(f"{path.name}: an opponent must have {', '.join(RECORD.names or ())}")
    record = np.zeros(1, RECORD)
    for name in RECORD.names or ():
        shape = RECORD[name].shape
        record[name] = _numbers(name, values[name], int(np.prod(shape)), path).reshape((1, *shape))
    return record


def _plain(record: np.ndarray) -> dict[str, Any]:
    return {name: [round(float(x), 6) for x in record[name].reshape(-1)] for name in RECORD.names or ()}


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

    A file of format 1 is read as far as its plans are numbers of turns; what it counted besides moved no card.

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
    advice = f"reset the level ({path.stem}) to begin anew, or put an older copy of {path} in its place"
    try:
        values = json.loads(text)
    except ValueError:
        raise LevelError(f"{path.name} is damaged (not JSON); {advice}") from None
    if not isinstance(values, dict) or values.get("checksum") != _checksum(values):
        raise LevelError(f"{path.name} is damaged (its checksum does not match); {advice}")
    if values.get("format") not in (1, FORMAT_VERSION):
        raise LevelError(
            f"{path.name} has format {values.get('format')!r}; this version reads {FORMAT_VERSION}; {advice}"
        )
    if values["format"] == 1:
        values = _from_format_1(values)
    learned.opponents = {str(name): _record_of(record, path) for name, record in values["opponents"].items()}
    if values["prior"]:
        for name, size in (("hands", 1), ("mean", NUM_PLANS), ("cov", NUM_PLANS**2)):
            _numbers(name, values["prior"].get(name), size, path)
        learned.prior.restore(values["prior"])
    return learned


def _from_format_1(values: dict[str, Any]) -> dict[str, Any]:
    if values.get("plans", _TURNS) != _TURNS:
        return {"prior": {}, "opponents": {}}
    opponents = {
        name: {key: value for key, value in record.items() if key not in _GONE} if isinstance(record, dict) else record
        for name, record in values["opponents"].items()
    }
    return {"prior": values["whole"], "opponents": opponents}


def write_learned(path: Path, learned: Learned, level: Level) -> None:
    """Replaces a profile's file.

    Raises:
        LevelError: if it cannot be written (a full disk); the old one stays.
    """
    values = {
        "format": FORMAT_VERSION,
        "level": level.name,
        "prior": learned.prior.to_json(),
        "opponents": {name: _plain(record) for name, record in learned.opponents.items()},
    }
    values["checksum"] = _checksum(json.loads(json.dumps(values)))
    try:
        write_json(path, values)
    except OSError as error:
        reason = error.strerror or error
        raise LevelError(f"what {level.name} learned of this hand cannot be written to {path}: {reason}") from None


class Profile:
    """What a level has learned of one opponent, and of everybody, kept on disk.

    Args:
        home: directory of all profiles.
        level: the level.
        opponent: name of whoever sits across.

    Attributes:
        prior: what was learned from everybody.
        record: what is known of the opponent, ``RECORD[1]``.
    """

    def __init__(self, home: Path, level: Level, opponent: str) -> None:
        self.level, self.opponent = level, opponent
        self.path = profile_path(home, level.name)
        self.prior = level.nothing_learned()
        self.record = self.prior.stranger()

    @classmethod
    def open(cls, home: Path, level: Level, opponent: str) -> Profile:
        """A profile read from disk, empty where there is none yet.

        Raises:
            LevelError: if it is damaged, or its directory cannot be made.
        """
        profile = cls(home, level, opponent)
        try:
            profile.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LevelError(f"{profile.path.parent} cannot be made ({error.strerror})") from None
        profile._take(read_learned(profile.path, profile.level))
        return profile

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
