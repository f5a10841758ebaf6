"""Learning curves of runs as one picture: games won against the panel, over decisions and over minutes.

``python -m agents.reports.curves runs/strong/curve.json runs/dmc/curve.json --out docs/curves.svg``

A run is called after its directory. Lines end where the run does; the band is the 95 % interval of each measurement. Reads also the
JSON of a checkpoint, which holds the curve of the run that made it.
"""

from __future__ import annotations

import html
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from agents.files import write_text
from ginenv.errors import GinError

# Distinct also for most who see few colours (Okabe and Ito 2008).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("", "7 4", "2 3", "9 3 2 3")
_WIDTH, _HEIGHT, _LEFT, _TOP, _BETWEEN, _BELOW = 400, 270, 58, 54, 70, 62
_LEGEND_ROW = 20
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#22262c}.soft{fill:#5f6772;font-size:12px}.grid{stroke:#e3e5e8}"
    ".half{stroke:#9aa1aa;stroke-dasharray:3 3}"
)


@dataclass(frozen=True)
class Run:
    """A run's curve.

    Attributes:
        name: as in the legend.
        points: measurements in order: decisions, minutes, and the panel's results.
    """

    name: str
    points: list[dict[str, Any]]

    def line(self, opponent: str, axis: str) -> list[tuple[float, float, float]]:
        """Where the run stood on an axis, its share of games against an opponent, and the half-width of the interval."""
        return [
            (point[axis], point["panel"][opponent]["games_won"], point["panel"][opponent]["half_width"])
            for point in self.points
            if opponent in point["panel"]
        ]


