"""The choice model's weights of typical people and of each level as installed: what "What it learns" compares people with.

python -m benchmarks.data.level_weights

It writes ``agents/data/level_weights.json``. People are styles, of whom only what they show is known, as of people at a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from agents.arena.series import play_series
from agents.files import write_json
from agents.levels.level import FILES, NAMES, digest_of, load_level
from agents.levels.player import LevelPlayer
from agents.levels.traits import LEVEL_WEIGHTS
from agents.opponent_model.posterior import Posteriors
from ginenv.bots.population import PopulationPlayer
from ginenv.tables.players import Player, make_player

# Hands of each level against the network, in series of ten hands, and their seed. Of level 4 the network plays, without its search.
_SERIES, _HANDS, _SEED = 60, 10, 3
# Styles, drawn for this alone, and the hands of each.
_STYLES, _STYLE_HANDS, _DRAW = 256, 60, 4850


def weights_of(
    player: Player, series: int, hands: int, row: Callable[[np.ndarray], np.ndarray], count: int
) -> np.ndarray:
    """What the hands that a player shows against the network tell of its weights: ``float64[count, NUM_WEIGHTS]``.

    Args:
        player: whose.
        series: how many series.
        hands: of each series.
        row: takes the numbers of series, and says whose hands they are.
        count: number of players that it distinguishes.
    """
    posteriors = Posteriors(count)
    # Every hand counts in full: what somebody does here does not change.
    posteriors.prior = replace(posteriors.prior, tempered=1.0)

    def learn(views: np.ndarray, slots: np.ndarray, numbers: np.ndarray) -> None:
        posteriors.learn(views, row(slots))

    play_series(make_player("network", _SEED), player, series=series, hands=hands, seed=_SEED, after=learn)
    return posteriors.records["mean"]


def typical_people() -> list[float]:
    """The mean weights of many styles."""
    found = weights_of(PopulationPlayer(1, _STYLES, _DRAW), _STYLES, _STYLE_HANDS, lambda slots: slots, _STYLES)
    return found.mean(0).round(4).tolist()


def level_as_installed(name: str) -> dict[str, object]:
    """The weights of one level, with the digest of the files that decide how it plays as installed."""
    level = load_level(name)
    player = LevelPlayer(level.with_settings(worlds=0), 1, learn=False)
    (weights,) = weights_of(player, _SERIES, _HANDS, np.zeros_like, 1)
    return {"sha256": digest_of(level.directory, FILES), "weights": weights.round(4).tolist()}


if __name__ == "__main__":
    document = {
        "command": "python -m benchmarks.data.level_weights",
        "people": typical_people(),
        "levels": {name: level_as_installed(name) for name in NAMES},
    }
    write_json(LEVEL_WEIGHTS, document)
