"""Bradley–Terry ratings of a cross-table with bootstrap intervals, and a search for circles."""

from __future__ import annotations

from itertools import combinations

import numpy as np

# Ratings are on the usual scale: 400 points are odds of ten to one.
_SCALE = 400 / np.log(10)
# One drawn game is added to each pairing that was played, so that no rating is infinite.
_PRIOR = 1.0
_ROUNDS = 500


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
        if np.abs(np.log(new / strength)).max() < 1e-9:
            strength = new
            break
        strength = new
    return _SCALE * np.log(strength)


def ratings(scores: dict[tuple[int, int], np.ndarray], players: int, resamples: int, seed: int) -> np.ndarray:
    """Ratings with 95 % intervals from resampled pairs of games, or resampled series of pairs.

    Args:
        scores: for players i < j, one row for each independent unit (a pair, or a series of pairs): the sum of i's shares of its
            pairs, and its number of pairs: ``float[n, 2]``.
        players: number of players.
        resamples: number of bootstrap tables.
        seed: seed of the bootstrap.

    Returns:
        ``float[players, 3]``: rating, and lower and upper end of its interval.
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
    low, high = np.percentile(fitted[1:], [2.5, 97.5], axis=0)
    return np.stack([fitted[0], low, high], axis=1)


def circles(beats: np.ndarray) -> list[tuple[int, int, int]]:
    """Triples in which the first beats the second, the second the third, and the third the first.

    Args:
        beats: ``bool[n, n]``, whether row clearly beats column.
    """
    return [
        (i, j, k)
        for a, b, c in combinations(range(len(beats)), 3)
        for i, j, k in ((a, b, c), (a, c, b))
        if beats[i, j] and beats[j, k] and beats[k, i]
    ]
