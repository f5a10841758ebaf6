"""The dial: one network from random play to full strength, and what results say about whom it plays.

Difficulty is a place on the dial: how much of the pile is remembered, what is noticed of the opponent, how far choices stray, which habits
it has. At a place between two columns of ``DIAL`` the numbers lie between theirs. Levels 1 to 4 are named places; ``matched`` goes to the
place where the next hand is even. What each column scores against players of every rating was measured
(``python -m benchmarks.data.dial``). So a result says how strong the opponent may be, and an estimate of that says which place is even.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.estimates import Estimate
from agents.files import parse_json, read_bytes
from agents.levels.choice import BEHAVIOUR
from agents.levels.features import FEATURES, NUM_WEIGHTS
from agents.levels.opponents import square
from agents.rating import normal_rows, posterior, rating_of

DATA = Path(__file__).resolve().parents[1] / "data" / "dial.json"
# Settings of a level (``agents.levels.level.LevelSettings``), from the weakest place to the strongest.
DIAL: dict[str, tuple[float, ...]] = {
    "temperature": (200, 20, 20, 20, 20, 20, 20, 20, 20, 0.02),
    "draw_temperature": (200, 8, 3, 1.2, 0.8, 0.6, 0.5, 0.4, 0.4, 0.02),
    "max_logit_gap": (1000, 30, 12, 7, 5, 3.6, 2.4, 2.3, 2.2, 0.2),
    "max_extra_deadwood": (100, 100, 100, 60, 30, 16, 12, 12, 12, 12),
    "hand_taste": (0, 0, 0, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0),
    "remembered_discards": (0, 0, 0, 0, 0, 1, 3, 8, 32, 32),
    "noticed_actions": (0, 0, 0, 0, 0, 0, 0, 1, 2, 2),
}
# Its habits, biases by feature: it takes upcards that do not help, keeps high cards, breaks up pairs and neighbours, and knocks at once.
HABITS: dict[str, tuple[float, ...]] = {
    "any upcard": (0, 0, 1, 2, 2.5, 2.5, 2.2, 1.5, 0.5, 0),
    "points / 10": (0, 0, -0.5, -1, -1.5, -1.5, -1, -0.7, 0, 0),
    "has another of its rank": (0, 0, 0, 0.3, 0.5, 0.5, 0.5, 0.5, 0, 0),
    "has a neighbour in its suit": (0, 0, 0, 0.3, 0.5, 0.5, 0.5, 0.5, 0, 0),
    "any knock": (0, 0, 2, 4, 5, 5.5, 5.5, 5, 4, 0),
}
NUM_PLACES = len(DIAL["temperature"])


class NamedPlace(NamedTuple):
    """A level that ships: its place, and the worlds and slack of its search."""

    title: str
    place: float
    worlds: int = 0
    slack: float = 0.0


LEVELS = {
    "level-1": NamedPlace("beginner", 6),
    "level-2": NamedPlace("intermediate", 7),
    "level-3": NamedPlace("advanced", 8),
    "level-4": NamedPlace("expert", 9, 128, 4.0),
}
# Ratings that are considered, on the ladder's scale (``agents.rating``).
GRID = np.arange(-2900.0, 401.0, 20.0)
# What strangers are like: of the strength of the levels, or anybody. So the first hands are nearest to even against players of all
# strengths, the public bots among them.
_STRANGER_MEAN, _STRANGER_SPREAD, _ANYBODY = 0.0, 300.0, 0.4
# From hand to hand somebody else may have taken the seat, and everybody changes a little.
_SWITCH, _DRIFT = 0.002, 25.0
# Points per hand by which people differ from what their rating says, because styles suit each other or do not; as the ladder's rungs do.
_MISMATCH = 0.73
_DRIFTS = normal_rows(GRID, _DRIFT)
STRANGER = np.exp(-np.square((GRID - _STRANGER_MEAN) / _STRANGER_SPREAD) / 2)
STRANGER = (1 - _ANYBODY) * STRANGER / STRANGER.sum() + _ANYBODY / len(GRID)


def settings_at(place: float) -> dict[str, Any]:
    """The settings of a place, as ``LevelSettings`` takes them."""
    at = np.arange(NUM_PLACES)
    found: dict[str, Any] = {name: round(float(np.interp(place, at, values)), 3) for name, values in DIAL.items()}
    found |= {name: round(found[name]) for name in ("remembered_discards", "noticed_actions")}
    habits = {name: round(float(np.interp(place, at, values)), 3) for name, values in HABITS.items()}
    return found | {"habits": {name: value for name, value in habits.items() if value}}


def manners_at(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How the network plays at places of the dial, ``float64[n]``: ``BEHAVIOUR[n]``, and its habits ``float64[n, NUM_WEIGHTS]``."""
    behaviours, habits = np.zeros(len(places), BEHAVIOUR), np.zeros((len(places), NUM_WEIGHTS))
    at = np.arange(NUM_PLACES)
    for name, row in DIAL.items():
        values = np.interp(places, at, row)
        behaviours[name] = np.rint(values) if behaviours[name].dtype.kind == "u" else values
    for name, row in HABITS.items():
        habits[:, FEATURES.index(name)] = np.interp(places, at, row)
    return behaviours, habits


