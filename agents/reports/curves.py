"""Learning curves of runs in one picture: games won against the panel, over decisions and over minutes.

A run is named after its directory, and the band around its line is the 95 % interval of each measurement.
"""

from __future__ import annotations

import re
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


@dataclass(frozen=True)
class Curve:
    """The learning curve of a run.

    Attributes:
        name: its name in the legend.
        points: its measurements in order: decisions, minutes, and the results against the panel.
    """

    name: str
    points: list[dict[str, Any]]

    @property
    def opponents(self) -> list[str]:
        """The opponents that the run was measured against."""
        return list(dict.fromkeys(name for point in self.points for name in point["panel"]))

    def line(self, opponent: str, axis: str) -> np.ndarray:
        """``float[4, n]``: position on an axis, share of games won against an opponent, and the lower and upper end of its interval."""
        measured = [(point[axis], point["panel"][opponent]) for point in self.points if opponent in point["panel"]]
        rows = [(at, result["games_won"], result["half_width"]) for at, result in measured]
        at, share, half = np.array(rows, np.float64).reshape(-1, 3).T
        return np.array([at, *np.clip([share, share - half, share + half], 0, 1)])


def read_curve(directory: Path) -> Curve:
    """The curve of a run, from the ``curve.json`` in its directory.

    Raises:
        GinError: if there is no curve, or it cannot be read.
    """
    path = directory.resolve() / "curve.json"
    try:
        points = read_json(path)
    except (OSError, ValueError) as error:
        raise GinError(f"{path} cannot be read as a curve ({reason_of(error)})") from None
    wanted = {"decisions", "minutes", "panel"}
    if not isinstance(points, list) or not points or any(not isinstance(p, dict) or wanted - {*p} for p in points):
        raise GinError(f"{path} holds no curve; a curve is a list of measurements with {', '.join(sorted(wanted))}")
    run = path.parent
    return Curve(f"{run.parent.name}/{run.name}" if re.fullmatch(r"seed-\d+", run.name) else run.name, points)


def _draw_axes(axes: Axes, runs: Sequence[Curve], opponents: Sequence[str], axis: str) -> None:
    for run, dash in zip(runs, cycle(_DASHES), strict=False):
        for opponent, colour in zip(opponents, cycle(_COLOURS), strict=False):
            at, share, low, high = run.line(opponent, axis)
            if not len(at):
                continue
            axes.fill_between(at, low, high, color=colour, alpha=0.1, linewidth=0)
            mark = "o" if len(at) == 1 else None
            axes.plot(at, share, color=colour, linestyle=dash, marker=mark, label=f"{run.name} – {opponent}")
    axes.axhline(0.5, color=SOFT, linestyle=":", linewidth=1)
    axes.set(xlabel=axis, ylim=(0, 1), xlim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    if axis == "decisions":
        axes.xaxis.set_major_formatter(EngFormatter())
    axes.grid()


def curves_figure(runs: Sequence[Curve]) -> Figure:
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
