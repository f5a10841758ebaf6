"""The tables that pages other than that of results show: rules, observations, ``info``, public names, ratings."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable
from types import ModuleType

import ginenv
from agents.arena.ladder import DATA
from benchmarks.markdown import interval, percent, read, table
from ginenv.engine.rule_texts import PRESET_TEXTS, RULE_TEXTS
from ginenv.tables import info
from ginenv.view.encoding import FACTS, FLAT_SCALE, PLANES

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
    "agents.arena.results": ("ratio",),
    "agents.arena.series": ("play_series",),
    "agents.analysis": ("Analyst", "deal_and_play", "read_hands"),
    "agents.search": ("SearchConfig", "make_search"),
    "agents.search.explain": ("explain",),
    "agents.programs.protocol": ("EventEncoder", "question"),
    "agents.programs.views": ("read_views",),
    "agents.programs.words": ("entry_words", "question_words", "rules_words"),
    "agents.levels.level": ("Level", "LevelSettings", "load_level"),
    "agents.levels.player": ("LevelPlayer",),
    "agents.datasets.source": ("Expert", "PlayedGames"),
    "agents.datasets.store": ("write_games",),
    "agents.datasets.load": ("Games",),
    "agents.config": ("TrainConfig", "NetworkConfig", "load_config"),
}
# What the pages show of ratings: after how many hands, and the parts of a series with a switch.
_RATED = ("100", "300")
_HELD = tuple(f"interval after {hands} hands holds it" for hands in _RATED)
_SWITCH = ("before", "first_60", "after")


def _about(module: ModuleType, name: str) -> str:
    if name in _VALUES:
        return _VALUES[name]
    summary = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")[0]
    return " ".join(summary.replace("``", "`").removesuffix(".").split())


def names_table() -> list[str]:
    """The names of ``ginenv``, by topic."""
    lines = []
    folder_of = {name: module.split(".")[0] for module, names in ginenv._MODULES.items() for name in names}
    for folder, topic in _TOPICS.items():
        names = [name for name in ginenv.__all__ if folder_of.get(name, "errors") == folder]
        lines += [f"### {topic}\n", *table(["name", ""], [[f"`{name}`", _about(ginenv, name)] for name in names])]
    return lines


def agents_table() -> list[str]:
    """The public names of ``agents``."""
    rows = [
        [f"`{where}`", f"`{name}`", _about(importlib.import_module(where), name)]
        for where, names in _AGENTS.items()
        for name in names
    ]
    return table(["from", "import", ""], rows)


def ids_table() -> list[str]:
    """The environments that are registered."""
    rows = [
        [f"`{name}`", f'`gym.make("{name}", ...)`, `gym.make_vec("{name}", num_envs=64, ...)`', words]
        for name, words in (("Gin/Hand-v0", "one hand"), ("Gin/Game-v0", "a game of hands, to the rules' `target`"))
    ]
    return table(["id", "made by", "an episode is"], rows)


def planes_table() -> list[str]:
    """The planes of an observation."""
    return table(["plane", "cells that are 1"], [[str(n), words] for n, words in enumerate(PLANES)])


def facts_table() -> list[str]:
    """The small numbers of the last plane."""
    first = len(PLANES) * 52
    rows = [
        [f"{n // 13}, {n % 13}", str(first + n), words, f"{FLAT_SCALE[first + n]:.4g}"]
        for n, (words, _) in enumerate(FACTS)
    ]
    return table(["plane 9, cell", "flat, index", "what it holds", "flat: times"], rows)


def info_text() -> list[str]:
    """What ``info`` holds: the module's docstring after its title."""
    return [*(inspect.getdoc(info) or "").replace("``", "`").split("\n\n", 2)[2].split("\n"), ""]


def rules_table() -> list[str]:
    """Every rule."""
    return table(["rule", ""], [[f"`{name}`", words] for name, words in RULE_TEXTS.items()])


