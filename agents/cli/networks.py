"""``gin export``: networks and levels for elsewhere."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from agents.files import copy_files, replacing, writing
from agents.levels.level import LEVEL, NAMES, Level, copy_level, load_level
from agents.levels.memory import read_learned
from agents.network.checkpoint import read_metadata
from agents.network.model_card import write_card
from agents.network.player import network_directory
from agents.play.store import default_home
from agents.reports.terminal import plain_console, progress_bar
from ginenv.errors import GinError, check_integer, must_be


def export(
    network: Annotated[str, Positional, arg(metavar="NETWORK")],
    out: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
    app: bool = False,
    learned: bool = False,
    minutes: float = 10.0,
    seed: int = 1,
) -> None:
    """Writes a network or a level as a directory of its own, with its card; or a level for apps in any language.

    A level, of somebody else's making perhaps, is checked first.

    Args:
        network: 'network' for the one that ships, a level's name, or a directory of a checkpoint or level.
        out: directory to write, new or empty.
        app: write a level for apps: a network that reads the observation alone, as arrays, with golden positions; that of levels 1 to 3
            as installed is copied, others are distilled.
        learned: a level with what it has learned of the game at this machine's tables ($GINENV_HOME), from everybody's hands.
        minutes: the most that distilling may take.
        seed: of the distillation.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GinError(f"{out} is there already and is not an empty directory; name another one")
    is_level = network in NAMES or (Path(network) / LEVEL).is_file()
    if learned and not is_level:
        raise GinError(f"--learned is for levels; {network} is none")
    skill = read_learned(default_home(), load_level(network)) if learned else None
    if learned and skill is None:
        raise GinError(f"{network} has learned nothing yet in {default_home()}")
    if app:
        level = load_level(network)
        _export_app(level if skill is None else dataclasses.replace(level, learned=skill), out, minutes, seed)
        return
    if is_level:
        level = copy_level(network, out, skill)
        write_card(out)
        print(f"{out}: a copy of {level.name} (sha256 {level.digest}), which was checked, with its card")
        return
    source = network_directory(network)
    read_metadata(source)
    with writing(out), replacing(out) as made:
        copy_files(Path(source), made)
        write_card(made)
    print(f"{out}: a copy of {network} with its card")


def _export_app(level: Level, out: Path, minutes: float, seed: int) -> None:
    if not minutes > 0:
        raise GinError(must_be("minutes", "more than 0", minutes))
    check_integer("seed", seed, 0)
    # Torch is loaded only here.
    from agents.levels.app_export import export_app

    with progress_bar(plain_console(stderr=True), 100, f"{level.name}, per cent") as progress:
        about = export_app(level, out, 60 * minutes, seed, lambda share: progress(round(100 * share)))
    early = "" if about["finished"] else "; its time ran out"
    print(
        f"{out}: {level.name} for apps, from {about['positions']:,} positions{early}; {about['agreement']:.1%} agreement"
    )
