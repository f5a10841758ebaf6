"""Measures the levels: the ladder, what they gain by learning, whether they grow, and how their play varies.

python -m benchmarks.adaptation.levels                          everything
python -m benchmarks.adaptation.levels --series 300 --parts adaptation --levels level-1

Results are saved after every row in ``benchmarks/results/levels.json`` with the counts asked for. A row with the same counts is not
played again; rows of weights or settings other than the installed ones are dropped. Level 4 plays on the ladder with its search, and
adapts and grows with its network alone. It also adapts with its search, in fewer and shorter series, in two processes. Their finished
parts are kept in ``runs/levels_benchmark`` until the row is written.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from agents.arena import play_match
from agents.arena.executors import process_pool
from agents.config import parse_config
from agents.files import write_json
from agents.levels.bench.adaptation import (
    AdaptationConfig,
    level_of,
    partial_results,
)
from agents.levels.bench.adaptation import run as run_adaptation
from agents.levels.bench.growth import measure_growth
from agents.levels.bench.variety import measure_variety
from agents.levels.level import FILES, NAMES, Level, digest_of, load_level
from agents.levels.responses import RESPONSES
from agents.network.checkpoint import WEIGHTS, read_metadata
from agents.network.player import SHIPPED
from agents.search.config import SearchConfig
from ginenv.bots.heuristics import make_formula

RESULTS = Path(__file__).parents[1] / "results" / "levels.json"
RUNS = Path("runs/levels_benchmark")
LADDER = (
    ("level-2", "level-1"), ("level-3", "level-2"), ("level-4", "level-3"), ("formula", "level-1"),
    ("level-4", "network"), ("level-4", "knocker"),
)  # fmt: skip
# A strong player that no responses were found against.
STRONG = "benchmarks/checkpoints/stages"
# Most series against the opponents against which learning must do no harm.
HARM_SERIES = 25
# Series against each opponent, and hands in each, of a level that searches: some thirty hands a second.
SEARCH_SERIES, SEARCH_HANDS = 12, 300
# Processes that share the series of a level that searches.
PROCESSES = 2
# Rules besides eaai, the levels that also adapt under them, and the most series in which they do.
OTHER_RULES, ADAPT_THERE, OTHER_SERIES = ("dg-standard", "gc"), ("level-2", "level-4"), 30
PARTS = ("ladder", "adaptation", "rules", "search", "growth", "variety")


def _frozen(name: str) -> str:
    return f"{name}:learn=false" if name in NAMES else name


def ladder(one: str, other: str, games: int) -> dict[str, Any]:
    """One player against another, both as installed."""
    match = play_match(_frozen(one), _frozen(other), rules="eaai", pairs=games // 2, seed=41)
    return {"share": match.share.to_dict(), "points": match.points.to_dict(), "games": games}


def adaptation(name: str, series: int, hands: int = 500, rules: str = "eaai", worlds: int = 0) -> dict[str, Any]:
    """What a level gains against held-out opponents, and that it loses nothing against others."""
    arguments = {"level": name, "series": series, "hands": hands, "rules": rules, "worlds": worlds, "strong": STRONG}
    return run_adaptation(parse_config(arguments | {"harm_series": min(series, HARM_SERIES)}, AdaptationConfig))


def adaptation_by_search(name: str, series: int, hands: int, worlds: int) -> dict[str, Any]:
    """The same for a level that searches, under ``eaai``."""
    config = _by_search(name, series, hands, worlds)
    with process_pool(PROCESSES) as pool:
        return run_adaptation(config, parts=partial_results(config, level_of(config)), executor=pool)


def _by_search(name: str, series: int, hands: int, worlds: int) -> AdaptationConfig:
    arguments = {"level": name, "series": series, "hands": hands, "worlds": worlds, "strong": STRONG, "out": RUNS}
    return parse_config(arguments, AdaptationConfig)


def growth(name: str, histories: int) -> dict[str, Any]:
    """What experience gains against opponents not met before."""
    found = measure_growth(load_level(name).with_settings(worlds=0), histories)
    return {
        "histories": histories,
        "mean": found.mean.to_dict(),
        "lowest": float(found.gains.min()),
    }


def variety(name: str, deals: int, hands: int, worlds: int = 0) -> dict[str, Any]:
    """How differently a level plays the same deals, and what that costs."""
    found = measure_variety(load_level(name).with_settings(worlds=worlds), make_formula(1), deals, 1000, hands)
    return {
        "deals": deals,
        "different": float(np.median(found.different)),
        "commonest": float(np.median(found.commonest)),
        "cost": found.cost.to_dict(),
        "hands": hands,
    }


def stored_results() -> dict[str, Any]:
    """The rows measured with the current levels, the network that level 4 searches with, and the search's settings."""
    document = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"players": {}, "rows": {}}
    players = {name: load_level(name).digest for name in NAMES} | {"network": read_metadata(SHIPPED)["weights_sha256"]}
    players |= {f"{name} as installed": digest_of(load_level(name).directory, FILES) for name in NAMES}
    players |= {f"{name} without search": _without_search(load_level(name)) for name in NAMES}
    # Search settings that a level does not set are the search's defaults.
    players["search"] = SearchConfig().model_dump_json()  # pyright: ignore[reportCallIssue]
    changed = {name for name in players if document["players"].get(name) != players[name]}
    rows = {name: row for name, row in document["rows"].items() if not changed & _players_of(name)}
    return {"players": players, "rows": rows}


