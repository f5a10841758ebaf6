"""Does a level get better with experience? Histories of thousands of hands, then new opponents, with and without what was learned.

In a history a level meets many opponents and learns about each. The hands of all count for how much it plays of what applies to every
opponent. Afterwards it and the level as installed meet opponents that neither has seen, on the same deals; both learn during these hands.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from agents.arena.results import Estimate, ratio
from agents.arena.series import play_series
from agents.deal_streams import Domain
from agents.levels.level import Level
from agents.levels.opponent_memory import OpponentMemory
from agents.levels.player import LevelPlayer
from ginenv.bots.population import PopulationPlayer

# Hands against one opponent, opponents that a history meets at a time, and number of styles that they are drawn from.
STAY = 100
TABLES = 5
STYLES = 50
# Seeds of the populations: nothing is trained on either, and the second has no style of the first.
_HISTORY_SEED, _FRESH_SEED = 301, 302


class ExperiencedPlayer(LevelPlayer):
    """Several copies of a level at once, each with its own experience.

    Args:
        level: as installed.
        memories: the opponents that each copy knows; those at its tables are new to it.
        tables: number of tables of each copy; slot ``i`` belongs to copy ``i // tables``.
        seed: of its choices.
    """

    def __init__(self, level: Level, memories: list[OpponentMemory], tables: int, seed: int) -> None:
        super().__init__(level, seed)
        self.memories, self.tables = memories, tables
        self.first = [len(memory) for memory in memories]
        for memory in memories:
            memory.widen(len(memory) + tables)

    def _shares(self, slots: np.ndarray) -> list[tuple[OpponentMemory, np.ndarray, np.ndarray]]:
        """Each copy with its places in a batch of slots, and the rows of the opponents there."""
        copies, tables = np.divmod(np.asarray(slots), self.tables)
        found = []
        for k in np.unique(copies).tolist():
            places = np.flatnonzero(copies == k)
            found.append((self.memories[k], places, self.first[k] + tables[places]))
        return found

    def contexts(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        """What is known of each opponent (see ``LevelPlayer``)."""
        assert slots is not None
        found = np.zeros((n, self.opponents.contexts.shape[1]), np.float32)
        for memory, places, rows in self._shares(slots):
            found[places] = memory.contexts[rows]
        return found

    def hands_shown(self, slots: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Number of shown hands of each opponent, and of everybody that its copy met (see ``LevelPlayer``)."""
        assert slots is not None
        own, everybodys = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for memory, places, rows in self._shares(slots):
            own[places], everybodys[places] = (
                memory.records["hands"][rows],
                memory.general_hands(rows),
            )
        return own, everybodys

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands, about the opponent and about everybody."""
        assert slots is not None
        for memory, places, rows in self._shares(slots):
            memory.learn(views[places], rows)


@dataclass(frozen=True)
class Growth:
    """What was found.

    Attributes:
        gains: ``float64[histories]``, points per hand more than the level as installed, on fresh hands.
        mean: of the gains, with its interval.
    """

    gains: np.ndarray
    mean: Estimate


def measure_growth(level: Level, histories: int = 20, hands: int = 5000, fresh: int = 2000, seed: int = 0) -> Growth:
    """Plays histories, and measures each against new opponents.

    Args:
        level: the level.
        histories: number of independent histories.
        hands: of each history.
        fresh: hands against new opponents.
        seed: of deals and players.
    """
    memories = [OpponentMemory(pools_hands=True) for _ in range(histories)]
    for block in range(max(1, hands // (STAY * TABLES))):
        player = ExperiencedPlayer(level, memories, TABLES, seed + block)
        strangers = PopulationPlayer(seed + block, STYLES, _HISTORY_SEED)
        # Other styles in every block.
        strangers.styles = np.roll(strangers.styles, 7 * block)
        play_series(
            player, strangers, series=histories * TABLES, hands=STAY, seed=seed + 1 + block, domain=Domain.SELECT
        )
    each = max(1, fresh // STAY)
    inexperienced = [OpponentMemory(pools_hands=True) for _ in range(histories)]
    points = [
        play_series(
            ExperiencedPlayer(level, copies, each, seed), PopulationPlayer(seed, each, _FRESH_SEED),
            series=histories * each, hands=STAY, seed=seed + 999, domain=Domain.EVAL,
        )
        for copies in (deepcopy(memories), inexperienced)
    ]  # fmt: skip
    gains = (points[0].astype(np.float64) - points[1]).reshape(histories, -1).mean(1)
    return Growth(gains, ratio(gains, np.ones(histories)))
