"""The report of a tournament: one self-contained HTML file that loads nothing from elsewhere."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from agents.arena.results import versions
from agents.arena.tournament import Standings
from agents.estimates import Estimate
from agents.reports.charts import ACCENT, INK, SOFT, drawing, svg_of_page
from agents.reports.pages import page, shorten
from agents.reports.terminal import RATES, rate_texts


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
    matches = list(standings.matches.values())
    return page(
        "tournament.html",
        config=config,
        players=[standings.names[i] for i in order],
        matches=matches,
        hands=sum(int(match.games["hands"].sum()) for match in matches),
        missing=standings.missing,
        faults=standings.faults(),
        ratings=_rating_chart(standings),
        cross=_cross(standings),
        rate_headings=[heading for heading, _, _ in RATES],
        rates=[rate_texts(standings.rates(i)) for i in order],
        adjusted=", luck subtracted" if config.luck else "",
        command=command,
        versions=json.dumps(versions()),
        settings=json.dumps(config.model_dump(mode="json", exclude={"out"}), indent=1, ensure_ascii=False),
    )
