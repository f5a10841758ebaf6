"""Never the same way twice: how many different hands a level plays on the same deal, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.arena.results import Estimate, ratio
from agents.levels.card import Level
from agents.levels.player import LevelPlayer
from agents.levels.series import play_series
from agents.seeds import Domain
from ginenv.players import Player


@dataclass(frozen=True)
class Variety:
    """What was seen.

    Attributes:
        different: ``int64[deals]``, different hands on each deal.
        commonest: ``float64[deals]``, share of the hand that came most often.
        plays: of each deal.
        cost: points a hand by which the level falls short of itself without variety.
    """

    different: np.ndarray
    commonest: np.ndarray
    plays: int
    cost: Estimate


def without_variety(level: Level) -> Level:
    """The same level with its most probable choice every time."""
    settings = level.settings.model_copy(update={"temperature": 0.0, "leaning": 0.0, "noise": 0.0})
    return Level(**{**level.__dict__, "settings": settings})


def measure_variety(
    level: Level, opponent: Player, deals: int, plays: int, cost_hands: int, seed: int = 0, domain: Domain = Domain.EVAL
) -> Variety:
    """Plays the same deals again and again, then compares with the level without variety on many.

    Args:
        level: played frozen, as a stranger meets it.
        opponent: the same every time.
        deals: how many deals.
        plays: of each of them.
        cost_hands: hands for the cost, in as many series of 10.
        seed: of the deals.
        domain: which stream they come from.
    """
    different, commonest = np.zeros(deals, np.int64), np.zeros(deals)
    for deal in range(deals):
        seen: dict[bytes, int] = {}

        def after(views: np.ndarray, slots: np.ndarray, numbers: np.ndarray, seen: dict[bytes, int] = seen) -> None:
            for view in views:
                hand = view["history"][: view["num_history"]].tobytes()
                seen[hand] = seen.get(hand, 0) + 1

        player = LevelPlayer(level, seed, learn=False)
        play_series(
            player, opponent, series=plays, hands=1, seed=seed + deal, domain=domain, after=after, same_deal=True
        )
        different[deal], commonest[deal] = len(seen), max(seen.values()) / plays
    points = [
        play_series(
            LevelPlayer(one, seed, learn=False),
            opponent,
            series=max(2, cost_hands // 10),
            hands=10,
            seed=seed + 1000,
            domain=domain,
        )
        for one in (without_variety(level), level)
    ]
    loss = (points[0].astype(np.float64) - points[1]).mean(1)
    return Variety(different, commonest, plays, ratio(loss, np.ones(len(loss))))
