"""Fits how levels answer what they know of an opponent: which biases of their choices win points. Takes a quarter of an hour.

python -m benchmarks.data.responses

A level plays styles of which it knows as much as some number of hands shows, and strong players. It plays every deal twice, with luck of
its own. What the better of the two plays chose more often than the policy would is the gradient of the points (the score function), and its
part that goes with what is known is climbed. Steps follow the natural gradient, and a sum of steps is shrunk as far as it does not stand
out from its noise.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from agents.arena.series import PlayersBySeries, play_series
from agents.deal_streams import Domain
from agents.files import write_json
from agents.levels.choice import choose
from agents.levels.features import FEATURES, FIRST_DRAW, FIRST_KNOCK, NUM_WEIGHTS
from agents.levels.level import Level, load_level
from agents.levels.memory import RESPONSES, bounded
from agents.levels.opponents import Posteriors
from agents.levels.player import LevelPlayer
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import draw_styles
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.jit import kernel
from ginenv.tables.players import make_player

# Whose choices are shifted, and the seed of styles and deals.
LEVEL, SEED = "level-2", 61
# Styles that the level plays, and strong players besides, the level itself among them: against them it must not do what beats weak ones.
STYLES, STRONG, STRONG_NAMES = 256, 85, ("network",)
OPPONENTS = STYLES + STRONG
# Series played at once, hands of each in a round, and rounds.
SERIES, HANDS, ROUNDS = 2048, 24, 8
# Length of a step along the natural gradient; share that is kept in the end: what wins from the fit's opponents may mislead elsewhere.
RATE, CAUTION = 0.2, 0.5
# Numbers of hands after which what is known of each style is recorded.
HISTORIES = (10, 40, 150)
# A policy that plays everything within its reach alike shows nothing of what it leans to, so the temperature is at most this part of the
# reach; nor does a nearly certain one, so it is at least these, of discards and of draws.
_OF_REACH, _DISCARDS_AT, _DRAWS_AT = 0.5, 1.0, 0.5
# Longest step, in standard deviations of the policy's choices in a hand.
_LONGEST = 0.8
# Directions in which the policy moves less than this fraction of the largest move are ignored.
_FLAT = 1e-2
# The biases of discards, of draws and of knocks.
_PARTS = (slice(0, FIRST_DRAW), slice(FIRST_DRAW, FIRST_KNOCK), slice(FIRST_KNOCK, NUM_WEIGHTS))


@kernel
def _score(choices, logits, actions, rows, scores):
    """Adds each choice's features less their mean under the policy, divided by its temperature: the gradient of the log-probability."""
    mean, chosen = np.zeros(NUM_WEIGHTS), np.zeros(NUM_WEIGHTS)
    for i in range(choices.shape[0]):
        c = choices[i]
        o, behaviour = c.options, c.behaviour
        if c.phase > PHASE_DISCARD:
            continue
        temperature = behaviour.temperature if o.discards else behaviour.draw_temperature
        best = np.float64(logits[i, actions[i]])
        for k in range(o.count):
            best = max(best, np.float64(logits[i, o.actions[k]]))
        total = 0.0
        mean[:], chosen[:] = 0.0, 0.0
        for k in range(o.count):
            behind = best - logits[i, o.actions[k]]
            weight = np.exp(-behind / temperature) if behind <= behaviour.max_logit_gap else 0.0
            total += weight
            for a in range(o.first[k], o.last[k]):
                feature = o.features[k, a - o.first[k]]
                mean[a] += weight * feature
                if o.actions[k] == actions[i]:
                    chosen[a] = feature
        for a in range(NUM_WEIGHTS):
            scores[rows[i], a] += (chosen[a] - mean[a] / total) / temperature


