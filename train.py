"""Trains an agent by self-play and exports it as a checkpoint.

``python train.py --config configs/quick.yaml --out runs/quick`` trains (or continues, if the directory holds a resume file), and
leaves ``best`` and ``last`` there: checkpoints that ``evaluate.py`` takes by their path. Settings of the config can be changed on
the command line: ``--set learning_rate=5e-4 network.actor=[512,512]``.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from agents.config import load_config
from agents.learning.run import TrainingRun
from ginenv.errors import GinError


@dataclass
class Arguments:
    """Command line of the trainer.

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


def main() -> None:
    """Reads the configuration, trains, exports."""
    arguments = tyro.cli(Arguments)
    config = load_config(arguments.config, arguments.set)
    command = "python train.py " + " ".join(sys.argv[1:])
    start = str(arguments.start) if arguments.start else None
    run = TrainingRun(config, arguments.out, command, start, resume=not arguments.fresh)
    run.train()
    if arguments.export and run.main:
        arguments.export.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(arguments.out / "best", arguments.export, dirs_exist_ok=True)
        print(f"exported {arguments.out / 'best'} to {arguments.export}")


if __name__ == "__main__":
    try:
        main()
    except GinError as error:
        sys.exit(f"train.py: {error}")
