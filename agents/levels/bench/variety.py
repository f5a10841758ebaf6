"""Variety: how many different hands a level plays on the same deal, and what that costs.

A level is as weak as its preferences make it; variety should cost nothing. So the cost is measured against the same level making its most
probable choice every time, with the preferences that make it keep high cards or take upcards.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from agents.arena.results import Estimate, ratio
from agents.arena.series import play_series
from agents.deal_streams import Domain
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from ginenv.engine.jit import kernel, mix
from ginenv.tables.players import BasePlayer, Player


@dataclass(frozen=True)
class Variety:
    """A level's variety.

    Attributes:
        different: ``int64[deals]``, number of different hands on each deal.
        commonest: ``float64[deals]``, share of the most frequent hand.
        cost: points per hand by which the level falls short of its most probable choices.
    """

    different: np.ndarray
    commonest: np.ndarray
    cost: Estimate


@kernel
def _settle(views):
    for i in range(views.shape[0]):
        v = views[i]
        word = mix(np.uint64(v.hand) ^ mix(np.uint64(v.phase)))
        for k in range(v.num_history):
            word = mix(word ^ np.uint64(v.history[k]))
        for seat in range(2):
            word = mix(word ^ np.uint64(v.score[seat]))
        v.luck = word


class FixedLuckPlayer(BasePlayer):
    """A player that always acts the same in the same position: its random words are computed from the view.

    Args:
        player: makes the choices.
    """

    def __init__(self, player: Player) -> None:
        super().__init__()
        self.player, self.name = player, f"{player.name}, settled"

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed."""
        super().reset(seed)
        self.player.reset(seed)

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        views = np.array(views, ndmin=1)
        _settle(views)
        return self.player.act(views, slots)

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Passes finished hands on."""
        self.player.observe_hands(views, slots)


def without_variety(level: Level, seed: int) -> Player:
    """The frozen level, making its most probable choice every time; a search gets the same worlds in the same position."""
    calm = level.with_settings(temperature=0.0, draw_temperature=0.0, hand_taste=0.0, slack=0.0)
    return FixedLuckPlayer(LevelPlayer(calm, seed, learn=False))


def _different_hands(player: Player, opponent: Player, plays: int, seed: int) -> tuple[int, float]:
    """Plays one deal again and again; returns the number of different hands and the share of the commonest."""
    seen: Counter[bytes] = Counter()

    def after(views: np.ndarray, slots: np.ndarray, numbers: np.ndarray) -> None:
        seen.update(view["history"][: view["num_history"]].tobytes() for view in views)

    play_series(player, opponent, series=plays, hands=1, seed=seed, domain=Domain.EVAL, after=after, same_deal=True)
    return len(seen), max(seen.values()) / plays


def measure_variety(level: Level, opponent: Player, deals: int, plays: int, cost_hands: int, seed: int = 0) -> Variety:
    """Plays some deals again and again, then others both with the level and with the level without variety.

    Args:
        level: played frozen, as a stranger meets it.
        opponent: the same every time.
        deals: how many deals.
        plays: of each of them.
        cost_hands: hands for the cost, in series of 10.
        seed: of the deals.
    """
    player = LevelPlayer(level, seed, learn=False)
    found = [_different_hands(player, opponent, plays, seed + deal) for deal in range(deals)]
    series = max(2, cost_hands // 10)
    points = [
        play_series(one, opponent, series=series, hands=10, seed=seed + 1000, domain=Domain.EVAL).mean(1)
        for one in (player, without_variety(level, seed))
    ]
    return Variety(
        np.array([different for different, _ in found]),
        np.array([commonest for _, commonest in found]),
        ratio(points[1] - points[0], np.ones(series)),
    )
