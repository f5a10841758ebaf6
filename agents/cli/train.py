"""``gin train`` and what makes checkpoints of checkpoints: ``gin average``, ``gin fit-hand-model``."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from agents.config import load_config
from agents.learning.run import TrainingRun
from agents.reports.terminal import this_command
from ginenv.errors import GinError


@dataclass
class TrainArguments:
    """Trains an agent by self-play, or continues a run.

    The run's directory gets ``best`` and ``last``, checkpoints whose path is a player's name.

    Attributes:
        config: YAML file with the settings of the run.
        out: directory of the run; one with a resume file is continued.
        set: settings changed on the command line, as key=value.
        start: checkpoint directory whose weights the run begins from.
        fresh: begin anew even if there is a resume file.
        export: copy the best checkpoint here at the end.
    """

    config: Path = Path("configs/quick.yaml")
    out: Path = Path("runs/quick")
    set: list[str] = field(default_factory=list)
    start: Path | None = None
    fresh: bool = False
    export: Path | None = None


def train(arguments: list[str], program: str) -> None:
    """Trains, and exports the best checkpoint where that is asked for."""
    asked = tyro.cli(TrainArguments, prog=program, args=arguments)
    config = load_config(asked.config, asked.set)
    start = str(asked.start) if asked.start else None
    run = TrainingRun(config, asked.out, this_command(), start, resume=not asked.fresh)
    run.train()
    if asked.export and run.main:
        asked.export.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(asked.out / "best", asked.export, dirs_exist_ok=True)
        print(f"exported {asked.out / 'best'} to {asked.export}")


@dataclass
class ConvertArguments:
    """Brings a checkpoint or a level that an older version wrote to the present format.

    Attributes:
        directory: of the checkpoint or level; it is changed in place.
    """

    directory: tyro.conf.Positional[Path]


@dataclass
class AverageArguments:
    """Averages the weights of checkpoints of one ancestry; the critic is the last one's.

    Attributes:
        checkpoints: directories of networks.
        out: directory to write.
    """

    checkpoints: tyro.conf.Positional[list[str]]
    out: Path


def average(arguments: list[str], program: str) -> None:
    """Averages checkpoints."""
    from agents.learning.average import average as write_average

    asked = tyro.cli(AverageArguments, prog=program, args=arguments)
    write_average(asked.checkpoints, asked.out, this_command())


@dataclass
class HandModelArguments:
    """Trains the model of whole hands that the search draws worlds with.

    Attributes:
        checkpoint: directory of a network; the model is written into it.
        rounds: how often everything is sampled anew and learned from.
        seed: of hands and weights.
    """

    checkpoint: tyro.conf.Positional[str]
    rounds: int = 24
    seed: int = 1


def fit_hand_model(arguments: list[str], program: str) -> None:
    """Trains the model of whole hands that stands beside a network."""
    from agents.learning.hand_model_fit import fit_and_save

    asked = tyro.cli(HandModelArguments, prog=program, args=arguments)
    if asked.rounds < 1:
        raise GinError(f"--rounds is {asked.rounds}; it must be 1 or more")
    fit_and_save(asked.checkpoint, asked.rounds, asked.seed)


def convert(arguments: list[str], program: str) -> None:
    """Brings a checkpoint or a level that an older version wrote to the present format, in place."""
    from agents.levels.level import LEVEL
    from agents.levels.package import convert_level
    from agents.network.checkpoint import drop_context

    asked = tyro.cli(ConvertArguments, prog=program, args=arguments)
    if (asked.directory / LEVEL).is_file():
        print(convert_level(asked.directory))
    else:
        changed = drop_context(asked.directory)
        print(f"{asked.directory}: {'converted, and plays as before' if changed else 'nothing to convert'}")
