"""The dial of ``matched``: one player from random play to the network that ships, and what results say about whom it plays.

At a place between two of ``PATH``, the settings lie between theirs. What each place scores against players of every rating was measured
(``python -m benchmarks.data.dial``). So a result says how strong the opponent may be, and an estimate of that says where on the
dial the next hand is even.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import parse_json, read_bytes
from agents.levels.action_choice import BEHAVIOUR

DATA = Path(__file__).resolve().parents[1] / "data" / "dial.json"
# Settings of a level (``agents.levels.level.LevelSettings``) at every place, from the weakest to the strongest.
PATH: dict[str, tuple[float, ...]] = {
    "temperature": (1000, 80, 30, 20, 20, 20, 20, 20, 20, 20, 20, 0.1),
    "draw_temperature": (1000, 80, 30, 12, 8, 5, 2.5, 1.2, 0.6, 0.4, 0.25, 0.1),
    "max_logit_gap": (1000, 200, 60, 30, 22, 16, 10, 6.5, 4.5, 3, 1.7, 0.7),
    "max_extra_deadwood": (100, 100, 100, 80, 60, 50, 30, 20, 14, 12, 12, 12),
    "hand_taste": (0, 0, 0, 0, 0, 0, 0, 0.2, 0.3, 0.3, 0.2, 0),
    "high_card_bias": (0, 0, 0, 0, 0, 0, 0, 0.7, 0.7, 0.3, 0, 0),
    "upcard_bias": (0, 0, 0, 0, 0, 0, 2, 2, 2, 1, 0.3, 0),
    "knock_bias": (0, 0, 0, 0, 1, 2, 4, 5.5, 5.5, 3, 1, 0),
    "remembered_discards": (0, 0, 0, 0, 0, 0, 0, 0, 2, 10, 32, 32),
    "noticed_actions": (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2),
}
NUM_PLACES = len(PATH["temperature"])
# Ratings that are considered, on the ladder's scale (``agents.rating``).
GRID = np.arange(-2900.0, 401.0, 20.0)
# What strangers are like: most of them are beginners or better.
_STRANGER_MEAN, _STRANGER_SPREAD, _ANYBODY = -300.0, 450.0, 0.2
# From hand to hand somebody else may have taken the seat, and everybody changes a little.
_SWITCH, _DRIFT = 0.002, 25.0
# Points per hand by which people differ from what their rating says, because styles suit each other or do not; as the ladder's rungs do.
_MISMATCH = 0.73
# Of a 95 % interval.
_TAIL = 0.025


def _normal(deviation: np.ndarray | float) -> np.ndarray:
    """Rows that spread each rating by a normal distribution of some deviation: ``float64[G, G]``."""
    rows = np.exp(-np.square((GRID - GRID[:, None]) / np.broadcast_to(deviation, len(GRID))[:, None]) / 2)
    return rows / rows.sum(axis=1, keepdims=True)


_DRIFTS = _normal(_DRIFT)
STRANGER = np.exp(-np.square((GRID - _STRANGER_MEAN) / _STRANGER_SPREAD) / 2)
STRANGER = (1 - _ANYBODY) * STRANGER / STRANGER.sum() + _ANYBODY / len(GRID)


@dataclass(frozen=True)
class Dial:
    """What was measured at every place of ``PATH``.

    Attributes:
        points: points per hand against players of each rating of ``GRID``, ``float64[places, G]``: falling with the rating, rising with
            the place.
        deviations: standard deviations of the points of a hand, the player's own luck subtracted, ``float64[places]``.
        network: SHA-256 of the network's weights.
    """

    points: np.ndarray
    deviations: np.ndarray
    network: str

    def behaviours(self, places: np.ndarray) -> np.ndarray:
        """How it plays at places of the dial, ``float64[n]``: ``BEHAVIOUR[n]``."""
        found = np.zeros(len(places), BEHAVIOUR)
        for name in PATH:
            values = np.interp(places, np.arange(NUM_PLACES), PATH[name])
            found[name] = np.rint(values) if found[name].dtype.kind == "u" else values
        return found

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
        found = strengths * np.exp(-np.square(distances) / 2)
        total = found.sum(axis=1, keepdims=True)
        # A result that nobody could have counts as one of a stranger.
        found = np.where(total > 0, found / np.where(total > 0, total, 1), STRANGER)
        return (1 - _SWITCH) * found @ _DRIFTS + _SWITCH * STRANGER

    def rating(self, strength: np.ndarray) -> tuple[float, float, float]:
        """An estimate ``float64[G]`` as a rating with both ends of its 95 % interval, in which the mismatch of styles is included."""
        (points,) = self.expected(self.even_places(strength[None]))
        slopes = np.maximum(-np.gradient(points, GRID), 1e-3)
        below = np.cumsum(strength @ _normal(np.maximum(_MISMATCH / slopes, 1.0)))
        middle, low, high = np.interp((0.5, _TAIL, 1 - _TAIL), below, GRID)
        return float(middle), float(low), float(high)

    @property
    def ratings(self) -> np.ndarray:
        """The rating of an opponent with whom each place of ``PATH`` is even, ``float64[places]``."""
        return np.array([np.interp(0.0, row[::-1], GRID[::-1]) for row in self.points])


@cache
def shipped_dial() -> Dial:
    """The dial that ships, as ``python -m benchmarks.data.dial`` wrote it."""
    document: Any = parse_json(read_bytes(DATA))
    rows = document["places"]
    return Dial(
        np.array([row["points"] for row in rows]), np.array([row["deviation"] for row in rows]), document["network"]
    )
