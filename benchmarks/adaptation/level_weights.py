"""The choice model's weights of each level as installed, ``agents/data/level_weights.json``: what "What it learns" compares people with.

python -m benchmarks.adaptation.level_weights
"""

from __future__ import annotations

import numpy as np

from agents.arena.series import play_series
from agents.files import write_json
from agents.levels.level import FILES, NAMES, digest_of, load_level
from agents.levels.player import LevelPlayer
from agents.levels.traits import LEVEL_WEIGHTS
from agents.opponent_model.posterior import Posteriors
from ginenv.tables.players import make_player

# Hands of each level against the network, in series of ten hands, and their seed. Of level 4 the network plays, without its search.
_SERIES, _HANDS, _SEED = 60, 10, 3


def measure(name: str) -> dict[str, object]:
    """The weights of one level, with the digest of the files that decide how it plays as installed."""
    level = load_level(name)
    player = LevelPlayer(level.with_settings(worlds=0), 1, learn=False)
    posteriors = Posteriors(1)

    def learn(views: np.ndarray, slots: np.ndarray, numbers: np.ndarray) -> None:
        # Every hand counts in full: what a level does does not change.
        posteriors.learn(views, np.zeros(len(views), np.int64), 1 / posteriors.prior.tempered)

    play_series(make_player("network", _SEED), player, series=_SERIES, hands=_HANDS, seed=_SEED, after=learn)
    return {"sha256": digest_of(level.directory, FILES), "weights": posteriors.records["mean"][0].round(4).tolist()}


if __name__ == "__main__":
    levels = {name: measure(name) for name in NAMES}
    write_json(LEVEL_WEIGHTS, {"command": "python -m benchmarks.adaptation.level_weights", "levels": levels})
