"""The report of the adaptation benchmark: one HTML file with everything in it, plots as SVG."""

from __future__ import annotations

import html
import json
from typing import Any

from rich.table import Table

from agents.levels.bench.adaptation import BIN

_CSS = """
:root{--ink:#1d2a33;--soft:#5d6d78;--line:#dfe5e8;--back:#f6f7f5;--card:#fff;--accent:#1f7a5c;--warm:#c4572d}
@media(prefers-color-scheme:dark){:root{--ink:#e6ecef;--soft:#9aa9b2;--line:#33414a;--back:#161d22;--card:#1e272d;--accent:#4cc29a;
--warm:#ee8a5f}}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:40px 24px 80px}h1{font-size:30px;margin:0 0 4px}h2{font-size:19px;margin:0 0 8px}
p{color:var(--soft);margin:0 0 16px}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:22px 24px;margin:0 0 22px;overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}th,td{padding:6px 12px;text-align:right;white-space:nowrap}
th{color:var(--soft);font-size:13px}th:first-child,td:first-child{text-align:left;font-weight:600}tr+tr td{border-top:1px solid var(--line)}
svg text{fill:var(--soft);font:12px system-ui,sans-serif}svg .grid{stroke:var(--line)}svg .zero{stroke:var(--soft)}
svg .curve{fill:none;stroke:var(--accent);stroke-width:2.5}pre{white-space:pre-wrap;font-size:12.5px;color:var(--soft);margin:0}
"""


def _text(value: Any) -> str:
    return html.escape(str(value))


def _number(value: dict[str, Any]) -> str:
    if value["mean"] is None:
        return "–"
    if value["low"] is None:
        return f"{value['mean']:+.2f}"
    return f"{value['mean']:+.2f} ({value['low']:+.2f} to {value['high']:+.2f})"


def _curve(gains: list[float]) -> str:
    """The mean gain by hand, as a line."""
    width, height, left, bottom = 960, 260, 50, 30
    low, high = min(0.0, *gains), max(1.0, *gains)
    low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)

    def x(k: float) -> float:
        return left + k / len(gains) * (width - left - 20)

    def y(value: float) -> float:
        return 10 + (high - value) / (high - low) * (height - bottom - 10)

    parts = [f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="Gain by hand">']
    for mark in range(int(low) - 1, int(high) + 2):
        if low <= mark <= high:
            kind = "zero" if mark == 0 else "grid"
            parts.append(f'<line class="{kind}" x1="{left}" y1="{y(mark):.1f}" x2="{width - 20}" y2="{y(mark):.1f}"/>')
            parts.append(f'<text x="{left - 10}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:+d}</text>')
    for k in range(0, len(gains) + 1, max(1, 100 // BIN)):
        parts.append(f'<text x="{x(k):.1f}" y="{height - 8}" text-anchor="middle">{k * BIN}</text>')
    points = " ".join(f"{x(k + 0.5):.1f},{y(gain):.1f}" for k, gain in enumerate(gains))
    return "".join([*parts, f'<polyline class="curve" points="{points}"/></svg>'])


def _rows(heading: str, rows: dict[str, dict[str, Any]]) -> str:
    """A table of estimates: one row for each name, one column for each key that holds an estimate."""
    columns = list(dict.fromkeys(key for row in rows.values() for key, value in row.items() if isinstance(value, dict)))
    head = "".join(f"<th>{_text(column.replace('gain_', 'gain ').replace('_', '–'))}</th>" for column in columns)
    body = "".join(
        f"<tr><td>{_text(name)}</td>"
        + "".join(f"<td>{_number(row[column]) if column in row else ''}</td>" for column in columns)
        + "</tr>"
        for name, row in rows.items()
    )
    return f"<table><tr><th>{_text(heading)}</th>{head}</tr>{body}</table>"


def adaptation_tables(document: dict[str, Any]) -> list[Table]:
    """The same figures for a terminal."""
    table = Table(title=f"what {document['level']} gains by learning, points a hand")
    windows = list(document["mean_gain"])
    for heading in ("opponent", "frozen", *(f"hands {window.replace('_', '–')}" for window in windows)):
        table.add_column(heading, justify="left" if heading == "opponent" else "right")
    for name, row in document["opponents"].items():
        table.add_row(name, _number(row["frozen"]), *(_number(row[f"gain_{window}"]) for window in windows))
    table.add_section()
    table.add_row("mean", "", *(_number(document["mean_gain"][window]) for window in windows))
    for name, control in document["controls"].items():
        if "largest difference" in control:
            table.add_row(name, "", f"{control['largest difference']:.0f}")
        elif "mean" in control:
            table.add_row(name, "", _number(control))
        else:
            table.add_row(name, "", *(_number(control[window]) for window in windows))
    harm = Table(title="no harm: gain over all hands")
    harm.add_column("opponent")
    harm.add_column("gain", justify="right")
    for name, value in document["no_harm"].items():
        harm.add_row(name, _number(value))
    return [table, harm]


def report_adaptation(document: dict[str, Any], command: str) -> str:
    """The report of ``adaptation.results``."""
    mean = {"all opponents with habits": {f"gain_{key}": value for key, value in document["mean_gain"].items()}}
    controls = {
        name: value if "mean" not in value else {"all hands": value}
        for name, value in document["controls"].items()
        if "largest difference" not in value
    }
    blanked = [value["largest difference"] for value in document["controls"].values() if "largest difference" in value]
    captured = "".join(
        f"<tr><td>{_text(name)}</td><td>{'–' if share is None else f'{100 * share:.0f} %'}</td></tr>"
        for name, share in document["captured"].items()
    )
    harm = {name: {"all hands": value} for name, value in document["no_harm"].items()}
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>What {_text(document["level"])} gains by learning</title><style>{_CSS}</style></head><body><main>
<h1>What {_text(document["level"])} gains by learning</h1>
<p>Points a hand, adapted less frozen, on the same deals; {document["series"]} series of {document["hands"]} hands against each
opponent; intervals of 95 % by series.</p>
<section><h2>Gain by hand, mean over the opponents with habits</h2>{_curve(document["gain_by_hand"])}</section>
<section><h2>Opponents with habits, held back from training</h2>{_rows("opponent", mean | document["opponents"])}</section>
<section><h2>No harm</h2>{_rows("opponent", harm)}</section>
<section><h2>Controls and ceilings</h2>{_rows("played by", controls)}
<p>{"" if not blanked else f"With its numbers blanked, the level played as frozen: largest difference {blanked[0]:.0f} points."}</p>
<table><tr><th>share of the ceiling, last window</th><th></th></tr>{captured}</table></section>
<section><h2>How</h2><pre>{_text(command)}
sha256 {_text(document["sha256"])}
{_text(json.dumps(document["versions"]))}, {document["seconds"]:.0f} s</pre></section>
</main></body></html>
"""
