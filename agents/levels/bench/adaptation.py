"""The adaptation benchmark: does a level gain by learning, how soon, how much of what can be gained, and does it ever lose?

Every series is played by the level that learns and by its frozen default, on the same deals against the same opponent; the difference in
points a hand is reported, with intervals by series. All series of all opponents run in lock-step.

Controls: records shuffled among the opponents (what is gained without knowing the opponent), and a level that learned one opponent and
then meets another. Ceiling: the level when it plays, from the first hand, the plan that did best against this opponent on other deals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from pydantic import Field

from agents.arena.results import Estimate, ratio, versions
from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer
from agents.config import Config
from agents.deals import Domain
from agents.levels.bench.opponents import PlayersBySeries, baiter, held_out, held_out_names, switcher
from agents.levels.bench.parts import Parts
from agents.levels.level import Level, LevelError, load_level
from agents.levels.plans import NUM_PLANS
from agents.levels.player import LevelPlayer
from ginenv.players import Player, make_player

Progress = Callable[[str], None]
WINDOWS = ((0, 50), (50, 200), (200, 500))
# Gains are drawn in bins of this many hands.
BIN = 25
# Hands against the next opponent after having adapted to another.
_AFTERWARDS = 100
# Series against every opponent in which the best plan is chosen.
_CHOOSING = 40
# Opponents against which nothing can be gained, only lost.
_HARMFUL = 4
_CEILING = "best plan from the first hand"


class AdaptationConfig(Config):
    """Measures what a level gains by learning from its opponents.

    Attributes:
        level: name or directory of a level.
        series: independent series against every opponent.
        hands: of each series.
        harm_series: series against each opponent against which nothing can be gained (0: as many).
        strong: the strong one of them.
        ceiling_hands: hands for each plan, to find the best one for the ceiling (0: no ceiling).
        controls: whether the controls are played.
        seed: of deals and players.
        out: directory of results and report.
    """

    level: Annotated[str, tyro.conf.Positional]
    series: int = Field(300, gt=1)
    hands: int = Field(500, ge=60)
    harm_series: int = Field(0, ge=0)
    strong: str = "knocker"
    ceiling_hands: int = Field(4000, ge=0)
    controls: bool = True
    seed: int = Field(0, ge=0)
    out: Path = Path("runs/adaptation")


def mean_over(values: np.ndarray, low: int, high: int) -> np.ndarray:
    """Points a hand of each series in a window: ``[series, hands]`` to ``[series]``."""
    return values[:, low : min(high, values.shape[1])].mean(1)


def estimate(values: np.ndarray) -> Estimate:
    """Mean and interval of one value per series."""
    return ratio(np.asarray(values, np.float64), np.ones(len(values)))


def mean_estimate(parts: Sequence[np.ndarray]) -> Estimate:
    """Mean over opponents of their means, with the interval that follows from the series of each."""
    means = [float(part.mean()) for part in parts]
    error = sum(float(part.var(ddof=1)) / len(part) for part in parts) ** 0.5 / len(parts)
    return Estimate(float(np.mean(means)), 1.96 * error)


@dataclass
class Measured:
    """Points of every hand, ``[series, hands]`` by opponent.

    Attributes:
        names: of the opponents: those with leanings, then those against which nothing can be gained.
        frozen: of the default.
        adapted: of the level that learns.
        controls: of the controls and the ceiling, by name, against the opponents with leanings.
        afterwards: adapted less frozen against the next opponent of the list, after having learned another.
        seconds: that the benchmark took.
    """

    names: list[str]
    frozen: list[np.ndarray]
    adapted: list[np.ndarray]
    controls: dict[str, list[np.ndarray]] = field(default_factory=dict)
    afterwards: list[np.ndarray] = field(default_factory=list)
    seconds: float = 0.0


def _split(points: np.ndarray, count: int) -> list[np.ndarray]:
    return [part.astype(np.float64) for part in np.split(points, count)]


def _play(player: Player, opponents: Sequence[Player], series: int, hands: int, seed: int) -> list[np.ndarray]:
    for opponent in opponents:
        opponent.reset(seed)
    table: Player = PlayersBySeries(opponents, series)
    if all(type(opponent) is StylePlayer for opponent in opponents):
        # One call for all of them: series i is played by style i.
        styles = [np.repeat(opponent.styles, series) for opponent in opponents if isinstance(opponent, StylePlayer)]
        table = StylePlayer(np.concatenate(styles), seed + 1)
    points = play_series(player, table, series=series * len(opponents), hands=hands, seed=seed)
    return _split(points, len(opponents))


def hands_to_play(config: AdaptationConfig) -> int:
    """How many hands the benchmark plays in all, for its progress."""
    whole, choosing = config.series * config.hands, _CHOOSING * max(1, config.ceiling_hands // _CHOOSING)
    for_each = 2 * whole + config.controls * (whole + 2 * config.series * _AFTERWARDS)
    for_each += bool(config.ceiling_hands) * (whole + NUM_PLANS * choosing)
    return len(held_out_names()) * for_each + 2 * _HARMFUL * (config.harm_series or config.series) * config.hands


def parts_of(config: AdaptationConfig, level: Level) -> Parts:
    """What has been played of the benchmark, and is kept in its directory until its results are written."""
    asked = config.model_dump(mode="json", exclude={"out"})
    about = {"config": asked, "sha256": level.digest, "opponents": held_out_names(), "versions": versions()}
    return Parts(config.out / "parts", about)


def measure(
    config: AdaptationConfig, level: Level, progress: Progress = lambda words: None, parts: Parts | None = None
) -> Measured:
    """Plays the benchmark.

    Args:
        config: of the benchmark.
        level: the level.
        progress: called with a description of what is played next.
        parts: what has been played already, and where the rest is kept; nothing when left out.

    Raises:
        LevelError: if the level learns nothing.
    """
    if not level.learns:
        raise LevelError(f"{level.name} learns nothing; measure a level that learns")
    began = time.perf_counter()
    names, parts = held_out_names(), Parts(None, {}) if parts is None else parts
    opponents: list[Player] = [held_out(name, config.seed + 101 + k) for k, name in enumerate(names)]
    series, hands, seed, count = config.series, config.hands, config.seed, len(names)
    whole, after = count * series * hands, config.controls * count * series * _AFTERWARDS
    frozen = _Versus(config, opponents, parts, progress)
    measured = Measured(names, frozen("frozen", lambda: LevelPlayer(level, seed, learn=False)), [])

    def adapt() -> list[np.ndarray]:
        # What was learned in the series is played with afterwards, so both are one part.
        learner = LevelPlayer(level, seed)
        played = _play(learner, opponents, series, hands, seed)
        if config.controls:
            progress("control: adapted to one, then another")
            played += _play(learner, _moved(opponents), series, _AFTERWARDS, seed + 7)
        return played

    progress("adapted")
    played = parts.play("adapted", whole + after, adapt)
    measured.adapted = played[:count]
    if config.controls:
        _controls(frozen, level, played[count:], measured)
    if config.ceiling_hands:
        progress("plans")
        choosing = NUM_PLANS * count * _CHOOSING * max(1, config.ceiling_hands // _CHOOSING)
        [found] = parts.play("plans", choosing, lambda: [plans_found(config, level, opponents)])
        measured.controls[_CEILING] = frozen("ceiling", lambda: best_plans(config, level, found))
    harmful: list[Player] = [
        LevelPlayer(level, seed + 1, learn=False), make_player(config.strong, seed + 2),
        switcher(hands, seed + 3), baiter(hands, seed + 4),
    ]  # fmt: skip
    harm = _Versus(config, harmful, parts, progress, config.harm_series or series, 1)
    measured.frozen += harm("harm, frozen", lambda: LevelPlayer(level, seed, learn=False))
    measured.adapted += harm("harm, adapted", lambda: LevelPlayer(level, seed))
    measured.names += ["the level itself", f"strong ({config.strong})", "switches style", "baits"]
    measured.seconds = time.perf_counter() - began
    return measured


class _Versus:
    """Plays parts in which a player meets each of some opponents in series of their own.

    Args:
        config: of the benchmark.
        opponents: whom the players meet.
        parts: where the points are kept.
        progress: called with a description of what is played next.
        series: against each; the benchmark's when 0.
        stream: which deals.
    """

    def __init__(
        self, config: AdaptationConfig, opponents: Sequence[Player], parts: Parts, progress: Progress,
        series: int = 0, stream: int = 0,
    ) -> None:  # fmt: skip
        self.config, self.opponents, self.parts, self.progress = config, opponents, parts, progress
        self.series, self.seed = series or config.series, config.seed + stream

    def __call__(self, name: str, make: Callable[[], Player]) -> list[np.ndarray]:
        self.progress(name)
        hands = self.config.hands
        return self.parts.play(
            name.replace(" ", "-").replace(",", ""),
            len(self.opponents) * self.series * hands,
            lambda: _play(make(), self.opponents, self.series, hands, self.seed),
        )


def _moved(opponents: Sequence[Player]) -> list[Player]:
    return [*opponents[1:], opponents[0]]


def _controls(versus: _Versus, level: Level, after: list[np.ndarray], measured: Measured) -> None:
    config, opponents = versus.config, versus.opponents
    series, seed = config.series, config.seed

    def shuffled() -> LevelPlayer:
        player = LevelPlayer(level, seed)
        # Series k of an opponent reads what series k of the third next one has learned.
        player.reads = (np.arange(series * len(opponents)) + 3 * series) % (series * len(opponents))
        return player

    measured.controls["reads another opponent's history"] = versus("control another history", shuffled)
    versus.progress("frozen, against the next opponent")
    plain = versus.parts.play(
        "frozen-next",
        len(opponents) * series * _AFTERWARDS,
        lambda: _play(LevelPlayer(level, seed, learn=False), _moved(opponents), series, _AFTERWARDS, seed + 7),
    )
    measured.afterwards = [a - b for a, b in zip(after, plain, strict=True)]


def plans_found(config: AdaptationConfig, level: Level, opponents: Sequence[Player]) -> np.ndarray:
    """Points a hand of each plan against each opponent on deals for choosing, ``[plans, opponents]``."""
    for opponent in opponents:
        opponent.reset(config.seed)
    table, series = PlayersBySeries(opponents, _CHOOSING), _CHOOSING * len(opponents)
    hands = max(1, config.ceiling_hands // _CHOOSING)
    found = np.zeros((NUM_PLANS, len(opponents)))
    for plan in range(NUM_PLANS):
        player = LevelPlayer(level.with_plan(plan), config.seed, learn=False)
        points = play_series(player, table, series=series, hands=hands, seed=config.seed, domain=Domain.SELECT)
        found[plan] = [part.mean() for part in _split(points, len(opponents))]
    return found


def best_plans(config: AdaptationConfig, level: Level, found: np.ndarray) -> PlayersBySeries:
    """Frozen levels, for each opponent's series one with the plan that was found the best against it."""
    players = [LevelPlayer(level.with_plan(plan), config.seed, learn=False) for plan in range(NUM_PLANS)]
    return PlayersBySeries([players[plan] for plan in found.argmax(0)], config.series)


