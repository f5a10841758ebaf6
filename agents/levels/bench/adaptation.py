"""The adaptation benchmark: does a level adapt to *its opponent*, how soon, and does it ever lose by that?

The same deals against the same opponent are played by the frozen level; by one that learns from its own opponent's hands; by one that is
shown a *mixed* history, as many hands, one each from the other opponents in turn, which tells what people in general are like; and by one
that is shown the hands of one *wrong* opponent. What the own history brings beyond the better of frozen and mixed is the specific gain:
only that means that a level adapts to its opponent. Figures are points per hand, with intervals by series; all series of all opponents run
in lock-step.

The benchmark also plays opponents against which learning might do harm: the level itself, a strong player, one that changes its style, and
one that baits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from pydantic import Field

from agents.arena.configs import Processes
from agents.arena.executors import chunks, in_order, run_tasks, task_size
from agents.arena.matches import check_names
from agents.arena.results import Estimate, ratio, versions, weighted
from agents.arena.series import play_series, report_hands
from agents.levels.bench.opponents import PlayersBySeries, baiter, held_out, held_out_names, switcher
from agents.levels.bench.partial_results import PartialResults
from agents.levels.level import Level, LevelError, load_level
from agents.levels.player import LevelPlayer
from ginenv.engine.rules import get_rules
from ginenv.tables.players import Player, make_player
from ginenv.view.view import VIEW

Progress = Callable[[str], None]
WINDOWS = ((0, 50), (50, 200), (200, 500))
# Windows for series of up to 300 hands, such as a level that searches can play.
SHORT, _SHORT_HANDS = ((0, 50), (50, 100), (100, 300)), 300
# Gains are plotted in bins of this many hands.
BIN = 25
# A wrong history is that of the opponent this many places further on.
_WRONG = 3
# Number of opponents against which learning might do harm.
_HARMFUL = 4
# Ways of playing the same deals.
WAYS = ("frozen", "own", "mixed", "wrong")


class AdaptationConfig(Processes):
    """Measures what a level gains by learning from its opponents.

    Attributes:
        level: name or directory of a level.
        series: independent series against every opponent.
        hands: of each series.
        harm_series: series against each opponent against which learning might do harm (0: as many as series).
        strong: the strong player among them.
        rules: a preset's name.
        worlds: of the level's search, instead of its own number; 0 measures its network alone (-1: its own number).
        seed: of deals and players.
        out: directory of results and report.
    """

    level: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="LEVEL")]
    series: int = Field(100, gt=1)
    hands: int = Field(500, ge=60)
    harm_series: int = Field(0, ge=0)
    strong: str = "formula"
    rules: str = "eaai"
    worlds: int = Field(-1, ge=-1)
    seed: int = Field(0, ge=0)
    out: Path = Path("runs/adaptation")


def mean_over(values: np.ndarray, low: int, high: int) -> np.ndarray:
    """Points per hand of each series in a window: ``[series, hands]`` to ``[series]``."""
    return values[:, low : min(high, values.shape[1])].mean(1)


def estimate(values: np.ndarray) -> Estimate:
    """Mean and interval of one value per series."""
    return ratio(np.asarray(values, np.float64), np.ones(len(values)))


def mean_estimate(parts: Sequence[np.ndarray]) -> Estimate:
    """Mean of the opponents' means, with the interval that follows from the series of each."""
    return weighted(parts, [1 / len(parts)] * len(parts))


@dataclass
class AdaptationResult:
    """Points of every hand, ``[series, hands]`` by opponent.

    Attributes:
        names: of the opponents that are learned.
        points: by way of playing: frozen, own, mixed, wrong.
        harmful: names of the opponents against which learning might do harm.
        harm: points against these, by way of playing: frozen and own.
        seconds: that the benchmark took.
    """

    names: list[str]
    points: dict[str, list[np.ndarray]]
    harmful: list[str]
    harm: dict[str, list[np.ndarray]]
    seconds: float = 0.0


