"""The report of a tournament: one HTML file with everything in it, plots as SVG, nothing fetched from anywhere."""

from __future__ import annotations

import html
import json
from typing import Any

from agents.arena.results import versions
from agents.arena.tournament import Standings

_CSS = """
:root{--ink:#1d2a33;--soft:#5d6d78;--line:#dfe5e8;--back:#f6f7f5;--card:#fff;--accent:#1f7a5c;--warm:#c4572d}
@media(prefers-color-scheme:dark){:root{--ink:#e6ecef;--soft:#9aa9b2;--line:#33414a;--back:#161d22;--card:#1e272d;--accent:#4cc29a;
--warm:#ee8a5f}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:40px 24px 80px}h1{font-size:30px;line-height:1.2;margin:0 0 4px}
h2{font-size:19px;margin:0 0 4px}p.lead{color:var(--soft);margin:0 0 28px}p.note{color:var(--soft);margin:0 0 14px;font-size:13.5px}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:22px 24px;margin:0 0 22px;overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}th,td{padding:6px 10px;text-align:right;white-space:nowrap}
th{font-weight:600;color:var(--soft);font-size:13px;white-space:normal;vertical-align:bottom;line-height:1.25}th.name,td.name{text-align:left;font-weight:600;color:var(--ink)}
tr+tr td{border-top:1px solid var(--line)}table.cross td{border:2px solid var(--card);border-radius:6px;min-width:74px;text-align:center}
table.cross td.name{text-align:left}
td small{display:block;color:var(--soft);font-size:11px;line-height:1.2}table.cross td small{color:inherit;opacity:.75}
.warn{border-color:var(--warm);border-left-width:5px}svg text{fill:var(--ink);font:13px system-ui,sans-serif}
svg .soft{fill:var(--soft);font-size:12px}svg .grid{stroke:var(--line)}svg .bar{stroke:var(--accent);stroke-width:3;stroke-linecap:round}
svg .dot{fill:var(--accent)}.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(235px,1fr));gap:14px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12.5px;color:var(--soft);margin:0}summary{cursor:pointer;font-weight:600}
"""


def _text(value: Any) -> str:
    return html.escape(str(value))


