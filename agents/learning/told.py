"""What a learner is told of its opponents beside its view: the style of the one that it plays, as numbers.

A network that is told the truth shows what there is to win by knowing an opponent, and teaches networks that have to find it out.
"""

from __future__ import annotations

import numpy as np

from agents.bots.population import STYLE_WIDTH, PopulationPlayer, style_vectors
from agents.learning.opponents import Opponents
from agents.learning.rollout import Rollout
from ginenv.errors import GinError

# One game in so many is played without being told, so that the network knows what to do then.
UNTOLD = 4


class ToldStyles:
    """A context: 1 and the numbers of the opponent's style, or zeros where it is not told or has none (see ``ContextSource``).

    Args:
        opponents: of the run; the first of the pool that is a population is told of.

    Raises:
        GinError: if the pool has none.
    """

    width = 1 + STYLE_WIDTH

    def __init__(self, opponents: Opponents) -> None:
        found = [(k, player) for k, player in enumerate(opponents.pool[0]) if isinstance(player, PopulationPlayer)]
        if not found:
            raise GinError(
                "told is 'style', but the pool has no population whose styles could be told; add player: population"
            )
        self.opponent, player = found[0]
        self.vectors = told(style_vectors(player.styles))

    def __call__(self, rollout: Rollout, tick: int, out: np.ndarray) -> None:
        """Writes ``float32[games, width]``."""
        slots, games = rollout.slots, np.arange(rollout.games)
        knows = (slots["opponent"] == self.opponent) & (slots["seat"] == rollout.views["seat"])
        knows &= (games // len(self.vectors) + slots["count"]) % UNTOLD > 0
        out[:] = np.where(knows[:, None], self.vectors[games % len(self.vectors)], 0)


def told(vectors: np.ndarray) -> np.ndarray:
    """The contexts of styles told by their numbers ``float32[n, STYLE_WIDTH]``."""
    return np.concatenate([np.ones((len(vectors), 1), np.float32), vectors], 1)
