"""Does a level get better with experience? Histories of thousands of hands, then new opponents, with and without what was learned.

In a history a level meets many opponents, learns each, and learns from all of them what to expect of strangers (``agents.levels.prior``).
Afterwards it and the level as installed meet opponents that neither has seen, on the same deals; both learn during these hands.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from agents.arena.results import Estimate, ratio
from agents.arena.series import play_series
from agents.bots.population import PopulationPlayer
from agents.deals import Domain
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from agents.levels.prior import Prior

# Hands against one opponent, opponents of a history at a time, and styles that they are drawn from.
STAY = 100
TABLES = 5
STYLES = 50
# Seeds of the populations: none is trained on, and the second holds nobody of the first.
_MET, _FRESH = 301, 302


class Experienced(LevelPlayer):
    """A level of which several copies live at once, each with a prior of its own.

    Args:
        level: as installed.
        priors: what each copy has learned.
        tables: of each copy; slot ``i`` belongs to copy ``i // tables``.
        seed: of its choices.
    """

    def __init__(self, level: Level, priors: list[Prior], tables: int, seed: int) -> None:
        super().__init__(level, seed)
        self.priors, self.tables = priors, tables
        rows = self.rows_of(np.arange(len(priors) * tables), len(priors) * tables)
        self.records[rows] = np.repeat(np.concatenate([prior.stranger() for prior in priors]), tables)

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands, of the opponent and of everybody."""
        if slots is not None:
            tables = np.asarray(slots, np.int64)
            plans = self.plans_of(views, tables, self.rows_of(slots, len(views)))
            for slot, plan, points in zip(tables.tolist(), plans.tolist(), views["points"].tolist(), strict=True):
                self.priors[slot // self.tables].add(plan, points)
        super().observe_hands(views, slots)


@dataclass(frozen=True)
class Growth:
    """What was found.

    Attributes:
        gains: ``float64[histories]``, points a hand over the level as installed, on fresh hands.
        promoted: how many histories changed the plan that strangers meet.
        mean: of the gains, with its interval.
    """

    gains: np.ndarray
    promoted: int
    mean: Estimate


def measure_growth(level: Level, histories: int = 20, hands: int = 5000, fresh: int = 2000, seed: int = 0) -> Growth:
    """Plays histories, and measures each against new opponents.

    Args:
        level: the level.
        histories: independent ones.
        hands: of each history.
        fresh: hands against new opponents.
        seed: of deals and players.
    """
    priors = [level.nothing_learned() for _ in range(histories)]
    for block in range(max(1, hands // (STAY * TABLES))):
        player = Experienced(level, priors, TABLES, seed + block)
        strangers = PopulationPlayer(seed + block, STYLES, _MET)
        # Other styles in every block.
        strangers.styles = np.roll(strangers.styles, 7 * block)
        play_series(
            player, strangers, series=histories * TABLES, hands=STAY, seed=seed + 1 + block, domain=Domain.SELECT
        )
    each = max(1, fresh // STAY)
    points = [
        play_series(
            Experienced(level, learned, each, seed), PopulationPlayer(seed, each, _FRESH),
            series=histories * each, hands=STAY, seed=seed + 999, domain=Domain.EVAL,
        )
        for learned in ([deepcopy(prior) for prior in priors], [level.nothing_learned() for _ in range(histories)])
    ]  # fmt: skip
    gains = (points[0].astype(np.float64) - points[1]).reshape(histories, -1).mean(1)
    promoted = sum(prior.promoted != prior.default for prior in priors)
    return Growth(gains, promoted, ratio(gains, np.ones(histories)))