@dataclass(frozen=True)
class Dial:
    """What was measured at every column of ``DIAL``.

    Attributes:
        points: points per hand against players of each rating of ``GRID``, ``float64[places, G]``: falling with the rating, rising with
            the place.
        deviations: standard deviations of the points of a hand, the player's own luck subtracted, ``float64[places]``.
        curve: covariance of the features of a hand's choices, ``float64[NUM_WEIGHTS, NUM_WEIGHTS]`` (``agents.levels.coach``).
        network: SHA-256 of the network's weights.
    """

    points: np.ndarray
    deviations: np.ndarray
    curve: np.ndarray
    network: str

    def expected(self, places: np.ndarray) -> np.ndarray:
        """Points per hand at places of the dial against each rating, ``float64[n, G]``."""
        below = np.clip(places.astype(np.int64), 0, len(self.points) - 2)
        share = (places - below)[:, None]
        return (1 - share) * self.points[below] + share * self.points[below + 1]

    def even_places(self, strengths: np.ndarray) -> np.ndarray:
        """Where the expected result against opponents is even; the nearest end where that is nowhere.

        Args:
            strengths: how likely each rating is, ``float64[n, G]``.
        """
        expected = strengths @ self.points.T
        at = np.arange(len(self.points), dtype=np.float64)
        return np.array([np.interp(0.0, row, at) for row in expected])

    def updated(self, strengths: np.ndarray, places: np.ndarray, margins: np.ndarray) -> np.ndarray:
        """The estimates after a hand against each opponent, and before the next one.

        Args:
            strengths: ``float64[n, G]``.
            places: where on the dial the hands were played, ``float64[n]``.
            margins: the points won in them, own luck subtracted, ``float64[n]``.
        """
        deviations = np.interp(places, np.arange(len(self.deviations)), self.deviations)
        distances = (margins[:, None] - self.expected(places)) / deviations[:, None]
        chances = posterior(-np.square(distances) / 2, strengths)
        return (1 - _SWITCH) * chances @ _DRIFTS + _SWITCH * STRANGER

    def rating(self, strength: np.ndarray) -> Estimate:
        """An estimate ``float64[G]`` as a rating with its 95 % interval, in which the mismatch of styles is included."""
        (points,) = self.expected(self.even_places(strength[None]))
        slopes = np.maximum(-np.gradient(points, GRID), 1e-3)
        return rating_of(GRID, strength @ normal_rows(GRID, np.maximum(_MISMATCH / slopes, 1.0)))

    @property
    def ratings(self) -> np.ndarray:
        """The rating of an opponent with whom each column of ``DIAL`` is even, ``float64[places]``."""
        return np.array([np.interp(0.0, row[::-1], GRID[::-1]) for row in self.points])


@cache
def shipped_dial() -> Dial:
    """The dial that ships, as ``python -m benchmarks.data.dial`` wrote it."""
    document: Any = parse_json(read_bytes(DATA))
    rows = document["places"]
    points, deviations = (np.array([row[name] for row in rows]) for name in ("points", "deviation"))
    return Dial(points, deviations, square(document["curve"]), document["network"])
