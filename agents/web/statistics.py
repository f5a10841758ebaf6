"""Statistics of the games played at the table, with plots."""

from __future__ import annotations

from typing import Literal

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from starlette.responses import Response

from agents.play.display_names import display_opponent, display_rules
from agents.play.skill import standing
from agents.play.statistics import Tally
from agents.reports.charts import ACCENT, INK, LINE, SOFT, drawing, svg_of_page
from agents.reports.pages import shorten
from agents.web.request import Request

# In the plot over time: the number of hands in each mean, the most lines (one per variation and opponent), and their styles.
_LAST = 20
_MAX_LINES = 6
_LINES = ("-", "--", ":", "-.")


def _finished(figure: Figure, label: str, across: Literal["x", "y"]) -> Markup:
    """A figure as a part of a page, with faint lines across one axis; along the other, hands are whole numbers."""
    for axes in figure.axes:
        axes.grid(axis=across, color=LINE)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        if across == "y":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return Markup(svg_of_page(figure, label))


def _bars(tallies: list[Tally], label: str, pairs: list[tuple[float, float]]) -> Markup:
    """The player's and the opponent's figure for each tally, side by side."""
    with drawing(9.5, 0.8 + 0.55 * len(tallies)) as (figure, (axes,)):
        for side, (name, colour) in enumerate((("you", ACCENT), ("opponent", SOFT))):
            places = [row + (side - 0.5) * 0.36 for row in range(len(tallies))]
            values = [pair[side] for pair in pairs]
            axes.barh(places, values, 0.32, color=colour, label=name)
            for place, value in zip(places, values, strict=True):
                axes.annotate(f"{value:g}", (value, place), (5, 0), textcoords="offset points", va="center", color=SOFT)
        names = [
            f"{shorten(display_rules(tally.variation), 26)}\n{shorten(display_opponent(tally.opponent), 26)}"
            for tally in tallies
        ]
        axes.set_yticks(range(len(tallies)), names)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.1 * max(1.0, *(value for pair in pairs for value in pair)))
        axes.set_title(label, loc="left")
        axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1, 1))
        return _finished(figure, label, "x")


def _over_time(series: list[tuple[Tally, list[int]]]) -> Markup:
    """Points per hand, the player's less the opponent's, averaged over the last hands: by hand, one line for each tally."""
    label = f"points per hand over time: yours less the opponent's, in the last {_LAST} hands"
    with drawing(9.5, 3.4) as (figure, (axes,)):
        axes.axhline(0, color=LINE, linewidth=1)
        for k, (tally, points) in enumerate(series):
            means = [sum(points[max(0, n - _LAST) : n]) / min(n, _LAST) for n in range(1, len(points) + 1)]
            style, colour = _LINES[k % len(_LINES)], (ACCENT, INK)[k // len(_LINES) % 2]
            name = f"{shorten(display_rules(tally.variation))} against {shorten(display_opponent(tally.opponent))}"
            axes.plot(range(1, len(means) + 1), means, style, color=colour, label=name)
        axes.set_title(label, loc="left")
        axes.set_xlabel("hand")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.18), ncols=2)
        return _finished(figure, label, "y")


def statistics(request: Request) -> Response:
    """The totals of the player's hands."""
    file = request.person.session.file
    tallies, charts = list(file.statistics.root), []
    if tallies:
        most = sorted(tallies, key=lambda tally: -tally.hands)[:12]
        per_hand = [(round(tally.average[0], 1), round(tally.average[1], 1)) for tally in most]
        bars = [
            _bars(most, "points per hand", per_hand),
            _bars(most, "games won", [(tally.won[0], tally.won[1]) for tally in most]),
        ]
        series = [(tally, margins) for tally in most[:_MAX_LINES] if len(margins := file.margins(tally)) > 1]
        charts = [*bars, *([_over_time(series)] if series else [])]
    kinds = sorted({tally.variation for tally in tallies} | {tally.opponent for tally in tallies})
    return request.page(
        "statistics.html", tallies=tallies, charts=charts, kinds=kinds, skill=standing(request.people.home, file.name)
    )


def reset_statistics(request: Request) -> Response:
    """Resets statistics, if the form confirms it."""
    with request.person.shows_errors():
        if request.fields.get("sure"):
            request.person.say(request.person.session.reset_statistics(request.fields.get("which", "")))
    return request.go("/statistics")