def presets_table() -> list[str]:
    """Every preset."""
    return table(["preset", ""], [[f"`{name}`", words] for name, words in PRESET_TEXTS.items()])


def ladder_table() -> list[str]:
    """The rungs that are met."""
    document = json.loads(DATA.read_text(encoding="utf-8"))
    rungs = sorted(document["opponents"], key=lambda name: -document["players"][name]["rating"])
    rows = []
    for name in rungs:
        found = document["players"][name]
        games = sum(2 * sum(each["shares"]) for each in document["pairings"] if name in each["players"])
        rating = f"{found['rating']:+.0f} ({found['low']:+.0f} to {found['high']:+.0f})"
        rows.append([f"`{name}`", rating, f"{games:,}"])
    return table(["rung", "rating (95 %)", "games"], rows)


def short_ratings_table() -> list[str]:
    """How often the interval of a few hands holds the true rating, and how wide it is."""
    rows = []
    for each in read("short_ratings")["players"]:
        true = each["true"]
        for hands, row in each["hands"].items():
            width = f"±{row['half_width']:.0f} (±{row['half_width_luck_left_in']:.0f})"
            covered = f"{row['covered']} of {each['tries']}"
            rows.append(
                [f"`{each['player']}`", f"{true['rating']:+.0f}", hands, covered, width, f"{row['mean_error']:+.0f}"]
            )
    headings = ["player", "true rating", "hands", "interval holds it", "half of its width (luck left in)", "mean error"]
    return table(headings, rows)


def hands_won_table() -> list[str]:
    """What counting won hands hides."""
    found = read("short_ratings")["hands_won"]
    one, other = found["players"]
    rows = [
        ["hands won (drawn ones left out)", percent(found["hand_share"]), f"{found['hands']:,} hands"],
        ["points per hand", interval(found["points"]), f"{found['hands']:,} hands"],
        ["games won", percent(found["game_share"]), f"{found['games']:,} games"],
    ]
    return table([f"`{one}` against `{other}`", "", ""], rows)


def matched_table() -> list[str]:
    """How even ``matched`` plays, and whether its ratings hold the true ones."""
    found, rows, switches = read("matched"), [], []
    if not found:
        return ["The network has changed since this was last measured.", ""]
    for each in found["opponents"]:
        name = each["opponent"] if each["opponent"].startswith("style ") else f"`{each['opponent']}`"
        if "after" in each:
            first, second = (f"`{part}`" for part in each["opponent"].split(", then "))
            switches.append(
                [f"{first}, then {second}", str(each["series"]), *map(interval, (each[k] for k in _SWITCH))]
            )
            continue
        ratings = each["ratings"]
        intervals = [
            f"{ratings[hands]['covered']} of {each['series']} (±{ratings[hands]['half_width']:.0f})" for hands in _RATED
        ]
        rows.append([name, str(each["series"]), interval(each["points"]), f"{each['true']:+.0f}", *intervals])
    headings = ["somebody else after 150 hands", "series", "points before", "in the first 60 hands", "after them"]
    coverage = {hands: percent(found["coverage"][hands]) for hands in _RATED}
    return [
        *table(["against", "series", "points per hand, hands 41 to 300", "true rating", *_HELD], rows),
        f"Of all series, the interval holds the true rating in {coverage['100']} after 100 hands and in {coverage['300']} after 300.",
        "",
        *(table(headings, switches) if switches else []),
    ]


# By page of docs/ and mark.
TABLES: dict[str, dict[str, Callable[[], list[str]]]] = {
    "api.md": {"ids": ids_table, "names": names_table, "agents": agents_table},
    "environment.md": {"planes": planes_table, "facts": facts_table, "info": info_text},
    "levels.md": {"matched": matched_table},
    "rating.md": {"ladder": ladder_table, "short ratings": short_ratings_table, "hands won": hands_won_table},
    "rules.md": {"presets": presets_table, "rules": rules_table},
}
