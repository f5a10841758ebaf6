"""``gin export`` and ``gin model-card``: networks for other programs, and their cards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from agents.files import copy_files, replacing, writing
from agents.levels.level import LEVEL, NAMES, Level, load_level
from agents.network.checkpoint import read_metadata
from agents.network.model_card import write_card
from agents.network.player import network_directory
from agents.reports.terminal import plain_console, progress_bar
from ginenv.errors import GinError, check_integer, must_be


def export(
    network: Annotated[str, Positional, arg(metavar="NETWORK")],
    out: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
    app: bool = False,
    minutes: float = 10.0,
    seed: int = 1,
) -> None:
    """Writes a network as a directory of its own, with its card; or a level for apps in any language.

    Args:
        network: ``network`` for the one that ships, a level's name, or a directory of a checkpoint or level.
        out: directory to write, new or empty.
        app: write a level for apps: a network that reads the observation alone, as arrays and as ONNX, with golden positions.
        minutes: the most that making that network may take.
        seed: of that network.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GinError(f"{out} is there already and is not an empty directory; name another one")
    is_level = network in NAMES or (Path(network) / LEVEL).is_file()
    if app:
        _export_app(load_level(network, with_responses=False), out, minutes, seed)
        return
    level = load_level(network) if is_level else None
    source = level.directory if level else network_directory(network)
    read_metadata(source)
    with writing(out), replacing(out) as made:
        copy_files(Path(source), made)
        write_card(made)
    print(f"{out}: a copy of {network} with its card")


def _export_app(level: Level, out: Path, minutes: float, seed: int) -> None:
    if not minutes > 0:
        raise GinError(must_be("minutes", "more than 0", minutes))
    check_integer("seed", seed, 0)
    # Only this command needs what writes graphs; that is found out before the work.
    import onnx  # noqa: F401

    from agents.levels.app_export import export_app
    from agents.levels.distill import POSITIONS

    with progress_bar(plain_console(stderr=True), POSITIONS, level.name) as progress:
        about = export_app(level, out, 60 * minutes, seed, progress)
    early = "" if about["finished"] else f" of {POSITIONS:,}: ended early"
    print(
        f"{out}: {level.name} for apps, from {about['positions']:,} positions{early}; {100 * about['agreement']:.1f} % agreement"
    )


def write_model_card(
    checkpoint: Annotated[str, Positional, arg(metavar="CHECKPOINT")],
    results: Annotated[list[Path], Positional, arg(metavar="[RESULTS ...]")],
) -> None:
    """Writes the card beside a checkpoint.

    Args:
        checkpoint: its directory; ``network`` for the network that ships.
        results: results files of ``gin evaluate`` with the checkpoint as first player; the checkpoint keeps their figures.
    """
    checkpoint = network_directory(checkpoint)
    write_card(checkpoint, results)
    print(f"{checkpoint}: the card is written")
