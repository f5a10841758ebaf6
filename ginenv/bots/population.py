"""A population of different players: styles drawn at random, each as a record for compiled code.

A style begins with a plan (such as counting its outs, formulas, or playing by feel). It then gets leanings, most of which can be punished:
what tempts it in the pile, what it hoards, what it fears, when it knocks, what it remembers, how often it errs. The same seed draws the
same styles; drawing more only adds to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ginenv.bots.heuristics import ALL_OF_PILE, StylePlayer, style
from ginenv.bots.style_kernels import FEARS
from ginenv.errors import check_integer

# The plans that styles begin with, and how many of a hundred styles begin with each.
_THINKS: dict[str, Any] = {"draw": "gain", "discard": "cost", "memory": ALL_OF_PILE, "infer": 1}
_BEGINNINGS: dict[str, tuple[int, dict[str, Any]]] = {
    "counts its outs": (
        40,
        _THINKS | {"ahead": 2.5, "gin": 30.0, "decay": 0.95, "ways": 2.0, "danger": 12.0, "bar": 99.0},
    ),
    "formulas": (25, _THINKS | {"ways": 1.0, "danger": 4.0, "bar": 99.0}),
    "by feel": (20, _THINKS | {"draw": "meld", "memory": 3, "infer": 0, "ways": 0.7, "noise": 1.5}),
    "least deadwood": (8, {"draw": "meld", "discard": "least"}),
    "largest card": (7, _THINKS | {"discard": "largest", "bar": 99.0}),
}
# When a style knocks: the most deadwood in the first turns, how many turns those are, and the most deadwood after them.
_KNOCKS: dict[str, tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "at once": (25, (10, 10, 9, 8), (99,), (10,)),
    "early, then gin": (20, (10, 10, 8), (2, 3, 4, 5, 6), (0, 0, 1, 2)),
    "low": (15, (2, 3, 4, 5, 6), (99,), (0,)),
    "gin": (15, (0, 0, 1), (99,), (0,)),
    "waits, then knocks": (15, (0, 0, 1, 2, 3), (3, 4, 5, 6, 8), (7, 8, 10, 10)),
    "relaxes": (10, (3, 4, 5, 6), (3, 4, 5), (8, 10)),
}
# Biases: how many of a hundred styles have each, and the range from which its strength is drawn evenly. From ``pairs`` to
# ``noise`` they matter only to styles that discard by cost.
_BIAS_RANGES: dict[str, tuple[int, float, float]] = {
    "pair_bait": (22, 0.2, 0.9),
    "run_bait": (18, 0.15, 0.7),
    "overlook": (12, 0.1, 0.35),
    "patience": (15, 0.2, 0.7),
    "pairs": (25, 2.0, 8.0),
    "runs": (25, 2.0, 8.0),
    "follow": (25, 2.0, 8.0),
    "kings": (15, 3.0, 8.0),
    "clings": (20, 2.0, 8.0),
    "noise": (30, 1.0, 5.0),
    "blunder": (12, 0.02, 0.06),
}


def _share(rng: np.random.Generator, table: dict[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    shares = np.array([entry[0] for entry in table.values()], float)
    return list(table.values())[rng.choice(len(shares), p=shares / shares.sum())]


def _draw_one(rng: np.random.Generator) -> np.ndarray:
    numbers = dict(_share(rng, _BEGINNINGS)[1])
    _, knock, turns, late = _share(rng, _KNOCKS)
    numbers |= {"knock": int(rng.choice(knock)), "turns": int(rng.choice(turns)), "late": int(rng.choice(late))}
    for name, (percent, low, high) in _BIAS_RANGES.items():
        if rng.random() * 100 < percent:
            numbers[name] = rng.uniform(low, high)
    # It sheds high cards, from the first turn on or increasingly; or it keeps them.
    if rng.random() < 0.35:
        numbers["high"] = rng.uniform(-1.5, 0.7)
    if rng.random() < 0.2:
        numbers["shed"] = rng.uniform(-0.3, 0.1)
    for name, spread in (("danger", 2.0), ("ways", 2.0), ("ahead", 1.5)):
        if numbers.get(name):
            numbers[name] *= spread ** rng.uniform(-1, 1)
    if rng.random() < 0.15:
        numbers["danger"] = 0.0
    if rng.random() < 0.3:
        numbers["unafraid"] = FEARS[rng.integers(1, len(FEARS))]
    if rng.random() < 0.3:
        numbers["memory"] = int(rng.choice((0, 1, 2, 4, 8)))
    if rng.random() < 0.2:
        numbers["infer"] = 1 - numbers.get("infer", 0)
    if rng.random() < 0.25 and numbers["draw"] == "gain":
        numbers["bar"] = rng.uniform(3.0, 9.0)
    if rng.random() < 0.12:
        numbers["low_bait"] = int(rng.choice((1, 2, 3)))
    if rng.random() < 0.15:
        numbers["nerve"] = int(rng.choice((1, 2, 3)))
    return style("random", **({"blunder": 0.0} | numbers))


def draw_styles(seed: int, count: int) -> np.ndarray:
    """Random styles, ``STYLE[count]``.

    Raises:
        GinError: if ``count`` is not 1 or more.
    """
    check_integer("count", count, 1)
    rng = np.random.default_rng(seed)
    return np.concatenate([_draw_one(rng) for _ in range(count)])


class PopulationPlayer(StylePlayer):
    """Another random style in every game: game ``slot`` is played by style ``slot % count``.

    Args:
        seed: of the players' luck.
        count: number of styles.
        draw: seed with which they are drawn.
    """

    name = "population"

    def __init__(self, seed: int = 0, count: int = 512, draw: int = 1) -> None:
        super().__init__(draw_styles(int(draw), int(count)), seed)
