"""How the levels' network is trained: every table under the bounds of a level."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.config import parse_config
from agents.levels.bounds import blank
from agents.levels.training import LevelTrainConfig, LevelTrainer
from ginenv.encoding import encode_views

TINY = {
    "kind": "levels", "games": 24, "ticks": 12, "minibatch": 128, "decisions": 1_000_000, "clone_decisions": 0,
    "network": {"actor": [32], "critic": [32], "advice": True}, "shaping": 0, "threads": 1,
    "pool": [{"player": "population:count=8,draw=2"}], "pool_share": 0.7, "selves_share": 0.0, "bfloat16": "no",
    "bounds": [{"memory": 3, "notices": 0, "share": 1}, {"memory": 32, "notices": 2, "share": 1}],
}  # fmt: skip


def test_a_level_trains_on_what_its_tables_remember_and_notice(tmp_path: Path) -> None:
    trainer = LevelTrainer(parse_config(TINY, LevelTrainConfig), tmp_path)
    blanked = 0
    for _ in range(3):
        trainer.collect()
        # What stands after the last tick is observed too, for its value.
        rollout = trainer.rollout
        plain = encode_views(rollout.views)
        for row, view, bounds in zip(plain.copy(), rollout.views, trainer.bounds, strict=True):
            blank(view, bounds["memory"], bounds["notices"], row)
        expected = plain.copy()
        for row, view, bounds in zip(expected, rollout.views, trainer.bounds, strict=True):
            blank(view, bounds["memory"], bounds["notices"], row)
        assert (rollout.obs[trainer.config.ticks] == expected).all()
        blanked += int((plain != expected).any(1).sum())
    assert blanked > 0 and len(np.unique(trainer.bounds)) == 2
