"""Trains the network of the levels: the self-play loop of ``agents.learning.ppo``, every table under a level's bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from pydantic import Field

from agents.config import Config, TrainConfig
from agents.learning.ppo import Trainer
from agents.levels.bounds import BOUNDS, blank_all
from agents.network.heuristic_features import Adviser
from agents.network.nets import Actor


class BoundsConfig(Config):
    """Bounds that some tables play under.

    Attributes:
        memory: how many of the last cards of the pile are remembered (32: all).
        notices: 0 nothing of the opponent's choices, 1 what it took, 2 everything.
        share: of the tables.
    """

    memory: int = Field(32, ge=0, le=32)
    notices: int = Field(2, ge=0, le=2)
    share: float = Field(1.0, gt=0)


class LevelTrainConfig(TrainConfig):
    """A training run of the levels' network.

    Attributes:
        kind: says to ``train.py`` that this is one.
        bounds: what the tables' players notice and remember.
    """

    kind: Literal["levels"]
    bounds: tuple[BoundsConfig, ...] = (BoundsConfig(memory=32, notices=2, share=1.0),)


def is_level_config(path: Path) -> bool:
    """Whether a configuration file asks for the learning loop of the levels."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return False  # Whoever loads it says what is wrong.
    return isinstance(values, dict) and values.get("kind") == "levels"


class LevelTrainer(Trainer):
    """The learning loop of the levels' network (see the module)."""

    def __init__(self, config: LevelTrainConfig, out: Path | None = None, start: Actor | None = None) -> None:
        super().__init__(config, out, start)
        rng = np.random.default_rng(config.seed)
        shares = np.array([member.share for member in config.bounds])
        kinds = rng.choice(len(shares), config.games, p=shares / shares.sum())
        bounds = [(b.memory, b.notices) for b in config.bounds]
        self.bounds = np.array(bounds, BOUNDS)[kinds]
        if self.rollout.adviser is not None:
            # Advice must not tell what a table's players do not remember.
            self.rollout.adviser = Adviser(bounds, kinds)

    def limit_observations(self, tick: int) -> None:
        """Blanks what is beyond the tables' bounds."""
        blank_all(self.rollout.views, self.bounds, self.rollout.obs[tick])
