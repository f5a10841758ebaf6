"""What a learner may be told of its opponent besides its view: the opponent's style, as numbers.

A network that is told the truth shows what there is to win by knowing an opponent.
"""

from __future__ import annotations

import numpy as np

from agents.training.opponents import Opponents
from agents.training.rollout import Rollout
from ginenv.bots.population import TOLD_WIDTH, PopulationPlayer, style_vectors
from ginenv.errors import GinError

# One game in so many is played without being told, so that the network knows what to do then.
UNTOLD = 4


class Told:
    """A context: the style of the opponent in games against a population (see ``ContextSource``), zeros elsewhere.

    Args:
        opponents: of the run; styles are those of the first population in the pool.

    Raises:
        GinError: if the pool has no population.
    """

    width = TOLD_WIDTH

    def __init__(self, opponents: Opponents) -> None:
        found = [(k, player) for k, player in enumerate(opponents.pool[0]) if isinstance(player, PopulationPlayer)]
        if not found:
            raise GinError("told is 'style', but the pool has no population to tell of; add player: population")
        self.opponent, player = found[0]
        self.truths = told(style_vectors(player.styles))

    def __call__(self, rollout: Rollout, tick: int, out: np.ndarray) -> None:
        """Writes ``float32[games, width]``."""
        tables, places = rollout.tables, np.arange(rollout.num_tables)
        others = 1 - rollout.views["seat"].astype(np.int64)
        knows = tables["player"][places, others] == self.opponent
        knows &= (places + rollout.games["count"]) % UNTOLD > 0
        out[:] = np.where(knows[:, None], self.truths[tables["ids"][places, others] % len(self.truths)], 0)


def told(vectors: np.ndarray) -> np.ndarray:
    """The contexts made of ``float32[n, W]`` numbers: a flag of 1, then the numbers."""
    return np.concatenate([np.ones((len(vectors), 1), np.float32), vectors], 1)
