"""The README's tables, from the results files that the commands beside them wrote.

`python -m benchmarks.tables` puts them between the two marks in README.md; a test says whether they stand there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.files import write_text

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->\n"
# Opponents that stood in the training pool; the others were kept aside.
SEEN = ("simple", "formula", "camper", "knocker", "easy")


def _match(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))["matches"][0]


def _share(match: dict[str, Any]) -> str:
    share = match["share"]
    return f"{100 * share['mean']:.1f} % ({100 * share['low']:.1f} to {100 * share['high']:.1f})"


def _points(match: dict[str, Any]) -> str:
    points = match["points_per_hand"]
    return f"{points['mean']:+.2f} ({points['low']:+.2f} to {points['high']:+.2f})"


def network_table() -> list[str]:
    """The shipped network against the bots, and under every preset against `formula`."""
    lines = ["| `network` against | games | games won | points a hand | |", "|---|---|---|---|---|"]
    for path in sorted(RESULTS.glob("network-eaai-*.json")):
        match = _match(path.name)
        name = match["players"][1]
        seen = "met in training" if name in SEEN else "kept aside"
        lines.append(f"| `{name}` | {match['jobs']:,} | {_share(match)} | {_points(match)} | {seen} |")
    lines += [
        "",
        "| `network` against `formula` under, 10,000 hands each | hands won | points a hand |",
        "|---|---|---|",
    ]
    for path in sorted(RESULTS.glob("network-rules-*.json")):
        match = _match(path.name)
        lines.append(f"| `{path.stem.removeprefix('network-rules-')}` | {_share(match)} | {_points(match)} |")
    return lines


def speed_table() -> list[str]:
    """Speed beside OpenSpiel, each measured in one run."""
    lines = ["| one core | a second | beside OpenSpiel |", "|---|---|---|"]
    for row in json.loads((RESULTS / "engine_speed.json").read_text(encoding="utf-8"))["rows"]:
        lines.append(f"| {row['name']} | {row['hands_per_second']:,.0f} hands | {row['hands_ratio']:,.1f} × |")
    for row in json.loads((RESULTS / "env_speed.json").read_text(encoding="utf-8"))["rows"]:
        lines.append(f"| {row['name']} | {row['steps_per_second']:,.0f} steps | {row['ratio']:,.1f} × |")
    return lines


def results() -> str:
    """Everything between the marks."""
    about = """### Results

Rules `eaai` unless said, mirrored deals that nothing was trained or chosen on, 95 % intervals clustered by deal. Files and commands are in
`benchmarks/results/`; `make results` repeats the matches, `make bench` the speeds, `python -m benchmarks.tables` writes this.
"""
    return "\n".join([about, *network_table(), "", *speed_table(), "", ""])


def readme() -> str:
    """The README with the tables that the results files give."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{results()}{END}{after}"


if __name__ == "__main__":
    write_text(README, readme())