def results(config: AdaptationConfig, level: Level, measured: Measured) -> dict[str, Any]:
    """All figures as plain values."""
    windows = {f"{low + 1}_{min(high, config.hands)}": (low, high) for low, high in WINDOWS if low < config.hands}
    count = len(held_out_names())
    gains = [adapted - frozen for adapted, frozen in zip(measured.adapted, measured.frozen, strict=True)]

    def by_window(parts: Sequence[np.ndarray]) -> dict[str, dict[str, Any]]:
        return {
            key: mean_estimate([mean_over(part, *window) for part in parts]).to_dict()
            for key, window in windows.items()
        }

    mean_gain = by_window(gains[:count])
    for key, window in windows.items():
        lows = [estimate(mean_over(part, *window)).low for part in gains[:count]]
        mean_gain[key]["opponents_above_0"] = sum(low > 0 for low in lows)
    controls: dict[str, Any] = {
        name: by_window([part - frozen for part, frozen in zip(points, measured.frozen, strict=False)])
        for name, points in measured.controls.items()
    }
    captured = {}
    if _CEILING in controls:
        # The share of the ceiling's gain in the last window.
        last = list(windows)[-1]
        most = controls[_CEILING][last]["mean"]
        captured[_CEILING] = round(mean_gain[last]["mean"] / most, 3) if most > 0 else None
    if measured.afterwards:
        after = mean_estimate([part.mean(1) for part in measured.afterwards])
        controls["adapted to one opponent, then another (first 100 hands)"] = after.to_dict()
    return {
        "level": level.name,
        "sha256": level.digest,
        "settings": level.settings.model_dump(mode="json"),
        "series": config.series,
        "hands": config.hands,
        "seed": config.seed,
        "seconds": round(measured.seconds, 1),
        "versions": versions(),
        "opponents": {
            name: {"frozen": estimate(frozen.mean(1)).to_dict()}
            | {f"gain_{key}": estimate(mean_over(gain, *window)).to_dict() for key, window in windows.items()}
            for name, frozen, gain in zip(measured.names[:count], measured.frozen, gains, strict=False)
        },
        "mean_gain": mean_gain,
        "controls": controls,
        "captured": captured,
        "no_harm": {
            name: estimate(gain.mean(1)).to_dict()
            for name, gain in zip(measured.names[count:], gains[count:], strict=True)
        },
        "gain_by_hand": [
            float(np.mean([gain[:, at : at + BIN].mean() for gain in gains[:count]]))
            for at in range(0, config.hands, BIN)
        ],
    }


def run(
    config: AdaptationConfig, progress: Progress = lambda words: None, parts: Parts | None = None
) -> dict[str, Any]:
    """Plays the benchmark of a level, or what is missing of its parts, and returns all figures."""
    level = load_level(config.level)
    return results(config, level, measure(config, level, progress, parts))
