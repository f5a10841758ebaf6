"""A level on disk: a checkpoint's directory with one more file, ``level.json``, that says what the level is and how it came about."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from agents.config import Config, ConfigError, parse_config
from agents.levels.choice import MANNER
from agents.levels.habits import HABITS, NUM_HABITS
from agents.levels.plans import NUM_PLANS
from agents.levels.population import Population
from agents.levels.prior import Whole
from agents.network.checkpoint import CARD, WEIGHTS, load_checkpoint
from agents.network.nets import Actor
from ginenv.errors import GinError, did_you_mean

FORMAT_VERSION = 1
# The file that makes a checkpoint's directory a level's.
LEVEL = "level.json"
FILES = (WEIGHTS, CARD, LEVEL)
INSTALLED = Path(__file__).resolve().parent / "installed"
NAMES = ("level-1", "level-2", "level-3", "level-4")


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
        leaning: largest leaning of a session to sets, runs or early knocks, in logits.
        hoards: logits by which it is loath to throw a card, for every ten points of the card.
        grabs: logits by which it is tempted by every upcard.
        early_knock: added to the logit of a knock within the turns of the hand's plan.
        answers: its plans are no numbers of turns but its default and the answers of its network to the kinds of opponents of
            ``kinds.KINDS``; where it searches, the search is its default.
        plans: what it believes, as installed, that each plan brings, in points a hand.
        doubt: standard deviation of that belief.
        boldness: factor on it when a plan is drawn; 0 takes what is believed to be best.
        heeds: how far its network heeds an opponent's habits (0: not at all, the numbers it reads stay 0); must be 0 with ``answers``.
        insight: how far it infers the worth of plans from an opponent's habits (0: not at all).
        bot: leaves draws and discards to the best compiled bot, by the hand's plan; the network then only guides what is played with
            ``bot`` off.
        noise: of that bot: points by which a discard may be worse than the best one.
        worlds: worlds it searches for each choice, which its network and its plan then leave to the search, but for the network's answers;
            0 searches nothing.
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
    answers: bool = False
    plans: tuple[float, ...] = Field((0.0,) * NUM_PLANS, min_length=NUM_PLANS, max_length=NUM_PLANS)
    doubt: float = Field(3.0, gt=0, le=50)
    boldness: float = Field(0.7, ge=0, le=3)
    heeds: float = Field(1.0, ge=0, le=1)
    insight: float = Field(0.0, ge=0, le=2)
    bot: bool = False
    noise: float = Field(0.0, ge=0, le=50)
    worlds: int = Field(0, ge=0, le=4096)
    slack: float = Field(0.0, ge=0, le=1)

    @model_validator(mode="after")
    def _fitting(self) -> LevelSettings:
        if self.bot and (self.answers or self.worlds):
            raise ValueError(
                "bot leaves nothing to a network's answers or to a search; with bot, answers must be false and worlds 0"
            )
        if self.answers and self.heeds:
            raise ValueError("answers are read where habits would be; with answers, heeds must be 0")
        if self.answers and self.worlds and self.insight:
            raise ValueError(
                "insight knows what answers are worth beside the network, not beside a search; with both, it must be 0"
            )
        return self

    @property
    def manner(self) -> np.ndarray:
        """The numbers that compiled code reads: ``MANNER[1]``."""
        record = np.zeros(1, MANNER)
        for name in MANNER.names or ():
            record[name] = getattr(self, name)
        return record


@dataclass(frozen=True)
class Level:
    """A level as installed; nothing that it learns changes it.

    Attributes:
        name: such as ``level-2``.
        directory: where its files are.
        settings: what it is.
        population: what is typical of opponents.
        foresight: ``float64[H, P]``, what a habit of one standard deviation says about the worth of each plan.
        actor: its network.
        about: how it was made; how strong it is stands beside it (``agents.levels.bench.rating``).
        digest: SHA-256 over its files: two levels are the same if and only if this is.
    """

    name: str
    directory: Path
    settings: LevelSettings
    population: Population
    foresight: np.ndarray
    actor: Actor
    about: dict[str, Any]
    digest: str

    def with_settings(self, **changes: Any) -> Level:
        """The same level with some settings changed, for measurements and for players who ask for more or fewer worlds.

        Raises:
            ConfigError: if they do not fit.
        """
        settings = parse_config(self.settings.model_dump() | changes, LevelSettings, f"level {self.name}")
        return replace(self, settings=settings)

    def nothing_learned(self) -> Whole:
        """What it has learned as a whole when it is installed."""
        settings = self.settings
        return Whole.installed(np.array(settings.plans), settings.doubt, apart=settings.answers)


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


def load_level(name: str | int) -> Level:
    """A level by its name, its number or its directory, checked.

    Raises:
        GinError: if there is no such level, or a file of it is missing, damaged or of another version.
    """
    directory = level_directory(name)
    try:
        values = json.loads((directory / LEVEL).read_text(encoding="utf-8"))
    except OSError as error:
        raise LevelError(f"level {directory}: {LEVEL} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise LevelError(f"level {directory}: {LEVEL} is no JSON ({error})") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT_VERSION:
        found = values.get("format") if isinstance(values, dict) else None
        raise LevelError(f"level {directory}: format is {found!r}; this version reads {FORMAT_VERSION}")
    known = {"format", "name", "settings", "population", "foresight", "about", "weights_sha256"}
    if unknown := sorted(set(values) - known):
        raise LevelError(
            f"level {directory}: {LEVEL} has unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}"
        )
    if not isinstance(values.get("name"), str) or not isinstance(values.get("about"), dict):
        raise LevelError(f"level {directory}: {LEVEL} must hold a name (text) and about (how the level was made)")
    try:
        settings = parse_config(values.get("settings") or {}, LevelSettings, f"level {directory}")
        population = Population.from_json(values.get("population"))
        foresight = _foresight(values.get("foresight"))
    except ConfigError as error:
        raise LevelError(str(error)) from None
    except GinError as error:
        raise LevelError(f"level {directory}: {error}") from None
    actor, card = load_checkpoint(directory)
    if card["weights_sha256"] != values.get("weights_sha256"):
        raise LevelError(f"level {directory}: {LEVEL} belongs to other weights than those beside it")
    if actor.habits not in (0, NUM_HABITS):
        raise LevelError(
            f"level {directory}: its network reads {actor.habits} habits; this version counts {NUM_HABITS}: {HABITS[0]}, ..."
        )
    if settings.answers and not actor.habits:
        raise LevelError(
            f"level {directory}: its network has no columns in which it could read whom to answer; answers must be false"
        )
    return Level(
        values["name"], directory, settings, population, foresight, actor, values["about"], digest_of(directory)
    )


def _foresight(values: Any) -> np.ndarray:
    rows = [values.get(name) for name in HABITS] if isinstance(values, dict) else None
    try:
        table = np.array(rows, np.float64)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.shape != (NUM_HABITS, NUM_PLANS) or not np.isfinite(table).all():
        raise GinError(f"foresight must hold {NUM_PLANS} numbers for each of the {NUM_HABITS} habits")
    return table


def level_json(
    name: str,
    settings: LevelSettings,
    population: Population,
    foresight: np.ndarray,
    weights_sha256: str,
    about: dict[str, Any],
) -> dict[str, Any]:
    """The content of ``level.json``."""
    return {
        "format": FORMAT_VERSION,
        "name": name,
        "settings": settings.model_dump(mode="json"),
        "population": population.to_json(),
        "foresight": {habit: [round(float(x), 4) for x in row] for habit, row in zip(HABITS, foresight, strict=True)},
        "weights_sha256": weights_sha256,
        "about": about,
    }
