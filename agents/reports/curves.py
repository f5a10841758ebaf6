"""Learning curves of runs in one picture: games won against the panel, over decisions and over minutes.

A run is named after its directory. The band around a line is the 95 % interval of each measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from agents.files import read_json
from agents.reports.charts import INK, SOFT, drawing
from ginenv.errors import GinError, reason_of

# Distinct also for most people with colour blindness (Okabe and Ito 2008).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 3)), (0, (1.5, 2)), (0, (6, 2, 1.5, 2)))
# The files that hold the curve in a run's directory and in a checkpoint's.
_FILES = ("curve.json", "checkpoint.json")


@dataclass(frozen=True)
class RunCurve:
    """A run's curve.

    Attributes:
        name: its name in the legend.
        points: measurements in order: decisions, minutes, and the results against the panel.
    """

    name: str
    points: list[dict[str, Any]]

    @property
    def opponents(self) -> list[str]:
        """The opponents that the run was measured against."""
        return list(dict.fromkeys(name for point in self.points for name in point["panel"]))

    def line(self, opponent: str, axis: str) -> np.ndarray:
        """``float[3, n]``: position on an axis, share of games won against an opponent, and half-width of its interval."""
        rows = [
            (point[axis], point["panel"][opponent]["games_won"], point["panel"][opponent]["half_width"])
            for point in self.points
            if opponent in point["panel"]
        ]
        return np.array(rows, np.float64).reshape(-1, 3).T


def read_curve(path: Path) -> RunCurve:
    """The curve of a run, or of the run that made a checkpoint.

    Args:
        path: the directory of a run or a checkpoint, or its ``curve.json`` or ``checkpoint.json``.

    Raises:
        GinError: if there is no curve, or it cannot be read.
    """
    if path.is_dir():
        found = [path / name for name in _FILES if (path / name).is_file()]
        if not found:
            raise GinError(f"{path} holds no curve; a run's directory holds {_FILES[0]}, a checkpoint's {_FILES[1]}")
        path = found[0]
    try:
        document = read_json(path)
    except (OSError, ValueError) as error:
        raise GinError(f"{path} cannot be read as a curve ({reason_of(error)})") from None
    points = document.get("about", {}).get("curve") if isinstance(document, dict) else document
    wanted = {"decisions", "minutes", "panel"}
    if not isinstance(points, list) or not points or any(not isinstance(p, dict) or wanted - {*p} for p in points):
        raise GinError(f"{path} holds no curve; a curve is a list of measurements with {', '.join(sorted(wanted))}")
    return RunCurve(path.resolve().parent.name, points)


def _draw_axes(axes: Axes, runs: Sequence[RunCurve], opponents: Sequence[str], axis: str) -> None:
    for run, dash in zip(runs, cycle(_DASHES), strict=False):
        for opponent, colour in zip(opponents, cycle(_COLOURS), strict=False):
            at, share, half = run.line(opponent, axis)
            if not len(at):
                continue
            axes.fill_between(at, share - half, share + half, color=colour, alpha=0.1, linewidth=0)
            mark = "o" if len(at) == 1 else None
            axes.plot(at, share, color=colour, linestyle=dash, marker=mark, label=f"{run.name} – {opponent}")
    axes.axhline(0.5, color=SOFT, linestyle=":", linewidth=1)
    axes.set(xlabel=axis, ylim=(0, 1), xlim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    if axis == "decisions":
        axes.xaxis.set_major_formatter(EngFormatter())
    axes.grid()


def curves_figure(runs: Sequence[RunCurve]) -> Figure:
    """The picture, over decisions and over minutes: a colour for each opponent, a dash pattern for each run."""
    opponents = list(dict.fromkeys(name for run in runs for name in run.opponents))
    rows = max(len(opponents), len(runs) if len(runs) > 1 else 0)
    with drawing(10, 3.8 + 0.2 * rows, columns=2) as (figure, (left, right)):
        _draw_axes(left, runs, opponents, "decisions")
        _draw_axes(right, runs, opponents, "minutes")
        figure.suptitle("Games won against the panel", fontsize=13, fontweight="bold", x=0.01, ha="left")
        colours = [
            Line2D([], [], color=colour, linewidth=2.5, label=f"against {opponent}")
            for opponent, colour in zip(opponents, cycle(_COLOURS), strict=False)
        ]
        dashes = [
            Line2D([], [], color=INK, linestyle=dash, label=run.name)
            for run, dash in zip(runs, cycle(_DASHES), strict=False)
        ]
        below = {"loc": "upper left", "bbox_to_anchor": (0, -0.16)}
        left.legend(handles=colours, **below)
        if len(runs) > 1:
            right.legend(handles=dashes, **below)
    return figure
