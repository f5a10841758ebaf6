"""Trains the network of the levels: clones good answers to many styles, then learns to play them, told what is known of each.

It is the self-play loop of ``agents.learning.ppo`` with three things added. In games against a style the network
reads the opponent's habits as
they would be known after some hands (none, a few, hundreds), as a player of that experience would have counted them. Every table has
bounds of memory and attention drawn from those of the levels. And at first the actions are a teacher's, which are imitated: the best
bot's against an opponent of whom nothing is known, the best response of a small library against one whose habits are read.

Or the opponents come in kinds (``population:kinds=True``): then the network reads the kind instead of habits, and learns an answer to each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from pydantic import Field

from agents.bots.heuristics import StylePlayer
from agents.config import Config, TrainConfig
from agents.files import write_atomic, write_json
from agents.learning.ppo import Trainer
from agents.levels.bounds import BOUNDS, blank_all
from agents.levels.habits import COUNTS, NUM_HABITS
from agents.levels.kinds import KINDS, codes
from agents.levels.population import Population, PopulationPlayer, observe_population, total_counts, typical
from agents.levels.responses import CAMP, KNOWN_NOTHING, best_responses, payoffs, response_styles, smoothed
from agents.network.heuristic_features import Adviser
from agents.network.nets import Actor
from ginenv.errors import GinError

POPULATION = "population.json"
# What was observed of the styles; found again when a run is continued.
OPPONENTS = "opponents.npz"


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
        clone_decisions: decisions in which a teacher is imitated, before it learns by itself.
        bounds: what the tables' players notice and remember.
        response_hands: hands that each response of the library plays against each style, to find the best (0: no responses).
        observed_hands: hands of each style that its habits are counted in.
        blank: share of the games against styles in which nothing is known of the opponent.
    """

    kind: Literal["levels"]
    clone_decisions: int = Field(8_000_000, ge=0)
    bounds: tuple[BoundsConfig, ...] = (BoundsConfig(memory=32, notices=2, share=1.0),)
    response_hands: int = Field(200, ge=0)
    observed_hands: int = Field(240, ge=8)
    blank: float = Field(0.25, ge=0, le=1)


def is_level_config(path: Path) -> bool:
    """Whether a configuration file asks for the learning loop of the levels."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return False  # Whoever loads it says what is wrong.
    return isinstance(values, dict) and values.get("kind") == "levels"


def _save(path: str, blocks: np.ndarray, results: np.ndarray, draw: int | None) -> None:
    with open(path, "wb") as file:
        np.savez_compressed(
            file, blocks=blocks, results=results, draw=np.array([] if draw is None else [draw], np.int64)
        )


class LevelTrainer(Trainer):
    """The learning loop of the levels' network (see the module)."""

    habits = NUM_HABITS

    def __init__(self, config: LevelTrainConfig, out: Path | None = None, start: Actor | None = None) -> None:
        super().__init__(config, out, start)
        self.settings = config
        if len(self.pool) != 1 or not isinstance(self.pool[0], PopulationPlayer):
            raise GinError("a level's training has one opponent in its pool, a population; see configs/levels.yaml")
        styles = self.pool[0]
        count = len(styles.styles)
        library = response_styles()
        self.teachers = StylePlayer(library, config.seed)
        watcher = StylePlayer(library[[KNOWN_NOTHING, CAMP]], config.seed)
        known = None if out is None else out / OPPONENTS
        if known is not None and known.exists():
            with np.load(known, allow_pickle=False) as saved:
                self.blocks, results = saved["blocks"], saved["results"]
        else:
            self.blocks = observe_population(watcher, styles, count, config.observed_hands, config.seed)
            hands = config.response_hands if config.clone_decisions else 0
            results = payoffs(styles, count, hands, config.seed + 1) if hands else np.zeros((count, len(library)))
            if known is not None:
                write_atomic(known, lambda temporary: _save(temporary, self.blocks, results, styles.draw))
        self.population: Population = typical(self.blocks)
        if out is not None and self.rank == 0:
            write_json(out / POPULATION, self.population.to_json())
        self.responses = best_responses(self.population.features(total_counts(self.blocks)), results)
        gain = smoothed(self.population.features(total_counts(self.blocks)), results)
        gain = gain[np.arange(count), self.responses] - gain[:, KNOWN_NOTHING]
        print(
            f"{count} styles: the library's best response brings {gain.mean():+.2f} points a hand more than its first; "
            f"chosen {np.bincount(self.responses, minlength=len(library)).tolist()}",
            flush=True,
        )
        self.knows = np.zeros(config.games, bool)
        rng = np.random.default_rng(config.seed)
        shares = np.array([member.share for member in config.bounds])
        kinds = rng.choice(len(shares), config.games, p=shares / shares.sum())
        bounds = [(b.memory, b.notices) for b in config.bounds]
        self.bounds = np.array(bounds, BOUNDS)[kinds]
        if self.rollout.adviser is not None:
            # Advice must not tell what a table's players do not remember.
            self.rollout.adviser = Adviser(bounds, kinds)
        self.features = np.zeros((config.games, NUM_HABITS), np.float32)
        # Where opponents come in kinds, the network reads the kind alone.
        self.codes = codes(1 + np.arange(count) % len(KINDS)) if styles.kinds else None

    def limit_observations(self, tick: int) -> None:
        """Blanks what is beyond the tables' bounds, and writes down what is known of the opponents."""
        rollout = self.rollout
        if tick == 0:
            self._draw_experience()
        blank_all(rollout.views, self.bounds, rollout.obs[tick])
        facing = (rollout.kinds == 0) & (rollout.seats == rollout.turns[tick])
        self.known[tick] = self.features * facing[:, None]

    def _draw_experience(self) -> None:
        """Draws for every table how many hands of its opponent have been seen, and which."""
        count, blocks = self.blocks.shape
        rng = np.random.default_rng([self.config.seed, self.batches])
        games = len(self.features)
        # As often few hands as many: on a logarithmic scale.
        length = np.exp(rng.uniform(0, np.log(blocks + 1), games)).astype(np.int64)
        length[rng.random(games) < self.settings.blank] = 0
        start = rng.integers(0, blocks, games)
        chosen = (np.arange(blocks)[None] - start[:, None]) % blocks < length[:, None]
        counts = np.zeros(games, COUNTS)
        own = self.blocks[np.arange(games) % count]
        for name in ("hits", "chances"):
            counts[name] = np.einsum("nbh,nb->nh", own[name], chosen.astype(np.float32), optimize=True)
        self.features = self.population.features(counts)
        self.knows = length > 0
        if self.codes is not None:
            self.features = self.codes[np.arange(games) % count] * self.knows[:, None]

    def choose_for(self, tick: int) -> None:
        """While cloning, the teacher's actions stand in the learner's place."""
        if self.cloning:
            rollout = self.rollout
            rows = np.flatnonzero(rollout.learns[tick])
            answers = self.responses[np.arange(self.config.games) % len(self.responses)]
            facing = (rollout.kinds == 0) & self.knows
            teachers = np.where(facing, answers, KNOWN_NOTHING)
            teachers[rollout.conditions[tick, :, 0] > 0] = CAMP
            rollout.actions[tick, rows] = self.teachers.act(rollout.views[rows], teachers[rows])
