"""The ladder: players whose ratings are known by thousands of games, by which a few hands rate others.

A rating is on the scale of tournaments: 400 points are odds of ten to one in a whole game, and ``simple`` stands where the ratings of
the levels have it. Hands say how many points a player scores against a rung; the rungs' own matches say what rating that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.results import TAIL
from agents.files import parse_json, read_bytes

DATA = Path(__file__).resolve().parents[1] / "data" / "ladder.json"
# Ratings that are considered, and beyond the highest and lowest rungs how far.
_STEP, _BEYOND = 5.0, 300.0
# Width, in ratings, of what counts as near in a curve.
_BANDWIDTH = 200.0
# A sample's deviation counts as much as that of the rungs' matches once it has so many pairs: styles differ.
_USUAL_PAIRS = 6.0
# Rungs further away teach little, and their points were not measured.
_NEAR = 600.0


@dataclass(frozen=True)
class Rating:
    """A rating with its 95 % interval."""

    rating: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2

    def to_dict(self) -> dict[str, float]:
        """The three numbers, rounded."""
        return {"rating": round(self.rating, 1), "low": round(self.low, 1), "high": round(self.high, 1)}


def rising_curve(grid: np.ndarray, ratings: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points at each rating of a grid, from points at some ratings in rising order: lines fitted to what is near, which never fall."""
    inside = np.clip(grid, ratings[0], ratings[-1])
    offsets = ratings - inside[:, None]
    weights = np.exp(-np.square(offsets / _BANDWIDTH) / 2)
    weights /= weights.sum(axis=1, keepdims=True)
    middle = (weights * offsets).sum(axis=1)
    level = weights @ points
    spread = (weights * np.square(offsets - middle[:, None])).sum(axis=1)
    slope = (weights * (offsets - middle[:, None]) * (points - level[:, None])).sum(axis=1) / spread
    return np.maximum.accumulate(level - slope * middle + slope * (grid - inside))


