"""``gin curves``: the learning curves of runs as one picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.files import check_writable, write_text, writing
from agents.reports.curves import curves_svg, halves, read_curve, rename
from ginenv.errors import GinError


@dataclass
class Arguments:
    """Draws games won against the panel, over decisions and over minutes, and says when each run first won half of them.

    Attributes:
        runs: directories of runs or of checkpoints, or the JSON file in them that holds the curve.
        out: SVG to write.
        names: what the runs are called in the legend, in their order; after their directories when left out.
        title: of the picture.
    """

    runs: tyro.conf.Positional[list[Path]]
    out: Path = Path("runs/curves.svg")
    names: tuple[str, ...] = ()
    title: str = "Games won against the panel"


def curves(arguments: list[str], program: str) -> None:
    """Draws curves."""
    asked = tyro.cli(Arguments, prog=program, args=arguments)
    if not asked.runs:
        raise GinError("no run is named; give the directory or the curve.json of at least one")
    runs = rename([read_curve(path) for path in asked.runs], asked.names)
    check_writable(asked.out)
    with writing(asked.out):
        write_text(asked.out, curves_svg(runs, asked.title))
    for line in halves(runs):
        print(line)
    print(f"picture: {asked.out}")
