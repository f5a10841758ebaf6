"""Ratings: one scale on which 400 points are odds of ten to one in a whole game, and the two ways to a place on it.

Many games: ``bradley_terry`` rates everybody in a cross-table, with intervals from resampled pairs of games. This is how tournaments rate,
and how the players of the ladder were rated.

Few hands: a posterior over a grid of ratings. ``posterior`` weighs what was believed by how likely each rating makes what was scored,
``normal_rows`` spreads a belief, ``rating_of`` reads a rating and its interval off it, and ``rising_curve`` says what a player scores
against opponents of every rating. ``Ladder`` uses them for a player whom nobody knows; the dial of ``matched`` (``agents.levels``) for
the person that it plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from agents.estimates import TAIL, Estimate
from agents.files import parse_json, read_bytes

DATA = Path(__file__).parent / "data" / "ladder.json"
_SCALE = 400 / np.log(10)
# One drawn game is added to each pairing that was played, so that no rating is infinite.
_PRIOR = 1.0
_ROUNDS = 500
# Ratings that the ladder considers, and beyond its highest and lowest rungs how far.
_STEP, _BEYOND = 5.0, 300.0
# Width, in ratings, of what counts as near in a curve.
_BANDWIDTH = 200.0
# A sample's deviation counts as much as that of the rungs' matches once it has so many pairs: styles differ.
_USUAL_PAIRS = 6.0
# Rungs further away teach little, and their points were not measured.
_NEAR = 600.0


def rating_dict(rating: Estimate) -> dict[str, float]:
    """A rating as results hold it: ``rating``, ``low`` and ``high``, to a tenth."""
    return dict(
        zip(("rating", "low", "high"), (round(x, 1) for x in (rating.mean, rating.low, rating.high)), strict=True)
    )


def fit(wins: np.ndarray) -> np.ndarray:
    """The ratings that best explain a cross-table, by minorisation-maximisation (Hunter 2004).

    Args:
        wins: ``float[..., n, n]``, points of row against column (a win 1, a draw a half); any number of tables at once.

    Returns:
        ``float[..., n]`` ratings with mean 0.
    """
    games = wins + np.swapaxes(wins, -1, -2)
    played = games > 0
    wins = wins + _PRIOR / 2 * played
    games = games + _PRIOR * played
    total = wins.sum(axis=-1)
    strength = np.ones(total.shape)
    for _ in range(_ROUNDS):
        both = strength[..., :, None] + strength[..., None, :]
        new = total / np.maximum((games / both).sum(axis=-1), 1e-12)
        new = np.where(total > 0, new, 1.0)
        new /= np.exp(np.log(new).mean(axis=-1, keepdims=True))
        change = np.abs(np.log(new / strength)).max()
        strength = new
        if change < 1e-9:
            break
    return _SCALE * np.log(strength)


def bradley_terry(
    scores: Mapping[tuple[int, int], np.ndarray], players: int, resamples: int, seed: int
) -> list[Estimate]:
    """Ratings with 95 % intervals from resampled pairs of games, or resampled series of pairs.

    Args:
        scores: for players i < j, one row for each independent unit (a pair, or a series of pairs): the sum of i's shares of its
            pairs, and its number of pairs: ``float[n, 2]``.
        players: number of players.
        resamples: number of bootstrap tables.
        seed: seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    tables = np.zeros((resamples + 1, players, players))
    for (i, j), played in scores.items():
        values, counts = np.unique(played, axis=0, return_counts=True)
        # A drawn pair may be drawn too: whoever won every game has an interval nonetheless.
        shares = np.append(counts, 1) / (len(played) + 1)
        drawn = rng.multinomial(len(played), shares, size=resamples) @ np.concatenate([values, [[0.5, 1]]])
        won, pairs = 2 * np.concatenate([[counts @ values], drawn]).T
        tables[:, i, j] = won
        tables[:, j, i] = pairs - won
    fitted = fit(tables)
    ends = np.percentile(fitted[1:], [100 * TAIL, 100 * (1 - TAIL)], axis=0)
    return [Estimate(*row) for row in np.stack([fitted[0], *ends], axis=1).tolist()]


def normal_rows(grid: np.ndarray, deviation: np.ndarray | float) -> np.ndarray:
    """Rows that spread each rating of a grid by a normal distribution: ``float64[G, G]``.

    Args:
        grid: ``float64[G]``.
        deviation: of every rating alike, or of each: ``float64[G]``.
    """
    rows = np.exp(-np.square((grid - grid[:, None]) / np.broadcast_to(deviation, len(grid))[:, None]) / 2)
    return rows / rows.sum(axis=1, keepdims=True)


def posterior(log_likelihood: np.ndarray, prior: np.ndarray | float = 1.0) -> np.ndarray:
    """How likely each rating of a grid is: ``float64[..., G]``, rows that sum to 1.

    Args:
        log_likelihood: of what was scored, ``float64[..., G]``, up to a constant in each row.
        prior: what was believed before, ``float64[..., G]``; alike for all ratings when left out.
    """
    chances = prior * np.exp(log_likelihood - log_likelihood.max(axis=-1, keepdims=True))
    return chances / chances.sum(axis=-1, keepdims=True)


