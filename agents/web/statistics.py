"""Statistics of the games played at the table, with a plot over time."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.ticker import MaxNLocator
from starlette.responses import Response

from agents.play.display_names import display_opponent, display_rules
from agents.play.skill import standing
from agents.play.statistics import Tally
from agents.reports.charts import ACCENT, INK, LINE, drawing, svg_of_page
from agents.reports.pages import shorten
from agents.web.request import Request

# In the plot over time: the number of hands in each mean, the most lines (one per variation and opponent), and their styles.
_LAST = 20
_MAX_LINES = 6
_LINES = ("-", "--", ":", "-.")


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
        axes.grid(axis="y", color=LINE)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return Markup(svg_of_page(figure, label))


def statistics(request: Request) -> Response:
    """The totals of the player's hands, and how the points per hand have gone."""
    file = request.person.session.file
    tallies = list(file.statistics.root)
    most = sorted(tallies, key=lambda tally: -tally.hands)[:_MAX_LINES]
    series = [(tally, margins) for tally in most if len(margins := file.margins(tally)) > 1]
    return request.page(
        "statistics.html",
        tallies=tallies,
        chart=_over_time(series) if series else "",
        kinds=sorted({tally.variation for tally in tallies} | {tally.opponent for tally in tallies}),
        skill=standing(request.people.home, file.name),
    )


def reset_statistics(request: Request) -> Response:
    """Resets statistics, if the form confirms it."""
    with request.person.shows_errors():
        if request.fields.get("sure"):
            request.person.say(request.person.session.reset_statistics(request.fields.get("which", "")))
    return request.go("/statistics")
