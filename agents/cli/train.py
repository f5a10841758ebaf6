"""``gin train``, and commands that make checkpoints from checkpoints."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from agents.config import TrainConfig, describe_keys, load_config
from agents.files import check_own, check_writable, copy_files, replacing, writing
from agents.reports.terminal import this_command
from ginenv.errors import GinError
from ginenv.tables.players import PlayerSpec

# Headings of the settings in the help of ``gin train``, by the setting that each stands above.
HEADINGS = {
    "seed": "The run",
    "rules": "Games and networks",
    "learning_rate": "Optimisation",
    "reward": "Reward, imitation and gin",
    "pool": "Opponents and evaluation",
    "save_every": "Files and machine",
}
_SETTINGS = f"settings changed on the command line, as key=value; the keys and their defaults:\n{describe_keys(TrainConfig, HEADINGS)}\n"


def train(
    config: Path = Path("configs/quick.yaml"),
    out: Path = Path("runs/quick"),
    set: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE ...", help=_SETTINGS)] = (),
    start: str | None = None,
    fresh: bool = False,
    export: Path | None = None,
) -> None:
    """Trains an agent by self-play, or continues a run.

    The run's directory gets the checkpoints ``best`` and ``last``, each with its card; their paths serve as players' names. After Ctrl-C,
    SIGTERM or SIGHUP ``last`` holds what was learned, ``best`` the best that was measured before; nothing is exported, and the exit
    status is 130.
    The same command, without --fresh, continues the run.

    Args:
        config: YAML file with the settings of the run.
        out: directory of the run; if it has a resume file, the run continues.
        set: see ``_SETTINGS``.
        start: checkpoint directory whose weights the run starts from; ``network`` for the network that ships.
        fresh: start again even if there is a resume file.
        export: copy the best checkpoint here at the end.
    """
    from agents.levels.level import LEVEL
    from agents.network.checkpoint import read_metadata
    from agents.network.model_card import write_card
    from agents.training.run import TrainingRun

    settings = load_config(config, set)
    if export:
        check_own(export, "checkpoint", "checkpoint.json")
        if (export / LEVEL).is_file():
            raise GinError(f"{export} holds a level, whose network would be lost; export to another directory")
        if out.resolve() not in export.resolve().parents:
            check_writable(export / "checkpoint.json")
    run = TrainingRun(settings, out, this_command(), start, resume=not fresh)
    if export:
        # The run's own directory, where this may be, is made now.
        check_writable(export / "checkpoint.json")
    is_complete = run.train()
    if not run.main:
        return
    for checkpoint in (out / "best", out / "last"):
        if checkpoint.is_dir():
            write_card(checkpoint)
    if not is_complete:
        exported = ", and nothing was exported" if export else ""
        how = "the same command without --fresh" if fresh else "the same command"
        about = read_metadata(out / "best")["about"]
        best = f", {out / 'best'} the best that was measured, after {about['decisions']:,}" if about["panel"] else ""
        raise KeyboardInterrupt(
            f"interrupted; {out / 'last'} holds what was learned in {run.learner.decisions:,} decisions{best}{exported}; "
            f"{how} continues the run"
        )
    if export:
        with writing(export), replacing(export, keep=True) as made:
            copy_files(out / "best", made)
        print(f"exported {out / 'best'} to {export}")
    _print_end(export or out / "best", read_metadata(out / "best")["about"])


def _print_end(checkpoint: Path, about: dict[str, Any]) -> None:
    """Says where the checkpoint of a finished run is, how strong it is, and what to do next."""
    won = [
        f"{name} {100 * each['games_won']:.1f} ± {100 * each['half_width']:.1f} %"
        for name, each in about["panel"].items()
    ]
    name = shlex.quote(PlayerSpec("", "", str(checkpoint)).with_options())
    program = "python evaluate.py" if sys.argv[0].endswith(".py") else "gin evaluate"
    print(f"checkpoint: {checkpoint}, the best of its evaluations, after {about['decisions']:,} decisions")
    if won:
        print(f"games won: {', '.join(won)}")
    print(f"next: {program} {name} --against all")


def average(checkpoints: Annotated[list[str], Positional, arg(metavar="CHECKPOINT CHECKPOINT ...")], out: Path) -> None:
    """Averages the weights of checkpoints of one ancestry; the critic is that of the last one.

    It does not check that they descend from each other. There is no reason to expect anything of the mean of unrelated checkpoints.

    Args:
        checkpoints: directories of networks, such as a run's ``last``.
        out: directory to write; a mean that the same command wrote there is overwritten.
    """
    from agents.network.model_card import write_card
    from agents.training.average import average as write_average

    write_average(checkpoints, out, this_command())
    write_card(out)
    print(f"{out}: the mean of {len(checkpoints)} checkpoints")


def fit_hand_model(
    checkpoint: Annotated[str, Positional, arg(metavar="CHECKPOINT")], rounds: int = 24, seed: int = 1
) -> None:
    """Trains the model of whole hands with which the search samples worlds.

    Args:
        checkpoint: directory of a network; the model is written into it.
        rounds: number of rounds, each of which takes new samples and learns from it.
        seed: seed of hands and weights.
    """
    from agents.training.hand_model_fit import fit_and_save

    if rounds < 1:
        raise GinError(f"--rounds is {rounds}; it must be 1 or more")
    fit_and_save(checkpoint, rounds, seed)