def rating_of(grid: np.ndarray, chances: np.ndarray) -> Estimate:
    """The median of a posterior ``float64[G]``, with its 95 % interval."""
    return Estimate(*np.interp((0.5, TAIL, 1 - TAIL), np.cumsum(chances), grid).tolist())


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
    """Players whose ratings are known by thousands of games, the rungs; and what points against them say of anybody's rating.

    Args:
        players: rating of each rung.
        opponents: the rungs that are met; the others only say what points are worth.
        pairings: measured pairings of rungs: ``players``, ``points`` per hand of the first, their standard ``deviation`` in a pair of
            mirrored hands, and the number of ``pairs``.

    Attributes:
        ratings: rating of each rung, the weakest first.
        grid: ratings that are considered.
        curves: for each rung, points per hand against it and their deviation at each rating of the grid.
        mismatch: standard deviation of the points per hand by which a pairing differs from what its ratings say: styles suit each other
            or do not.
    """

    def __init__(
        self, players: Mapping[str, float], opponents: Sequence[str], pairings: Sequence[Mapping[str, Any]]
    ) -> None:
        self.opponents = opponents
        self.ratings = dict(sorted(players.items(), key=lambda rung: rung[1]))
        # By rung: the other's rating and points, their deviation, and the pairs that were played.
        measured = {name: [(players[name], 0.0, np.nan, np.inf)] for name in self.ratings}
        for pairing in pairings:
            (a, b), points, sample = pairing["players"], pairing["points"], (pairing["deviation"], pairing["pairs"])
            measured[b].append((players[a], points, *sample))
            measured[a].append((players[b], -points, *sample))
        rows = {name: np.array(sorted(each)) for name, each in measured.items()}
        ends = list(self.ratings.values())
        self.grid = np.arange(ends[0] - _BEYOND, ends[-1] + _BEYOND + 1, _STEP)
        self.curves = {name: self._curve(each) for name, each in rows.items()}
        self.mismatch = self._mismatch(rows)

    def _curve(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points per hand against a rung, and their deviation: lines fitted near each rating; beyond the last player it goes on."""
        ratings, points, deviations = rows[:, :3].T
        has = ~np.isnan(deviations)
        return rising_curve(self.grid, ratings, points), np.interp(self.grid, ratings[has], deviations[has])

    def _mismatch(self, measured: Mapping[str, np.ndarray]) -> float:
        """From what each pairing differs from what the rung's others say about it, less the error of its sample."""
        squares = []
        for name, rows in measured.items():
            met = rows[rows[:, 3] < np.inf]
            for rating, points, deviation, pairs in met:
                inside = met[0, 0] < rating < met[-1, 0] and abs(rating - self.ratings[name]) <= _NEAR
                if inside:
                    expected = np.interp(rating, self.grid, self._curve(rows[rows[:, 0] != rating])[0])
                    squares.append((points - expected) ** 2 - deviation**2 / pairs)
        return float(max(np.mean(squares), 0.0)) ** 0.5

    def log_likelihood(self, played: Mapping[str, Sequence[float]]) -> np.ndarray:
        """Of each rating of the grid, up to a constant.

        Args:
            played: for each rung that was met, the points per hand in every pair of mirrored hands.
        """
        # Hands may scatter more than those of the rungs do: a forfeit costs much.
        square, freedom = _USUAL_PAIRS, _USUAL_PAIRS
        for name, margins in played.items():
            points, deviations = self.curves[name]
            deviation = deviations[int(np.argmax(points >= np.mean(margins)))]
            square += float(np.square(np.asarray(margins) - np.mean(margins)).sum()) / deviation**2
            freedom += len(margins) - 1
        distance, total = np.zeros((2, len(self.grid)))
        for name, margins in played.items():
            points, deviation = self.curves[name]
            variance = square / freedom * deviation**2 / len(margins) + self.mismatch**2
            distance += (np.mean(margins) - points) ** 2 / variance
            total -= np.log(variance) / 2
        # Student's density, since the deviation is an estimate.
        return total - (freedom + len(played)) / 2 * np.log1p(distance / freedom)

    def rate(self, played: Mapping[str, Sequence[float]]) -> Estimate:
        """The rating that points against rungs stand for; all ratings count as equally likely before (``played`` as above)."""
        return rating_of(self.grid, posterior(self.log_likelihood(played)))

    def next_rung(self, played: Mapping[str, Sequence[float]], pairs: int, without: str = "") -> str:
        """The rung against which the next pairs say most about the rating.

        Args:
            played: what has been played (see ``log_likelihood``).
            pairs: number of pairs to be played.
            without: a rung that is not to be met: the player itself.
        """
        rating = self.rate(played)
        others = [name for name in self.opponents if name != without]
        near = [name for name in others if abs(self.ratings[name] - rating.mean) <= _NEAR]
        place = int(np.argmin(np.abs(self.grid - rating.mean)))
        # Points are told apart over the width that is still open.
        width = max(1, round(min((rating.high - rating.low) / 2, _NEAR) / _STEP))
        ends = np.clip([place - width, place + width], 0, len(self.grid) - 1)

        def gain(name: str) -> float:
            points, deviation = self.curves[name]
            slope, done = (points[ends[1]] - points[ends[0]]) / (ends[1] - ends[0]), len(played.get(name, ()))
            noise = deviation[place] ** 2
            before = 0.0 if not done else slope**2 / (self.mismatch**2 + noise / done)
            return float(slope**2 / (self.mismatch**2 + noise / (done + pairs)) - before)

        return max(near or others, key=gain)

    def neighbours(self, rating: Estimate) -> tuple[str | None, str | None]:
        """The rungs just below and above a rating's interval."""
        below = [name for name in self.opponents if self.ratings[name] <= rating.low]
        above = [name for name in self.opponents if self.ratings[name] > rating.high]
        return max(below, key=self.ratings.__getitem__, default=None), min(
            above, key=self.ratings.__getitem__, default=None
        )


@cache
def shipped_ladder() -> Ladder:
    """The ladder that ships (``python -m benchmarks.data.ladder`` writes it)."""
    document = parse_json(read_bytes(DATA))
    ratings = {name: each["rating"] for name, each in document["players"].items()}
    return Ladder(ratings, document["opponents"], document["pairings"])
