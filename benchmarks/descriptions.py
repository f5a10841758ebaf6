"""What the tables of the pages show: figures of results files, rules, observations, ``info``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from agents.rating import DATA
from benchmarks.markdown import RESULTS, Rows, Table
from ginenv.engine.rule_texts import PRESET_TEXTS, RULE_TEXTS
from ginenv.tables import info
from ginenv.view.encoding import FACTS, PLANES

# A match, as `evaluate.py` writes it.
MATCH = "{jobs:,} | {share:percent} | {points_per_hand:points}"
_LEVELS = "python -m benchmarks.levels.measure"
_SEARCH = "search_strength", "search:worlds=128 – {} – 2000 games, seed 1"

README = {
    "results": Table(
        "player | against | games | games won | points per hand",
        [
            *(
                Rows(f"network-eaai-{name}", f"`network` | `{name}`{who} | {MATCH}", "matches/0")
                for name, who in (("openspiel-simple", ""), ("simple", " (EAAI challenge baseline)"), ("knocker", ""))
            ),
            Rows(_SEARCH[0], f"`search` | `network` | {MATCH}", _SEARCH[1].format("network")),
            Rows("exploit-network", f"best of {{config[seeds]}} responses | `network` | {MATCH}", "matches/0"),
        ],
    ),
    "levels": Table(
        "level | against | games | games won, both as installed",
        [
            Rows(
                "levels", "`{key}` | `{config[above]}` | {config[games]:,} | {ladder[as_installed][share]:percent}", "*"
            )
        ],
    ),
}

FIGURES = {
    "opponents": Table(
        "`network` against | games | games won | points per hand",
        [Rows("network-eaai-*", f"{{players[1]:player}} | {MATCH}", "matches/0")],
        "make results",
    ),
    "presets": Table(
        "`network` against `formula` under | hands won | points per hand",
        [Rows("network-rules-*", "`{name}` | {share:percent} | {points_per_hand:points}", "matches/0")],
        "make results",
    ),
    "again": Table(
        "the other network against | games | games won | points per hand",
        [Rows("again-eaai-*", f"{{players[1]:player}} | {MATCH}", "matches/0")],
        "gin evaluate runs/network network --rules eaai --games 10000 --seed 31",
    ),
    "responses": Table(
        "best response to | decisions | games | games won | points per hand | more than `network` wins from it",
        [
            Rows(
                "exploit-*",
                f"`{{config[agent]}}` | {{config[seeds]}} × {{config[decisions]}} | {MATCH} | {{gained:points}}",
                "matches/0",
            )
        ],
        "gin exploit network --decisions 40000000 --seeds 3 --games 10000 --points 8",
    ),
    "search": Table(
        "player | against | games | games won | points per hand",
        [
            Rows(_SEARCH[0], f"`{{players[0]}}` | `{{players[1]}}` | {MATCH}", _SEARCH[1].format(name))
            for name in ("network", "simple")
        ],
        "gin evaluate search:worlds=128 network --games 2000 --seed 1",
    ),
    "distance from equilibrium": Table(
        "policy | temperature | decisions | seeds | NashConv, points per hand (lowest to highest)",
        [
            Rows(
                "nash_conv",
                "{recipe} | {temperature:g} | {decisions:,} | {seeds} | {mean:.2f} ({lowest:.2f} to {highest:.2f})",
                "curve/*",
            )
        ],
        "python -m benchmarks.nash_conv",
    ),
    "ladder of levels": Table(
        "level | against | games | games won, both as installed | both after 500 hands | both after 5,000 hands",
        [
            Rows(
                "levels",
                "`{key}` | `{config[above]}` | {config[games]:,} | {ladder[as_installed][share]:percent} | "
                "{ladder[after_500][share]:percent} | {ladder[after_5000][share]:percent}",
                "*",
            )
        ],
        _LEVELS,
    ),
    "coached": Table(
        "points per hand against `formula` | hands | gained in 500 hands | in 5,000 hands | in 500, the coach's answers shuffled",
        [
            Rows(
                "levels",
                "`{key}` | {config[cost_hands]:,} | {coached[after_500]:points} | {coached[after_5000]:points} | "
                "{coached[shuffled]:points}",
                "*",
            )
        ],
        _LEVELS,
    ),
    "gains": Table(
        "points per hand, hands 121 to 300 | in all: own less frozen | specific: own less mixed | "
        "specific, newly drawn opponents | specific, strangers of other kinds | in all, strangers",
        [
            Rows(
                "levels",
                "`{key}` | {gains[total][121_300]:points} | {gains[specific][121_300]:points} | "
                "{gains[specific][121_300][newly_drawn]:points} | {strangers[specific][121_300]:points} | "
                "{strangers[total][121_300]:points}",
                "*",
            )
        ],
        _LEVELS,
    ),
    "variety": Table(
        "the same deal 400 times against `formula` | deals | different hands | commonest | hands | variety costs, points per hand",
        [
            Rows(
                "levels",
                "`{key}` | {variety[deals]} | {variety[different]:.0f} | {variety[commonest]:.1%} | {variety[hands]:,} | "
                "{variety[cost]:points}",
                "*",
            )
        ],
        _LEVELS,
    ),
    "hands a second": Table(
        "one core, random hands | hands a second | beside OpenSpiel",
        [Rows("engine_speed", "{name} | {hands_per_second:,.0f} | {hands_ratio:,.1f} ×", "rows/*")],
        "python -m benchmarks.speed.beside_openspiel",
    ),
    "steps a second": Table(
        "one core, a learner's steps | steps a second | beside OpenSpiel",
        [Rows("env_speed", "{name} | {decisions_per_second:,.0f} | {decisions_ratio:,.1f} ×", "rows/*")],
        "python -m benchmarks.speed.beside_openspiel",
    ),
    "training": Table(
        "what is trained, on two cores | decisions a second | beside MaskablePPO",
        [Rows("training_speed", "{name} | {per_second:,} | {ratio:.1f} ×", "rows/*")],
        "python -m benchmarks.speed.training_speed",
    ),
}


def _rungs() -> list[dict[str, Any]]:
    document = json.loads(DATA.read_text(encoding="utf-8"))
    rungs = [{"name": name} | document["players"][name] for name in document["opponents"]]
    return sorted(rungs, key=lambda rung: -rung["rating"])


def _leaderboard() -> list[dict[str, Any]]:
    files = sorted((RESULTS.parent / "leaderboard").glob("*.json"))
    return sorted(
        (json.loads(path.read_text(encoding="utf-8")) for path in files), key=lambda row: -row["score"]["mean"]
    )


LEADERBOARD = {
    "leaderboard": Table(
        "player | score | trained or chosen on | ginenv",
        [Rows(_leaderboard(), "`{player}` | {score:percent} | {trained_on} | {versions[ginenv]}", "*")],
    ),
}

RATINGS = {
    "ladder": Table(
        "rung | rating (95 %)", [Rows(_rungs(), "`{name}` | {rating:+.0f} ({low:+.0f} to {high:+.0f})", "*")]
    ),
}

ENVIRONMENT: dict[str, Table | str] = {
    "planes": Table("plane | cells that are 1", [Rows(dict(enumerate(PLANES)), "{key} | {value}", "*")]),
    "facts": Table(
        "index | what it holds",
        [Rows({len(PLANES) * 52 + n: words for n, (words, _) in enumerate(FACTS)}, "{key} | {value}", "*")],
    ),
    # The docstring without its title.
    "info": (inspect.getdoc(info) or "").replace("``", "`").split("\n\n", 2)[2] + "\n",
}

RULES = {
    "presets": Table("preset | ", [Rows(PRESET_TEXTS, "`{key}` | {value}", "*")]),
    "rules": Table("rule | ", [Rows(RULE_TEXTS, "`{key}` | {value}", "*")]),
}

# By page and mark.
PAGES: dict[str, Mapping[str, Table | str]] = {
    "README.md": README,
    "docs/results.md": FIGURES,
    "docs/benchmark.md": LEADERBOARD,
    "docs/rating.md": RATINGS,
    "docs/environment.md": ENVIRONMENT,
    "docs/rules.md": RULES,
}
