"""The statistics of what was played at the table, with plots."""

from __future__ import annotations

from markupsafe import Markup
from starlette.responses import Response

from agents.play.statistics import Tally
from agents.reports.charts import ACCENT, LINE, SOFT, drawing, svg_of_page
from agents.reports.pages import shorten
from agents.web.asked import Asked


def _bars(tallies: list[Tally], label: str, pairs: list[tuple[float, float]]) -> Markup:
    """The player's and the opponent's figure for each tally, side by side."""
    with drawing(9.5, 0.8 + 0.55 * len(tallies)) as (figure, (axes,)):
        for side, (name, colour) in enumerate((("you", ACCENT), ("opponent", SOFT))):
            places = [row + (side - 0.5) * 0.36 for row in range(len(tallies))]
            values = [pair[side] for pair in pairs]
            axes.barh(places, values, 0.32, color=colour, label=name)
            for place, value in zip(places, values, strict=True):
                axes.annotate(f"{value:g}", (value, place), (5, 0), textcoords="offset points", va="center", color=SOFT)
        names = [f"{shorten(tally.variation, 26)}\n{shorten(tally.opponent, 26)}" for tally in tallies]
        axes.set_yticks(range(len(tallies)), names)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.1 * max(1.0, *(value for pair in pairs for value in pair)))
        axes.set_title(label, loc="left")
        axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1, 1))
        axes.grid(axis="x", color=LINE)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        return Markup(svg_of_page(figure, label))


def statistics(asked: Asked) -> Response:
    """What the player's hands add up to."""
    tallies = list(asked.seat.session.file.statistics.root)
    charts = []
    if tallies:
        most = sorted(tallies, key=lambda tally: -tally.hands)[:12]
        per_hand = [(round(tally.average[0], 1), round(tally.average[1], 1)) for tally in most]
        charts.append(_bars(most, "points per hand", per_hand))
        charts.append(_bars(most, "games won", [(tally.won[0], tally.won[1]) for tally in most]))
    kinds = sorted({tally.variation for tally in tallies} | {tally.opponent for tally in tallies})
    return asked.page("statistics.html", tallies=tallies, charts=charts, kinds=kinds)


def reset_statistics(asked: Asked) -> Response:
    """Resets statistics, if the form says that it is meant."""
    with asked.seat.explained():
        if asked.form.get("sure"):
            asked.seat.say(asked.seat.session.reset_statistics(asked.form.get("which", "")))
    return asked.go("/statistics")