def _rating_plot(standings: Standings) -> str:
    rows = standings.order
    low = min(standings.ratings[:, 1].min(), -50.0)
    high = max(standings.ratings[:, 2].max(), 50.0)
    left, width, height = 190, 780, 30 * len(rows) + 44

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (width - left - 70)

    span = high - low
    step = next(size for size in (25, 50, 100, 200, 500, 1000, 5000) if span / size <= 9)
    parts = [f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="Ratings with intervals">']
    mark = int(low // step + 1) * step
    while mark <= high:
        parts.append(f'<line class="grid" x1="{x(mark):.1f}" y1="8" x2="{x(mark):.1f}" y2="{height - 28}"/>')
        parts.append(f'<text class="soft" x="{x(mark):.1f}" y="{height - 10}" text-anchor="middle">{mark:+d}</text>')
        mark += step
    for row, player in enumerate(rows):
        rating, lower, upper = standings.ratings[player]
        y = 24 + 30 * row
        parts.append(
            f'<text x="{left - 16}" y="{y + 4}" text-anchor="end">{_text(_short(standings.names[player]))}</text>'
        )
        parts.append(f'<line class="bar" opacity=".35" x1="{x(lower):.1f}" y1="{y}" x2="{x(upper):.1f}" y2="{y}"/>')
        parts.append(f'<circle class="dot" cx="{x(rating):.1f}" cy="{y}" r="5.5"/>')
        parts.append(f'<text class="soft" x="{x(upper) + 10:.1f}" y="{y + 4}">{rating:+.0f}</text>')
    return "".join([*parts, "</svg>"])


def _short(name: str, length: int = 24) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def _cross_table(standings: Standings) -> str:
    order = standings.order
    head = "".join(
        f'<th title="{_text(standings.names[j])}">{_text(_short(standings.names[j], 12))}</th>' for j in order
    )
    rows = [f'<tr><th class="name">games won by ↓ against →</th>{head}</tr>']
    for i in order:
        cells = []
        for j in order:
            mean, half = standings.share(i, j)
            if i == j or mean != mean:
                cells.append("<td></td>")
                continue
            strength = min(1.0, abs(mean - 0.5) / 0.35)
            colour = "var(--accent)" if mean > 0.5 else "var(--warm)"
            style = f"background:color-mix(in srgb,{colour} {8 + 62 * strength:.0f}%,var(--card))"
            cells.append(f'<td style="{style}">{100 * mean:.1f}<small>± {100 * half:.1f}</small></td>')
        rows.append(f'<tr><td class="name">{_text(_short(standings.names[i]))}</td>{"".join(cells)}</tr>')
    return f'<table class="cross">{"".join(rows)}</table>'


_COLUMNS = (
    ("hands won", "hands_won", "{:.1%}"),
    ("drawn", "hands_drawn", "{:.1%}"),
    ("gin", "gin_rate", "{:.1%}"),
    ("knock", "knock_rate", "{:.1%}"),
    ("knock deadwood", "knock_deadwood", "{:.2f}"),
    ("knocks when it can", "knocked_when_possible", "{:.0%}"),
    ("undercuts given", "undercuts_given", "{:,}"),
    ("taken", "undercuts_taken", "{:,}"),
    ("turns a hand", "turns_per_hand", "{:.1f}"),
    ("upcards taken", "upcards_taken", "{:.1%}"),
    ("deadwood caught", "deadwood_when_caught", "{:.1f}"),
    ("ms a decision", "ms_per_decision", "{:.4f}"),
)


def _style_table(standings: Standings, styles: dict[int, dict[str, Any]]) -> str:
    rows = ['<tr><th class="name"></th>' + "".join(f"<th>{label}</th>" for label, _, _ in _COLUMNS) + "</tr>"]
    for i in standings.order:
        cells = "".join(
            f"<td>{'–' if styles[i].get(key) is None else form.format(styles[i][key])}</td>"
            for _, key, form in _COLUMNS
        )
        rows.append(f'<tr><td class="name">{_text(_short(standings.names[i]))}</td>{cells}</tr>')
    return f"<table>{''.join(rows)}</table>"


def _knock_plot(name: str, style: dict[str, Any]) -> str:
    """How often a player knocks when it can, by own turn (across) and deadwood (up); faint where it seldom could."""
    turns, most, cell, left, top = 12, 11, 15, 30, 26
    parts = [
        f'<svg viewBox="0 0 {left + turns * cell + 6} {top + most * cell + 34}" width="100%" role="img" '
        f'aria-label="Knocks of {_text(name)}"><text x="{left}" y="15" font-weight="600">{_text(_short(name))}</text>'
    ]
    for turn in range(turns):
        for deadwood in range(most):
            could, did = style["could_knock"][turn][deadwood], style["did_knock"][turn][deadwood]
            if not could:
                continue
            share = did / could
            opacity = min(1.0, 0.25 + could / 60)
            fill = f"color-mix(in srgb,var(--accent) {100 * share:.0f}%,var(--line))"
            y = top + (most - 1 - deadwood) * cell
            parts.append(
                f'<rect x="{left + turn * cell}" y="{y}" width="{cell - 1.5}" height="{cell - 1.5}" rx="2.5" '
                f'style="fill:{fill}" opacity="{opacity:.2f}"><title>turn {turn + 1}, deadwood {deadwood}: {did:,} of {could:,}'
                "</title></rect>"
            )
    for deadwood in (0, 5, 10):
        y = top + (most - 1 - deadwood) * cell + 11
        parts.append(f'<text class="soft" x="{left - 7}" y="{y}" text-anchor="end">{deadwood}</text>')
    for turn in (1, 4, 8, 12):
        x = left + (turn - 1) * cell + 6
        parts.append(f'<text class="soft" x="{x}" y="{top + most * cell + 13}" text-anchor="middle">{turn}</text>')
    parts.append(f'<text class="soft" x="{left}" y="{top + most * cell + 29}">own turn → · deadwood ↑</text></svg>')
    return "".join(parts)


def _points_table(standings: Standings) -> str:
    rows = [
        '<tr><th class="name">match</th><th>pairs</th><th>hands</th><th>games won</th><th>hands won</th><th>points a hand</th></tr>'
    ]
    for result in standings.matches.values():
        share = result.adjusted_share or result.share
        points = result.adjusted_points or result.points
        rows.append(
            f'<tr><td class="name">{_text(_short(result.names[0]))} – {_text(_short(result.names[1]))}</td>'
            f"<td>{result.pairs:,}</td><td>{int(result.games['hands'].sum()):,}</td>"
            f"<td>{share.text(percent=True)}</td><td>{result.hand_share.text(percent=True)}</td><td>{points.text()}</td></tr>"
        )
    return f"<table>{''.join(rows)}</table>"


def _warnings(standings: Standings) -> str:
    sections = []
    if standings.missing:
        sections.append(
            f'<section class="warn"><h2>Not finished</h2><p class="note">{standings.missing} blocks have not been played; '
            "start the same tournament again to go on.</p></section>"
        )
    found = standings.circles()
    if found:
        lines = "".join(f"<li>{' beats '.join(_text(name) for name in (*circle, circle[0]))}</li>" for circle in found)
        sections.append(
            f'<section class="warn"><h2>They beat each other in a circle</h2><p class="note">One number per player cannot say '
            f"who wins here; look at the cross-table.</p><ul>{lines}</ul></section>"
        )
    faults = standings.faults()
    if faults:
        rows = "".join(
            f'<tr><td class="name">{_text(" – ".join(fault["match"]))}</td><td class="name">{_text(fault["kind"])}</td>'
            f'<td>{fault["count"]:,}</td><td>{fault["forfeits"]:,}</td><td class="name">{_text(_short(fault["first"], 110))}</td></tr>'
            for fault in faults
        )
        sections.append(
            '<section class="warn"><h2>Faults</h2><p class="note">What programs from outside did wrong, and what it cost '
            f'them: a {standings.config.forfeit} each time.</p><table><tr><th class="name">match</th><th class="name">fault</th>'
            f'<th>times</th><th>forfeits</th><th class="name">first case</th></tr>{rows}</table></section>'
        )
    return "".join(sections)


def report(standings: Standings, command: str) -> str:
    """The whole report as HTML."""
    config = standings.config
    styles = {i: standings.rates(i) for i in standings.order}
    knocks = "".join(f"<div>{_knock_plot(standings.names[i], styles[i])}</div>" for i in standings.order if styles[i])
    adjusted = ", luck with the stock subtracted" if config.luck else ""
    asked = json.dumps(config.model_dump(mode="json", exclude={"out"}), indent=1, ensure_ascii=False)
    rules = next(iter(standings.matches.values())).rules if standings.matches else None
    hands = sum(int(result.games["hands"].sum()) for result in standings.matches.values())
    how = f"{len(standings.names)} players, {config.pairs:,} mirrored deals of every two, {hands:,} hands"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{_text(config.title)}</title><style>{_CSS}</style></head><body><main>
<h1>{_text(config.title)}</h1><p class="lead">Gin rummy, rules {_text(config.rules)} · {how} · seed {config.seed}</p>
{_warnings(standings)}
<section><h2>Ratings</h2><p class="note">Bradley–Terry; 400 points are odds of ten to one, the mean is 0. Bars: 95 %, pairs of
deals resampled.</p>{_rating_plot(standings)}</section>
<section><h2>Cross-table</h2><p class="note">Per cent of {config.unit} won, with the half-width of the 95 % interval{adjusted}.</p>
{_cross_table(standings)}</section>
<section><h2>How they play</h2><p class="note">Over all their matches.</p>{_style_table(standings, styles)}</section>
<section><h2>When they knock</h2><p class="note">Of the turns in which a knock was possible: the greener, the more often it came;
faint where there were few. Deadwood 0 is gin.</p><div class="plots">{knocks}</div></section>
<section><h2>Matches</h2><p class="note">Intervals of 95 %, clustered by pair{adjusted}.</p>{_points_table(standings)}</section>
<section><details><summary>How to repeat this</summary><pre>{_text(command)}
rules {rules.hash if rules else ""} {_text(rules.to_json()) if rules else ""}
versions {_text(json.dumps(versions()))}
{_text(asked)}</pre></details></section>
</main></body></html>
"""
