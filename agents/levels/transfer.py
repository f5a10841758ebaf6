"""Levels as directories: built from a training run, exported for other programs, and imported after a check."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.series import play_series
from agents.bots.heuristics import make_formula
from agents.deals import Domain
from agents.files import write_atomic, write_json
from agents.levels.bench.rating import RATING, read_rating
from agents.levels.habits import NUM_HABITS
from agents.levels.level import FILES, LEVEL, Level, LevelError, LevelSettings, level_json, load_level
from agents.levels.plans import NUM_PLANS
from agents.levels.player import LevelPlayer
from agents.levels.population import Population, PopulationPlayer, total_counts
from agents.levels.responses import PLANS, foresight
from agents.levels.training import OPPONENTS, POPULATION
from agents.network.checkpoint import CARD, WEIGHTS, read_card
from ginenv.errors import GinError
from ginenv.rules import PRESETS

# Hands that a level plays under every preset before it is taken in.
_CHECK_HANDS = 4
# Hands of every answer against every opponent, from which its worth by habits is learned.
_ANSWER_HANDS = 200


def build_level(
    directory: Path, name: str, settings: LevelSettings, checkpoint: Path, run: Path, about: dict[str, Any]
) -> Level:
    """Makes a level of a checkpoint that was trained under bounds.

    Args:
        directory: of the level; made anew.
        name: such as ``level-2``.
        settings: what it is.
        checkpoint: the network.
        run: directory of the training run, which holds what was observed of the opponents.
        about: how it was made.
    """
    population = Population.from_json(json.loads((run / POPULATION).read_text(encoding="utf-8")))
    with np.load(run / OPPONENTS, allow_pickle=False) as saved:
        habits = population.features(total_counts(saved["blocks"]))
        results = saved["results"][:, PLANS]
        named = saved["draw"].tolist() if "draw" in saved else []
    card = read_card(checkpoint)
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(checkpoint / WEIGHTS, directory / WEIGHTS)
    # A level judges nothing, so its network's critic stays behind.
    write_json(directory / CARD, card | {"critic": None})
    digest = card["weights_sha256"]
    nothing = np.zeros((NUM_HABITS, NUM_PLANS))
    write_json(directory / LEVEL, level_json(name, settings, population, nothing, digest, about))
    level = load_level(str(directory))
    if settings.answers:
        # Minutes of play, for nothing where habits are not asked.
        if not settings.insight:
            return level
        if not named:
            raise LevelError(
                f"{run / OPPONENTS} does not say which opponents it tells of; insight into answers must be 0"
            )
        opponents = PopulationPlayer(count=len(habits), draw=named[0])
        results = _payoffs_of_answers(level, opponents, run / f"answers-{level.digest[:16]}.npy")
    table = foresight(habits, results)
    write_json(directory / LEVEL, level_json(name, settings, population, table, digest, about))
    return load_level(str(directory))


def _payoffs_of_answers(level: Level, opponents: PopulationPlayer, known: Path) -> np.ndarray:
    """Points a hand of a level's default and answers against every opponent of its run: ``float32[count, P]``, kept in a file."""
    if known.exists():
        return np.load(known, allow_pickle=False)
    columns = []
    for plan in range(NUM_PLANS):
        means = tuple(0.0 if k == plan else -100.0 for k in range(NUM_PLANS))
        player = LevelPlayer(level.with_settings(plans=means, worlds=0), seed=1, learn=False)
        points = play_series(
            player, opponents, series=len(opponents.styles), hands=_ANSWER_HANDS, seed=2, domain=Domain.TRAIN
        )
        columns.append(points.mean(1))
    results = np.stack(columns, 1).astype(np.float32)
    write_atomic(known, lambda temporary: _save(temporary, results))
    return results


def _save(path: str, results: np.ndarray) -> None:
    with open(path, "wb") as file:
        np.save(file, results, allow_pickle=False)


def check_plays(level: Level, presets: list[str] | None = None) -> None:
    """Plays a few hands under every preset.

    Raises:
        LevelError: if the level cannot play one of them.
    """
    player = LevelPlayer(level, seed=1, learn=False)
    for rules in PRESETS if presets is None else presets:
        try:
            points = play_series(
                player, make_formula(2), series=2, hands=_CHECK_HANDS, seed=3, rules=rules, domain=Domain.TEST
            )
        except (GinError, RuntimeError, ValueError) as error:
            raise LevelError(f"level {level.directory}: it cannot play {rules!r} ({error})") from None
        assert np.isfinite(points).all()


def export_level(name: str, directory: Path) -> Level:
    """Writes a level as a directory of its own, which another program loads by its path.

    Raises:
        LevelError: if the directory is not empty or cannot be written, or there is no such level.
    """
    level = load_level(name)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise LevelError(f"{directory} is there already and is not an empty directory; name another one")
    _copy(level.directory, directory)
    return load_level(str(directory))


def import_level(source: Path, directory: Path) -> Level:
    """Takes in a level that somebody else made, after checking that every file is sound and that it plays every preset.

    Raises:
        GinError: says what is wrong with it; nothing is written then.
    """
    if not (source / LEVEL).is_file():
        raise LevelError(f"{source} is no level: it has no {LEVEL}")
    level = load_level(str(source))
    read_rating(level)
    check_plays(level)
    if directory.exists() and any(directory.iterdir()):
        raise LevelError(f"{directory} is there already and is not an empty directory; name another one")
    _copy(source, directory)
    return load_level(str(directory))


def _copy(source: Path, directory: Path) -> None:
    """Copies the files of a level beside the destination, then renames: a copy that breaks off leaves nothing half."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as beside:
            whole = Path(beside) / "level"
            whole.mkdir()
            for file in FILES:
                shutil.copyfile(source / file, whole / file)
            if (source / RATING).is_file():
                shutil.copyfile(source / RATING, whole / RATING)
            if directory.exists():
                directory.rmdir()
            whole.rename(directory)
    except OSError as error:
        raise LevelError(f"{directory} cannot be written ({error.strerror or error})") from None
