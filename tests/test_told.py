"""What a learner is told of its opponents: their style."""

from __future__ import annotations

import numpy as np
import pytest

from agents.bots.population import draw_styles, style_vectors
from agents.config import parse_config
from agents.learning.learner import Learner
from agents.learning.told import told
from ginenv.errors import GinError
from tests.support.training_scenes import TINY

STYLES = 5


def learner(pool: str) -> Learner:
    changes = {
        "told": "style",
        "pool": [{"player": pool}],
        "pool_share": 0.8,
        "selves_share": 0.0,
        "games": 64,
        "threads": 2,
    }
    return Learner(parse_config(TINY | changes))


def test_the_style_of_the_opponent_is_told_or_nothing() -> None:
    run = learner(f"population:count={STYLES},draw=1")
    run.play()
    truths = told(style_vectors(draw_styles(1, STYLES)))
    heard = silent = 0
    for rollout in run.rollouts:
        games = np.arange(rollout.games)
        for context in rollout.batch.context:
            for game in games:
                if not context[game].any():
                    silent += 1
                    continue
                heard += 1
                np.testing.assert_array_equal(context[game], truths[game % STYLES])
    # Most games are against the population, and one of four of those is silent; so is the population's own turn.
    assert 0.2 < heard / (heard + silent) < 0.45


def test_without_a_population_there_is_nothing_to_tell() -> None:
    with pytest.raises(GinError, match="told is 'style', but the pool has no population"):
        learner("simple")
