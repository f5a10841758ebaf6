"""What the tables of the pages show: figures of results files, rules, observations, ``info``, public names."""

from __future__ import annotations

import importlib
import inspect
import json
from typing import Any

import ginenv
from agents.rating import DATA
from benchmarks.tables import Rows, Table
from ginenv.engine.rule_texts import PRESET_TEXTS, RULE_TEXTS
from ginenv.tables import info
from ginenv.view.encoding import FACTS, PLANES

# A match, as `evaluate.py` writes it.
MATCH = "{jobs:,} | {share:percent} | {points_per_hand:points}"
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
        [Rows("level-*-eaai-*", "{players[0]:player} | {players[1]:player} | {jobs:,} | {share:percent}", "matches/0")],
    ),
}

FIGURES = {
    "opponents": Table(
        "`network` against | games | games won | points per hand",
        [Rows("network-eaai-*", f"{{players[1]:player}} | {MATCH}", "matches/0")],
    ),
    "presets": Table(
        "`network` against `formula` under | hands won | points per hand",
        [Rows("network-rules-*", "`{name}` | {share:percent} | {points_per_hand:points}", "matches/0")],
    ),
    "again": Table(
        "the other network against | games | games won | points per hand",
        [Rows("again-eaai-*", f"{{players[1]:player}} | {MATCH}", "matches/0")],
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
    ),
    "search": Table(
        "player | against | games | games won | points per hand",
        [
            Rows(_SEARCH[0], f"`{{players[0]}}` | `{{players[1]}}` | {MATCH}", _SEARCH[1].format(name))
            for name in ("network", "simple")
        ],
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
    ),
    "ladder of levels": README["levels"],
    "hands a second": Table(
        "one core, random hands | hands a second | beside OpenSpiel",
        [Rows("engine_speed", "{name} | {hands_per_second:,.0f} | {hands_ratio:,.1f} ×", "rows/*")],
    ),
    "steps a second": Table(
        "one core, a learner's steps | steps a second | beside OpenSpiel",
        [Rows("env_speed", "{name} | {decisions_per_second:,.0f} | {decisions_ratio:,.1f} ×", "rows/*")],
    ),
    "training": Table(
        "what is trained, on two cores | decisions a second | beside MaskablePPO",
        [Rows("training_speed", "{name} | {per_second:,} | {ratio:.1f} ×", "rows/*")],
    ),
}


def _rungs() -> list[dict[str, Any]]:
    document = json.loads(DATA.read_text(encoding="utf-8"))
    rungs = [{"name": name} | document["players"][name] for name in document["opponents"]]
    return sorted(rungs, key=lambda rung: -rung["rating"])


RATINGS = {
    "ladder": Table(
        "rung | rating (95 %)", [Rows(_rungs(), "`{name}` | {rating:+.0f} ({low:+.0f} to {high:+.0f})", "*")]
    ),
}

ENVIRONMENT = {
    "planes": [Table("plane | cells that are 1", [Rows(dict(enumerate(PLANES)), "{key} | {value}", "*")])],
    "facts": [
        Table(
            "index | what it holds",
            [Rows({len(PLANES) * 52 + n: words for n, (words, _) in enumerate(FACTS)}, "{key} | {value}", "*")],
        )
    ],
    # The docstring without its title.
    "info": [(inspect.getdoc(info) or "").replace("``", "`").split("\n\n", 2)[2] + "\n"],
}

# What values are; functions and classes say it in the first sentence of their docstrings.
_VALUES = {
    "FACTS": "What each cell of the last plane holds, and its scale",
    "FLAT_SCALE": 'What `observation="flat"` multiplies each byte by, `float32[520]`',
    "KNOCK": "The first action that knocks: `KNOCK + card` knocks and discards that card",
    "NUM_ACTIONS": "The number of actions, 107",
    "OBSERVATION_SIZE": "The bytes of an observation, 520",
    "OBSERVATION_VERSION": "The version of the layout of observations, which checkpoints hold",
    "PASS": "The action that passes, or ends a lay-off",
    "PLANES": "What each plane of cards holds",
    "PLANES_SHAPE": 'The shape of `observation="planes"`, `(10, 4, 13)`',
    "PRESETS": "The rules of every preset, by name",
    "STOCK": "The action that draws from the stock",
    "UPCARD": "The action that takes the upcard",
    "VIEW": "The dtype of a view: everything that one seat may see",
    "__version__": "The version",
}
_TOPICS = {
    "envs": "Environments",
    "tables": "Players",
    "view": "Views and observations",
    "hands": "Hands, games, records",
    "engine": "Rules, cards, actions",
    "errors": "Errors, version",
}
# Public modules of agents, and their public names.
_AGENTS = {
    "agents.arena": ("MatchSettings", "MatchResult", "play_match"),
    "agents.arena.executors": ("process_pool",),
    "agents.arena.series": ("play_series",),
    "agents.estimates": ("ratio",),
    "agents.analysis": ("Analyst", "deal_and_play", "read_hands"),
    "agents.search.config": ("SearchConfig",),
    "agents.search.player": ("make_search",),
    "agents.programs.events": ("HandEvents", "question"),
    "agents.programs.views": ("read_views",),
    "agents.programs.words": ("entry_words", "question_words", "rules_words"),
    "agents.levels.level": ("Level", "LevelSettings", "load_level"),
    "agents.levels.player": ("LevelPlayer",),
    "agents.datasets.source": ("PlayedGames",),
    "agents.datasets.store": ("write_games",),
    "agents.datasets.load": ("Games",),
    "agents.config": ("TrainConfig", "NetworkConfig", "load_config"),
    "agents.training.learner": ("Learner",),
    "agents.training.ppo": ("collect", "compute_advantages", "update"),
    "agents.network.checkpoint": ("save_checkpoint",),
}


def _about(module: str, name: str) -> dict[str, str]:
    words = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
    summary = " ".join(words.split("\n\n")[0].replace("``", "`").removesuffix(".").split())
    return {"module": module, "name": name, "words": _VALUES.get(name, summary)}


def _names(folder: str) -> Table:
    folder_of = {name: module.split(".")[0] for module, names in ginenv._MODULES.items() for name in names}
    rows = [_about("ginenv", name) for name in ginenv.__all__ if folder_of.get(name, "errors") == folder]
    return Table("name | ", [Rows(rows, "`{name}` | {words}", "*")], f"### {_TOPICS[folder]}")


_PUBLIC = [_about(module, name) for module, names in _AGENTS.items() for name in names]

# By page and mark.
PAGES: dict[str, dict[str, list[Table | str]]] = {
    "README.md": {name: [table] for name, table in README.items()},
    "docs/results.md": {name: [table] for name, table in FIGURES.items()},
    "docs/rating.md": {name: [table] for name, table in RATINGS.items()},
    "docs/environment.md": ENVIRONMENT,
    "docs/rules.md": {
        "presets": [Table("preset | ", [Rows(PRESET_TEXTS, "`{key}` | {value}", "*")])],
        "rules": [Table("rule | ", [Rows(RULE_TEXTS, "`{key}` | {value}", "*")])],
    },
    "docs/api.md": {
        "names": [_names(folder) for folder in _TOPICS],
        "agents": [Table("from | import | ", [Rows(_PUBLIC, "`{module}` | `{name}` | {words}", "*")])],
    },
}
