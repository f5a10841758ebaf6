"""Fits a level's responses: which biases of its choices win points, given what is known of the opponent.

gin levels fit runs/my-level

The level plays styles of which it knows as much as some number of hands shows. It plays every deal twice, with luck of its own. What the
better of the two plays chose more often than the policy would is the gradient of the points (``score function``); its product with what is
known is that of the responses. Steps follow the natural gradient. What a round says about one number is mostly noise, so only what
stands out together is kept. At the end other styles, and the same strong players, validate: a part whose mean gain against them is not
above zero is left out, and of the part that depends on the opponent all, half or a quarter is kept, whichever wins most.

A level whose network receives styles also responds by itself. For it, regressions over many styles and strong players first find how likely
an opponent is to be such a style, and which style to expect then. The same opponents decide whether the network receives nothing, the
probability alone, or both: whichever wins most points from them. The steps are those of a level that receives this.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from agents.arena.results import ratio
from agents.arena.series import play_series, report_hands
from agents.config import Config
from agents.deal_streams import Domain
from agents.levels.action_choice import TASTE, choose, draw_tastes
from agents.levels.level import Level
from agents.levels.natural_gradient import PARTS, GradientSums
from agents.levels.player import LevelPlayer
from agents.levels.responses import INPUTS, SPACE, Responses, features_of
from agents.network.checkpoint import WEIGHTS
from agents.opponent_model.features import NUM_WEIGHTS
from agents.opponent_model.posterior import Posteriors
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import OPPONENT_CONTEXT_WIDTH, draw_styles, style_vectors
from ginenv.engine.actions import NUM_ACTIONS, PHASE_DISCARD
from ginenv.engine.jit import kernel
from ginenv.tables.players import BasePlayer, Player, make_player

Progress = Callable[[str], None]
# Numbers of hands after which what is known of each style is recorded.
HISTORIES = (10, 40, 150)
# Strong players that the level meets, in addition to styles and itself.
STRONG = ("network", "knocker", "camper")
# The choices of a nearly certain policy show nothing, so these are the least temperatures of discards and of draws while it is tried. Nor
# does a policy that plays everything within its reach alike, so the temperature is at most this part of the reach.
_DISCARDS_AT, _DRAWS_AT, _OF_REACH = 1.0, 0.5, 0.5
# The validation's seed is higher by the first number, and it plays the second number times the hands of a round.
_VALIDATION_SEED, _VALIDATION_FACTOR = 1000, 4
# Shares of the part that depends on the opponent that the validation tries: a step along many directions at once is easily too long.
_SHARES = (1.0, 0.5, 0.25)
# A regression uses this many times the opponents, and its ridge penalty is this fraction of each number's variance.
_REGRESSED, _RIDGE = 8, 1e-3
# Steps of Newton's method, and the log-odds that stand for impossible.
_NEWTON, _IMPOSSIBLE = 20, -50.0


class FitConfig(Config):
    """How a level's responses are fitted. Validating them plays as many hands as ten rounds; validating a network's context, as four more.

    Attributes:
        styles: number of styles of the population that the level plays.
        strong: strong players in addition, per style; the level itself is one of them. A network that receives styles takes an unknown
            opponent for a strong player in this proportion.
        rounds: number of steps uphill; the first half leave out the part that depends on the opponent, since most of it would change.
        series: number of series played at once, each against one style.
        hands: of each series in a round; each hand is played twice.
        rate: length of a step along the natural gradient.
        seed: of styles and deals.
    """

    styles: int = Field(256, ge=8)
    strong: float = Field(0.33, ge=0, le=10)
    rounds: int = Field(20, ge=2)
    series: int = Field(2048, ge=8)
    hands: int = Field(24, ge=1)
    rate: float = Field(0.2, gt=0)
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
    """The level's network with given biases in every series, ``float64[series, NUM_WEIGHTS]``, and a given context."""

    def __init__(self, level: Level, seed: int, bias: np.ndarray, opponent_context: np.ndarray | None = None) -> None:
        super().__init__(level.with_settings(worlds=0), seed, learn=False)
        self.bias, self.contexts_given = bias, opponent_context

    def logit_bias(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        assert slots is not None
        return self.bias[slots]

    def opponent_context(self, slots: np.ndarray | None, n: int) -> np.ndarray | None:
        assert slots is not None
        return None if self.contexts_given is None else self.contexts_given[slots]


class _GradientPlayer(_BiasedPlayer):
    """The same at higher temperatures, with the gradients of its choices."""

    def __init__(self, level: Level, seed: int, bias: np.ndarray, opponent_context: np.ndarray | None = None) -> None:
        discards, draws = (
            min(temperature, _OF_REACH * level.settings.max_logit_gap)
            for temperature in (level.settings.temperature, level.settings.draw_temperature)
        )
        warm = {"temperature": max(_DISCARDS_AT, discards), "draw_temperature": max(_DRAWS_AT, draws)}
        super().__init__(level.with_settings(**warm), seed, bias, opponent_context)
        self.scores = np.zeros((len(bias), NUM_WEIGHTS))

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        assert slots is not None
        n = len(views)
        seen = self._see(views)
        logits, (_, _, legal, words) = (
            self._logits(views, seen, self.logit_bias(slots, n), self.opponent_context(slots, n)),
            seen,
        )
        tastes, actions = np.zeros(n, TASTE), np.empty(n, np.int64)
        draw_tastes(views, self.behaviour, self.seed & 0xFFFFFFFF, tastes)
        choose(views, self.behaviour, tastes, logits, legal, words, actions, np.zeros(logits.shape, np.float32))
        _score(
            views, self.behaviour, logits, legal, actions, np.asarray(slots, np.int64), np.zeros(1, SPACE), self.scores
        )
        return actions


def hands_to_play(level: Level, config: FitConfig) -> int:
    """How many hands are played in all, for a progress bar."""
    validated, watched = 2 + len(_SHARES), 2 * config.opponents
    if level.actor.context:
        validated, watched = validated + 2, watched + _many(config).opponents
    return watched * HISTORIES[-1] + (2 * config.rounds + validated * _VALIDATION_FACTOR) * config.series * config.hands


def _many(config: FitConfig) -> FitConfig:
    """The same settings with as many opponents as a regression uses."""
    return config.model_copy(update={"styles": _REGRESSED * config.styles})


class _Opponents(BasePlayer):
    """The opponents in a fit: styles, and strong players, against whom the level must not do what beats weak ones.

    Slots go through all opponents in turn.

    Args:
        level: whose responses are found; as installed it is one of the strong players.
        config: of the fit.
    """

    def __init__(self, level: Level, config: FitConfig) -> None:
        super().__init__()
        self.styles = StylePlayer(draw_styles(config.seed, config.styles))
        itself = LevelPlayer(level.with_settings(worlds=0), config.seed + 1, learn=False)
        self.strong = [itself, *(make_player(name, config.seed) for name in STRONG)]
        self.first_strong = config.styles
        self.count = config.opponents

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        assert slots is not None
        numbers = np.asarray(slots) % self.count
        weak, actions = numbers < self.first_strong, np.empty(len(views), np.int64)
        shares = [(self.styles, weak)] + [
            (player, ~weak & (numbers % len(self.strong) == k)) for k, player in enumerate(self.strong)
        ]
        for player, rows in shares:
            if rows.any():
                actions[rows] = player.act(views[rows], numbers[rows])
        return actions


def _inputs_after_hands(level: Level, opponents: Player, count: int, seed: int) -> np.ndarray:
    """What is known of opponents after some hands against the level: ``float64[histories, count, len(INPUTS)]``."""
    posteriors, hands = Posteriors(count), np.zeros(count, np.int64)
    found = np.zeros((len(HISTORIES), count, len(INPUTS)))

    def learn(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
        posteriors.learn(views, rows)
        hands[rows] += 1
        for k, length in enumerate(HISTORIES):
            ready = rows[hands[rows] == length]
            found[k, ready] = posteriors.context(ready)[:, : len(INPUTS)]

    player = LevelPlayer(level.with_settings(worlds=0), seed, learn=False)
    play_series(player, opponents, series=count, hands=HISTORIES[-1], seed=seed, domain=Domain.TRAIN, after=learn)
    return found


def _inputs_of_series(level: Level, opponents: _Opponents, config: FitConfig) -> np.ndarray:
    """What is known of the opponent of each series, ``float64[series, len(INPUTS)]``."""
    inputs, series = _inputs_after_hands(level, opponents, opponents.count, config.seed), np.arange(config.series)
    return inputs[series // opponents.count % len(HISTORIES), series % opponents.count]


def _play(
    level: Level,
    opponents: _Opponents,
    bias: np.ndarray,
    opponent_context: np.ndarray | None,
    config: FitConfig,
    deals: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Points ``float64[series, hands]`` and their gradients ``float64[series, hands, NUM_WEIGHTS]``."""
    player = _GradientPlayer(level, seed, bias, opponent_context)
    gradients = np.zeros((config.series, config.hands, NUM_WEIGHTS))

    def after(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
        gradients[rows, numbers] = player.scores[rows]
        player.scores[rows] = 0

    options = {"series": config.series, "hands": config.hands, "seed": deals, "domain": Domain.TRAIN}
    return play_series(player, opponents, after=after, **options).astype(np.float64), gradients


def _points(
    level: Level, opponents: _Opponents, bias: np.ndarray, opponent_context: np.ndarray | None, config: FitConfig
) -> np.ndarray:
    """Points per hand of the level's network (see ``_BiasedPlayer``) at its own temperatures, by opponent: ``float64[opponents]``."""
    player, hands = _BiasedPlayer(level, config.seed, bias, opponent_context), _VALIDATION_FACTOR * config.hands
    points = play_series(
        player, opponents, series=config.series, hands=hands, seed=config.seed + 1, domain=Domain.TRAIN
    ).mean(1)
    return np.array([points[k :: opponents.count].mean() for k in range(opponents.count)])


def _opponent_context(expected: np.ndarray | None, inputs: np.ndarray) -> np.ndarray | None:
    """What a network receives, in full, from what is known."""
    return Responses(np.zeros((len(INPUTS), NUM_WEIGHTS)), {}, expected).opponent_context(inputs, np.ones(len(inputs)))


class _Validation:
    """The opponents that decide which findings are kept: other styles, and the same strong players."""

    def __init__(self, level: Level, config: FitConfig) -> None:
        self.level, self.config = level, config.model_copy(update={"seed": config.seed + _VALIDATION_SEED})
        self.opponents = _Opponents(level, self.config)
        self.inputs = _inputs_of_series(level, self.opponents, self.config)

    def points(self, matrix: np.ndarray, expected: np.ndarray | None) -> np.ndarray:
        """Points per hand with such responses, ``float64[opponents]``."""
        return _points(
            self.level, self.opponents, self.inputs @ matrix, _opponent_context(expected, self.inputs), self.config
        )

    def keep(
        self, found: np.ndarray, typical: np.ndarray, expected: np.ndarray | None, points: np.ndarray, say: Progress
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """What is kept of the biases found, and what each part won over ``points``, those without biases."""
        anybody = np.zeros_like(found)
        anybody[0] = typical @ found
        accepted, won = np.zeros_like(found), {}
        tried = (
            ("what holds against anybody", anybody, (1.0,)),
            ("what depends on the opponent", found - anybody, _SHARES),
        )
        for part, matrix, shares in tried:
            if not matrix.any():
                report_hands(len(shares) * _VALIDATION_FACTOR * self.config.series * self.config.hands)
                won[part] = {
                    **ratio(np.zeros(len(points)), np.ones(len(points))).to_dict(),
                    "accepted": False,
                    "share": 0.0,
                }
                say(f"{part}: nothing was found, so there is nothing to validate")
                continue
            scored = {share: self.points(accepted + share * matrix, expected) for share in shares}
            # The gain of the best of several shares is biased upwards a little: it was chosen on the same hands.
            best = max(scored, key=lambda share: scored[share].mean())
            gain = ratio(scored[best] - points, np.ones(len(points)))
            good = gain.mean > 0
            won[part] = {**gain.to_dict(), "accepted": good, "share": best if good else 0.0}
            description = part if len(shares) == 1 else f"{part}, {100 * best:.0f} % of it"
            say(f"{description}: {gain.text()} points per hand in validation, {'accepted' if good else 'left out'}")
            accepted, points = (accepted + best * matrix, scored[best]) if good else (accepted, points)
        return accepted, won


def fit_responses(level: Level, config: FitConfig, say: Progress = lambda words: None) -> Responses:
    """Finds a level's responses.

    Args:
        level: whose choices they shift; its present responses are ignored.
        config: of the fit.
        say: called with a sentence after every round.
    """
    began = time.perf_counter()
    validation = _Validation(level, config)
    matrix, steps = np.zeros((len(INPUTS), NUM_WEIGHTS)), []
    if level.actor.context:
        expected, before, about = _fit_expected(level, validation, config, say)
    else:
        expected, before, about = None, validation.points(matrix, None), {}
    opponents = _Opponents(level, config)
    inputs = _inputs_of_series(level, opponents, config)
    opponent_context = _opponent_context(expected, inputs)
    sums: GradientSums | None = None
    for number in range(config.rounds):
        deals = config.seed + 1 + number
        played = [
            _play(level, opponents, inputs @ matrix, opponent_context, config, deals, config.seed + 1000 * k)
            for k in range(2)
        ]
        points, gradients = (np.stack(parts) for parts in zip(*played, strict=True))
        sums = GradientSums(inputs, gradients, opponents.count) if sums is None else sums
        sums.add(points, gradients, config.rate, specific=2 * number >= config.rounds)
        matrix = sums.responses()
        patterns = sum(int(np.linalg.matrix_rank(matrix[1:, part], 1e-9)) for part in PARTS)
        steps.append({"points": round(float(points.mean()), 3), "patterns": patterns})
        say(
            f"round {number + 1} of {config.rounds}: {points.mean():+.2f} points per hand, patterns of opponents: {patterns}"
        )
    matrix, won = validation.keep(matrix, inputs.mean(0), expected, before, say)
    won = about.pop("validated", {}) | won
    return Responses(
        matrix, _about(level, config, began) | about | {"points_per_hand": steps, "validated": won}, expected
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


def _fit_expected(
    level: Level, validation: _Validation, config: FitConfig, say: Progress
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """What a level expects of an opponent: nothing, that it is of the population, or its style too; whichever wins most in validation.

    Returns:
        The table, ``float64[len(INPUTS), OPPONENT_CONTEXT_WIDTH]``; the points in validation with it; and how it went.
    """
    many = _many(config)
    opponents = _Opponents(level, many)
    inputs, is_style = (
        _inputs_after_hands(level, opponents, opponents.count, config.seed),
        np.arange(many.opponents) < many.styles,
    )
    everything = np.zeros((len(INPUTS), OPPONENT_CONTEXT_WIDTH))
    everything[:, 0] = _log_odds(inputs.reshape(-1, len(INPUTS)), np.tile(is_style, len(HISTORIES)))
    of_styles = inputs[:, is_style].reshape(-1, len(INPUTS))
    numbers = np.tile(style_vectors(opponents.styles.styles), (len(HISTORIES), 1))
    everything[:, 1:] = np.linalg.lstsq(
        of_styles.T @ of_styles + _penalty(of_styles), of_styles.T @ numbers, rcond=None
    )[0]
    about = _prediction_quality(validation, everything, config)
    say(
        f"after {', '.join(map(str, HISTORIES))} hands {100 * about['expected']:.0f} % of how other styles differ is expected, and "
        "the probability of being such a style is "
        + " and ".join(
            f"{about[f'{who}_likely']:.2f} for {who}" for who in ("styles", "strong") if f"{who}_likely" in about
        )
    )
    nothing, typical = np.zeros_like(everything), np.zeros_like(everything)
    nothing[0, 0], typical[:, 0] = _IMPOSSIBLE, everything[:, 0]
    tables = [nothing, typical, everything]
    points = [validation.points(np.zeros((len(INPUTS), NUM_WEIGHTS)), table) for table in tables]
    best = int(np.argmax([each.mean() for each in points]))
    won = {}
    for k, part in enumerate(("that it is of the population", "its style"), 1):
        gain = ratio(points[k] - points[k - 1], np.ones(len(points[k])))
        won[part] = {**gain.to_dict(), "accepted": best >= k}
        say(f"context, {part}: {gain.text()} points per hand in validation, {'accepted' if best >= k else 'left out'}")
    return tables[best], points[best], about | {"validated": won}


def _prediction_quality(validation: _Validation, expected: np.ndarray, config: FitConfig) -> dict[str, float]:
    """How well the validation opponents are predicted: the share of what differs between styles, and the probability of being a style.

    The styles are others than the regressions saw; the strong players are the same, on other deals.
    """
    places = np.arange(config.series) % config.opponents
    is_style = places < config.styles
    truths = style_vectors(validation.opponents.styles.styles)[places[is_style]]
    missed = truths - validation.inputs[is_style] @ expected[:, 1:]
    opponent_context = _opponent_context(expected, validation.inputs)
    assert opponent_context is not None
    shares = {
        "expected": 1 - (missed**2).sum() / (truths**2).sum(),
        "styles_likely": opponent_context[is_style, 0].mean(),
    }
    shares |= {} if is_style.all() else {"strong_likely": opponent_context[~is_style, 0].mean()}
    return {name: round(float(share), 4) for name, share in shares.items()}


def _penalty(inputs: np.ndarray) -> np.ndarray:
    """The ridge penalty of a regression, as a matrix."""
    return _RIDGE * len(inputs) * np.diag(inputs.var(0))


def _log_odds(inputs: np.ndarray, is_style: np.ndarray) -> np.ndarray:
    """What each known number adds to the log-odds of being a style, ``float64[len(INPUTS)]``: a logistic regression."""
    weights, penalty = np.zeros(inputs.shape[1]), _penalty(inputs)
    # What is the same for all, such as whether anything is known, has no variance: its weight would have no limit if all are styles.
    np.fill_diagonal(penalty, np.where(inputs.var(0) > 0, np.diag(penalty), _RIDGE * len(inputs)))
    for _ in range(_NEWTON):
        likely = np.exp(-np.logaddexp(0, -(inputs @ weights)))
        gradient = inputs.T @ (is_style - likely) - penalty @ weights
        curvature = (inputs * (likely * (1 - likely))[:, None]).T @ inputs + penalty
        weights += np.linalg.lstsq(curvature, gradient, rcond=None)[0]
    return weights
