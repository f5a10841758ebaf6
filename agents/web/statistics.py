"""Statistics of the games played at the table, with a plot over time."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.ticker import MaxNLocator
from starlette.responses import Response

from agents.display_names import display_opponent, display_rules
from agents.play.review import mistakes_by_hand
from agents.play.skill import standing
from agents.play.statistics import Tally
from agents.reports.charts import ACCENT, INK, LINE, drawing, svg_of_page
from agents.reports.pages import shorten
from agents.web.request import Request

# In the plot over time: the number of hands in each mean, the most lines (one per variation and opponent), and their styles.
_LAST = 20
_MAX_LINES = 6
_LINES = ("-", "--", ":", "-.")


def _over_time(label: str, series: list[tuple[str, list[int]]]) -> Markup:
    """Numbers by hand, averaged over the last hands: one line for each name. As wide as the column of a phone."""
    with drawing(4.8, 2.3 + 0.2 * len(series)) as (figure, (axes,)):
        axes.axhline(0, color=LINE, linewidth=1)
        for k, (name, numbers) in enumerate(series):
            means = [sum(numbers[max(0, n - _LAST) : n]) / min(n, _LAST) for n in range(1, len(numbers) + 1)]
            style, colour = _LINES[k % len(_LINES)], (ACCENT, INK)[k // len(_LINES) % 2]
            axes.plot(range(1, len(means) + 1), means, style, color=colour, label=name)
        axes.set_xlabel("hand")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.22))
        axes.grid(axis="y", color=LINE)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return Markup(svg_of_page(figure, label))


def _line_name(tally: Tally) -> str:
    return f"{shorten(display_rules(tally.variation))} against {shorten(display_opponent(tally.opponent))}"


def statistics(request: Request) -> Response:
    """The totals of the player's hands, and how points and mistakes per hand have gone."""
    file, home = request.person.session.file, request.people.home
    tallies = list(file.statistics.root)
    most = sorted(tallies, key=lambda tally: -tally.hands)[:_MAX_LINES]
    points = [(_line_name(tally), margins) for tally in most if len(margins := file.margins(tally)) > 1]
    kinds = [(kind, numbers) for kind, numbers in mistakes_by_hand(home, file.name).items() if len(numbers) > 1]
    plots = {
        "points per hand over time: yours less the opponent's": points,
        "mistakes per analysed hand over time": kinds,
    }
    return request.page(
        "statistics.html",
        tallies=tallies,
        charts={label: _over_time(label, series) for label, series in plots.items() if series},
        last=_LAST,
        kinds=sorted({tally.variation for tally in tallies} | {tally.opponent for tally in tallies}),
        skill=standing(home, file.name),
    )


def reset_statistics(request: Request) -> Response:
    """Resets statistics, if the form confirms it."""
    with request.person.shows_errors():
        if request.fields.get("sure"):
            request.person.say(request.person.session.reset_statistics(request.fields.get("which", "")))
    return request.go("/statistics")
