"""Fits a level's responses: which biases of its choices win points, given what is known of the opponent.

gin levels fit runs/my-level

The level plays styles of which it knows as much as some number of hands shows, and strong players. It plays every deal twice, with luck of
its own. What the better of the two plays chose more often than the policy would is the gradient of the points (the score function). First
the biases against everybody climb it, and what shares of them gain is measured; then, at the growth of 500 hands, those that depend on the
opponent, by the part of the gradient that goes with what is known. Steps follow the natural gradient, and a sum of steps is shrunk as far
as it does not stand out from its noise.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from agents.arena.series import PlayersBySeries, play_series
from agents.config import Config
from agents.deal_streams import Domain
from agents.levels.level import PACE_HANDS, Level
from agents.levels.player import LevelPlayer
from agents.levels.responses import Responses, bounded, features_of
from agents.network.checkpoint import WEIGHTS
from agents.opponent_model.features import FIRST_DRAW, FIRST_KNOCK, NUM_WEIGHTS
from agents.opponent_model.posterior import Posteriors
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import draw_styles
from ginenv.engine.actions import NUM_ACTIONS, PHASE_DISCARD
from ginenv.engine.jit import kernel
from ginenv.tables.players import make_player

Progress = Callable[[str], None]
# Numbers of hands after which what is known of each style is recorded.
HISTORIES = (10, 40, 150)
# Strong players that the level meets, in addition to styles and itself: against them it must not do what beats weak ones.
STRONG = ("network", "knocker", "camper")
# The choices of a nearly certain policy show nothing, so these are the least temperatures of discards and of draws while it is tried. Nor
# does a policy that plays everything within its reach alike, so the temperature is at most this part of the reach.
_DISCARDS_AT, _DRAWS_AT, _OF_REACH = 1.0, 0.5, 0.5
# Shares of the biases against everybody whose gain is measured.
_SHARES = (0.0, 0.06, 0.12, 0.25, 0.5, 1.0)
# Longest step against everybody, in standard deviations of the policy's choices in a hand.
_LONGEST = 0.8
# Directions in which the policy moves less than this fraction of the largest move are ignored.
_FLAT = 1e-2
# The biases of discards, of draws and of knocks.
_PARTS = (slice(0, FIRST_DRAW), slice(FIRST_DRAW, FIRST_KNOCK), slice(FIRST_KNOCK, NUM_WEIGHTS))


class FitConfig(Config):
    """How a level's responses are fitted.

    Attributes:
        styles: number of styles of the population that the level plays.
        strong: strong players in addition, per style; the level itself is one of them.
        rounds: number of steps uphill against everybody; a level that does not grow takes none.
        specific_rounds: number of steps uphill by what is known of the opponent.
        series: number of series played at once, each against one opponent.
        hands: of each series in a round; each hand is played twice.
        rate: length of a step along the natural gradient.
        caution: share that is kept of the biases that depend on the opponent: what wins from the fit's opponents may mislead elsewhere.
        seed: of styles and deals.
    """

    styles: int = Field(256, ge=8)
    strong: float = Field(0.33, ge=0, le=10)
    rounds: int = Field(6, ge=1)
    specific_rounds: int = Field(10, ge=1)
    series: int = Field(2048, ge=8)
    hands: int = Field(24, ge=1)
    rate: float = Field(0.2, gt=0)
    caution: float = Field(0.5, ge=0, le=1)
    seed: int = Field(61, ge=0)

    @property
    def opponents(self) -> int:
        """Number of styles and strong players."""
        return self.styles + round(self.styles * self.strong)

    @model_validator(mode="after")
    def _all_opponents_occur(self) -> FitConfig:
        least = len(HISTORIES) * self.opponents
        if self.series < least:
            raise ValueError(f"series must be {least} or more, so that all {self.opponents} opponents are met")
        return self


@kernel
def _score(views, behaviour, logits, legal, actions, rows, space, scores):
    """Adds each choice's features less their mean under the policy, divided by its temperature: the gradient of the log-probability."""
    weights = np.zeros(NUM_ACTIONS)
    mean = np.zeros(NUM_WEIGHTS)
    features = np.zeros((NUM_ACTIONS, NUM_WEIGHTS))
    for i in range(views.shape[0]):
        if views[i].phase > PHASE_DISCARD:
            continue
        temperature = behaviour.temperature if legal[i, 0] else behaviour.draw_temperature
        best = np.float64(logits[i, actions[i]])
        for action in range(NUM_ACTIONS):
            if (legal[i, action // 52] >> (action % 52)) & 1:
                best = max(best, np.float64(logits[i, action]))
        features_of(views[i], behaviour.remembered_discards, behaviour.noticed_actions, legal, i, space[0], features)
        total = 0.0
        mean[:] = 0.0
        for action in range(NUM_ACTIONS):
            behind = best - logits[i, action]
            if (legal[i, action // 52] >> (action % 52)) & 1 and behind <= behaviour.max_logit_gap:
                weights[action] = np.exp(-behind / temperature)
                total += weights[action]
                for k in range(NUM_WEIGHTS):
                    mean[k] += weights[action] * features[action, k]
        for k in range(NUM_WEIGHTS):
            scores[rows[i], k] += (features[actions[i], k] - mean[k] / total) / temperature


class _BiasedPlayer(LevelPlayer):
    """The level's network with given biases in every series, ``float64[series, NUM_WEIGHTS]``."""

    def __init__(self, level: Level, seed: int, bias: np.ndarray) -> None:
        super().__init__(level.with_settings(worlds=0), seed, learn=False)
        self.bias = bias

    def logit_bias(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        assert slots is not None
        return self.bias[slots]


class _GradientPlayer(_BiasedPlayer):
    """The same at higher temperatures, with the gradients of its choices."""

    def __init__(self, level: Level, seed: int, bias: np.ndarray) -> None:
        discards, draws = (
            min(temperature, _OF_REACH * level.settings.max_logit_gap)
            for temperature in (level.settings.temperature, level.settings.draw_temperature)
        )
        warm = {"temperature": max(_DISCARDS_AT, discards), "draw_temperature": max(_DRAWS_AT, draws)}
        super().__init__(level.with_settings(**warm), seed, bias)
        self.scores = np.zeros((len(bias), NUM_WEIGHTS))

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        assert slots is not None
        actions, logits, legal = self._decide(views, self.logit_bias(slots, len(views)))
        rows = np.asarray(slots, np.int64)
        _score(views, self.behaviour[0], logits, legal, actions, rows, self._space, self.scores)
        return actions


def _opponents(level: Level, config: FitConfig) -> PlayersBySeries:
    """The opponents in a fit, styles and strong players, the level as installed among these; series go through all of them in turn."""
    numbers = np.arange(config.series) % config.opponents
    styles = draw_styles(config.seed, config.styles)[numbers % config.styles]
    itself = LevelPlayer(level.with_settings(worlds=0), config.seed + 1, learn=False)
    strong = [itself, *(make_player(name, config.seed) for name in STRONG)]
    which = np.where(numbers < config.styles, 0, 1 + numbers % len(strong))
    return PlayersBySeries([StylePlayer(styles), *strong], which)


def hands_to_play(level: Level, config: FitConfig) -> int:
    """How many hands are played in all, for a progress bar."""
    plays = 2 * config.specific_rounds + (2 * config.rounds + len(_SHARES) if level.settings.growth else 0)
    return config.opponents * HISTORIES[-1] + plays * config.series * config.hands


class _Fit:
    """The opponents of a fit, what is known of them, and play against them."""

    def __init__(self, level: Level, config: FitConfig, say: Progress) -> None:
        self.level, self.config, self.say = level, config, say
        self.opponents = _opponents(level, config)
        self.distances = self._known_distances()
        self.round = 0

    def _known_distances(self) -> np.ndarray:
        """What is known of the opponent of each series, ``float64[series, NUM_WEIGHTS]``."""
        count, config = self.config.opponents, self.config
        posteriors, hands = Posteriors(count), np.zeros(count, np.int64)
        found = np.zeros((len(HISTORIES), count, NUM_WEIGHTS))

        def learn(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
            posteriors.learn(views, rows)
            hands[rows] += 1
            for k, length in enumerate(HISTORIES):
                ready = rows[hands[rows] == length]
                found[k, ready] = bounded(posteriors.distances(ready))

        player = LevelPlayer(self.level.with_settings(worlds=0), config.seed, learn=False)
        options = {"hands": HISTORIES[-1], "seed": config.seed, "domain": Domain.TRAIN}
        play_series(player, self.opponents, series=count, after=learn, **options)
        series = np.arange(config.series)
        return found[series // count % len(HISTORIES), series % count]

    def _play(self, bias: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Points ``float64[series, hands]`` and their gradients ``float64[series, hands, NUM_WEIGHTS]``, on the deals of this round."""
        config, player = self.config, _GradientPlayer(self.level, seed, bias)
        gradients = np.zeros((config.series, config.hands, NUM_WEIGHTS))

        def after(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
            gradients[rows, numbers] = player.scores[rows]
            player.scores[rows] = 0

        options = {"series": config.series, "hands": config.hands, "domain": Domain.TRAIN}
        deals = config.seed + 1 + self.round
        return play_series(player, self.opponents, seed=deals, after=after, **options).astype(np.float64), gradients

    def climb(self, fixed: np.ndarray, inputs: np.ndarray, rounds: int) -> tuple[np.ndarray, list[float]]:
        """Climbs the gradient of the points from no response to some inputs on.

        Biases are scaled by how much they move the policy, and inputs by how much they differ: a step is as long in every direction.

        Args:
            fixed: other biases, ``float64[NUM_WEIGHTS]``.
            inputs: ``float64[series, m]``.
            rounds: number of steps.

        Returns:
            The biases that each input adds, ``float64[m, NUM_WEIGHTS]``, and the points per hand of each round.
        """
        matrix, points_of_rounds = np.zeros((inputs.shape[1], NUM_WEIGHTS)), []
        by_input = _whitening(inputs, [slice(None)])
        scaled, total, variance = inputs @ by_input, np.zeros_like(matrix), np.zeros_like(matrix)
        by_weight = np.zeros(0)
        for number in range(rounds):
            bias = fixed + inputs @ matrix
            played = [self._play(bias, self.config.seed + 1000 * k) for k in range(2)]
            points, gradients = (np.stack(parts) for parts in zip(*played, strict=True))
            if not by_weight.size:
                by_weight = _whitening(gradients.reshape(-1, NUM_WEIGHTS), _PARTS)
            better = (points[0] - points[1])[..., None] * ((gradients[0] - gradients[1]) @ by_weight) / 2
            step, noise = self._step(scaled, better.mean(1))
            total, variance = total + step, variance + noise
            for part in _PARTS:
                found, unsure = total[:, part], variance[:, part].sum()
                # What does not stand out from its noise is shrunk (James and Stein).
                sure = found * max(0.0, 1 - unsure / max(1e-12, float((found**2).sum())))
                matrix[:, part] = (by_input @ sure) @ by_weight[part, part].T
            points_of_rounds.append(round(float(points.mean()), 3))
            self.round += 1
            self.say(f"round {number + 1} of {rounds}: {points.mean():+.2f} points per hand")
        return matrix, points_of_rounds

    def _step(self, inputs: np.ndarray, better: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A step along the gradient ``float64[m, NUM_WEIGHTS]``, and its variance."""
        # What is the same for all is no matter of what is known.
        better = better if inputs.shape[1] == 1 else better - better.mean(0)
        each = inputs[:, :, None] * better[:, None, :]
        step = each.mean(0)
        rate = min(self.config.rate, _LONGEST / max(1e-12, float(np.linalg.norm(step, axis=1).max())))
        # Series against the same opponent are alike.
        count = self.config.opponents
        by_opponent = np.stack([each[k::count].mean(0) for k in range(count)])
        return rate * step, rate**2 * by_opponent.var(0) / count

    def gains(self, general: np.ndarray) -> np.ndarray:
        """Points per hand that shares of some biases against everybody gain at the level's own temperatures, as far as they rise."""
        config, points = self.config, []
        options = {"series": config.series, "hands": config.hands, "seed": config.seed, "domain": Domain.SELECT}
        for share in _SHARES:
            player = _BiasedPlayer(self.level, config.seed, np.tile(share * general, (config.series, 1)))
            points.append(float(play_series(player, self.opponents, **options).mean()))
        rising = [(0.0, 0.0)]
        for share, gain in zip(_SHARES, np.array(points) - points[0], strict=True):
            if gain > rising[-1][1]:
                rising.append((share, float(gain)))
        self.say("gain by share: " + ", ".join(f"{share:g}: {gain:+.2f}" for share, gain in rising))
        return np.array(rising)


def _whitening(rows: np.ndarray, parts: Sequence[slice]) -> np.ndarray:
    """A matrix that whitens some rows, each part of their numbers by itself; flat directions get no weight."""
    found = np.zeros((rows.shape[1], rows.shape[1]))
    for part in parts:
        sizes, directions = np.linalg.eigh(rows[:, part].T @ rows[:, part] / len(rows))
        used = sizes > _FLAT * sizes.max()
        found[part, part] = directions * np.where(used, 1 / np.sqrt(np.where(used, sizes, 1.0)), 0.0)
    return found


def fit_responses(level: Level, config: FitConfig, say: Progress = lambda words: None) -> Responses:
    """Finds a level's responses.

    Args:
        level: whose choices they shift; its present responses are ignored.
        config: of the fit.
        say: called with a sentence after every round.
    """
    began, fit = time.perf_counter(), _Fit(level, config, say)
    general, gains, rounds = np.zeros(NUM_WEIGHTS), np.zeros((1, 2)), []
    if level.settings.growth:
        (general,), rounds = fit.climb(general, np.ones((config.series, 1)), config.rounds)
        gains = fit.gains(general)
    nothing = Responses(general, gains, np.zeros((NUM_WEIGHTS, NUM_WEIGHTS)), {})
    grown = level.settings.gained(np.array([PACE_HANDS]))
    fixed = nothing.logit_bias(np.zeros((1, NUM_WEIGHTS)), grown)[0]
    specific, more = fit.climb(fixed, fit.distances, config.specific_rounds)
    return Responses(
        general, gains, config.caution * specific, _about(level, config, began) | {"points": rounds + more}
    )


def _about(level: Level, config: FitConfig, began: float) -> dict[str, Any]:
    """How responses were made."""
    home, here = level.directory.resolve(), Path.cwd()
    shown = home.relative_to(here).as_posix() if home.is_relative_to(here) else home.name
    return {
        "command": f"gin levels fit {shown}",
        "config": config.model_dump(mode="json"),
        "minutes": round((time.perf_counter() - began) / 60, 1),
        "weights_sha256": hashlib.sha256((level.directory / WEIGHTS).read_bytes()).hexdigest(),
    }