class Ladder:
    """The rungs, and what they say about points.

    Args:
        players: rating of each rung.
        opponents: the rungs that are met; the others only say what points are worth.
        pairings: measured pairings of rungs: ``players``, ``points`` per hand of the first, their standard ``deviation`` in a pair of
            mirrored hands, and the number of ``pairs``.

    Attributes:
        names: the rungs, the weakest first.
        ratings: ``float64[rungs]``.
        grid: ratings that are considered.
        mismatch: standard deviation of the points per hand by which a pairing differs from what its ratings say: styles suit each other
            or do not.
    """

    def __init__(
        self, players: Mapping[str, float], opponents: Sequence[str], pairings: Sequence[Mapping[str, Any]]
    ) -> None:
        self.opponents = opponents
        self.names = sorted(players, key=players.__getitem__)
        self.ratings = np.array([players[name] for name in self.names])
        self._measured: dict[str, list[tuple[float, float, float, float]]] = {
            name: [(players[name], 0.0, np.nan, np.inf)] for name in self.names
        }
        for pairing in pairings:
            (a, b), points = pairing["players"], pairing["points"]
            deviation, pairs = pairing["deviation"], pairing["pairs"]
            self._measured[b].append((players[a], points, deviation, pairs))
            self._measured[a].append((players[b], -points, deviation, pairs))
        self.grid = np.arange(self.ratings[0] - _BEYOND, self.ratings[-1] + _BEYOND + 1, _STEP)
        self._curves = {name: self._curve(name) for name in self.names}
        self.mismatch = self._mismatch()

    def _curve(self, name: str, without: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Points per hand against a rung, and their deviation, at each rating of the grid; ``without`` leaves a rung out.

        Lines are fitted to what was measured near each rating. Beyond the players that it met, the last one goes on.
        """
        rows = np.array(sorted(row for row in self._measured[name] if row[0] != without))
        ratings, points, deviations = rows[:, 0], rows[:, 1], rows[:, 2]
        has = ~np.isnan(deviations)
        return rising_curve(self.grid, ratings, points), np.interp(self.grid, ratings[has], deviations[has])

    def _mismatch(self) -> float:
        """From what each pairing differs from what the rung's others say about it, less the error of its sample."""
        squares = []
        for name in self.names:
            rows = [row for row in self._measured[name] if row[3] < np.inf]
            ends = {min(row[0] for row in rows), max(row[0] for row in rows)}
            for rating, points, deviation, pairs in rows:
                if rating not in ends and abs(rating - self.rating_of(name)) <= _NEAR:
                    expected = np.interp(rating, self.grid, self._curve(name, rating)[0])
                    squares.append((points - expected) ** 2 - deviation**2 / pairs)
        return float(max(np.mean(squares), 0.0)) ** 0.5

    def rating_of(self, name: str) -> float:
        """The rating of a rung."""
        return float(self.ratings[self.names.index(name)])

    def log_likelihood(self, played: Mapping[str, Sequence[float]]) -> np.ndarray:
        """Of each rating of the grid, up to a constant.

        Args:
            played: for each rung that was met, the points per hand in every pair of mirrored hands.
        """
        # Hands may scatter more than those of the rungs do: a forfeit costs much.
        square, freedom = _USUAL_PAIRS, _USUAL_PAIRS
        for name, margins in played.items():
            deviation = self._curves[name][1][int(np.argmax(self._curves[name][0] >= np.mean(margins)))]
            square += float(np.square(np.asarray(margins) - np.mean(margins)).sum()) / deviation**2
            freedom += len(margins) - 1
        distance, total = np.zeros((2, len(self.grid)))
        for name, margins in played.items():
            points, deviation = self._curves[name]
            variance = square / freedom * deviation**2 / len(margins) + self.mismatch**2
            distance += (np.mean(margins) - points) ** 2 / variance
            total -= np.log(variance) / 2
        # Student's density, since the deviation is an estimate.
        return total - (freedom + len(played)) / 2 * np.log1p(distance / freedom)

    def _posterior(self, played: Mapping[str, Sequence[float]]) -> np.ndarray:
        found = self.log_likelihood(played)
        chances = np.exp(found - found.max())
        return chances / chances.sum()

    def rate(self, played: Mapping[str, Sequence[float]]) -> Rating:
        """The rating that points against rungs stand for; all ratings count as equally likely before (``played`` as above)."""
        below = np.cumsum(self._posterior(played))
        low, middle, high = (float(np.interp(chance, below, self.grid)) for chance in (TAIL, 0.5, 1 - TAIL))
        return Rating(middle, low, high)

    def next_rung(self, played: Mapping[str, Sequence[float]], pairs: int, without: str = "") -> str:
        """The rung against which the next pairs say most about the rating.

        Args:
            played: what has been played (see ``log_likelihood``).
            pairs: number of pairs to be played.
            without: a rung that is not to be met: the player itself.
        """
        rating = self.rate(played).rating
        others = [name for name in self.opponents if name != without]
        near = [name for name in others if abs(self.rating_of(name) - rating) <= _NEAR]
        place = int(np.argmin(np.abs(self.grid - rating)))
        # Points are told apart over the width that is still open.
        width = max(1, round(min(self.rate(played).half, _NEAR) / _STEP))
        ends = np.clip([place - width, place + width], 0, len(self.grid) - 1)

        def gain(name: str) -> float:
            points, deviation = self._curves[name]
            slope, done = (points[ends[1]] - points[ends[0]]) / (ends[1] - ends[0]), len(played.get(name, ()))
            noise = deviation[place] ** 2
            before = 0.0 if not done else slope**2 / (self.mismatch**2 + noise / done)
            return float(slope**2 / (self.mismatch**2 + noise / (done + pairs)) - before)

        return max(near or others, key=gain)

    def neighbours(self, rating: float) -> tuple[str | None, str | None]:
        """The rungs just below and above a rating."""
        below = [name for name in self.opponents if self.rating_of(name) <= rating]
        above = [name for name in self.opponents if self.rating_of(name) > rating]
        return max(below, key=self.rating_of, default=None), min(above, key=self.rating_of, default=None)


@cache
def shipped_ladder() -> Ladder:
    """The ladder that ships (``python -m benchmarks.data.ladder`` writes it)."""
    document = parse_json(read_bytes(DATA))
    ratings = {name: found["rating"] for name, found in document["players"].items()}
    return Ladder(ratings, document["opponents"], document["pairings"])