class MisinformedPlayer(LevelPlayer):
    """A level that is shown hands other than those it plays.

    Args:
        level: as installed.
        seed: of its choices.
        hands: final views, ``VIEW[opponents, series, hands]``.
        chooses: which opponent's hand is shown, given the index of the opponent in play, that of the hand, and the number of opponents.
    """

    def __init__(
        self, level: Level, seed: int, hands: np.ndarray, chooses: Callable[[np.ndarray, np.ndarray, int], np.ndarray]
    ) -> None:
        super().__init__(level, seed)
        self.hands, self.chooses = hands, chooses
        self.played = np.zeros(hands.shape[0] * hands.shape[1], np.int64)

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from the hands that are shown instead."""
        assert slots is not None
        opponent, series = np.divmod(np.asarray(slots), self.hands.shape[1])
        hand = self.played[slots]
        self.played[slots] += 1
        super().observe_hands(self.hands[self.chooses(opponent, hand, len(self.hands)), series, hand], slots)


def _other_opponents(opponent: np.ndarray, hand: np.ndarray, count: int) -> np.ndarray:
    return (opponent + 1 + hand % (count - 1)) % count


def _wrong_opponent(opponent: np.ndarray, hand: np.ndarray, count: int) -> np.ndarray:
    return (opponent + _WRONG) % count


def _split(points: np.ndarray, count: int) -> list[np.ndarray]:
    return [part.astype(np.float64) for part in np.split(points, count)]


class _Matchups:
    """Some of the series against each of some opponents.

    Args:
        config: of the benchmark.
        opponents: of the players.
        total: number of series against each, in all.
        first: number of the first one that is played.
        series: how many are played.
        seed: of the deals.
    """

    def __init__(
        self, config: AdaptationConfig, opponents: Sequence[Player], total: int, first: int, series: int, seed: int
    ) -> None:
        self.config, self.opponents, self.series, self.seed = config, opponents, series, seed
        self.starts = [total * k + first for k in range(len(opponents))]

    def __call__(self, player: Player, keep: np.ndarray | None = None) -> list[np.ndarray]:
        """Points less luck ``[series, hands]`` by opponent; final views go into ``keep``, ``VIEW[opponents, series, hands]``."""
        for opponent in self.opponents:
            opponent.reset(self.seed)

        def after(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
            if keep is not None:
                keep[rows // self.series, rows % self.series, numbers] = views

        points = play_series(
            player,
            PlayersBySeries(self.opponents, self.series),
            series=self.series * len(self.opponents),
            hands=self.config.hands,
            seed=self.seed,
            rules=self.config.rules,
            after=after,
            less_luck=True,
            starts=self.starts,
        )
        return _split(points, len(self.opponents))


def _parts_of(config: AdaptationConfig) -> dict[str, tuple[int, int]]:
    """The parts of the benchmark by name: series against each opponent, and hands in all."""
    series, count = config.series, len(held_out_names()) * config.series * config.hands
    harm_series = config.harm_series or series
    harm = harm_series, _HARMFUL * harm_series * config.hands
    # The hands of the second way of playing are shown to the other two, so all three are one part.
    return {"frozen": (series, count), "learned": (series, 3 * count), "harm-frozen": harm, "harm-own": harm}


def hands_to_play(config: AdaptationConfig) -> int:
    """How many hands the benchmark plays in all, for its progress."""
    return sum(hands for _, hands in _parts_of(config).values())


def level_of(config: AdaptationConfig) -> Level:
    """The level that is measured.

    Raises:
        GinError: if the level, the rules or the strong player does not exist; checked here, not after an hour of play.
    """
    level = load_level(config.level)
    get_rules(config.rules)
    check_names(config.strong)
    return level if config.worlds < 0 else level.with_settings(worlds=config.worlds)


def partial_results(config: AdaptationConfig, level: Level) -> PartialResults:
    """The parts of the benchmark that have been played, kept in its directory until its results are written."""
    settings = config.model_dump(mode="json", exclude={"out", *Processes.model_fields})
    about = {"config": settings, "sha256": level.digest, "opponents": held_out_names(), "versions": versions()}
    return PartialResults(config.out / "parts", about)


def measure(
    config: AdaptationConfig,
    level: Level,
    progress: Progress = lambda words: None,
    parts: PartialResults | None = None,
    executor: Executor | None = None,
) -> AdaptationResult:
    """Plays the benchmark.

    Args:
        config: of the benchmark.
        level: the level.
        progress: called with a description of what is played next.
        parts: the parts already played, and where the rest are kept; nothing is kept when left out.
        executor: plays the series in its processes; ``None`` plays them here.

    Raises:
        LevelError: if the level learns nothing.
    """
    if not level.learns:
        raise LevelError(f"{level.name} learns nothing; measure a level that learns")
    began = time.perf_counter()
    names, parts = held_out_names(), PartialResults(None, {}) if parts is None else parts
    played: dict[str, list[np.ndarray]] = {}
    for part, (_, hands) in _parts_of(config).items():
        progress(part)
        played[part] = parts.play(part, hands, lambda part=part: _play_part(config, level, part, executor))
    points, count = {"frozen": played["frozen"]}, len(names)
    points |= {name: played["learned"][k * count : (k + 1) * count] for k, name in enumerate(WAYS[1:])}
    harm = {name: played[f"harm-{name}"] for name in WAYS[:2]}
    return AdaptationResult(names, points, list(_harmful(config, level)), harm, time.perf_counter() - began)


def _play_part(config: AdaptationConfig, level: Level, part: str, executor: Executor | None) -> list[np.ndarray]:
    """Points ``[series, hands]`` by way and opponent."""
    series, hands = _parts_of(config)[part]
    if executor is None:
        return _play_series_of(config, level, part, 0, series)
    slices = list(chunks(series, task_size(executor, series, series)))

    def finished() -> Iterator[tuple[int, list[np.ndarray]]]:
        tasks = (((config.level, config.strong), (config, part, first, count)) for first, count in slices)
        for number, points in run_tasks(executor, play_task, tasks):
            report_hands(hands * slices[number][1] // series)
            yield number, points

    return [np.concatenate(rows) for rows in zip(*in_order(finished()), strict=True)]


def play_task(players: Sequence[str], config: AdaptationConfig, part: str, first: int, count: int) -> list[np.ndarray]:
    """A task: ``count`` series of a part from number ``first`` on, with the level and the strong player of these names."""
    config = config.model_copy(update={"level": players[0], "strong": players[1]})
    return _play_series_of(config, level_of(config), part, first, count)


def _play_series_of(config: AdaptationConfig, level: Level, part: str, first: int, count: int) -> list[np.ndarray]:
    total, seed = _parts_of(config)[part][0], config.seed
    if part.startswith("harm"):
        matchups = _Matchups(config, list(_harmful(config, level).values()), total, first, count, seed + 1)
        return matchups(LevelPlayer(level, seed, learn=part == "harm-own"))
    opponents = [held_out(name, seed + 101 + k) for k, name in enumerate(held_out_names())]
    matchups = _Matchups(config, opponents, total, first, count, seed)
    if part == "frozen":
        return matchups(LevelPlayer(level, seed, learn=False))
    hands = np.zeros((len(opponents), count, config.hands), VIEW)
    played = matchups(LevelPlayer(level, seed), hands)
    for chooses in (_other_opponents, _wrong_opponent):
        played += matchups(MisinformedPlayer(level, seed, hands, chooses))
    return played


def _harmful(config: AdaptationConfig, level: Level) -> dict[str, Player]:
    """The opponents against which learning might do harm."""
    seed = config.seed
    opponents: dict[str, Player] = {
        "the level itself": LevelPlayer(level, seed + 1, learn=False),
        f"strong ({config.strong})": make_player(config.strong, seed + 2, learn=False),
        "switches style": switcher(config.hands, seed + 3),
        "baits": baiter(config.hands, seed + 4),
    }
    assert len(opponents) == _HARMFUL
    return opponents


def _better(measured: AdaptationResult, k: int, low: int, high: int) -> str:
    """Which does better against an opponent in a window, frozen or mixed: beating a bad reaction to a mixture is no gain."""
    return max(("frozen", "mixed"), key=lambda name: mean_over(measured.points[name][k], low, high).mean())


def _gains(measured: AdaptationResult, k: int, low: int, high: int, better: str) -> dict[str, np.ndarray]:
    """Differences of one opponent's series in a window, ``float64[series]`` by name."""
    means = {name: mean_over(parts[k], low, high) for name, parts in measured.points.items()}
    return {
        "specific_gain": means["own"] - means[better],
        "total_gain": means["own"] - means["frozen"],
        "mixed_less_frozen": means["mixed"] - means["frozen"],
        "wrong_less_mixed": means["wrong"] - means["mixed"],
        "wrong_less_frozen": means["wrong"] - means["frozen"],
    }


