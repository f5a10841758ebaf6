"""Levels as directories: built from checkpoints, exported for other programs, imported after a check."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.arena.series import play_series
from agents.config import override, parse_config
from agents.deal_streams import Domain
from agents.files import replacing, write_json, writing
from agents.levels.level import (
    LEVEL,
    Level,
    LevelError,
    LevelSettings,
    files_of,
    load_level,
    write_level_json,
)
from agents.levels.player import LevelPlayer
from agents.levels.responses import RESPONSES, Responses
from agents.network.checkpoint import METADATA, WEIGHTS, read_metadata
from ginenv.bots.heuristics import make_formula
from ginenv.engine.rules import PRESETS
from ginenv.errors import GinError

# Hands that a level plays under every preset before it is imported.
_CHECK_HANDS = 4


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


def build_level(
    directory: Path, settings: LevelSettings, source: Path, responses: Responses | None = None, replace: bool = False
) -> Level:
    """Makes a level from a checkpoint, preferably one that was trained under the level's bounds.

    Args:
        directory: of the level, which is named after it.
        settings: what it is.
        source: directory of the network, or of a training run, whose best checkpoint is taken.
        responses: how it responds to what it knows of its opponents; without them it learns nothing.
        replace: whether it may replace a level that is there already.

    Raises:
        GinError: if a checkpoint cannot be used, or the directory holds a level that may not be replaced or anything else; nothing is
            written then.
    """
    if not (directory / LEVEL).is_file():
        _refuse_full(directory)
    elif not replace:
        raise LevelError(f"{directory} holds a level already; name another directory, or replace it (--replace)")
    with _replacing(directory) as made:
        _take_checkpoint(source, made)
        metadata = read_metadata(made)
        if responses is not None:
            responses.write(made / RESPONSES)
        trained = metadata["about"]
        about = {key: trained.get(key) for key in ("decisions", "minutes", "command", "parent", "versions")}
        config = trained.get("config")
        about["seed"] = config.get("seed") if isinstance(config, dict) else None
        write_level_json(made, directory.name, settings, metadata["weights_sha256"], about)
        load_level(made)
    return load_level(directory)


def _take_checkpoint(source: Path, made: Path) -> None:
    """Copies the network of a checkpoint, or of a run's best one, without its critic and its strength, which is not the level's."""
    if not source.is_dir():
        raise LevelError(f"{source} is not the directory of a run or of a checkpoint: there is no such directory")
    checkpoint = source / "best" if (source / "best" / METADATA).is_file() else source
    for file in (WEIGHTS, METADATA):
        if not (checkpoint / file).is_file():
            raise LevelError(f"{source} is not the directory of a run or of a checkpoint: it has no {file}")
        shutil.copyfile(checkpoint / file, made / file)
    metadata: dict[str, Any] = read_metadata(made) | {"critic": None}
    metadata.pop("measured", None)
    write_json(made / METADATA, metadata)


def check_plays(level: Level, presets: list[str] | None = None) -> None:
    """Plays a few hands under every preset.

    Raises:
        LevelError: if the level cannot play one of them.
    """
    player = LevelPlayer(level, seed=1, learn=False)
    for rules in PRESETS if presets is None else presets:
        try:
            play_series(player, make_formula(2), series=2, hands=_CHECK_HANDS, seed=3, rules=rules, domain=Domain.TEST)
        except (GinError, RuntimeError, ValueError) as error:
            raise LevelError(f"level {level.directory}: it cannot play {rules!r} ({error})") from None


def copy_level(level: str, to: Path) -> Level:
    """Copies a level to a directory of its own, after checking that every file is sound and that it plays every preset.

    Args:
        level: name or directory, of somebody else's making perhaps.
        to: a directory, new or empty.

    Raises:
        GinError: if anything is wrong with it, or ``to`` is there already or cannot be written; nothing is written then.
    """
    found = load_level(level)
    found.check_files()
    _refuse_full(to)
    check_plays(found)
    with _replacing(to) as made:
        for file in files_of(found.directory):
            shutil.copyfile(found.directory / file, made / file)
    return load_level(to)


def _refuse_full(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise LevelError(f"{directory} is there already and is not an empty directory; name another one")


@contextmanager
def _replacing(directory: Path) -> Iterator[Path]:
    """A new empty directory that replaces ``directory`` once it is filled; an error leaves nothing half-written."""
    with writing(directory), replacing(directory) as made:
        yield made
