"""Calibrates the dial: what every place scores against players of all ratings, and how much a hand teaches a level. Takes minutes.

python -m benchmarks.data.dial

It belongs to the network that ships: run it again when that is another one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from rich.console import Console

from agents.arena.series import PlayersBySeries, play_series
from agents.deal_streams import Domain
from agents.files import write_json
from agents.levels.coach import LESSON
from agents.levels.dial import DATA, GRID, LEVELS, NUM_PLACES, Dial, settings_at
from agents.levels.features import NUM_WEIGHTS
from agents.levels.level import MATCHED, load_level
from agents.levels.matched import MatchedPlayer
from agents.levels.opponents import lower_of, square
from agents.levels.player import LevelPlayer
from agents.network.metadata import read_metadata
from agents.rating import Ladder, rising_curve, shipped_ladder
from agents.reports.terminal import progress_bar
from ginenv.tables.players import make_player

COMMAND = "python -m benchmarks.data.dial"
SERIES, HANDS, SEED = 16, 12, 4831
# Hands of pairings within so many points of even say how much a hand scatters.
_EVEN = 8.0


class _Fixed(MatchedPlayer):
    """Stays at a place of the dial and collects the points of hands, its own luck subtracted, by slot."""

    def __init__(self, place: int) -> None:
        super().__init__(load_level(MATCHED), SEED, place=float(place))
        self.measured: list[tuple[int, float]] = []

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        assert slots is not None
        self.measured += zip(slots.tolist(), self.margins(views, slots).tolist(), strict=True)


class _Taught(LevelPlayer):
    """A level that is taught without learning: it adds up the covariances of its choices' features."""

    curve, hands = np.zeros((NUM_WEIGHTS, NUM_WEIGHTS)), 0

    def _lessons(self, views: np.ndarray, slots: np.ndarray) -> np.ndarray:
        lessons = super()._lessons(views, slots)
        self.curve, self.hands = self.curve + lessons["curve"].sum(0), self.hands + len(lessons)
        return np.zeros(len(lessons), LESSON)


def curve_of_a_hand() -> list[float]:
    """The lower half of the covariance of the features in a hand's choices, on average over the levels that do not search."""
    found = np.zeros((NUM_WEIGHTS, NUM_WEIGHTS))
    names = [name for name, each in LEVELS.items() if not each.worlds]
    for name in names:
        player = _Taught(load_level(name), SEED)
        play_series(player, make_player("formula", SEED), series=SERIES, hands=HANDS, seed=SEED, domain=Domain.TRAIN)
        found += player.curve / player.hands / len(names)
    return [round(value, 6) for value in lower_of(found)]


def measure(place: int, ladder: Ladder) -> dict[str, Any]:
    """What a place scores against every rung, and what follows for all ratings."""
    player, count = _Fixed(place), len(ladder.ratings)
    rungs = PlayersBySeries([make_player(name, SEED) for name in ladder.ratings], np.arange(count * SERIES) % count)
    options: dict[str, Any] = {"series": count * SERIES, "hands": HANDS, "seed": SEED, "domain": Domain.TRAIN}
    points = play_series(player, rungs, less_luck=True, **options)
    means = points.reshape(SERIES, count, HANDS).mean(axis=(0, 2))
    slots, margins = np.array(player.measured).T
    numbers = slots.astype(np.int64) % count
    near = np.abs(means) <= max(_EVEN, np.abs(means).min())
    deviation = np.std([margin - means[k] for k, margin in zip(numbers, margins, strict=True) if near[k]])
    return {
        "settings": settings_at(place),
        "measured": dict(zip(ladder.ratings, means.round(2).tolist(), strict=True)),
        "points": (-rising_curve(GRID, np.array([*ladder.ratings.values()]), -means)).round(3).tolist(),
        "deviation": round(float(deviation), 2),
    }


def main() -> None:
    """Measures what is missing, and writes."""
    torch.set_num_threads(1)
    ladder, network = shipped_ladder(), read_metadata(DATA.parent / "network")["weights_sha256"]
    curve = curve_of_a_hand()
    head = {"command": COMMAND, "network": network, "rules": "eaai", "hands": SERIES * HANDS, "seed": SEED}
    console, places = Console(), []
    with progress_bar(console, NUM_PLACES, "places") as tick:
        for place in range(NUM_PLACES):
            places.append(measure(place, ladder))
            tick(len(places))
    # A place further up is never weaker.
    rising = np.maximum.accumulate([row["points"] for row in places], axis=0)
    for row, points in zip(places, rising, strict=True):
        row["points"] = points.tolist()
    write_json(DATA, head | {"curve": curve, "places": places})
    ratings = Dial(rising, np.array([row["deviation"] for row in places]), square(curve), network).ratings
    console.print(f"{DATA}: even with ratings {', '.join(f'{rating:+.0f}' for rating in ratings)}")


if __name__ == "__main__":
    main()
