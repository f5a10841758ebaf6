"""The adaptation benchmark: does a level gain by learning, how soon, how much of what there is to gain, and does it ever lose?

Every series is played by the level that learns and by its frozen default, on the same deals against the same opponent; what is reported
is the difference in points a hand, with intervals by series. All series of all opponents run in lock-step.

Controls: a history shuffled among the opponents (what is gained without knowing whom one plays), numbers blanked (must be the frozen
default, hand for hand), and a level that learned one opponent and then meets another. Ceilings: the level itself when it knows the
opponent's habits from the first hand; the level itself when it plays the plan that did best against the true opponent from the first
hand, an estimate of what learning can bring within its bounds; and the best response of a library, which has no bounds. Plans and
responses are chosen on other deals.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from pydantic import Field

from agents.arena.deals import Domain
from agents.arena.results import Estimate, ratio, versions
from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer
from agents.config import Config
from agents.levels.bench.opponents import HABITUAL, baiter, habitual, switcher
from agents.levels.habits import COUNTS, count_all
from agents.levels.level import Level, load_level
from agents.levels.plans import NUM_PLANS
from agents.levels.player import LevelPlayer
from agents.levels.responses import KNOWN_NOTHING, response_styles
from ginenv.players import BasePlayer, Player, make_player

WINDOWS = ((0, 50), (50, 200), (200, 500))
# Gains are drawn in bins of this many hands.
BIN = 25
# Hands against the next opponent after having adapted to another.
_AFTERWARDS = 100
# Hands in which a level without numbers must play as frozen.
_BLANK_HANDS = 60


class AdaptationConfig(Config):
    """Measures what a level gains by learning from its opponents.

    Attributes:
        level: name or directory of a level.
        series: independent series against every opponent.
        hands: of each series.
        harm_series: series against the opponents that must do no harm (0: as many).
        worlds: worlds of the level's search, instead of its own number (-1).
        strong: the strong opponent.
        ceiling_hands: hands for each plan and each response of the library, to find the best ones for the ceilings (0: no ceiling).
        controls: whether the controls are played.
        seed: of deals and players.
        out: directory of results and report.
    """

    level: Annotated[str, tyro.conf.Positional]
    series: int = Field(300, gt=1)
    hands: int = Field(500, ge=60)
    harm_series: int = Field(0, ge=0)
    worlds: int = Field(-1, ge=-1)
    strong: str = "knocker"
    ceiling_hands: int = Field(4000, ge=0)
    controls: bool = True
    seed: int = Field(0, ge=0)
    out: Path = Path("runs/adaptation")


class Table(BasePlayer):
    """Several opponents, each at its own series: series ``i`` is played by opponent ``i // series``.

    Args:
        players: the opponents.
        series: series of each.
    """

    name = "table"

    def __init__(self, players: Sequence[Player], series: int) -> None:
        super().__init__()
        self.players, self.series = players, series

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Asks each opponent about its own series."""
        assert slots is not None
        actions = np.empty(len(views), np.int64)
        seated = np.asarray(slots) // self.series
        for number, player in enumerate(self.players):
            rows = np.flatnonzero(seated == number)
            if rows.size:
                actions[rows] = player.act(views[rows], slots[rows])
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Shows each opponent its own hands."""
        assert slots is not None
        seated = np.asarray(slots) // self.series
        for number, player in enumerate(self.players):
            rows = np.flatnonzero(seated == number)
            if rows.size:
                player.observe_hands(views[rows], slots[rows])


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
        names: of the opponents.
        harmless: how many of them, at the end, must do no harm.
        frozen: of the default.
        adapted: of the level that learns.
        controls: of other ways to play, by name, for the opponents with habits.
        afterwards: adapted less frozen against the next opponent of the list, after having learned another.
        best_response: name of the library's best response against each opponent with habits.
        seconds: it took.
    """

    names: list[str]
    harmless: int
    frozen: list[np.ndarray]
    adapted: list[np.ndarray]
    controls: dict[str, list[np.ndarray]] = field(default_factory=dict)
    afterwards: list[np.ndarray] = field(default_factory=list)
    best_response: list[int] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def with_habits(self) -> int:
        """How many opponents have habits."""
        return len(self.names) - self.harmless


