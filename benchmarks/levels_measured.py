"""The levels, measured: the ladder, what they gain by learning, whether they grow, and how they vary.

python -m benchmarks.levels_measured                          everything, in some two hours
python -m benchmarks.levels_measured --series 30 --parts adaptation

Results are kept after every row in ``benchmarks/results/levels.json``; rows of other weights or settings than the installed ones are
dropped, the others are not played again. Level 4 adapts and varies with its network alone, and stands on the ladder with its search.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from agents.arena import play_match
from agents.files import write_json
from agents.heuristics import make_formula
from agents.levels.adaptation import AdaptationConfig
from agents.levels.adaptation import run as run_adaptation
from agents.levels.card import NAMES, load_level
from agents.levels.growth import measure_growth
from agents.levels.variety import measure_variety
from agents.seeds import Domain

RESULTS = Path(__file__).parent / "results" / "levels.json"
LADDER = (
    ("level-2", "level-1"), ("level-3", "level-2"), ("level-4", "level-3"), ("formula", "level-1"),
    ("level-4", "network"), ("level-4", "knocker"),
)  # fmt: skip
PARTS = ("ladder", "adaptation", "growth", "variety")


def _frozen(name: str) -> str:
    return f"{name}:learn=false" if name in NAMES else name


def ladder(one: str, other: str, games: int) -> dict[str, Any]:
    """One player against another, both as installed."""
    match = play_match(_frozen(one), _frozen(other), rules="eaai", pairs=games // 2, seed=41, domain=Domain.EVAL)
    return {"share": match.share.to_dict(), "points": match.points.to_dict(), "games": games}


def adaptation(name: str, series: int) -> dict[str, Any]:
    """What a level gains against opponents with habits, and that it loses nothing against others."""
    config = AdaptationConfig(level=name, series=series, worlds=0, ceiling_hands=1000, controls=False)  # pyright: ignore[reportCallIssue]
    return run_adaptation(config)


def growth(name: str, histories: int) -> dict[str, Any]:
    """What experience brings against opponents not met before."""
    found = measure_growth(load_level(name), histories)
    return {
        "histories": histories,
        "mean": found.mean.to_dict(),
        "lowest": float(found.gains.min()),
        "promoted": found.promoted,
    }


def variety(name: str, deals: int, hands: int, worlds: int = 0) -> dict[str, Any]:
    """How differently a level plays the same deals, and what that costs."""
    level = load_level(name)
    level = type(level)(**{**level.__dict__, "settings": level.settings.model_copy(update={"worlds": worlds})})
    found = measure_variety(level, make_formula(1), deals, 1000, hands)
    return {
        "deals": deals,
        "different": float(np.median(found.different)),
        "commonest": float(np.median(found.commonest)),
        "cost": found.cost.to_dict(),
        "hands": hands,
    }


def kept() -> dict[str, Any]:
    """What was measured of the levels that are installed now."""
    document = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"levels": {}, "rows": {}}
    digests = {name: load_level(name).digest for name in NAMES}
    changed = {name for name in NAMES if document["levels"].get(name) != digests[name]}
    rows = {name: row for name, row in document["rows"].items() if not changed & set(name.split())}
    return {"command": "python -m benchmarks.levels_measured", "levels": digests, "rows": rows}


def main() -> None:
    """Measures what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--levels", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--games", type=int, default=2000, help="of each pair of the ladder")
    parser.add_argument("--series", type=int, default=300, help="against each opponent with habits")
    parser.add_argument("--histories", type=int, default=20)
    parser.add_argument("--deals", type=int, default=100, help="played 1,000 times each")
    parser.add_argument("--hands", type=int, default=20000, help="for the cost of variety")
    asked = parser.parse_args()
    jobs: list[tuple[str, Callable[[], dict[str, Any]]]] = []
    if "ladder" in asked.parts:
        for one, other in LADDER:
            jobs.append((f"ladder {one} {other}", lambda one=one, other=other: ladder(one, other, asked.games)))
    for name in asked.levels:
        if "adaptation" in asked.parts:
            jobs.append((f"adaptation {name}", lambda name=name: adaptation(name, asked.series)))
        if "growth" in asked.parts and name != "level-4":
            jobs.append((f"growth {name}", lambda name=name: growth(name, asked.histories)))
        if "variety" in asked.parts:
            jobs.append((f"variety {name}", lambda name=name: variety(name, asked.deals, asked.hands)))
            worlds = load_level(name).settings.worlds
            if worlds:
                # The hidden cards that a search deals differ from time to time; nothing else varies, so nothing is lost by it.
                jobs.append((f"variety {name} search", lambda name=name, worlds=worlds: variety(name, 20, 20, worlds)))
    console = Console()
    for name, job in jobs:
        if name in kept()["rows"]:
            continue
        found = job()
        # Read again, since another part may have been measured meanwhile.
        document = kept()
        document["rows"][name] = found
        document["rows"] = dict(sorted(document["rows"].items()))
        write_json(RESULTS, document)
        shown = {key: found[key] for key in ("share", "mean_gain", "mean", "different", "commonest") if key in found}
        console.print(name, shown)


if __name__ == "__main__":
    main()
