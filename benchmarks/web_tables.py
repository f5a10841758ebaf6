"""The tables of ``docs/results.md`` about play in the browser: how fast it is, and what mistakes mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.analysis.marks import MARKS
from agents.levels.level import NAMES, load_level
from agents.network.checkpoint import read_metadata
from agents.network.player import SHIPPED
from benchmarks.markdown import table

RESULTS = Path(__file__).parent / "results"
Section = tuple[str, str, Callable[[], list[str]]]


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def speed_table() -> list[str]:
    """What ``benchmarks.speed.web_speed`` has measured."""
    rows = []
    for name, each in _read("web_speed.json")["times"].items():
        median, p95, most = (f"{each['wall'][key]:.1f}" for key in ("median", "p95", "most"))
        rows.append([name, str(each["count"]), median, p95, most, f"{each['counts']} ≤ {each['bar']:g}"])
    return table(["", "measured", "median", "95 %", "most", "bar"], rows)


def serve_table() -> list[str]:
    """What ``benchmarks.speed.serve_speed`` has measured."""
    found = _read("serve_speed.json")
    rows = [
        [name, f"{each['value']:.1f}", "–" if each["bar"] is None else f"{each['bar']:g}"]
        for name, each in found["figures"].items()
    ]
    words = (
        f"`{found['player']}`, {found['sessions']:,} sessions of {found['questions']} questions; {found['cores']} cores, on which other "
        f"programs ran (load {found['load before']:.0f} before)."
    )
    return [*table(["", "measured", "bar"], rows), "", words, ""]


def mistakes_table() -> list[str]:
    """What ``benchmarks.strength.mistakes`` has found."""
    found = _read("mistakes.json")
    summary, rows = found["summary"], []
    now = {name: load_level(name).digest for name in NAMES} | {"network": read_metadata(SHIPPED)["weights_sha256"]}
    for name, each in sorted(summary["players"].items(), key=lambda item: found["ratings"][item[0]]["rating"]):
        marks = [f"{100 * each['marks'][mark]:.2f}" for mark in MARKS]
        loss = f"{100 * each['loss']:.3f} ± {100 * each['half']:.3f}"
        # If a level or a network has changed since, an earlier one was measured.
        earlier = "" if found["arguments"]["weights"].get(name) == now.get(name) else ", an earlier one"
        rows.append(
            [f"`{name}`{earlier}", f"{found['ratings'][name]['rating']:+.0f}", str(each["hands"]), loss, *marks]
        )
    headings = [
        "player",
        "rating among these",
        "hands",
        "loss per decision, %",
        *(f"{mark}, % of decisions" for mark in MARKS),
    ]
    words = (
        f"Spearman's rank correlation of loss and rating {summary['spearman']:.2f}; of {summary['blunders']} blunders "
        f"{100 * summary['confirmed']:.0f} % are blunders in 16 times the worlds."
    )
    return [*table(headings, rows), words, ""]


SECTIONS: tuple[tuple[str, Section], ...] = (
    (
        "web_speed.json",
        (
            "The table in the browser",
            "`python -m benchmarks.speed.web_speed`; by the clock, read by a client on the same machine.",
            speed_table,
        ),
    ),
    (
        "serve_speed.json",
        ("Players over HTTP", "`python -m benchmarks.speed.serve_speed`; by the clock.", serve_table),
    ),
    (
        "mistakes.json",
        ("What mistakes mean", "`python -m benchmarks.strength.mistakes`; in percent of the game.", mistakes_table),
    ),
)


def sections() -> list[Section]:
    """The sections whose results files exist."""
    return [section for name, section in SECTIONS if (RESULTS / name).exists()]
