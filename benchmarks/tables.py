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


def search_table() -> list[str]:
    """The search on top of the shipped network: strength by budget, and without each of its parts."""
    measured = json.loads((RESULTS / "search_strength.json").read_text(encoding="utf-8"))
    lines = ["| `search` | against | games | games won | points a hand | ms a decision |", "|---|---|---|---|---|---|"]
    for key, match in measured.items():
        player, opponent = key.split(" – ")[:2]
        milliseconds = match["style"][0]["ms_per_decision"]
        cells = (_share(match), _points(match), f"{milliseconds:.1f}")
        lines.append(f"| `{player}` | `{opponent}` | {match['jobs']:,} | {' | '.join(cells)} |")
    lines += [
        "",
        "| 1,000 positions, one decision at a time, one core | worlds | mean ms | 95 % ms |",
        "|---|---|---|---|",
    ]
    speed = json.loads((RESULTS / "search_speed.json").read_text(encoding="utf-8"))
    for name, found in speed.items():
        if isinstance(found, dict):
            for worlds, row in found.items():
                lines.append(f"| {name} | {worlds} | {row['mean_ms']:.1f} | {row['p95_ms']:.1f} |")
    return lines


def _interval(found: dict[str, float], scale: float = 1.0, digits: int = 2) -> str:
    mean, low, high = (scale * found[key] for key in ("mean", "low", "high"))
    return f"{mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def levels_table() -> list[str]:
    """The four levels: ladder, learning, growth and variety."""
    rows = json.loads((RESULTS / "levels.json").read_text(encoding="utf-8"))["rows"]
    lines = ["| as installed, `eaai` | games | games won | points a hand |", "|---|---|---|---|"]
    for name, row in rows.items():
        if name.startswith("ladder"):
            _, one, other = name.split()
            share = row["share"]
            won = f"{100 * share['mean']:.1f} % ({100 * share['low']:.1f} to {100 * share['high']:.1f})"
            lines.append(f"| `{one}` against `{other}` | {row['games']:,} | {won} | {_interval(row['points'])} |")
    lines += [
        "",
        "| gain by learning, points a hand | series | hands 51–200 | hands 201–500 | opponents above 0 | least of no harm |",
    ]
    lines.append("|---|---|---|---|---|---|")
    for name, row in rows.items():
        if name.startswith("adaptation"):
            first, last = row["mean_gain"]["51_200"], row["mean_gain"]["201_500"]
            harm = min(row["no_harm"].values(), key=lambda found: found["mean"])
            above = f"{last['opponents_above_0']} of {len(row['opponents'])}"
            cells = (f"10 × {row['series']}", _interval(first), _interval(last), above, _interval(harm))
            lines.append(f"| `{name.split()[1]}` | {' | '.join(cells)} |")
    lines += [
        "",
        "| after 5,000 hands, on 2,000 fresh ones | histories | points a hand over the installed level | lowest history |",
    ]
    lines.append("|---|---|---|---|")
    for name, row in rows.items():
        if name.startswith("growth"):
            lines.append(
                f"| `{name.split()[1]}` | {row['histories']} | {_interval(row['mean'])} | {row['lowest']:+.2f} |"
            )
    lines += [
        "",
        "| the same deal 1,000 times against `formula` | deals | different hands | commonest | what variety costs |",
    ]
    lines.append("|---|---|---|---|---|")
    for name, row in rows.items():
        if name.startswith("variety"):
            cells = (row["deals"], f"{row['different']:.0f}", f"{100 * row['commonest']:.1f} %", _interval(row["cost"]))
            lines.append(f"| `{name.split()[1]}` | {' | '.join(map(str, cells))} |")
    return lines


def results() -> str:
    """Everything between the marks."""
    about = """### Results

Rules `eaai` unless said, mirrored deals that nothing was trained or chosen on, 95 % intervals clustered by deal. Files and commands are in
`benchmarks/results/`; `make results` repeats the matches, `make bench` the speeds, `python -m benchmarks.tables` writes this.
"""
    parts = [network_table(), search_table(), levels_table(), speed_table()]
    return "\n".join([about, *(line for part in parts for line in [*part, ""]), ""])


def readme() -> str:
    """The README with the tables that the results files give."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{results()}{END}{after}"


if __name__ == "__main__":
    write_text(README, readme())