def read_curve(path: Path) -> Run:
    """The curve of a run's ``curve.json`` or of a checkpoint's JSON.

    Raises:
        GinError: if the file cannot be read or holds no curve.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GinError(f"{path} cannot be read as a curve ({error})") from None
    points = found.get("about", {}).get("curve") if isinstance(found, dict) else found
    wanted = {"decisions", "minutes", "panel"}
    if (
        not isinstance(points, list)
        or not points
        or not all(isinstance(p, dict) and wanted <= p.keys() for p in points)
    ):
        raise GinError(f"{path} holds no curve; a curve is a list of measurements with {', '.join(sorted(wanted))}")
    return Run(path.resolve().parent.name, points)


def ticks(high: float, most: int = 6) -> list[float]:
    """Round numbers from 0 to at most ``high``, a few of them."""
    if high <= 0:
        return [0.0]
    power = 10 ** math.floor(math.log10(high / most))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if high / (power * factor) <= most)
    return [step * k for k in range(int(high / step + 1e-9) + 1)]


def _short(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"


def _panel(runs: Sequence[Run], opponents: Sequence[str], axis: str, label: str, left: int) -> list[str]:
    high = max(max(point[axis] for point in run.points) for run in runs) or 1.0

    def x(value: float) -> float:
        return left + value / high * _WIDTH

    def y(share: float) -> float:
        return _TOP + (1 - min(1.0, max(0.0, share))) * _HEIGHT

    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        kind = "half" if share == 0.5 else "grid"
        parts.append(f'<line class="{kind}" x1="{left}" y1="{y(share):.1f}" x2="{left + _WIDTH}" y2="{y(share):.1f}"/>')
        parts.append(f'<text class="soft" x="{left - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for value in ticks(high):
        parts.append(f'<line class="grid" x1="{x(value):.1f}" y1="{_TOP}" x2="{x(value):.1f}" y2="{_TOP + _HEIGHT}"/>')
        where = f'x="{x(value):.1f}" y="{_TOP + _HEIGHT + 18}"'
        parts.append(f'<text class="soft" {where} text-anchor="middle">{_short(value)}</text>')
    parts.append(f'<text x="{left + _WIDTH / 2}" y="{_TOP + _HEIGHT + 40}" text-anchor="middle">{label}</text>')
    for k, run in enumerate(runs):
        for opponent in opponents:
            line = run.line(opponent, axis)
            if not line:
                continue
            colour = _COLOURS[opponents.index(opponent) % len(_COLOURS)]
            dash = f' stroke-dasharray="{_DASHES[k % len(_DASHES)]}"' if k % len(_DASHES) else ""
            upper = [f"{x(at):.1f},{y(share + half):.1f}" for at, share, half in line]
            lower = [f"{x(at):.1f},{y(share - half):.1f}" for at, share, half in reversed(line)]
            parts.append(f'<polygon fill="{colour}" opacity="0.1" points="{" ".join(upper + lower)}"/>')
            middle = " ".join(f"{x(at):.1f},{y(share):.1f}" for at, share, _ in line)
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dash} points="{middle}"/>')
            if len(line) == 1:
                parts.append(f'<circle cx="{x(line[0][0]):.1f}" cy="{y(line[0][1]):.1f}" r="3.5" fill="{colour}"/>')
    return parts


def curves_svg(runs: Sequence[Run], title: str = "Games won against the panel") -> str:
    """The picture: a colour for each opponent, a dash for each run."""
    opponents = list(dict.fromkeys(name for run in runs for point in run.points for name in point["panel"]))
    lefts = (_LEFT, _LEFT + _WIDTH + _BETWEEN)
    rows = max(len(opponents), len(runs) if len(runs) > 1 else 0)
    width, bottom = lefts[1] + _WIDTH + 24, _TOP + _HEIGHT + _BELOW
    parts = [f'<text x="{_LEFT}" y="30" style="font-size:17px;font-weight:600">{html.escape(title)}</text>']
    parts += _panel(runs, opponents, "decisions", "decisions", lefts[0])
    parts += _panel(runs, opponents, "minutes", "minutes", lefts[1])
    for k, opponent in enumerate(opponents):
        at = bottom + _LEGEND_ROW * k
        colour = _COLOURS[k % len(_COLOURS)]
        parts.append(f'<line x1="{_LEFT}" y1="{at}" x2="{_LEFT + 28}" y2="{at}" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{_LEFT + 38}" y="{at + 4}">against {html.escape(opponent)}</text>')
    for k, run in enumerate(runs if len(runs) > 1 else []):
        at = bottom + _LEGEND_ROW * k
        dash = f' stroke-dasharray="{_DASHES[k % len(_DASHES)]}"' if k % len(_DASHES) else ""
        parts.append(
            f'<line x1="{lefts[1]}" y1="{at}" x2="{lefts[1] + 28}" y2="{at}" stroke="#22262c" stroke-width="2"{dash}/>'
        )
        parts.append(f'<text x="{lefts[1] + 38}" y="{at + 4}">{html.escape(run.name)}</text>')
    height = bottom + _LEGEND_ROW * rows
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


@dataclass
class Arguments:
    """Command line.

    Attributes:
        curves: curve.json of runs, or checkpoint.json of checkpoints.
        out: SVG to write.
        names: what the runs are called in the legend, in their order; after their directories when left out.
        title: of the picture.
    """

    curves: tyro.conf.Positional[list[Path]]
    out: Path = Path("docs/curves.svg")
    names: tuple[str, ...] = ()
    title: str = "Games won against the panel"


def main() -> None:
    """Reads the curves, writes the picture, says when each run first won half of the games."""
    arguments = tyro.cli(Arguments)
    if not arguments.curves:
        raise GinError("no curve is named; give the curve.json of at least one run")
    if arguments.names and len(arguments.names) != len(arguments.curves):
        raise GinError(
            f"{len(arguments.names)} names for {len(arguments.curves)} curves; allowed is one for each, or none"
        )
    runs = [read_curve(path) for path in arguments.curves]
    runs = [
        Run(name, run.points) for name, run in zip(arguments.names or [run.name for run in runs], runs, strict=True)
    ]
    write_text(arguments.out, curves_svg(runs, arguments.title))
    for run in runs:
        for opponent in dict.fromkeys(name for point in run.points for name in point["panel"]):
            even = next((p for p in run.points if p["panel"].get(opponent, {}).get("games_won", 0) >= 0.5), None)
            when = (
                f"after {even['minutes']:.0f} minutes, {even['decisions'] / 1e6:.1f} M decisions" if even else "not yet"
            )
            print(f"{run.name}: half of the games against {opponent}: {when}")


if __name__ == "__main__":
    try:
        main()
    except GinError as error:
        sys.exit(f"curves: {error}")
