"""The report of a tournament: one self-contained HTML file that loads nothing from elsewhere."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.colors import LinearSegmentedColormap

from agents.arena.results import versions
from agents.arena.tournament import Standings
from agents.estimates import Estimate
from agents.reports.charts import ACCENT, INK, LINE, SOFT, drawing, svg_of_page
from agents.reports.pages import page, shorten
from agents.reports.terminal import RATES, rate_texts

_KNOCKS = LinearSegmentedColormap.from_list("knocks", [LINE, ACCENT])
_TURNS = 12


def _rating_chart(standings: Standings) -> Markup:
    """Ratings with their intervals, the strongest at the top."""
    order = standings.order
    with drawing(9.5, 0.6 + 0.34 * len(order)) as (figure, (axes,)):
        for row, player in enumerate(order):
            rating = standings.ratings[player]
            axes.plot([rating.low, rating.high], [row, row], color=ACCENT, alpha=0.35, linewidth=3, clip_on=False)
            axes.plot([rating.mean], [row], "o", color=ACCENT, clip_on=False)
            axes.annotate(
                f"{rating.mean:+.0f}", (rating.high, row), (8, 0), textcoords="offset points", va="center", color=SOFT
            )
        axes.set_yticks(range(len(order)), [shorten(standings.names[player]) for player in order])
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.invert_yaxis()
        axes.margins(0.06, 0.1)
        axes.grid(axis="x", clip_on=False)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        return Markup(svg_of_page(figure, "Ratings with intervals"))


def _knock_chart(name: str, rates: dict[str, Any]) -> Markup:
    """How often a player knocks when it can, by own turn (across) and deadwood (up); faint where it seldom could."""
    could = np.array(rates["could_knock"])[:_TURNS].T
    did = np.array(rates["did_knock"])[:_TURNS].T
    colours = _KNOCKS(did / np.maximum(could, 1))
    colours[..., 3] = np.where(could > 0, np.minimum(1.0, 0.25 + could / 60), 0.0)
    with drawing(2.7, 2.9) as (figure, (axes,)):
        for deadwood, turn in np.argwhere(could > 0):
            axes.bar(turn + 1, 0.9, 0.9, deadwood - 0.45, color=colours[deadwood, turn], clip_on=False)
        axes.set_xlim(0.4, _TURNS + 0.6)
        axes.set_ylim(-0.6, could.shape[0] - 0.4)
        axes.set_xticks((1, 4, 8, 12))
        axes.set_yticks((0, 5, 10))
        axes.set(title=shorten(name), xlabel="own turn", ylabel="deadwood")
        axes.spines[:].set_visible(False)
        return Markup(svg_of_page(figure, "Knocks by own turn and deadwood"))


def _cell(share: Estimate) -> dict[str, Any]:
    return {
        "mean": f"{100 * share.mean:.1f}",
        "half": f"{100 * share.half:.1f}",
        "colour": "--accent" if share.mean > 0.5 else "--warm",
        "strength": round(8 + 62 * min(1.0, abs(share.mean - 0.5) / 0.35)),
    }


def _cross(standings: Standings) -> list[list[dict[str, Any] | None]]:
    """Cells of the cross-table by row; ``None`` for players that have not met."""
    rows = []
    for i in standings.order:
        row: list[dict[str, Any] | None] = []
        for j in standings.order:
            share = None if i == j else standings.share(i, j)
            row.append(None if share is None else _cell(share))
        rows.append(row)
    return rows


def report(standings: Standings, command: str) -> str:
    """The whole report as HTML."""
    config, order = standings.config, standings.order
    rates = [standings.rates(i) for i in order]
    matches = list(standings.matches.values())
    names = [standings.names[i] for i in order]
    return page(
        "tournament.html",
        config=config,
        players=names,
        matches=matches,
        hands=sum(int(match.games["hands"].sum()) for match in matches),
        missing=standings.missing,
        circles=[(*circle, circle[0]) for circle in standings.circles()],
        faults=standings.faults(),
        ratings=_rating_chart(standings),
        cross=_cross(standings),
        rate_headings=[heading for heading, _, _ in RATES],
        rates=[rate_texts(each) for each in rates],
        knocks=[_knock_chart(name, each) for name, each in zip(names, rates, strict=True) if each],
        adjusted=", luck subtracted" if config.luck else "",
        command=command,
        versions=json.dumps(versions()),
        settings=json.dumps(config.model_dump(mode="json", exclude={"out"}), indent=1, ensure_ascii=False),
    )
