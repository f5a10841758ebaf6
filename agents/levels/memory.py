"""What a level knows: of each opponent, and of the game; in memory, and on disk in one file for each level, written after every hand.

What is known of an opponent is a normal distribution of its weights (``agents.levels.opponents``). It shifts the level's biases by a table,
the *responses*: linear in what is known, so nothing changes where nothing is known. What is known of the game is a normal distribution of
the level's own biases, which its coach moves (``agents.levels.coach``).

Each write reads the file and replaces it as a whole, under a lock. So a process that is killed loses at most the hand in play, and two
processes that play at the same time both count.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from filelock import FileLock
from pydantic import Field

from agents.config import Config, parse_config
from agents.files import private_directory, read_json_object, write_json
from agents.levels.coach import learn
from agents.levels.dial import GRID, STRANGER, shipped_dial
from agents.levels.features import NUM_WEIGHTS
from agents.levels.level import MATCHED, Learned, Level, LevelError
from agents.levels.opponents import Beliefs, Posteriors
from agents.player_names import canonical_name
from ginenv.errors import GinError, quoted, unknown_name

FORMAT_VERSION = 4
DIRECTORY = "levels"
RESPONSES = Path(__file__).resolve().parents[1] / "data" / "responses.json"
# Distances from the average opponent beyond this count as this, in standard deviations.
MAX_DISTANCE = 1.5
# Characters of a level's name and of its digest in the name of its file.
_NAME, _DIGEST = 40, 16
# Ratings of the past that are stored.
MAX_RATINGS = 500
# Numbers of hands after which it is kept what a level knew of the game.
MILESTONES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


@cache
def shipped_responses() -> np.ndarray:
    """The biases that each known number of an opponent adds, ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``.

    ``python -m benchmarks.data.responses`` fits them.
    """
    return np.array(read_json_object(RESPONSES, "the responses")["responses"])


def bounded(distances: np.ndarray) -> np.ndarray:
    """Distances as far as they count, as ``float64``."""
    return np.clip(distances.astype(np.float64), -MAX_DISTANCE, MAX_DISTANCE)


class Memory:
    """What a level knows: one row for each opponent, with the level's own biases in the games against it.

    Args:
        skill: its own biases at first, ``POSTERIOR[1]``.

    Attributes:
        opponents: the opponents.
        skills: its own biases, ``POSTERIOR[rows]``.
        strengths: how likely each rating of an opponent is, ``float64[rows, G]`` (``agents.levels.dial``).
    """

    def __init__(self, skill: np.ndarray) -> None:
        self.opponents = Posteriors(1)
        self._skill, self.skills = skill, skill.copy()
        self.strengths = STRANGER[None].copy()

    def __len__(self) -> int:
        return len(self.skills)

    def widen(self, rows: int) -> None:
        """Makes room for ``rows`` opponents in all; the new ones are strangers."""
        more = rows - len(self)
        if more > 0:
            stranger = self.opponents.prior.stranger
            self.opponents.records = np.concatenate([self.opponents.records, np.repeat(stranger, more)])
            self.skills = np.concatenate([self.skills, np.repeat(self._skill, more)])
            self.strengths = np.concatenate([self.strengths, np.repeat(STRANGER[None], more, 0)])

    def forget(self, rows: np.ndarray) -> None:
        """Turns some opponents into strangers, and plays as at first against them."""
        self.opponents.records[rows] = self.opponents.prior.stranger[0]
        self.skills[rows] = self._skill[0]
        self.strengths[rows] = STRANGER

    def biases(self, rows: np.ndarray) -> np.ndarray:
        """The biases of its choices against some opponents, ``float64[n, NUM_WEIGHTS]``."""
        return self.skills["mean"][rows] + bounded(self.opponents.distances(rows)) @ shipped_responses()


class Strength(Config):
    """How strong an opponent is, to ``matched``.

    Attributes:
        posterior: how likely each rating of ``agents.levels.dial.GRID`` is.
        ratings: the rating after each hand, of the last ones.
        hands: number of hands in all.
    """

    posterior: list[Annotated[float, Field(ge=0, le=1)]] = Field(min_length=len(GRID), max_length=len(GRID))
    ratings: list[int] = Field(max_length=MAX_RATINGS)
    hands: int = Field(ge=0)


class _Opponent(Config):
    """What is known of an opponent."""

    choices: Beliefs
    strength: Strength | None = None


class Milestone(Config):
    """What a level knew of the game after some hands.

    Attributes:
        hands: of everybody.
        biases: its own.
        points: points per hand that these win from a fixed player, with the interval; ``None`` until somebody asks.
    """

    hands: int = Field(ge=0)
    biases: list[float] = Field(min_length=NUM_WEIGHTS, max_length=NUM_WEIGHTS)
    points: tuple[float, float, float] | None = None


class _File(Config):
    """A profile's file: what everybody's hands have taught about the game, and what is known of each opponent."""

    format: Literal[4]
    level: str
    learned: Learned | None = None
    milestones: list[Milestone] = Field(default_factory=list, max_length=len(MILESTONES) + 1)
    opponents: dict[str, _Opponent]

    def record(self, opponent: str) -> _Opponent | None:
        """The record of an opponent, by a name in any letter case."""
        return self.opponents.get(canonical_name(opponent, self.opponents))

    def with_milestone(self, level: Level, learned: Learned) -> _File:
        """The same after ``learned`` has taken the place of what was known of the game, with the milestones that were reached."""
        first = level.skill[0]
        reached = [*self.milestones] or [Milestone(hands=int(first["hands"]), biases=first["mean"].tolist())]
        if any(reached[-1].hands < hands <= learned.hands for hands in MILESTONES):
            reached.append(Milestone(hands=learned.hands, biases=learned.mean))
        return self.model_copy(update={"learned": learned, "milestones": reached})

    def memory(self, level: Level, opponent: str) -> Memory:
        """What is known of an opponent, and of the game, as row 0."""
        found, record = Memory(level.skill), self.record(opponent)
        if self.learned is not None:
            found.skills[:] = self.learned.record
        if record is not None:
            found.opponents.records[:] = record.choices.record
            if record.strength is not None:
                found.strengths[0] = record.strength.posterior
        return found


def profile_path(home: Path, level: Level) -> Path:
    """The file in which a level keeps what it learns, under a home directory.

    A user's own level may have any name, even that of an installed one, and may be rebuilt. Its digest tells such levels apart.
    """
    name = re.sub(r"[^\w.-]", "_", level.name)[:_NAME]
    suffix = "" if level.ships else f"-{level.digest[:_DIGEST]}"
    return home / DIRECTORY / f"{name}{suffix}.json"


def _read(path: Path, level: str = "") -> _File:
    """A file's content for a level, or for whatever level it is of; empty if there is no file.

    Raises:
        LevelError: if the file is damaged, of another version or of another level. It is left as it is.
    """
    if not path.exists():
        return _File(format=FORMAT_VERSION, level=level, opponents={})
    remedy = f"reset {level or 'the level'} or remove {path} to begin again, or put an older copy in its place"
    try:
        file: _File = parse_config(read_json_object(path, "what was learned"), _File, path.name)
    except GinError as error:
        raise LevelError(f"{error}; {remedy}") from None
    if level and file.level != level:
        raise LevelError(f"{path.name} is what {quoted(file.level)} has learned, not {level}; {remedy}")
    return file


def read_learned(home: Path, level: Level) -> Learned | None:
    """What a level has learned of the game from everybody's hands since it began; ``None`` before the first.

    Raises:
        LevelError: if the file is damaged.
    """
    return _read(profile_path(home, level), level.name).learned


def read_opponents(home: Path, level: Level, opponent: str | None = None) -> dict[str, Memory]:
    """What a level has learned, from its file under a home directory.

    Args:
        home: the directory.
        level: the level.
        opponent: the name of one opponent, in any letter case, known or not; all known opponents when left out.

    Returns:
        For each name, a memory of that opponent.

    Raises:
        LevelError: if the file is damaged.
    """
    file = _read(profile_path(home, level), level.name)
    names = file.opponents if opponent is None else [canonical_name(opponent, file.opponents)]
    return {name: file.memory(level, name) for name in names}


def read_milestones(home: Path, level: Level) -> list[Milestone]:
    """What a level knew of the game as it began, and after more and more hands; empty before the first.

    Raises:
        LevelError: if the file is damaged.
    """
    return _read(profile_path(home, level), level.name).milestones


def write_points(home: Path, level: Level, measured: list[Milestone]) -> None:
    """Stores the points of milestones, as far as the level has not been reset meanwhile; those of others stay.

    Raises:
        LevelError: if the file is damaged.
    """
    path = profile_path(home, level)
    with FileLock(path.with_suffix(".lock"), mode=0o600):
        file = _read(path, level.name)
        points = {(one.hands, *one.biases): one.points for one in measured if one.points is not None}
        update = [
            one.model_copy(update={"points": points.get((one.hands, *one.biases), one.points)})
            for one in file.milestones
        ]
        if update:
            write_json(path, file.model_copy(update={"milestones": update}).model_dump(), private=True)


def most_shown(home: Path, opponent: str) -> np.ndarray:
    """What the level knows of an opponent that has seen most of its hands, ``POSTERIOR[1]``.

    Raises:
        LevelError: if a level's file is damaged, or none knows the opponent.
    """
    files = [_read(path) for path in sorted((home / DIRECTORY).glob("*.json"))]
    found = [record.choices.record for file in files if (record := file.record(opponent))]
    if not found:
        names = {name for file in files for name in file.opponents}
        raise LevelError(f"profile {quoted(str(home))}: {unknown_name('opponent', opponent, names)}")
    return max(found, key=lambda records: records["hands"][0])


class Profile:
    """What a level has learned of one opponent, and from everybody, kept on disk; empty where there is no file yet.

    The file is read at the start and again whenever a hand is learned; what others teach the level in between is not seen.

    Args:
        home: directory of all profiles.
        level: the level.
        opponent: name of the opponent, in any letter case.

    Raises:
        LevelError: if the file is damaged, or its directory cannot be made.
    """

    def __init__(self, home: Path, level: Level, opponent: str) -> None:
        self.level, self.opponent = level, opponent
        self.path = profile_path(home, level)
        try:
            private_directory(self.path.parent)
        except OSError as error:
            raise LevelError(f"{self.path.parent} cannot be made ({error.strerror})") from None
        self._file = _read(self.path, level.name)

    def memory(self) -> Memory:
        """What is known of the opponent and of the game, as row 0."""
        return self._file.memory(self.level, self.opponent)

    def learn(
        self, views: np.ndarray, lessons: np.ndarray | None = None, results: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Memory:
        """Adds finished hands to what the file on disk knows, writes the file, and returns what is known now.

        Args:
            views: ``VIEW[n]``.
            lessons: what the coach says of them, ``LESSON[n]``.
            results: for ``matched``: places on the dial, and points without luck (see ``Dial.updated``).

        Raises:
            LevelError: if the file is damaged or cannot be written; it is left as it was.
        """
        try:
            private_directory(self.path.parent)
            with FileLock(self.path.with_suffix(".lock"), mode=0o600):
                found, file = self._learned_from(_read(self.path, self.level.name), views, lessons, results)
                write_json(self.path, file.model_dump(), private=True)
        except OSError as error:
            reason = error.strerror or error
            raise LevelError(f"what {self.level.name} learned cannot be written to {self.path}: {reason}") from None
        self._file = file
        return found

    def _learned_from(
        self,
        file: _File,
        views: np.ndarray,
        lessons: np.ndarray | None,
        results: tuple[np.ndarray, np.ndarray] | None,
    ) -> tuple[Memory, _File]:
        """What is known after some hands (as ``learn``), and the file's new content."""
        found, before = file.memory(self.level, self.opponent), file.record(self.opponent)
        rows = np.zeros(len(views), np.int64)
        found.opponents.learn(views, rows)
        if lessons is not None and lessons["decisions"].any():
            learn(lessons, rows, found.skills)
            learned = file.learned or self.level.learned
            shares = (lessons["agreement"] / np.maximum(1, lessons["decisions"]))[lessons["decisions"] > 0]
            learned = Learned.of(found.skills[0], agreement=learned.agreement if learned else [])
            file = file.with_milestone(self.level, learned.with_agreement(shares))
        strength = None if results is None else self._rate(found, before.strength if before else None, results)
        record = _Opponent(choices=Beliefs.of(found.opponents.records[0]), strength=strength)
        opponents = file.opponents | {canonical_name(self.opponent, file.opponents): record}
        return found, file.model_copy(update={"opponents": opponents})

    def _rate(self, found: Memory, before: Strength | None, results: tuple[np.ndarray, np.ndarray]) -> Strength:
        """The opponent's strength after some hands."""
        dial = shipped_dial()
        ratings, hands = (before.ratings, before.hands) if before else ([], 0)
        for place, margin in zip(*results, strict=True):
            found.strengths = dial.updated(found.strengths, np.array([place]), np.array([margin]))
            ratings = [*ratings, round(dial.rating(found.strengths[0]).mean)]
        posterior = found.strengths[0].round(7).tolist()
        return Strength(posterior=posterior, ratings=ratings[-MAX_RATINGS:], hands=hands + len(results[0]))


def read_strength(home: Path, opponent: str) -> Strength | None:
    """How strong an opponent of ``matched`` is; ``None`` if that is not known.

    Raises:
        LevelError: if the file is damaged.
    """
    record = _read(home / DIRECTORY / f"{MATCHED}.json", MATCHED).record(opponent)
    return record.strength if record else None


def reset_level(home: Path, level: Level) -> str:
    """Resets a level to how it was installed; returns a sentence with its hash.

    Raises:
        LevelError: if the file cannot be removed.
    """
    path = profile_path(home, level)
    what = "it had learned nothing"
    try:
        if path.exists():
            with FileLock(path.with_suffix(".lock"), mode=0o600):
                path.unlink(missing_ok=True)
            what = "what it had learned is gone"
    except OSError as error:
        raise LevelError(f"{path} cannot be removed ({error.strerror or error})") from None
    return f"{level.name} is as installed (sha256 {level.digest}); {what}."
