"""Variety: how many different hands a level plays on the same deal, and what that costs.

A level is as weak as its preferences make it; variety should cost nothing. So the cost is measured against the same level making its most
probable choice every time, with the preferences that make it keep high cards or take upcards.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from agents.arena.series import play_series
from agents.deal_streams import Domain
from agents.estimates import ratio
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from ginenv.bots.heuristics import make_formula
from ginenv.tables.players import Player

# Hands of a series, and the seed of the series that measure the cost.
HANDS, _COST_SEED = 10, 1000


def _different_hands(player: Player, plays: int, seed: int) -> tuple[int, float]:
    """Plays one deal again and again; returns the number of different hands and the share of the commonest."""
    seen: Counter[bytes] = Counter()

    def after(views: np.ndarray, slots: np.ndarray, numbers: np.ndarray) -> None:
        seen.update(view["history"][: view["num_history"]].tobytes() for view in views)

    options: dict[str, Any] = {"seed": seed, "domain": Domain.EVAL, "same_deal": True}
    play_series(player, make_formula(1), series=plays, hands=1, after=after, **options)
    return len(seen), max(seen.values()) / plays


def measure_variety(level: Level, deals: int, plays: int, cost_hands: int) -> dict[str, Any]:
    """Plays some deals again and again against ``formula``, then others both with the level and with its most probable choices.

    Args:
        level: played frozen, as a stranger meets it.
        deals: how many deals.
        plays: of each of them.
        cost_hands: hands for the cost, 20 or more.

    Returns:
        Plain values: the median number of ``different`` hands of a deal, the median share of the ``commonest``, and by how many points per
        hand the level falls short of its most probable choices (``cost``).
    """
    player = LevelPlayer(level, learn=False)
    settled = level.with_settings(temperature=0.0, draw_temperature=0.0, hand_taste=0.0, slack=0.0)
    different, commonest = np.array([_different_hands(player, plays, deal) for deal in range(deals)]).T
    options: dict[str, Any] = {"hands": HANDS, "seed": _COST_SEED, "domain": Domain.EVAL}
    points = [
        play_series(one, make_formula(1), series=cost_hands // HANDS, **options).mean(1)
        for one in (player, LevelPlayer(settled, learn=False))
    ]
    cost = ratio(points[1] - points[0], np.ones(len(points[0])))
    medians = {"different": float(np.median(different)), "commonest": float(np.median(commonest))}
    return {"deals": deals} | medians | {"cost": cost.to_dict(), "hands": cost_hands}
