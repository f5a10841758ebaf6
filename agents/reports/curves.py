"""Learning curves of runs in one picture: games won against the panel, over decisions and over minutes.

A run is named after its directory, and the band around its line is the 95 % interval of each measurement. Runs in directories ``seed-1``,
``seed-2``, ... of one directory are one line, their mean, in a band from the lowest to the highest.
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
        """``float[4, n]``: position on an axis, share of games won against an opponent, and the lower and upper end of its interval."""
        rows = [
            (point[axis], point["panel"][opponent]["games_won"], point["panel"][opponent]["half_width"])
            for point in self.points
            if opponent in point["panel"]
        ]
        at, share, half = np.array(rows, np.float64).reshape(-1, 3).T
        return np.array([at, *np.clip([share, share - half, share + half], 0, 1)])


@dataclass(frozen=True)
class SeedCurves:
    """The curves of runs that differ by their seeds.

    Attributes:
        name: of the directory that holds them.
        runs: the runs.
    """

    name: str
    runs: list[RunCurve]

    @property
    def opponents(self) -> list[str]:
        """The opponents that any of the runs was measured against."""
        return list(dict.fromkeys(name for run in self.runs for name in run.opponents))

    def line(self, opponent: str, axis: str) -> np.ndarray:
        """``float[4, n]``: position, and the mean, the lowest and the highest share over the runs, where all have been measured."""
        lines = [line for run in self.runs if (line := run.line(opponent, axis)).size]
        every = np.unique(np.concatenate([line[0] for line in lines])) if lines else np.zeros(0)
        at = every[[all(line[0][0] <= place <= line[0][-1] for line in lines) for place in every]] if lines else every
        shares = np.array([np.interp(at, line[0], line[1]) for line in lines]).reshape(-1, len(at))
        return np.array([at, shares.mean(0), shares.min(0), shares.max(0)]) if lines else np.zeros((4, 0))


def _by_seeds(runs: Sequence[RunCurve]) -> list[RunCurve | SeedCurves]:
    """The runs, those that differ by their seeds together."""
    groups: dict[str, list[RunCurve]] = {}
    for run in runs:
        groups.setdefault(re.sub(r"/seed-\d+$", "", run.name), []).append(run)
    return [SeedCurves(name, group) if len(group) > 1 else group[0] for name, group in groups.items()]


def read_curve(directory: Path) -> RunCurve:
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
    is_seed = re.fullmatch(r"seed-\d+", run.name)
    return RunCurve(f"{run.parent.name}/{run.name}" if is_seed else run.name, points)


def _draw_axes(axes: Axes, runs: Sequence[RunCurve | SeedCurves], opponents: Sequence[str], axis: str) -> None:
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


def curves_figure(curves: Sequence[RunCurve]) -> Figure:
    """The picture, over decisions and over minutes: a colour for each opponent, a dash pattern for each run or set of seeds."""
    runs = _by_seeds(curves)
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