def results(config: AdaptationConfig, level: Level, measured: AdaptationResult) -> dict[str, Any]:
    """All figures as plain values: each gain by window, as a mean and by opponent, with ``mean``, ``low`` and ``high``."""
    windows_of = SHORT if config.hands <= _SHORT_HANDS else WINDOWS
    windows = {f"{low + 1}_{min(high, config.hands)}": (low, high) for low, high in windows_of if low < config.hands}
    by_window = {
        key: [_gains(measured, k, *window, _better(measured, k, *window)) for k in range(len(measured.names))]
        for key, window in windows.items()
    }
    gains = next(iter(by_window.values()))[0].keys()
    # Chosen once for all bins: the better of the two in each bin would just be the luckier one.
    better = [_better(measured, k, 0, config.hands) for k in range(len(measured.names))]
    means: dict[str, dict[str, Any]] = {
        gain: {key: mean_estimate([found[gain] for found in rows]).to_dict() for key, rows in by_window.items()}
        for gain in gains
    }
    for key, rows in by_window.items():
        lows = [estimate(found["specific_gain"]).low for found in rows]
        means["specific_gain"][key]["opponents_above_0"] = sum(low > 0 for low in lows)
    return means | {
        "level": level.name,
        "sha256": level.digest,
        "settings": level.settings.model_dump(mode="json"),
        "rules": config.rules,
        "series": config.series,
        "hands": config.hands,
        "seed": config.seed,
        "seconds": round(measured.seconds, 1),
        "versions": versions(),
        "opponents": {
            name: {"frozen": estimate(measured.points["frozen"][k].mean(1)).to_dict()}
            | {
                gain: {key: estimate(rows[k][gain]).to_dict() for key, rows in by_window.items()}
                for gain in ("specific_gain", "total_gain")
            }
            for k, name in enumerate(measured.names)
        },
        "no_harm": {
            name: estimate((own - frozen).mean(1)).to_dict()
            for name, own, frozen in zip(measured.harmful, measured.harm["own"], measured.harm["frozen"], strict=True)
        },
        "by_hand": {
            gain: [
                float(np.mean([_gains(measured, k, at, at + BIN, name)[gain].mean() for k, name in enumerate(better)]))
                for at in range(0, config.hands, BIN)
            ]
            for gain in ("specific_gain", "total_gain")
        },
    }


def run(
    config: AdaptationConfig,
    progress: Progress = lambda words: None,
    parts: PartialResults | None = None,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Plays the benchmark of a level, or its missing parts, and returns all figures (see ``measure``)."""
    level = level_of(config)
    return results(config, level, measure(config, level, progress, parts, executor))