def _split(points: np.ndarray, count: int) -> list[np.ndarray]:
    return [part.astype(np.float64) for part in np.split(points, count)]


def _play(player: Player, opponents: Sequence[Player], series: int, hands: int, seed: int) -> list[np.ndarray]:
    for opponent in opponents:
        opponent.reset(seed)
    table: Player = Table(opponents, series)
    if all(type(opponent) is StylePlayer for opponent in opponents):
        # One call for all of them: series i is played by style i.
        styles = [np.repeat(opponent.styles, series) for opponent in opponents if isinstance(opponent, StylePlayer)]
        table = StylePlayer(np.concatenate(styles), seed + 1)
    points = play_series(player, table, series=series * len(opponents), hands=hands, seed=seed)
    return _split(points, len(opponents))


def true_records(level: Level, opponents: Sequence[Player], series: int, hands: int, seed: int) -> np.ndarray:
    """What the frozen level counts of each opponent in many hands, as one record each: ``RECORD[opponents]``."""
    blocks = np.repeat(level.nothing_learned().start(), len(opponents))
    counts = np.zeros(len(opponents), COUNTS)
    table = Table(opponents, series)

    def after(views: np.ndarray, slots: np.ndarray, numbers: np.ndarray) -> None:
        count_all(views, counts, slots // series)

    play_series(
        LevelPlayer(level, seed, learn=False), table, series=series * len(opponents), hands=hands,
        seed=seed, domain=Domain.SELECT, after=after,
    )  # fmt: skip
    blocks["hits"], blocks["chances"], blocks["hands"] = counts["hits"], counts["chances"], hands * series
    return blocks


def _knowing(level: Level, records: np.ndarray, series: int, seed: int) -> LevelPlayer:
    """The level with an opponent's record given for every series, which no longer changes."""
    player = LevelPlayer(level, seed)
    rows = player.rows_of(np.arange(len(records) * series), len(records) * series)
    player.records[rows] = np.repeat(records, series)
    player.refresh(rows)
    player.holds = True
    return player


def measure(config: AdaptationConfig, level: Level, progress: Any = lambda words: None) -> Measured:
    """Plays the benchmark.

    Args:
        config: what is asked for.
        level: who is measured.
        progress: told in words what is played next.
    """
    began = time.perf_counter()
    names = list(HABITUAL)
    opponents: list[Player] = [habitual(name, config.seed + 101 + k) for k, name in enumerate(names)]
    series, hands, seed = config.series, config.hands, config.seed
    progress("frozen")
    frozen = _play(LevelPlayer(level, seed, learn=False), opponents, series, hands, seed)
    progress("adapted")
    learner = LevelPlayer(level, seed)
    measured = Measured(names, 0, frozen, _play(learner, opponents, series, hands, seed))
    if config.controls:
        _controls(config, level, learner, opponents, measured, progress)
    if config.ceiling_hands:
        progress("ceiling")
        length = min(100, config.ceiling_hands)
        records = true_records(level, opponents, config.ceiling_hands // length, length, seed)
        knowing = _knowing(level, records, series, seed)
        measured.controls["knows the habits from the first hand"] = _play(knowing, opponents, series, hands, seed)
        _best_plans(config, level, opponents, measured)
        _best_responses(config, opponents, measured)
    harmful: list[Player] = [
        LevelPlayer(level, seed + 1, learn=False), make_player(config.strong, seed + 2),
        switcher(hands, seed + 3), baiter(hands, seed + 4),
    ]  # fmt: skip
    count = config.harm_series or series
    progress("harm: frozen")
    measured.frozen += _play(LevelPlayer(level, seed, learn=False), harmful, count, hands, seed + 1)
    progress("harm: adapted")
    measured.adapted += _play(LevelPlayer(level, seed), harmful, count, hands, seed + 1)
    measured.names += ["the level itself", f"strong ({config.strong})", "switches style", "baits"]
    measured.harmless = len(harmful)
    measured.seconds = time.perf_counter() - began
    return measured


def _controls(
    config: AdaptationConfig,
    level: Level,
    learner: LevelPlayer,
    opponents: Sequence[Player],
    measured: Measured,
    progress: Any,
) -> None:
    series, hands, seed = config.series, config.hands, config.seed
    progress("control: another opponent's history")
    shuffled = LevelPlayer(level, seed)
    # Series k of an opponent reads what series k of the third next one has learned.
    shuffled.reads = (np.arange(series * len(opponents)) + 3 * series) % (series * len(opponents))
    measured.controls["reads another opponent's history"] = _play(shuffled, opponents, series, hands, seed)
    progress("control: adapted to one, then another")
    moved = [*opponents[1:], opponents[0]]
    after = _play(learner, moved, series, _AFTERWARDS, seed + 7)
    plain = _play(LevelPlayer(level, seed, learn=False), moved, series, _AFTERWARDS, seed + 7)
    measured.afterwards = [a - b for a, b in zip(after, plain, strict=True)]
    progress("control: numbers blanked")
    few = min(20, series)
    blank = _play(LevelPlayer(level, seed, blank=True), opponents, few, _BLANK_HANDS, seed)
    same = _play(LevelPlayer(level, seed, learn=False), opponents, few, _BLANK_HANDS, seed)
    measured.controls["numbers blanked, less frozen"] = [a - b for a, b in zip(blank, same, strict=True)]


def _with_plan(level: Level, plan: int, seed: int) -> LevelPlayer:
    """The frozen level with another plan than the one that it is installed with."""
    plans = tuple(0.0 if k == plan else -100.0 for k in range(NUM_PLANS))
    return LevelPlayer(level.with_settings(plans=plans), seed, learn=False)


def _on_other_deals(config: AdaptationConfig, player: Player, opponents: Sequence[Player]) -> list[float]:
    """Points a hand against each opponent on deals for choosing."""
    each = 40
    points = play_series(
        player, Table(opponents, each), series=each * len(opponents), hands=max(1, config.ceiling_hands // each),
        seed=config.seed, domain=Domain.SELECT,
    )  # fmt: skip
    return [float(part.mean()) for part in _split(points, len(opponents))]


def _best_plans(config: AdaptationConfig, level: Level, opponents: Sequence[Player], measured: Measured) -> None:
    """Chooses the level's best plan against each opponent, and plays it on the benchmark's deals."""
    plans = [_with_plan(level, plan, config.seed) for plan in range(NUM_PLANS)]
    found = np.array([_on_other_deals(config, player, opponents) for player in plans])
    chosen = Table([plans[plan] for plan in found.argmax(0)], config.series)
    measured.controls["best plan from the first hand"] = _play(
        chosen, opponents, config.series, config.hands, config.seed
    )


def _best_responses(config: AdaptationConfig, opponents: Sequence[Player], measured: Measured) -> None:
    """Chooses a response for each opponent on deals for choosing, and plays it on the benchmark's."""
    library = response_styles()
    results = np.zeros((len(opponents), len(library)))
    for k, record in enumerate(library):
        results[:, k] = _on_other_deals(config, StylePlayer(np.atleast_1d(record), config.seed), opponents)
    measured.best_response = results.argmax(1).tolist()
    chosen = np.repeat(library[results.argmax(1)], config.series)
    first = StylePlayer(np.atleast_1d(library[KNOWN_NOTHING]), config.seed)
    for name, player in (("best response of the library, unbounded", StylePlayer(chosen, config.seed)),
                         ("first response of the library, unbounded", first)):  # fmt: skip
        measured.controls[name] = _play(player, opponents, config.series, config.hands, config.seed)


def results(config: AdaptationConfig, level: Level, measured: Measured) -> dict[str, Any]:
    """All figures as plain values."""
    windows = [(low, min(high, config.hands)) for low, high in WINDOWS if low < config.hands]
    habits = range(measured.with_habits)
    gains = [a - f for a, f in zip(measured.adapted, measured.frozen, strict=True)]
    document: dict[str, Any] = {
        "level": level.name,
        "sha256": level.digest,
        "settings": level.settings.model_dump(mode="json"),
        "series": config.series,
        "hands": config.hands,
        "seed": config.seed,
        "seconds": round(measured.seconds, 1),
        "versions": versions(),
        "opponents": {},
        "mean_gain": {},
        "controls": {},
        "no_harm": {},
        "gain_by_hand": [
            float(np.mean([gains[k][:, at : at + BIN].mean() for k in habits])) for at in range(0, config.hands, BIN)
        ],
    }
    for k in habits:
        document["opponents"][measured.names[k]] = {
            "frozen": estimate(measured.frozen[k].mean(1)).to_dict(),
            **{f"gain_{low + 1}_{high}": estimate(mean_over(gains[k], low, high)).to_dict() for low, high in windows},
        }
    for low, high in windows:
        parts = [mean_over(gains[k], low, high) for k in habits]
        document["mean_gain"][f"{low + 1}_{high}"] = mean_estimate(parts).to_dict()
        above = sum(estimate(part).low > 0 for part in parts)
        document["mean_gain"][f"{low + 1}_{high}"]["opponents_above_0"] = above
    for name, points in measured.controls.items():
        document["controls"][name] = _control(name, points, measured, windows)
    if measured.afterwards:
        document["controls"]["adapted to one opponent, then another (first 100 hands)"] = mean_estimate(
            [part.mean(1) for part in measured.afterwards]
        ).to_dict()
    document["captured"] = _captured(document, windows)
    for k in range(measured.with_habits, len(measured.names)):
        document["no_harm"][measured.names[k]] = estimate(gains[k].mean(1)).to_dict()
    return document


def _control(name: str, points: list[np.ndarray], measured: Measured, windows: Sequence[tuple[int, int]]) -> dict:
    if name.endswith("less frozen"):
        return {"largest difference": float(max(np.abs(part).max() for part in points))}
    gains = [part - frozen for part, frozen in zip(points, measured.frozen, strict=False)]
    return {
        f"{low + 1}_{high}": mean_estimate([mean_over(part, low, high) for part in gains]).to_dict()
        for low, high in windows
    }


def _captured(document: dict[str, Any], windows: Sequence[tuple[int, int]]) -> dict[str, float | None]:
    """Share of each ceiling's gain in the last window."""
    low, high = windows[-1]
    window = f"{low + 1}_{high}"
    gain = document["mean_gain"][window]["mean"]
    shares: dict[str, float | None] = {}
    for name, control in document["controls"].items():
        if name.startswith(("knows", "best")) and window in control:
            most = control[window]["mean"]
            shares[name] = round(gain / most, 3) if most > 0 else None
    controls = document["controls"]
    best, first = "best response of the library, unbounded", "first response of the library, unbounded"
    if best in controls and first in controls:
        most = controls[best][window]["mean"] - controls[first][window]["mean"]
        shares["what knowing the opponent brings the library"] = round(gain / most, 3) if most > 0 else None
    return shares


def hands_to_play(config: AdaptationConfig) -> int:
    """How many hands the benchmark plays."""
    count = len(HABITUAL)
    once = count * config.series * config.hands
    played = 2 * once + 8 * (config.harm_series or config.series) * config.hands
    if config.controls:
        played += once + 2 * count * (config.series * _AFTERWARDS + min(20, config.series) * _BLANK_HANDS)
    if config.ceiling_hands:
        length = min(100, config.ceiling_hands)
        chosen = (NUM_PLANS + len(response_styles())) * 40 * max(1, config.ceiling_hands // 40)
        played += 4 * once + count * (config.ceiling_hands // length * length + chosen)
    return played


def run(config: AdaptationConfig, progress: Any = lambda words: None) -> dict[str, Any]:
    """Plays the benchmark of a level and returns all figures."""
    level = load_level(config.level)
    if config.worlds >= 0:
        level = level.with_settings(worlds=config.worlds)
    return results(config, level, measure(config, level, progress))
