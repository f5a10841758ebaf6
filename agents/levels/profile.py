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
from agents.levels.memory import RECORD
from agents.levels.plans import NUM_PLANS
from agents.levels.prior import Whole, whole_from, whole_json

FORMAT_VERSION = 1
DIRECTORY = "levels"
# What the plans are of which a file tells; files from before there were answers do not say.
_OF_TURNS = "turns"


def profile_path(home: Path, level: str) -> Path:
    """Where a level keeps what it learns under a home directory."""
    return home / DIRECTORY / f"{Path(level).name}.json"


def _plans_of(level: Level) -> str:
    if not level.settings.answers:
        return _OF_TURNS
    # Other answers are worth something else, and so is a default that searches.
    return f"{level.digest}, {'search' if level.settings.worlds else 'network alone'}"


def _numbers(name: str, values: Any, size: int, path: Path) -> np.ndarray:
    if not isinstance(values, list) or len(values) != size:
        raise LevelError(f"{path.name}: {name} must be {size} numbers, not {str(values)[:40]!r}")
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in values):
        raise LevelError(f"{path.name}: {name} holds something that is no number")
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
        opponents: ``RECORD[1]`` by name.
        whole: what was learned as a whole, as plain values; empty at first.
    """

    opponents: dict[str, np.ndarray] = field(default_factory=dict)
    whole: dict[str, Any] = field(default_factory=dict)

    def set_plans_aside(self, level: Level) -> None:
        """Forgets what plans are worth, of every opponent and as a whole."""
        self.whole = {}
        fresh = level.nothing_learned().start()
        for record in self.opponents.values():
            for name in ("plans", "mean", "cov"):
                record[name] = fresh[name]

    def whole_of(self, level: Level) -> Whole:
        """What the level has learned as a whole."""
        nothing = level.nothing_learned()
        return whole_from(self.whole, nothing) if self.whole else nothing

    def record_of(self, opponent: str, level: Level) -> np.ndarray:
        """A copy of what is known of an opponent; for a stranger what the level begins with: ``RECORD[1]``."""
        record = self.opponents.get(opponent)
        return self.whole_of(level).start() if record is None else record.copy()


def read_learned(path: Path, level: Level) -> Learned:
    """What a file holds for a level; nothing where there is none.

    What was learned of other plans than the level's (turns of knocking, another network's answers) is set aside; habits are kept.

    Raises:
        LevelError: if it is damaged or of another version. It is left as it is.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Learned()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise LevelError(f"{path} cannot be read ({reason}); reset the level, or remove the file") from None
    advice = f"reset the level ({path.stem}) to begin anew, or put an older copy of {path} in its place"
    try:
        values = json.loads(text)
    except ValueError:
        raise LevelError(f"{path.name} is damaged (no JSON); {advice}") from None
    if not isinstance(values, dict) or values.get("checksum") != _checksum(values):
        raise LevelError(f"{path.name} is damaged (its checksum does not match); {advice}")
    if values.get("format") != FORMAT_VERSION:
        raise LevelError(
            f"{path.name} has format {values.get('format')!r}; this version reads {FORMAT_VERSION}; {advice}"
        )
    opponents = {str(name): _record_of(record, path) for name, record in values["opponents"].items()}
    whole = values["whole"]
    if whole:
        for name, size in (("hands", 1), ("mean", NUM_PLANS), ("cov", NUM_PLANS**2)):
            _numbers(name, whole.get(name), size, path)
    learned = Learned(opponents, whole)
    if values.get("plans", _OF_TURNS) != _plans_of(level):
        learned.set_plans_aside(level)
    return learned


def write_learned(path: Path, learned: Learned, level: Level) -> None:
    """Replaces a profile's file.

    Raises:
        LevelError: if it cannot be written (a full disk); the old one stays.
    """
    values = {
        "format": FORMAT_VERSION,
        "level": level.name,
        "plans": _plans_of(level),
        "whole": learned.whole,
        "opponents": {name: _plain(record) for name, record in learned.opponents.items()},
    }
    values["checksum"] = _checksum(json.loads(json.dumps(values)))
    try:
        write_json(path, values)
    except OSError as error:
        reason = error.strerror or error
        raise LevelError(f"what {level.name} learned of this hand cannot be written to {path}: {reason}") from None


class Profile:
    """What a level has learned of one opponent, and as a whole, kept on disk.

    Args:
        home: directory of all profiles.
        level: the level.
        opponent: name of whoever sits across.
    """

    def __init__(self, home: Path, level: Level, opponent: str) -> None:
        self.level, self.opponent = level, opponent
        self.path = profile_path(home, level.name)
        self.whole = level.nothing_learned()
        self.record = self.whole.start()

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
        self.record = learned.record_of(self.opponent, self.level)
        self.whole = learned.whole_of(self.level)

    def update(self, add: Callable[[np.ndarray, Whole], None]) -> None:
        """Learns: ``add`` changes the opponent's record and the whole as they stand on disk.

        Raises:
            LevelError: if the file is damaged or cannot be written; it is left as it was.
        """
        try:
            with FileLock(self.path.with_suffix(".lock")):
                learned = read_learned(self.path, self.level)
                record, whole = learned.record_of(self.opponent, self.level), learned.whole_of(self.level)
                add(record, whole)
                learned.opponents[self.opponent], learned.whole = record, whole_json(whole)
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