def _without_search(level: Level) -> str:
    """What a level's play depends on when it learns and plays by its network alone."""
    settings = level.settings.model_dump_json(exclude={"title", "worlds", "slack"})
    return f"{digest_of(level.directory, (WEIGHTS, RESPONSES))} {settings}"


def _players_of(row: str) -> set[str]:
    """The players that a row depends on, from names such as ``ladder level-4 network`` and ``variety level-4 search``."""
    kind, *names = row.split()
    searches = "level-4" in names and (kind == "ladder" or "search" in names)
    # On the ladder and for variety a level does not learn, so its responses to opponents do not matter.
    learns = kind not in ("ladder", "variety")
    which = ("" if searches else " without search") if learns else " as installed"
    levels = {f"{name}{which}" for name in names if name in NAMES}
    return levels | ({"search"} if searches else set()) | ({"network"} if searches or "network" in names else set())


def main() -> None:
    """Measures what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--levels", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--games", type=int, default=1000, help="of each pair of the ladder")
    parser.add_argument("--series", type=int, default=100, help="against each opponent, 2 or more")
    parser.add_argument("--length", type=int, default=500, help="hands of each series")
    parser.add_argument("--histories", type=int, default=20)
    parser.add_argument("--deals", type=int, default=100, help="played 1,000 times each")
    parser.add_argument("--hands", type=int, default=20000, help="for the cost of variety")
    arguments = parser.parse_args()
    if arguments.series < 2:
        parser.error("an interval by series needs 2 series or more")
    jobs: list[tuple[str, dict[str, int], partial[dict[str, Any]]]] = []
    if "ladder" in arguments.parts:
        for one, other in LADDER:
            jobs.append((f"ladder {one} {other}", {"games": arguments.games}, partial(ladder, one, other)))
    for name in arguments.levels:
        level = load_level(name)
        worlds = level.settings.worlds
        if "adaptation" in arguments.parts and level.learns:
            counts = {"series": arguments.series, "hands": arguments.length}
            jobs.append((f"adaptation {name}", counts, partial(adaptation, name)))
        if "rules" in arguments.parts and name in ADAPT_THERE:
            for rules in OTHER_RULES:
                counts = {"series": min(arguments.series, OTHER_SERIES), "hands": arguments.length}
                jobs.append((f"adaptation {name} {rules}", counts, partial(adaptation, name, rules=rules)))
        if "search" in arguments.parts and worlds and level.learns:
            counts = {"series": SEARCH_SERIES, "hands": SEARCH_HANDS, "worlds": worlds}
            jobs.append((f"adaptation {name} search", counts, partial(adaptation_by_search, name)))
        if "growth" in arguments.parts and level.learns:
            jobs.append((f"growth {name}", {"histories": arguments.histories}, partial(growth, name)))
        if "variety" in arguments.parts:
            jobs.append(
                (f"variety {name}", {"deals": arguments.deals, "hands": arguments.hands}, partial(variety, name))
            )
        if "variety" in arguments.parts and worlds:
            counts = {"deals": arguments.deals, "hands": arguments.hands, "worlds": worlds}
            jobs.append((f"variety {name} search", counts, partial(variety, name)))
    console = Console()
    for name, counts, job in jobs:
        if stored_results()["rows"].get(name, {}).get("counts") == counts:
            continue
        found = job(**counts) | {"counts": counts}
        # Read again, because another part may have been measured meanwhile.
        document = stored_results()
        document["rows"][name] = found
        document["rows"] = dict(sorted(document["rows"].items()))
        write_json(RESULTS, document)
        if job.func is adaptation_by_search:
            config = _by_search(*job.args, **counts)
            partial_results(config, level_of(config)).drop()
        shown = {
            key: found[key]
            for key in ("share", "specific_gain", "total_gain", "mean", "different", "commonest")
            if key in found
        }
        console.print(name, shown)


if __name__ == "__main__":
    main()
