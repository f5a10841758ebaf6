"""The report of the adaptation benchmark, as tables in the terminal and as one HTML file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from markupsafe import Markup
from rich.markup import escape
from rich.table import Table

from agents.reports.charts import ACCENT, SOFT, drawing, svg_of_page
from agents.reports.pages import page
from agents.reports.terminal import new_table


def _number(value: dict[str, Any]) -> str:
    if value["mean"] is None:
        return "–"
    return f"{value['mean']:+.2f} ({value['low']:+.2f} to {value['high']:+.2f})"


def _short(value: dict[str, Any]) -> str:
    return "–" if value["low"] is None else f"{value['mean']:+.2f} ± {(value['high'] - value['low']) / 2:.2f}"


def _curve(gains: list[float], hands: int) -> Markup:
    """The mean gain by hand, as a line."""
    width = hands / len(gains)
    with drawing(9.5, 2.8) as (figure, (axes,)):
        axes.axhline(0, color=SOFT, linewidth=1, clip_on=False)
        axes.plot((np.arange(len(gains)) + 0.5) * width, gains, color=ACCENT, linewidth=2.5, clip_on=False)
        axes.set(xlabel="hand", ylabel="points per hand", xlim=(0, hands))
        axes.set_ylim(min(0.0, *gains) - 0.2, max(1.0, *gains) + 0.2)
        axes.grid(axis="y", clip_on=False)
        return Markup(svg_of_page(figure, "Gain by hand"))


def _columns(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Keys that hold an estimate in at least one row."""
    return list(dict.fromkeys(key for row in rows.values() for key, value in row.items() if isinstance(value, dict)))


GAINS = {
    "specific_gain": "its own history less the better of none and a mixed one",
    "total_gain": "its own history less none",
    "mixed_less_frozen": "a history of all the others less none",
    "wrong_less_mixed": "one wrong opponent's history less that of all the others",
    "wrong_less_frozen": "one wrong opponent's history less none",
}


def adaptation_tables(document: dict[str, Any]) -> list[Table]:
    """The figures against each opponent, and their means, as tables for a terminal."""
    windows = list(document["total_gain"])
    headings = [f"hands {window.replace('_', '–')}" for window in windows]
    table = new_table("specific gain, points per hand", "opponent", "frozen", *headings)
    for name, row in document["opponents"].items():
        cells = (_number(row["specific_gain"][window]) for window in windows)
        table.add_row(escape(name), _number(row["frozen"]), *cells)
    harm = new_table("opponents against which learning might do harm: total gain over all hands", "opponent", "gain")
    for name, value in document["no_harm"].items():
        harm.add_row(escape(name), _number(value))
    means = new_table(f"what {escape(document['level'])} gains by learning, points per hand (95 %)", "", *headings)
    for gain, words in GAINS.items():
        means.add_row(f"{gain.replace('_', ' ')}: {words}", *(_short(document[gain][window]) for window in windows))
    return [table, harm, means]


def report_adaptation(document: dict[str, Any], command: str) -> str:
    """The HTML report of the figures from ``agents.levels.bench.adaptation``."""
    return page(
        "adaptation.html",
        document=document,
        means={f"{gain.replace('_', ' ')}: {words}": document[gain] for gain, words in GAINS.items()},
        opponents={
            name: {"frozen": row["frozen"]} | row["specific_gain"] for name, row in document["opponents"].items()
        },
        harm={name: {"all hands": value} for name, value in document["no_harm"].items()},
        curves={
            gain.replace("_", " "): _curve(values, document["hands"]) for gain, values in document["by_hand"].items()
        },
        columns=_columns,
        number=_number,
        command=command,
        versions=json.dumps(document["versions"]),
    )