class GradientPlayer(LevelPlayer):
    """A level with more biases in every series, ``float64[series, NUM_WEIGHTS]``, and the gradients of its choices."""

    def __init__(self, level: Level, seed: int, bias: np.ndarray) -> None:
        reach = _OF_REACH * level.settings.max_logit_gap
        discards, draws = (min(reach, level.settings.temperature), min(reach, level.settings.draw_temperature))
        warm = {"temperature": max(_DISCARDS_AT, discards), "draw_temperature": max(_DRAWS_AT, draws)}
        super().__init__(level.with_settings(**warm), seed, learn=False)
        self.bias, self.scores = bias, np.zeros((len(bias), NUM_WEIGHTS))

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view, and adds up gradients."""
        assert slots is not None
        rows = np.asarray(slots, np.int64)
        choices = self.describe(views)
        choices["biases"] += self.bias[rows]
        logits = self.logits(views, choices)
        actions, _ = choose(choices, logits)
        _score(choices, logits, actions, rows, self.scores)
        return actions


def _opponents(level: Level) -> PlayersBySeries:
    """The opponents in a fit, styles and strong players, the level as installed among these; series go through all of them in turn."""
    numbers = np.arange(SERIES) % OPPONENTS
    styles = draw_styles(SEED, STYLES)[numbers % STYLES]
    itself = LevelPlayer(level, SEED + 1, learn=False)
    strong = [itself, *(make_player(name, SEED) for name in STRONG_NAMES)]
    which = np.where(numbers < STYLES, 0, 1 + numbers % len(strong))
    return PlayersBySeries([StylePlayer(styles), *strong], which)


class _Fit:
    """The opponents of a fit, what is known of them, and play against them."""

    def __init__(self, level: Level) -> None:
        self.level, self.opponents = level, _opponents(level)
        self.distances = self._known_distances()
        self.round = 0

    def _known_distances(self) -> np.ndarray:
        """What is known of the opponent of each series, ``float64[series, NUM_WEIGHTS]``."""
        posteriors, hands = Posteriors(OPPONENTS), np.zeros(OPPONENTS, np.int64)
        found = np.zeros((len(HISTORIES), OPPONENTS, NUM_WEIGHTS))

        def learn(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
            posteriors.learn(views, rows)
            hands[rows] += 1
            for k, length in enumerate(HISTORIES):
                ready = rows[hands[rows] == length]
                found[k, ready] = bounded(posteriors.distances(ready))

        player = LevelPlayer(self.level, SEED, learn=False)
        options = {"hands": HISTORIES[-1], "seed": SEED, "domain": Domain.TRAIN}
        play_series(player, self.opponents, series=OPPONENTS, after=learn, **options)
        series = np.arange(SERIES)
        return found[series // OPPONENTS % len(HISTORIES), series % OPPONENTS]

    def _play(self, bias: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Points ``float64[series, hands]`` and their gradients ``float64[series, hands, NUM_WEIGHTS]``, on the deals of this round."""
        player = GradientPlayer(self.level, seed, bias)
        gradients = np.zeros((SERIES, HANDS, NUM_WEIGHTS))

        def after(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
            gradients[rows, numbers] = player.scores[rows]
            player.scores[rows] = 0

        options = {"series": SERIES, "hands": HANDS, "domain": Domain.TRAIN}
        points = play_series(player, self.opponents, seed=SEED + 1 + self.round, after=after, **options)
        return points.astype(np.float64), gradients

    def climb(self) -> tuple[np.ndarray, list[float]]:
        """Climbs the gradient of the points from no response on.

        Biases are scaled by how much they move the policy, and what is known by how much it differs: a step is as long in every direction.

        Returns:
            The biases that each known number adds, ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``, and the points per hand of each round.
        """
        inputs = self.distances
        matrix, points_of_rounds = np.zeros((NUM_WEIGHTS, NUM_WEIGHTS)), []
        by_input = _whitening(inputs, [slice(None)])
        scaled, total, variance = inputs @ by_input, np.zeros_like(matrix), np.zeros_like(matrix)
        by_weight = np.zeros(0)
        for number in range(ROUNDS):
            bias = inputs @ matrix
            played = [self._play(bias, SEED + 1000 * k) for k in range(2)]
            points, gradients = (np.stack(parts) for parts in zip(*played, strict=True))
            if not by_weight.size:
                by_weight = _whitening(gradients.reshape(-1, NUM_WEIGHTS), _PARTS)
            better = (points[0] - points[1])[..., None] * ((gradients[0] - gradients[1]) @ by_weight) / 2
            step, noise = _step(scaled, better.mean(1))
            total, variance = total + step, variance + noise
            for part in _PARTS:
                found, unsure = total[:, part], variance[:, part].sum()
                # What does not stand out from its noise is shrunk (James and Stein).
                sure = found * max(0.0, 1 - unsure / max(1e-12, float((found**2).sum())))
                matrix[:, part] = (by_input @ sure) @ by_weight[part, part].T
            points_of_rounds.append(round(float(points.mean()), 3))
            self.round += 1
            print(f"round {number + 1} of {ROUNDS}: {points.mean():+.2f} points per hand", flush=True)
        return matrix, points_of_rounds


def _step(inputs: np.ndarray, better: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A step along the gradient ``float64[m, NUM_WEIGHTS]``, and its variance."""
    # What is the same for all is no matter of what is known.
    each = inputs[:, :, None] * (better - better.mean(0))[:, None, :]
    step = each.mean(0)
    rate = min(RATE, _LONGEST / max(1e-12, float(np.linalg.norm(step, axis=1).max())))
    # Series against the same opponent are alike.
    by_opponent = np.stack([each[k::OPPONENTS].mean(0) for k in range(OPPONENTS)])
    return rate * step, rate**2 * by_opponent.var(0) / OPPONENTS


def _whitening(rows: np.ndarray, parts: Sequence[slice]) -> np.ndarray:
    """A matrix that whitens some rows, each part of their numbers by itself; flat directions get no weight."""
    found = np.zeros((rows.shape[1], rows.shape[1]))
    for part in parts:
        sizes, directions = np.linalg.eigh(rows[:, part].T @ rows[:, part] / len(rows))
        used = sizes > _FLAT * sizes.max()
        found[part, part] = directions * np.where(used, 1 / np.sqrt(np.where(used, sizes, 1.0)), 0.0)
    return found


def fit_responses(level: Level) -> tuple[np.ndarray, list[float]]:
    """The biases that each known number of an opponent adds, ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``, and the points of each round."""
    responses, points = _Fit(level).climb()
    return CAUTION * responses, points


def main() -> None:
    """Fits the responses and writes them into the package."""
    began = time.perf_counter()
    responses, points = fit_responses(load_level(LEVEL))
    about = {"command": "python -m benchmarks.data.responses", "level": LEVEL, "seed": SEED, "points": points}
    about["minutes"] = round((time.perf_counter() - began) / 60, 1)
    write_json(RESPONSES, {"about": about, "features": list(FEATURES), "responses": responses.round(6).tolist()})


if __name__ == "__main__":
    main()
