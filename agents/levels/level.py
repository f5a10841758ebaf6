"""A level: a network, a place on the dial, and what it has learned of the game.

On disk it is a checkpoint's directory with ``level.json``. Levels 1 to 4 need none: they are named places of the network that ships.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from agents.config import Config, override, parse_config
from agents.files import read_json_object, replacing, write_json, writing
from agents.levels.choice import BEHAVIOUR
from agents.levels.dial import LEVELS, NUM_PLACES, Dial, settings_at, shipped_dial
from agents.levels.features import FEATURES
from agents.levels.opponents import POSTERIOR, Beliefs
from agents.network.metadata import METADATA, WEIGHTS, read_metadata
from ginenv.errors import GinError, did_you_mean, quoted, unknown_name
from ginenv.tables.player_names import not_a_directory, player_names

if TYPE_CHECKING:
    from agents.network.nets import Actor
    from agents.network.numpy_actor import NumpyActor

FORMAT_VERSION = 4
# The file that turns a checkpoint's directory into a level's.
LEVEL = "level.json"
NAMES = tuple(LEVELS)
# The level that is everybody's equal: the network that ships, at the strength of whom it plays.
MATCHED = "matched"
# How many hands of the coach a level's habits are worth: how slowly it learns.
_HABIT_HANDS = 6000
# Hands of each figure over time, and how many such figures are kept.
AGREEMENT_HANDS, _MAX_FIGURES = 20, 500
_SHIPPED = Path(__file__).resolve().parents[1] / "data" / "network"


class LevelError(GinError):
    """A level, or what it has learned, cannot be used."""


class Learned(Beliefs):
    """What a level has learned of the game: its own biases.

    Attributes:
        agreement: over time, pairs of a number of hands and how much of its choices its coach would make, from 0 to 1.
    """

    agreement: list[tuple[int, float]] = Field(default_factory=list, max_length=_MAX_FIGURES)

    def with_agreement(self, shares: np.ndarray) -> Learned:
        """The same with the agreement in some more hands, ``float64[n]``."""
        figures = [*self.agreement]
        for share in shares.tolist():
            count, mean = figures.pop() if figures and figures[-1][0] < AGREEMENT_HANDS else (0, 0.0)
            figures.append((count + 1, round((count * mean + share) / (count + 1), 4)))
        return self.model_copy(update={"agreement": figures[-_MAX_FIGURES:]})


class LevelSettings(Config):
    """What a level is, apart from its network: its place on the dial.

    Attributes:
        title: in one word.
        remembered_discards: how many of the discard pile's last cards it remembers (32: all).
        noticed_actions: what it notices of the opponent's choices: 0 nothing, 1 what it took and discarded, 2 also what it refused.
        temperature: of its discards and knocks: 0 plays the most probable action, 1 the policy, softened; a higher one errs more.
        draw_temperature: the same for its draws, where errors cost the most.
        max_logit_gap: actions whose logits, after all additions, are further than this below the best one are never played.
        max_extra_deadwood: how much more deadwood than the best discard a discard may leave.
        hand_taste: strength of the taste for sets, runs and early knocks that is drawn for each hand, in logits.
        habits: what it does too often (or too seldom, below 0), in logits, by feature of a choice
            (``agents.levels.features.FEATURES``).
        worlds: worlds of the search that makes its choices; 0: no search, its network makes them.
        slack: of that search (see ``agents.search.SearchConfig``).
    """

    title: str = Field(min_length=1, max_length=40)
    remembered_discards: int = Field(32, ge=0, le=32)
    noticed_actions: int = Field(2, ge=0, le=2)
    temperature: float = Field(1.0, ge=0, le=1000)
    draw_temperature: float = Field(1.0, ge=0, le=1000)
    max_logit_gap: float = Field(2.0, ge=0, le=1000)
    max_extra_deadwood: float = Field(12.0, ge=0, le=100)
    hand_taste: float = Field(0.0, ge=0, le=10)
    habits: dict[str, Annotated[float, Field(ge=-10, le=10)]] = Field(default_factory=dict)
    worlds: int = Field(0, ge=0, le=4096)
    slack: float = Field(0.0, ge=0, le=10)

    @field_validator("habits")
    @classmethod
    def _habits_are_features(cls, habits: dict[str, float]) -> dict[str, float]:
        for name in habits:
            if name not in FEATURES:
                raise ValueError(unknown_name("habit", name, FEATURES))
        return habits

    @property
    def behaviour(self) -> np.ndarray:
        """The settings that compiled code reads: ``BEHAVIOUR[1]``."""
        record = np.zeros(1, BEHAVIOUR)
        for name in BEHAVIOUR.names or ():
            record[name] = getattr(self, name)
        return record

    @property
    def biases(self) -> np.ndarray:
        """Its habits as biases of its choices, ``float64[NUM_WEIGHTS]``."""
        return np.array([self.habits.get(name, 0.0) for name in FEATURES])


class LevelFile(Config):
    """What ``level.json`` holds.

    Attributes:
        format: version of the file's format.
        name: such as ``level-2``.
        settings: its place on the dial.
        learned: what it has learned of the game; ``None`` as installed.
    """

    format: Literal[4] = FORMAT_VERSION
    name: str
    settings: LevelSettings
    learned: Learned | None = None


@dataclass(frozen=True)
class Level:
    """A level as it is before it plays; nothing that it learns in play changes it.

    Attributes:
        name: such as ``level-2``.
        directory: holds its network.
        settings: its place on the dial.
        actor: its network, in torch or in NumPy.
        weights_sha256: of the network.
        learned: what it had learned of the game when it was written; ``None`` as installed.
        dial: for ``matched``: how it changes its strength.
    """

    name: str
    directory: Path
    settings: LevelSettings
    actor: Actor | NumpyActor
    weights_sha256: str
    learned: Learned | None
    dial: Dial | None = None

    def __repr__(self) -> str:
        return f"<Level {self.name}, sha256 {self.digest[:12]}>"

    @property
    def digest(self) -> str:
        """SHA-256 of what decides how it plays; levels with the same digest are the same."""
        parts = [self.weights_sha256, self.settings.model_dump(mode="json"), self.learned and self.learned.model_dump()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def ships(self) -> bool:
        """Whether it is one of those that ship with the package."""
        return self.directory == _SHIPPED

    @property
    def skill(self) -> np.ndarray:
        """Its own biases with their precision, before it plays: ``POSTERIOR[1]``."""
        if self.learned is not None:
            return self.learned.record
        record, curve = np.zeros(1, POSTERIOR), shipped_dial().curve
        # What hardly ever occurs in a hand is not learned from one.
        record[0] = self.settings.biases, _HABIT_HANDS * (curve + np.diag(0.02 * np.diag(curve) + 1e-4)), 0
        return record

    def with_settings(self, **changes: Any) -> Level:
        """The same level with some settings changed.

        Raises:
            ConfigError: if one does not exist or is out of range.
        """
        settings = parse_config(self.settings.model_dump() | changes, LevelSettings, f"level {self.name}")
        return replace(self, settings=settings)

    def write(self, directory: Path) -> None:
        """Writes the file that turns a directory with its checkpoint into the level."""
        file = LevelFile(name=self.name, settings=self.settings, learned=self.learned)
        write_json(directory / LEVEL, file.model_dump(mode="json"))


def _load_actor(directory: Path, numpy: bool) -> tuple[Actor | NumpyActor, str]:
    """The network in a directory, and the SHA-256 of its weights."""
    # Each is imported where it is used: NumPy is for those who do without torch.
    if numpy:
        from agents.network.numpy_actor import load_numpy_actor as load
    else:
        from agents.network.checkpoint import load_checkpoint as load
    actor, metadata = load(directory)
    return actor, metadata["weights_sha256"]


def _load_shipped(name: str, numpy: bool) -> Level:
    """A named place of the network that ships, or ``matched``, which has the whole dial."""
    if name == MATCHED:
        dial: Dial | None = shipped_dial()
        values = settings_at(NUM_PLACES - 1) | {"title": "your equal"}
    else:
        title, place, worlds, slack = LEVELS[name]
        dial, values = None, settings_at(place) | {"title": title, "worlds": worlds, "slack": slack}
    settings = parse_config(values, LevelSettings, name)
    return Level(name, _SHIPPED, settings, *_load_actor(_SHIPPED, numpy and not settings.worlds), None, dial)


def load_level(name: str | int | Path, numpy: bool = False) -> Level:
    """Loads a level by its name, its number or its directory, and checks it.

    Args:
        name: what to load; a ``Path`` is always a directory, even if an installed level has the same name.
        numpy: whether its network computes in NumPy, without torch; a level that searches needs torch.

    Raises:
        GinError: if there is no such level, or one of its files is missing, damaged or of another version.
    """
    allowed = f"a level is one of {', '.join((*NAMES, MATCHED))}, or a level's directory"
    if name == "":
        raise LevelError(f"the level's name is empty; {allowed}")
    is_path = isinstance(name, Path)
    text = f"level-{name}" if str(name).isdecimal() and not is_path else str(name)
    if text in (*NAMES, MATCHED) and not is_path:
        return _load_shipped(text, numpy)
    directory = Path(text)
    if not (directory / LEVEL).is_file():
        if directory.is_dir():
            raise LevelError(f"{directory} is not a level's directory: it has no {LEVEL}; gin levels build makes one")
        if directory.is_file():
            raise LevelError(f"level {not_a_directory(text)}")
        if text in player_names() and not is_path:
            raise LevelError(f"{text} is a player, but not a level; {allowed}")
        raise LevelError(f"level {str(name)!r} does not exist{did_you_mean(text, (*NAMES, MATCHED))}; {allowed}")
    source = f"level {directory}"
    values = read_json_object(directory / LEVEL, source)
    if values.get("format") != FORMAT_VERSION:
        raise LevelError(f"{source}: format is {quoted(values.get('format'))}, but this version reads {FORMAT_VERSION}")
    file: LevelFile = parse_config(values, LevelFile, source)
    actor, digest = _load_actor(directory, numpy and not file.settings.worlds)
    return Level(file.name, directory, file.settings, actor, digest, file.learned)


def read_settings(title: str, like: str = "", changes: Sequence[str] = ()) -> LevelSettings:
    """Settings for a level to be built.

    Args:
        title: of the level, if ``like`` is empty.
        like: name or directory of a level whose settings are taken; the defaults when empty.
        changes: settings that differ, as ``key=value``.

    Raises:
        GinError: if there is no such level, or a setting does not exist or is out of range.
    """
    values = load_level(like).settings.model_dump() if like else {"title": title}
    return parse_config(override(values, changes), LevelSettings, f"level {title}")


def build_level(directory: Path, settings: LevelSettings, source: Path) -> Level:
    """Makes a level from a checkpoint.

    Args:
        directory: of the level, which is named after it; new or empty.
        settings: its place on the dial.
        source: directory of the network, or of a training run, whose best checkpoint is taken.

    Raises:
        GinError: if a checkpoint cannot be used, or the directory holds something; nothing is written then.
    """
    _refuse_full(directory)
    checkpoint = source / "best" if (source / "best" / METADATA).is_file() else source
    for file in (WEIGHTS, METADATA):
        if not (checkpoint / file).is_file():
            raise LevelError(f"{source} is not the directory of a run or of a checkpoint: it has no {file}")
    with writing(directory), replacing(directory) as made:
        _copy_network(checkpoint, made)
        Level(directory.name, made, settings, *_load_actor(made, False), None).write(made)
    return load_level(directory)


def copy_level(level: str, to: Path, learned: Learned | None = None) -> Level:
    """Copies a level to a directory of its own.

    Args:
        level: name or directory, of somebody else's making perhaps.
        to: a directory, new or empty.
        learned: what it has learned since, which the copy begins with.

    Raises:
        GinError: if anything is wrong with it, or ``to`` is there already or cannot be written; nothing is written then.
    """
    found = load_level(level)
    if found.dial is not None:
        raise LevelError(f"{found.name} is no place, but the whole dial: it cannot be copied as a level")
    _refuse_full(to)
    with writing(to), replacing(to) as made:
        _copy_network(found.directory, made)
        replace(found, learned=learned or found.learned).write(made)
    return load_level(to)


def _copy_network(source: Path, made: Path) -> None:
    """Copies a checkpoint without its critic and its strength, which is not the level's."""
    for file in (WEIGHTS, METADATA):
        shutil.copyfile(source / file, made / file)
    metadata = read_metadata(made) | {"critic": None}
    metadata.pop("measured", None)
    write_json(made / METADATA, metadata)


def _refuse_full(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise LevelError(f"{directory} is there already and is not an empty directory; name another one")
