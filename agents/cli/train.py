"""``gin train``: trains an agent, or continues a run."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from agents.config import TrainConfig, describe_keys, load_config
from agents.files import check_own, check_writable, copy_files, replacing, writing
from agents.reports.terminal import this_command
from ginenv.errors import GinError
from ginenv.tables.player_names import PlayerSpec

# Headings of the settings in the help of ``gin train``, by the setting that each stands above.
HEADINGS = {
    "seed": "The run",
    "rules": "Games and networks",
    "learning_rate": "Optimisation",
    "reward": "Reward, imitation and gin",
    "pool": "Opponents and evaluation",
    "threads": "Machine",
}
_SETTINGS = f"settings changed on the command line, as key=value; the keys and their defaults:\n{describe_keys(TrainConfig, HEADINGS)}\n"


def train(
    config: Path = Path("quick"),
    out: Path = Path("runs/quick"),
    set: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE ...", help=_SETTINGS, help_behavior_hint="")] = (),
    start: str | None = None,
    fresh: bool = False,
    export: Path | None = None,
    seeds: int = 1,
) -> None:
    """Trains an agent by self-play, or continues a run.

    The run's directory gets the checkpoints 'best', 'last' and 'baseline' (the network with which self-play began), each with its
    card; their paths serve as players' names. 'best' is the one to use: a later network takes its place only by winning a match against
    it. After Ctrl-C, SIGTERM or SIGHUP 'last' holds what was learned; nothing is exported, and the exit status is 130. The same command,
    without --fresh, continues the run.

    Args:
        config: YAML file with the settings of the run, or the name of one that ships.
        out: directory of the run; if it has a resume file, the run continues.
        set: see _SETTINGS.
        start: checkpoint directory whose weights the run starts from; 'network' for the network that ships.
        fresh: start again even if there is a resume file.
        export: copy the best checkpoint here at the end.
        seeds: number of runs, one after the other, with seeds 1, 2, ... in directories seed-1, seed-2, ... of --out.
    """
    if seeds < 1:
        raise GinError(f"--seeds is {seeds}; it must be 1 or more")
    if seeds == 1:
        _train(load_config(config, set), out, start, fresh, export)
        return
    if export:
        raise GinError(
            "--export exports one run; with --seeds, gin export copies the best checkpoint of the run that you choose"
        )
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise GinError("--seeds does not go with several processes; start one run after the other")
    settings = load_config(config, set)
    for seed in range(1, seeds + 1):
        print(f"seed {seed} of {seeds}", flush=True)
        _train(settings.model_copy(update={"seed": seed}), out / f"seed-{seed}", start, fresh)


def _train(settings: TrainConfig, out: Path, start: str | None, fresh: bool, export: Path | None = None) -> None:
    from agents.levels.level import LEVEL
    from agents.network.model_card import write_card
    from agents.training.evaluation import BASELINE, BEST, LAST, decisions_of
    from agents.training.run import TrainingRun

    if export:
        check_own(export, "checkpoint", "checkpoint.json")
        if (export / LEVEL).is_file():
            raise GinError(f"{export} holds a level, whose network would be lost; export to another directory")
    run = TrainingRun(settings, out, this_command(), start, resume=not fresh)
    if export:
        # Only now, since it may lie in the run's own directory.
        check_writable(export / "checkpoint.json")
    is_complete = run.train()
    if not run.main:
        return
    best = out / BEST
    for checkpoint in (best, out / LAST, out / BASELINE):
        if checkpoint.is_dir():
            write_card(checkpoint)
    if not is_complete:
        exported = ", and nothing was exported" if export else ""
        how = "the same command without --fresh" if fresh else "the same command"
        handed = f", {best} the best until then, after {decisions_of(best):,}" if best.is_dir() else ""
        raise KeyboardInterrupt(
            f"interrupted; {out / LAST} holds what was learned in {run.learner.decisions:,} decisions{handed}{exported}; "
            f"{how} continues the run"
        )
    if export:
        with writing(export), replacing(export, keep=True) as made:
            copy_files(best, made)
        print(f"exported {best} to {export}")
    _print_end(export or best, out)


def _print_end(checkpoint: Path, out: Path) -> None:
    """Says which checkpoint of a finished run is handed over, how strong it is, and what to do next."""
    from agents.network.checkpoint import read_metadata
    from agents.training.evaluation import LAST, Choice, GamesWon

    about, last = read_metadata(checkpoint)["about"], read_metadata(out / LAST)["about"]
    print(f"checkpoint: {checkpoint}, the best of the run, after {about['decisions']:,} decisions")
    if about["decisions"] != last["decisions"] and last.get("against_best"):
        choice = Choice(**last["against_best"])
        print(
            f"the last network, after {last['decisions']:,}, won {choice.text()} of {choice.games:,} games against it"
        )
    won = [f"{name} {GamesWon(**each).text()}" for name, each in about["panel"].items()]
    if won:
        print(f"games won: {', '.join(won)}")
    name = shlex.quote(PlayerSpec("", "", str(checkpoint)).with_options())
    program = "python evaluate.py" if sys.argv[0].endswith(".py") else "gin evaluate"
    print(f"next: {program} {name}")
