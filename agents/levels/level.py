"""A level on disk: a checkpoint's directory with one more file, ``level.json``, that says what the level is and how it came about."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, field_validator

from agents.config import Config, ConfigError, parse_config
from agents.levels.choice import BEHAVIOUR
from agents.levels.plans import NUM_PLANS
from agents.levels.prior import Prior
from agents.network.checkpoint import METADATA, WEIGHTS, load_checkpoint
from agents.network.nets import Actor
from ginenv.errors import GinError, did_you_mean

FORMAT_VERSION = 2
# The file that makes a checkpoint's directory a level's.
LEVEL = "level.json"
FILES = (WEIGHTS, METADATA, LEVEL)
INSTALLED = Path(__file__).resolve().parent / "installed"
NAMES = ("level-1", "level-2", "level-3", "level-4")
_KEYS = ("format", "name", "settings", "about", "weights_sha256")


class LevelError(GinError):
    """A level, or what it has learned, that cannot be used."""


class LevelSettings(Config):
    """What a level is, apart from its network.

    Attributes:
        title: in one word.
        memory: how many of the last cards of the pile it remembers (32: all).
        notices: 0 nothing of the opponent's choices, 1 what it took, 2 everything.
        temperature: of its discards: 0 plays the most probable action, 1 the network's policy, more errs more.
        draw_temperature: the same for its draws, where errors cost the most.
        reach: what it prefers this much less than its best choice (in logits, leanings included) is never played.
        most_points: deadwood that a discard may throw away beyond the best one.
        leaning: largest leaning of a hand to sets, runs or early knocks, in logits.
        hoards: taken off the logit of a discard for every ten points of the card.
        grabs: added to the logit of taking the upcard.
        early_knock: added to the logit of a knock within the turns of the hand's plan.
        plans: what it believes, as installed, that each plan brings, in points a hand; empty where it learns nothing.
        doubt: standard deviation of that belief.
        boldness: factor on it when a plan is drawn; 0 takes what is believed to be best.
        worlds: worlds that it searches for each choice, which its network and its plan then leave to the search; 0 searches nothing.
        slack: of that search: how freely it takes what is nearly as good (see ``agents.search.SearchConfig``).
    """

    title: str = Field(min_length=1, max_length=40)
    memory: int = Field(32, ge=0, le=32)
    notices: int = Field(2, ge=0, le=2)
    temperature: float = Field(1.0, ge=0, le=20)
    draw_temperature: float = Field(1.0, ge=0, le=20)
    reach: float = Field(6.0, ge=0, le=60)
    most_points: float = Field(12.0, ge=0, le=100)
    leaning: float = Field(0.0, ge=0, le=10)
    hoards: float = Field(0.0, ge=-10, le=10)
    grabs: float = Field(0.0, ge=-10, le=10)
    early_knock: float = Field(0.0, ge=-10, le=10)
    plans: tuple[float, ...] = (0.0,) * NUM_PLANS
    doubt: float = Field(3.0, gt=0, le=50)
    boldness: float = Field(0.7, ge=0, le=3)
    worlds: int = Field(0, ge=0, le=4096)
    slack: float = Field(0.0, ge=0, le=1)

    @field_validator("plans")
    @classmethod
    def _one_for_each_plan(cls, plans: tuple[float, ...]) -> tuple[float, ...]:
        if len(plans) not in (0, NUM_PLANS):
            raise ValueError(
                f"{len(plans)} numbers are given; allowed are {NUM_PLANS}, or none for a level that learns nothing"
            )
        return plans

    @property
    def behaviour(self) -> np.ndarray:
        """The numbers that compiled code reads: ``BEHAVIOUR[1]``."""
        record = np.zeros(1, BEHAVIOUR)
        for name in BEHAVIOUR.names or ():
            record[name] = getattr(self, name)
        return record


@dataclass(frozen=True)
class Level:
    """A level as installed; nothing that it learns changes it.

    Attributes:
        name: such as ``level-2``.
        directory: where its files are.
        settings: what it is.
        actor: its network.
        about: how it was made; how strong it is stands beside it (``agents.levels.bench.rating``).
        digest: SHA-256 over its files: two levels are the same if and only if this is.
    """

    name: str
    directory: Path
    settings: LevelSettings
    actor: Actor
    about: dict[str, Any]
    digest: str

    @property
    def learns(self) -> bool:
        """Whether there is anything that it could learn: a search leaves its plans without effect."""
        return bool(self.settings.plans) and not self.settings.worlds

    def with_settings(self, **changes: Any) -> Level:
        """The same level with some settings changed, for measurements and for players who ask for more or fewer worlds.

        Raises:
            ConfigError: if one does not exist or is out of range.
        """
        settings = parse_config(self.settings.model_dump() | changes, LevelSettings, f"level {self.name}")
        return replace(self, settings=settings)

    def with_plan(self, plan: int) -> Level:
        """The same level with another plan as installed."""
        return self.with_settings(plans=tuple(0.0 if k == plan else -100.0 for k in range(NUM_PLANS)))

    def nothing_learned(self) -> Prior:
        """What it expects of strangers when it is installed."""
        return Prior.installed(np.array(self.settings.plans or (0.0,) * NUM_PLANS), self.settings.doubt)


def digest_of(directory: Path) -> str:
    """SHA-256 over the files of a level, in the order of ``FILES``."""
    digest = hashlib.sha256()
    for name in FILES:
        try:
            content = (directory / name).read_bytes()
        except OSError as error:
            raise LevelError(f"level {directory}: {name} cannot be read ({error.strerror})") from None
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def level_directory(name: str | int) -> Path:
    """The directory of a level: an installed one's name or number, or a path.

    Raises:
        LevelError: if there is no such level.
    """
    text = f"level-{name}" if str(name).isdecimal() else str(name)
    if text in NAMES and (INSTALLED / text / LEVEL).is_file():
        return INSTALLED / text
    if (Path(text) / LEVEL).is_file():
        return Path(text)
    raise LevelError(
        f"level {str(name)!r} does not exist{did_you_mean(text, NAMES)}; known: {', '.join(NAMES)}, or a level's directory"
    )


def read_level_json(directory: Path) -> dict[str, Any]:
    """What ``level.json`` of a directory holds, of whatever format.

    Raises:
        LevelError: if it is missing or no JSON object.
    """
    try:
        values = json.loads((directory / LEVEL).read_text(encoding="utf-8"))
    except OSError as error:
        raise LevelError(f"level {directory}: {LEVEL} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise LevelError(f"level {directory}: {LEVEL} does not hold JSON ({error})") from None
    if not isinstance(values, dict):
        raise LevelError(f"level {directory}: {LEVEL} does not hold a JSON object")
    return values


def load_level(name: str | int) -> Level:
    """A level by its name, its number or its directory, checked.

    Raises:
        GinError: if there is no such level, or a file of it is missing, damaged or of another version.
    """
    directory = level_directory(name)
    values = read_level_json(directory)
    if values.get("format") == 1:
        raise LevelError(f"level {directory}: format is 1, which gin convert {directory} brings to {FORMAT_VERSION}")
    if values.get("format") != FORMAT_VERSION:
        raise LevelError(f"level {directory}: format is {values.get('format')!r}; this version reads {FORMAT_VERSION}")
    if unknown := sorted(set(values) - set(_KEYS)):
        raise LevelError(
            f"level {directory}: {LEVEL} has unknown key {unknown[0]!r}; known: {', '.join(sorted(_KEYS))}"
        )
    if not isinstance(values.get("name"), str) or not isinstance(values.get("about"), dict):
        raise LevelError(f"level {directory}: {LEVEL} must hold a name (text) and about (how the level was made)")
    try:
        settings = parse_config(values.get("settings") or {}, LevelSettings, f"level {directory}")
    except ConfigError as error:
        raise LevelError(str(error)) from None
    actor, metadata = load_checkpoint(directory)
    if metadata["weights_sha256"] != values.get("weights_sha256"):
        raise LevelError(f"level {directory}: {LEVEL} belongs to other weights than those beside it")
    if actor.context:
        raise LevelError(
            f"level {directory}: its network reads {actor.context} numbers about its opponent; a level's network must read none"
        )
    return Level(values["name"], directory, settings, actor, values["about"], digest_of(directory))


def level_json(name: str, settings: LevelSettings, weights_sha256: str, about: dict[str, Any]) -> dict[str, Any]:
    """The content of ``level.json``."""
    return {
        "format": FORMAT_VERSION,
        "name": name,
        "settings": settings.model_dump(mode="json"),
        "weights_sha256": weights_sha256,
        "about": about,
    }
