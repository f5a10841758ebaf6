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


def _curve(gains: list[float], hands: int) -> Markup:
    """The mean gain by hand, as a line."""
    width = hands / len(gains)
    with drawing(9.5, 2.8) as (figure, (axes,)):
        axes.axhline(0, color=SOFT, linewidth=1, clip_on=False)
        axes.plot((np.arange(len(gains)) + 0.5) * width, gains, color=ACCENT, linewidth=2.5, clip_on=False)
        axes.set(xlabel="hand", ylabel="points a hand", xlim=(0, hands))
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


def adaptation_table(document: dict[str, Any]) -> Table:
    """The mean gains as a table for a terminal."""
    windows = list(document["total_gain"])
    title = f"what {escape(document['level'])} gains by learning, points per hand (95 %)"
    table = new_table(title, "hands", *(window.replace("_", "–") for window in windows))
    for gain in GAINS:
        values = (document[gain][window] for window in windows)
        cells = (f"{one['mean']:+.2f} ± {(one['high'] - one['low']) / 2:.2f}" if one["low"] is not None else _number(one) for one in values)
        table.add_row(gain.replace("_", " "), *cells)
    table.caption = "\n".join(f"{gain.replace('_', ' ')}: {words}" for gain, words in GAINS.items())
    table.caption_justify = "left"
    return table


def adaptation_tables(document: dict[str, Any]) -> list[Table]:
    """The figures against each opponent as tables for a terminal."""
    windows = list(document["total_gain"])
    table = new_table(
        "specific gain, points per hand", "opponent", "frozen", *(f"hands {window.replace('_', '–')}" for window in windows)
    )
    for name, row in document["opponents"].items():
        cells = (_number(row["specific_gain"][window]) for window in windows)
        table.add_row(escape(name), _number(row["frozen"]), *cells)
    harm = new_table("opponents against which learning might do harm: total gain over all hands", "opponent", "gain")
    for name, value in document["no_harm"].items():
        harm.add_row(escape(name), _number(value))
    return [table, harm]


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
