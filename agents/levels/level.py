"""A level on disk: a checkpoint's directory plus ``level.json``, which says what the level is and how it was made.

A level that adapts also has ``responses.json``: how it responds to what it knows of an opponent. Until it has been
shown a hand, it plays by its network alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from agents.config import Config, parse_config
from agents.files import read_json_object, write_json
from agents.levels.action_choice import BEHAVIOUR
from agents.levels.responses import RESPONSES, Responses, read_responses
from agents.network.metadata import METADATA, WEIGHTS
from ginenv.errors import GinError, did_you_mean, quoted
from ginenv.tables.player_names import not_a_directory, player_names

if TYPE_CHECKING:
    from agents.levels.dial import Dial
    from agents.network.nets import Actor
    from agents.network.numpy_actor import NumpyActor

FORMAT_VERSION = 3
# The file that turns a checkpoint's directory into a level's.
LEVEL = "level.json"
FILES = (WEIGHTS, METADATA, LEVEL)
INSTALLED = Path(__file__).resolve().parent / "installed"
NAMES = ("level-1", "level-2", "level-3", "level-4")
# The level that is everybody's equal: the network that ships, at the strength of whom it plays.
MATCHED = "matched"
# ``growth`` is reached after the first number of hands; the second is that of the logarithm's beginning, which is nearly linear.
PACE_HANDS, _FIRST_HANDS = 500, 20


class LevelError(GinError):
    """A level, or what it has learned, cannot be used."""


class LevelSettings(Config):
    """What a level is, apart from its network.

    Attributes:
        title: in one word.
        remembered_discards: how many of the discard pile's last cards it remembers (32: all).
        noticed_actions: what it notices of the opponent's choices: 0 nothing, 1 what it took and discarded, 2 also what it refused.
        temperature: of its discards and knocks: 0 plays the most probable action, 1 the network's policy; a higher one errs more.
        draw_temperature: the same for its draws, where errors cost the most.
        max_logit_gap: actions whose logits, after all additions, are further than this below the best one are never played.
        max_extra_deadwood: how much more deadwood than the best discard a discard may leave.
        hand_taste: strength of the taste for sets, runs and early knocks that is drawn for each hand, in logits.
        high_card_bias: subtracted from the logit of a discard for every ten points of the card.
        upcard_bias: added to the logit of taking the upcard.
        knock_bias: added to the logit of a knock.
        growth: points per hand that it gains on everybody within its first 500 hands, all opponents on record together. It goes on
            with the logarithm of hands: after 5,000 it has gained 1.7 times as much. 0: it gains nothing on everybody.
        worlds: worlds of the search that makes its choices; 0: no search, its network makes them.
        slack: of that search (see ``agents.search.SearchConfig``).
    """

    title: str = Field(min_length=1, max_length=40)
    remembered_discards: int = Field(32, ge=0, le=32)
    noticed_actions: int = Field(2, ge=0, le=2)
    temperature: float = Field(1.0, ge=0, le=1000)
    draw_temperature: float = Field(1.0, ge=0, le=1000)
    max_logit_gap: float = Field(6.0, ge=0, le=1000)
    max_extra_deadwood: float = Field(12.0, ge=0, le=100)
    hand_taste: float = Field(0.0, ge=0, le=10)
    high_card_bias: float = Field(0.0, ge=-10, le=10)
    upcard_bias: float = Field(0.0, ge=-10, le=10)
    knock_bias: float = Field(0.0, ge=-10, le=10)
    growth: float = Field(0.0, ge=0, le=10)
    worlds: int = Field(0, ge=0, le=4096)
    slack: float = Field(0.0, ge=0, le=10)

    def gained(self, hands: np.ndarray) -> np.ndarray:
        """Points per hand that it has gained on everybody after given numbers of hands: ``int[n]`` to ``float64[n]``."""
        return self.growth * np.log1p(np.asarray(hands) / _FIRST_HANDS) / np.log1p(PACE_HANDS / _FIRST_HANDS)

    @property
    def behaviour(self) -> np.ndarray:
        """The settings that compiled code reads: ``BEHAVIOUR[1]``."""
        record = np.zeros(1, BEHAVIOUR)
        for name in BEHAVIOUR.names or ():
            record[name] = getattr(self, name)
        return record


class LevelFile(Config):
    """What ``level.json`` holds.

    Attributes:
        format: version of the file's format.
        name: such as ``level-2``.
        settings: what the level is (``LevelSettings``); omitted settings have their defaults.
        weights_sha256: of the network's weights.
        about: how it was made.
    """

    format: Literal[3] = FORMAT_VERSION
    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    weights_sha256: str
    about: dict[str, Any]


@dataclass(frozen=True)
class Level:
    """A level as installed; nothing that it learns changes it.

    Attributes:
        name: such as ``level-2``.
        directory: holds its files.
        settings: what it is.
        actor: its network, in torch or in NumPy.
        responses: how it responds to what it knows of its opponents; ``None`` for a level that learns nothing.
        about: how it was made.
        digest: SHA-256 over its files; levels with the same digest are the same.
        dial: for ``matched``: how it changes its strength.
    """

    name: str
    directory: Path
    settings: LevelSettings
    actor: Actor | NumpyActor
    responses: Responses | None
    about: dict[str, Any]
    digest: str
    dial: Dial | None = None

    def __repr__(self) -> str:
        return f"<Level {self.name}, sha256 {self.digest[:12]}>"

    @property
    def learns(self) -> bool:
        """Whether it can learn about its opponents."""
        return self.responses is not None or self.dial is not None

    @property
    def ships(self) -> bool:
        """Whether it is one of those that ship with the package."""
        return self.dial is not None or self.directory == INSTALLED / self.name

    def check_files(self) -> None:
        """Refuses ``matched``, which has no files of its own.

        Raises:
            LevelError: if it is that one.
        """
        if self.dial is not None:
            raise LevelError(
                f"{self.name} is the network that ships, at its opponent's strength: it cannot be copied, fitted or measured as a level"
            )

    def logit_bias(self, distances: np.ndarray, hands: np.ndarray) -> np.ndarray | None:
        """The biases of its choices against some opponents.

        Args:
            distances: how far each is from other people (``Posteriors.distances``), ``float32[n, NUM_WEIGHTS]``.
            hands: number of hands that it has learned from in all, ``int64[n]``.

        Returns:
            ``float64[n, NUM_WEIGHTS]``; ``None`` for a level that learns nothing.
        """
        return None if self.responses is None else self.responses.logit_bias(distances, self.settings.gained(hands))

    def gained(self, hands: int) -> float:
        """Points per hand that it has gained on everybody after some hands: no more than its responses can."""
        most = 0.0 if self.responses is None else self.responses.gains[-1, 1]
        return float(min(most, self.settings.gained(np.array([hands]))[0]))

    def with_settings(self, **changes: Any) -> Level:
        """The same level with some settings changed.

        Raises:
            ConfigError: if one does not exist or is out of range.
        """
        settings = parse_config(self.settings.model_dump() | changes, LevelSettings, f"level {self.name}")
        return replace(self, settings=settings)


def files_of(directory: Path) -> tuple[str, ...]:
    """The files of a level, in the order in which its digest reads them."""
    return FILES + ((RESPONSES,) if (directory / RESPONSES).is_file() else ())


def digest_of(directory: Path, files: Sequence[str] = ()) -> str:
    """SHA-256 over the files of a level, or over some of them: ``FILES`` alone determine how it plays while it learns nothing."""
    digest = hashlib.sha256()
    for name in files or files_of(directory):
        try:
            content = (directory / name).read_bytes()
        except OSError as error:
            raise LevelError(f"level {directory}: {name} cannot be read ({error.strerror})") from None
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _load_actor(directory: Path, numpy: bool) -> tuple[Actor | NumpyActor, dict[str, Any]]:
    # Each is imported where it is used: NumPy is for those who do without torch.
    if numpy:
        from agents.network.numpy_actor import load_numpy_actor

        return load_numpy_actor(directory)
    from agents.network.checkpoint import load_checkpoint

    return load_checkpoint(directory)


def _load_matched(numpy: bool) -> Level:
    """The network that ships, with its dial."""
    from agents.levels.dial import PATH, shipped_dial

    top = {name: values[-1] for name, values in PATH.items()}

    directory = Path(__file__).resolve().parents[1] / "data" / "network"
    actor, metadata = _load_actor(directory, numpy)
    settings = parse_config({"title": "your equal"} | top, LevelSettings, MATCHED)
    digest = digest_of(directory, FILES[:2])
    return Level(MATCHED, directory, settings, actor, None, metadata["about"], digest, shipped_dial())


def load_level(name: str | int | Path, with_responses: bool = True, numpy: bool = False) -> Level:
    """Loads a level by its name, its number or its directory, and checks it.

    Args:
        name: what to load; a ``Path`` is always a directory, even if an installed level has the same name.
        numpy: whether its network computes in NumPy, without torch; a level that searches needs torch.
        with_responses: ``False`` ignores its responses: it then learns nothing, and they need not be sound.

    Raises:
        GinError: if there is no such level, or one of its files is missing, damaged or of another version.
    """
    allowed = f"a level is one of {', '.join((*NAMES, MATCHED))}, or a level's directory"
    if name == "":
        raise LevelError(f"the level's name is empty; {allowed}")
    is_path = isinstance(name, Path)
    if name == MATCHED:
        return _load_matched(numpy)
    text = f"level-{name}" if str(name).isdecimal() and not is_path else str(name)
    directory = INSTALLED / text if text in NAMES and not is_path else Path(text)
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
    settings = parse_config(file.settings, LevelSettings, source)
    actor, metadata = _load_actor(directory, numpy and not settings.worlds)
    if metadata["weights_sha256"] != file.weights_sha256:
        raise LevelError(f"{source}: {LEVEL} belongs to other weights than those beside it")
    responses = (
        read_responses(directory / RESPONSES, source) if with_responses and (directory / RESPONSES).is_file() else None
    )
    return Level(file.name, directory, settings, actor, responses, file.about, digest_of(directory))


def write_level_json(
    directory: Path, name: str, settings: LevelSettings, weights_sha256: str, about: dict[str, Any]
) -> None:
    """Writes the file that turns a checkpoint's directory into a level's."""
    file = LevelFile(name=name, settings=settings.model_dump(mode="json"), weights_sha256=weights_sha256, about=about)
    write_json(directory / LEVEL, file.model_dump())
