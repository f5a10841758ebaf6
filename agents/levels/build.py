"""The four levels that are installed, from a configuration: which snapshot of the training run plays under which bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from agents.config import Config, load_config
from agents.levels.level import Level, LevelError, LevelSettings
from agents.levels.transfer import build_level
from agents.network.checkpoint import read_card


class BuiltLevel(Config):
    """One level.

    Attributes:
        checkpoint: directory of its network.
        settings: what it is.
        card: whatever else its card says.
    """

    checkpoint: str
    settings: LevelSettings
    card: dict[str, Any] = Field(default_factory=dict)


class BuildConfig(Config):
    """The levels of a training run.

    Attributes:
        run: directory of the run (``train.py --config configs/levels.yaml --out RUN``).
        levels: by name.
    """

    run: str
    levels: dict[str, BuiltLevel]


def build_levels(config: Path, out: Path) -> list[Level]:
    """Makes the levels of a configuration.

    Raises:
        GinError: if the configuration or a checkpoint cannot be used.
    """
    wanted: BuildConfig = load_config(config, model=BuildConfig)
    run = Path(wanted.run)
    if not run.is_dir():
        raise LevelError(
            f"{config}: run {wanted.run!r} is not there; train it first (train.py --config configs/levels.yaml)"
        )
    built = []
    for name, level in wanted.levels.items():
        checkpoint = Path(level.checkpoint)
        made = read_card(checkpoint)["about"]
        about = {
            "decisions": made.get("decisions"),
            "minutes": made.get("minutes"),
            "command": made.get("command"),
            "parent": made.get("parent"),
            "seed": (made.get("config") or {}).get("seed"),
            "versions": made.get("versions"),
        }
        built.append(build_level(out / name, name, level.settings, checkpoint, run, about | level.card))
    return built
