"""``gin export`` and ``gin model-card``: networks for other programs, and their cards."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from agents.files import replacing, writing
from agents.levels.level import LEVEL, NAMES, load_level
from agents.network.checkpoint import read_metadata
from agents.network.model_card import write_card
from agents.network.player import network_directory
from ginenv.errors import GinError


def export(
    network: Annotated[str, Positional, arg(metavar="NETWORK")],
    out: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
    onnx: bool = False,
) -> None:
    """Writes a network as a directory of its own, with its card.

    Args:
        network: ``network`` for the one that ships, a level's name, or a directory of a checkpoint or level.
        out: directory to write, new or empty.
        onnx: write it as ONNX, which onnxruntime plays without torch; not for a level, which is more than its network.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GinError(f"{out} is there already and is not an empty directory; name another one")
    is_level = network in NAMES or (Path(network) / LEVEL).is_file()
    level = load_level(network) if is_level else None
    source = level.directory if level else network_directory(network)
    read_metadata(source)
    if onnx and level:
        raise GinError(
            f"{network} is a level, and in ONNX it would play like every other level of its network: its errors, its learning and its "
            f"search lie outside of the network; gin export network {out} --onnx writes the network that ships, and a checkpoint's "
            "directory in place of the name that checkpoint's"
        )
    if onnx:
        from agents.network.onnx_export import export_onnx

        agreement = export_onnx(source, out).agreement
        worst = max(agreement.largest_difference.values())
        print(f"{out}: agrees with torch on {agreement.positions:,} positions (logits differ by at most {worst:.1e})")
        return
    with writing(out), replacing(out) as made:
        shutil.copytree(source, made, dirs_exist_ok=True)
        write_card(made)
    print(f"{out}: a copy of {network} with its card")


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
