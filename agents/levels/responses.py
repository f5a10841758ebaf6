"""Good answers to styles: a small library of responses, and which of them to teach against whom.

Each response is the best bots' way of playing with other numbers: when it knocks, how much it cares for what a discard gives away, how
far it looks ahead. ``payoffs`` plays all of them against a population, on the same deals; ``best_responses`` smooths the results over
the opponents' habits (a single opponent's few hundred hands say little) and names the best one for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer, style
from agents.deals import Domain
from ginenv.players import Player

_CAMP: dict[str, Any] = {"base": "camper"}
_WINDOW: dict[str, Any] = {"base": "knocker"}
_AT_ONCE: dict[str, Any] = {"base": "knocker", "turns": 99, "late": 10}
# The first is what is played against an opponent of whom nothing is known.
RESPONSES: tuple[dict[str, Any], ...] = (
    _WINDOW,
    _CAMP,
    _AT_ONCE,
    _WINDOW | {"turns": 2},
    _WINDOW | {"turns": 7},
    _AT_ONCE | {"knock": 5, "late": 5},
    _WINDOW | {"turns": 3, "late": 4},
    _AT_ONCE | {"gin": 10.0, "ahead": 1.5},
    _AT_ONCE | {"danger": 0.0},
    _WINDOW | {"danger": 0.0},
    _CAMP | {"danger": 0.0},
    _CAMP | {"danger": 45.0},
    _WINDOW | {"danger": 45.0},
    _AT_ONCE | {"danger": 45.0},
    _AT_ONCE | {"gin": 10.0, "ahead": 1.0, "bar": 6.0},
    _CAMP | {"gin": 120.0},
    _WINDOW | {"turns": 6, "late": 3},
)
KNOWN_NOTHING, CAMP = 0, 1
# The responses that differ in nothing but how long they knock early, in the order of ``plans.TURNS``.
PLANS = (2, 4, 0, 3, 1)
# Weight of the ridge in the smoothing, in opponents' worth of evidence.
_RIDGE = 8.0


def response_styles() -> np.ndarray:
    """The library as ``STYLE[R]``."""
    return np.concatenate([style(**response) for response in RESPONSES])


def payoffs(opponent: Player, count: int, hands: int, seed: int) -> np.ndarray:
    """Mean points a hand of every response against opponents 0 to ``count``, all on the same deals: ``float32[count, R]``."""
    columns = []
    for record in response_styles():
        player = StylePlayer(np.atleast_1d(record), seed)
        points = play_series(player, opponent, series=count, hands=hands, seed=seed, domain=Domain.TRAIN)
        columns.append(points.mean(1))
    return np.stack(columns, 1).astype(np.float32)


def _quadratic(features: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(features), 1)), features, np.square(features) - 1], 1)


def smoothed(features: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Payoffs as ridge regression over habits sees them: ``float64[count, R]``.

    Args:
        features: ``[count, H]``, the opponents' habits in standard deviations.
        results: ``[count, R]``.
    """
    inputs = _quadratic(features)
    mean = results.mean(0)
    weights = np.linalg.solve(inputs.T @ inputs + _RIDGE * np.eye(inputs.shape[1]), inputs.T @ (results - mean))
    return mean + inputs @ weights


def foresight(features: np.ndarray, results: np.ndarray) -> np.ndarray:
    """What habits say about plans: ``float64[H, P]``, by ridge regression of the plans' payoffs less their common part.

    Args:
        features: ``[count, H]``, habits of opponents.
        results: ``[count, P]``, points a hand of every plan against each of them.
    """
    plans = results - results.mean(1, keepdims=True)
    plans = plans - plans.mean(0)
    centred = features - features.mean(0)
    return np.linalg.solve(centred.T @ centred + 4 * _RIDGE * np.eye(features.shape[1]), centred.T @ plans)


def best_responses(features: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Which response is best against each opponent, by the mean of its own result and the smoothed one: ``int64[count]``."""
    return (0.25 * results + 0.75 * smoothed(features, results)).argmax(1)
