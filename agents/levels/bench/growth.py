"""Does a level get better with experience? Histories of thousands of hands, then fresh opponents, with and without what was learned.

A history is what one level lives through: it meets many opponents, one after the other or several at once, learns each, and remembers as
a whole which plans were worth what (``agents.levels.prior``). Afterwards it meets opponents that it has never seen, beside the level as
installed, on the same deals; both learn during these hands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.arena.results import Estimate, ratio
from agents.arena.series import play_series
from agents.deals import Domain
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from agents.levels.population import PopulationPlayer
from agents.levels.prior import Whole

# Hands against one opponent, how many sit at the tables of a history at once, and how many styles there are to meet.
STAY = 100
TABLES = 5
STYLES = 50
# Seeds of the populations: none of them is trained on, and nobody met later was met before.
_MET, _FRESH = 301, 302


class Experienced(LevelPlayer):
    """A level of which several copies live at once, each with a memory as a whole of its own.

    Args:
        level: as installed.
        wholes: what each copy has learned.
        tables: of each copy; slot ``i`` belongs to copy ``i // tables``.
        seed: of its choices.
    """

    def __init__(self, level: Level, wholes: list[Whole], tables: int, seed: int) -> None:
        super().__init__(level, seed)
        self.wholes, self.tables = wholes, tables
        rows = self.rows_of(np.arange(len(wholes) * tables), len(wholes) * tables)
        self.records[rows] = np.repeat(np.concatenate([whole.start() for whole in wholes]), tables)
        self.refresh(rows)

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands, of the opponent and as a whole."""
        if slots is not None:
            tables = np.asarray(slots, np.int64)
            plans, _, _ = self._hand_plans(views, tables, self.rows_of(slots, len(views)))
            for slot, plan, points in zip(tables.tolist(), plans.tolist(), views["points"].tolist(), strict=True):
                self.wholes[slot // self.tables].add(plan, points)
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
    """Lets a level live through histories, and measures each on fresh hands.

    Args:
        level: who learns.
        histories: independent ones.
        hands: of each history.
        fresh: hands against opponents not met before.
        seed: of deals and players.
    """
    wholes = [level.nothing_learned() for _ in range(histories)]
    for block in range(max(1, hands // (STAY * TABLES))):
        player = Experienced(level, wholes, TABLES, seed + block)
        strangers = PopulationPlayer(seed + block, STYLES, _MET)
        # Every block other styles sit down.
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
        for learned in (
            [_copy(whole, level) for whole in wholes], [level.nothing_learned() for _ in range(histories)],
        )
    ]  # fmt: skip
    gains = (points[0].astype(np.float64) - points[1]).reshape(histories, -1).mean(1)
    promoted = sum(whole.promoted != whole.default for whole in wholes)
    return Growth(gains, promoted, ratio(gains, np.ones(histories)))


def _copy(whole: Whole, level: Level) -> Whole:
    fresh = level.nothing_learned()
    fresh.belief, fresh.hands = whole.belief.copy(), whole.hands
    return fresh
