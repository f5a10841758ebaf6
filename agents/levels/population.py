"""The opponents that levels are trained against, and what is typical of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer, sample_styles
from agents.deals import Domain
from agents.levels.habits import COUNTS, HABITS, NUM_HABITS, count_all
from agents.levels.kinds import styles_of_kinds
from ginenv.errors import GinError
from ginenv.players import Player

# Hands whose counts are kept together, and how many such blocks there are of each opponent.
BLOCK_HANDS = 4
# A feature further out than this many standard deviations tells nothing more.
FAR = 3.0
# Imagined chances at the population's mean before the first real one, at least and at most.
_PRIOR = (2.0, 80.0)


class PopulationPlayer(StylePlayer):
    """A different random style at every table: slot ``i`` is played by style ``i % count``.

    Args:
        seed: of the players' luck.
        count: how many styles there are.
        draw: seed they are drawn with.
        kinds: whether style ``i`` is of the kind ``i % 4`` (``kinds.KINDS``).
    """

    def __init__(self, seed: int = 0, count: int = 512, draw: int = 1, kinds: bool = False) -> None:
        sample = styles_of_kinds if kinds else sample_styles
        super().__init__(sample(int(count), np.random.default_rng(int(draw))), seed)
        self.kinds = bool(kinds)
        # What tells which styles these are; a population of kinds is trained against, never looked into.
        self.draw = None if self.kinds else int(draw)


@dataclass(frozen=True)
class Population:
    """What is typical: for every habit the mean rate, its spread between opponents, and how fast one is believed.

    Attributes:
        mean: ``float32[H]``.
        spread: ``float32[H]``, standard deviation between opponents.
        prior: ``float32[H]``, imagined chances at the mean.
    """

    mean: np.ndarray
    spread: np.ndarray
    prior: np.ndarray

    def rates(self, counts: np.ndarray) -> np.ndarray:
        """Rates of ``COUNTS[n]`` shrunk to the population's: ``float32[n, H]``."""
        hits, chances = counts["hits"], counts["chances"]
        return (hits + self.prior * self.mean) / (chances + self.prior)

    def features(self, counts: np.ndarray) -> np.ndarray:
        """What the network reads: ``float32[n, H]``, distances from the mean in standard deviations, 0 without evidence."""
        hits, chances = counts["hits"], counts["chances"]
        moved = (hits - chances * self.mean) / (chances + self.prior)
        return np.clip(moved / self.spread, -FAR, FAR).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """Plain values, by the habits' names."""
        return {
            name: [round(float(value), 6) for value in (self.mean[k], self.spread[k], self.prior[k])]
            for k, name in enumerate(HABITS)
        }

    @classmethod
    def from_json(cls, values: Any) -> Population:
        """A population of plain values.

        Raises:
            GinError: if a habit is missing or a number is out of range.
        """
        rows = []
        for name in HABITS:
            row = values.get(name) if isinstance(values, dict) else None
            if not isinstance(row, list) or len(row) != 3 or not all(isinstance(x, int | float) for x in row):
                raise GinError(f"population: habit {name!r} is {row!r}; allowed are mean, spread and prior as numbers")
            if not (np.isfinite(row).all() and row[1] > 0 and row[2] > 0):
                raise GinError(f"population: habit {name!r} is {row!r}; spread and prior must be above 0")
            rows.append(row)
        mean, spread, prior = np.array(rows, np.float32).T
        return cls(mean, spread, prior)


def observe_population(watcher: Player, opponent: Player, count: int, hands: int, seed: int) -> np.ndarray:
    """Counts of what a player sees of opponents 0 to ``count``, in blocks of ``BLOCK_HANDS`` hands: ``COUNTS[count, blocks]``."""
    blocks = hands // BLOCK_HANDS
    counts = np.zeros((count, blocks), COUNTS)
    flat = counts.reshape(-1)

    def after(views: np.ndarray, series: np.ndarray, numbers: np.ndarray) -> None:
        count_all(views, flat, series * blocks + numbers // BLOCK_HANDS)

    play_series(
        watcher, opponent, series=count, hands=blocks * BLOCK_HANDS, seed=seed, domain=Domain.TRAIN, after=after
    )
    return counts


def typical(counts: np.ndarray) -> Population:
    """What is typical of opponents whose counts stand in blocks (``COUNTS[n, blocks]``)."""
    hits, chances = counts["hits"], counts["chances"]
    total = chances.sum(1)
    rates = hits.sum(1) / np.maximum(total, 1e-6)
    seen = total >= 5
    mean, spread, prior = np.zeros(NUM_HABITS), np.ones(NUM_HABITS), np.full(NUM_HABITS, _PRIOR[1])
    for k in range(NUM_HABITS):
        who = seen[:, k]
        if who.sum() < 8:
            continue
        mean[k] = rates[who, k].mean()
        # Scatter of block rates around their opponent's own, per chance, estimates the variance of one chance.
        block = hits[who][:, :, k] - chances[who][:, :, k] * rates[who][:, None, k]
        within = float(np.square(block).sum() / max(1.0, chances[who][:, :, k].sum()))
        between = float(rates[who, k].var() - (within / total[who, k]).mean())
        spread[k] = max(between, 1e-4) ** 0.5
        prior[k] = np.clip(within / max(between, 1e-4), *_PRIOR)
    return Population(mean.astype(np.float32), spread.astype(np.float32), prior.astype(np.float32))


def total_counts(blocks: np.ndarray) -> np.ndarray:
    """Counts in blocks (``COUNTS[n, blocks]``) added up: ``COUNTS[n]``."""
    counts = np.zeros(len(blocks), COUNTS)
    for name in COUNTS.names or ():
        counts[name] = blocks[name].sum(1)
    return counts
