"""Measures the levels: the ladder as installed and after 500 and 5,000 hands, what they gain by learning and from whom, and their variety.

python -m benchmarks.levels.measure                     all four levels
python -m benchmarks.levels.measure --levels level-1    one

The same deals against the same opponent are played by the level as installed (*frozen*), by one that learns from its own opponent's hands
(*own*), and by one that is shown as many hands of all the other opponents in turn (*mixed*), which tells what people in general are like.
What the own history brings beyond the mixed one is the *specific* gain: only that means that a level adapts to its opponent. Their coach
teaches both alike. The opponents are styles that nothing was fitted to or chosen on, and strangers of kinds that no fit meets. Luck is
subtracted.

What the coach brings is measured against ``formula``, with what 500 and 5,000 hands against it have taught the level of the game; once more
with a coach whose answers are those to other positions (*shuffled*). On the ladder the level plays whole games against the next one, both
after as many hands. Its variety is how many different hands come of the same deal (``benchmarks.levels.variety``). Level 4 plays on the
ladder with its search, and learns with its network alone.

Each level's figures are written to ``benchmarks/results/levels.json`` as soon as they are there; those of other weights, settings or
responses than the installed ones are dropped.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro

from agents.arena.executors import chunks, in_order, open_executor, run_tasks
from agents.arena.matches import play_match
from agents.arena.results import versions
from agents.arena.series import PlayersBySeries, play_series
from agents.deal_streams import Domain
from agents.estimates import Estimate, ratio, weighted
from agents.files import write_json
from agents.levels.coach import learn
from agents.levels.level import NAMES, Learned, Level, load_level
from agents.levels.memory import RESPONSES
from agents.levels.player import LevelPlayer
from benchmarks.levels.variety import measure_variety
from ginenv.bots.heuristics import StylePlayer, make_formula
from ginenv.bots.population import draw_styles
from ginenv.tables.players import Player, make_player
from ginenv.view.view import VIEW

RESULTS = Path(__file__).parents[1] / "results" / "levels.json"
ABOVE = dict(zip(NAMES, (*NAMES[1:], "network"), strict=True))
WAYS = ("frozen", "own", "mixed")
# Opponents that are played at once, whoever plays them: the last digits of a network's values may depend on the size of a batch.
_TOGETHER = 6
# Hands after which a level plays on the ladder, and series in which they are played: what these teach is averaged.
STAGES = {"as_installed": 0, "after_500": 500, "after_5000": 5000}
_SCHOOLS = 4
# Strangers of kinds that no fit meets: two bots that reason otherwise than any style, and the network that shipped before.
STRANGERS = (
    "py:benchmarks.levels.strangers:DrawSampler",
    "py:benchmarks.levels.strangers:MeldWatcher",
    "benchmarks/checkpoints/previous",
)
# What a level has been taught, by its digest and how: two levels of the ladder need the same.
_taught: dict[tuple[str, int, int, type], Learned] = {}
GAINS = {
    "total": ("own", "frozen"),
    "specific": ("own", "mixed"),
    "mixed": ("mixed", "frozen"),
}


@dataclass(frozen=True)
class MeasureConfig:
    """How a level is measured.

    Attributes:
        above: the next level of the ladder.
        series: independent series against every opponent.
        hands: of each series, 20 or more.
        styles: number of opponents drawn from the population, with a seed that nothing else uses.
        strangers: opponents of other kinds, by name.
        games: whole games against the next level, at each stage.
        deals: deals that are played again and again, for the level's variety.
        plays: how often each of them is played.
        cost_hands: hands that measure what variety costs.
        seed: of deals, opponents and players.
    """

    above: str
    series: int = 12
    hands: int = 300
    styles: int = 12
    strangers: tuple[str, ...] = STRANGERS
    games: int = 1000
    deals: int = 24
    plays: int = 400
    cost_hands: int = 10000
    seed: int = 4810


def windows(hands: int) -> dict[str, tuple[int, int]]:
    """The parts of a series that gains are given for, by name: the first tenth, up to two fifths, and the rest."""
    edges = (0, hands // 10, 2 * hands // 5, hands)
    return {f"{low + 1}_{high}": (low, high) for low, high in pairwise(edges)}


class MisinformedPlayer(LevelPlayer):
    """A level that is shown other hands in place of those that it plays.

    Args:
        level: as installed.
        seed: of its choices.
        hands: final views, ``VIEW[slots, hands]``: what is shown when each slot's hands end.
    """

    def __init__(self, level: Level, seed: int, hands: np.ndarray) -> None:
        super().__init__(level, seed)
        self.hands, self.played = hands, np.zeros(len(hands), np.int64)

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from the hands that are shown instead."""
        assert slots is not None
        shown = self.hands[slots, self.played[slots]]
        self.played[slots] += 1
        lessons = self._lessons(views, slots)
        rows = self.rows_of(slots, len(views))
        self.memory.opponents.learn(shown, rows)
        learn(lessons, rows, self.memory.skills)


def hands_of_others(hands: np.ndarray) -> np.ndarray:
    """For every opponent as many hands of all the others in turn, in the same series: ``VIEW[opponents, series, hands]`` to the same."""
    count, _, length = hands.shape
    opponent, hand = np.arange(count)[:, None], np.arange(length)
    return hands.swapaxes(1, 2)[(opponent + 1 + hand % (count - 1)) % count, hand].swapaxes(1, 2)


def play_group(
    opponents: Sequence[Player], level: Level, config: MeasureConfig, first: int, way: str, shown: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """A task: the series against some opponents in one way.

    Args:
        opponents: the opponents.
        level: as installed.
        config: how much is played.
        first: the number of the first opponent, from which all deals follow.
        way: one of ``WAYS``.
        shown: in the way ``mixed``, the hands to learn from, ``VIEW[opponents, series, hands]``.

    Returns:
        Points less luck ``float64[opponents, series, hands]``, and in the way ``own`` the level's final views ``VIEW[same]``.
    """
    shape = (len(opponents), config.series, config.hands)
    series = np.arange(shape[0] * shape[1])
    views = np.zeros(shape if way == "own" else (0, *shape[1:]), VIEW)
    if shown is not None:
        player: LevelPlayer = MisinformedPlayer(level, config.seed, shown.reshape(len(series), config.hands))
    else:
        player = LevelPlayer(level, config.seed, way != "frozen")
    for opponent in opponents:
        opponent.reset(config.seed)

    def after(ended: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
        if way == "own":
            views[rows // config.series, rows % config.series, numbers] = ended

    points = play_series(
        player, PlayersBySeries(opponents, series // config.series), series=len(series), hands=config.hands, seed=config.seed,
        after=after, less_luck=True, starts=[config.series * (first + k) for k in range(len(opponents))],
    )  # fmt: skip
    return points.astype(np.float64).reshape(shape), views


def play_ways(
    level: Level, opponents: Sequence[Player], config: MeasureConfig, executor: Executor | None = None
) -> dict[str, np.ndarray]:
    """Points less luck of each way of playing: ``float64[opponents, series, hands]``."""

    def play(*ways: str, shown: np.ndarray | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
        groups = list(chunks(len(opponents), _TOGETHER))
        tasks = (
            (opponents[k : k + count], (level, config, k, way, None if shown is None else shown[k : k + count]))
            for way in ways
            for k, count in groups
        )
        if executor is None:
            parts = [play_group(group, *arguments) for group, arguments in tasks]
        else:
            parts = list(in_order(run_tasks(executor, play_group, tasks)))
        joined = []
        for first, count in chunks(len(parts), len(groups)):
            points, views = zip(*parts[first : first + count], strict=True)
            joined.append((np.concatenate(points), np.concatenate(views)))
        return joined

    # The two that need no other are played together, so that many processes have something to do.
    (own, views), (frozen, _) = play("own", "frozen")
    [(mixed, _)] = play("mixed", shown=hands_of_others(views))
    return {"frozen": frozen, "own": own, "mixed": mixed}


def estimates(differences: np.ndarray) -> dict[str, Any]:
    """Mean of ``float64[opponents, series]``, with its interval for these opponents, and for newly drawn opponents from their kind."""
    means = differences.mean(1)
    newly_drawn = ratio(means, np.ones(len(means)))
    found = weighted(list(differences), [1 / len(differences)] * len(differences))
    return found.to_dict() | {"newly_drawn": newly_drawn.to_dict()}


def gains(points: dict[str, np.ndarray], hands: int) -> dict[str, dict[str, Any]]:
    """Every gain (``GAINS``) by window, as estimates."""
    return {
        name: {
            window: estimates((points[one] - points[other])[:, :, low:high].mean(2))
            for window, (low, high) in windows(hands).items()
        }
        for name, (one, other) in GAINS.items()
    }


class ShuffledPlayer(LevelPlayer):
    """A level whose coach answers about the position before: what it says has nothing to do with the one in question."""

    def coach_logits(self, played: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The coach's logits, each position's given to another."""
        return np.roll(super().coach_logits(played, own), 1, axis=0)


def schooled(level: Level, hands: int, seed: int, kind: type[LevelPlayer] = LevelPlayer) -> Level:
    """A level with what some hands against ``formula`` have taught it of the game; its network alone plays them."""
    if not hands:
        return level
    plain = level.with_settings(worlds=0)
    key = plain.digest, hands, seed, kind
    if key not in _taught:
        _taught[key] = _lessons(plain, hands, seed, kind)
    return replace(level, learned=_taught[key])


def _lessons(level: Level, hands: int, seed: int, kind: type[LevelPlayer]) -> Learned:
    player = kind(level, seed)
    each = hands // _SCHOOLS
    play_series(player, make_formula(seed), series=_SCHOOLS, hands=each, seed=seed)
    # What the series taught, all together: precisions add up, beyond the habits that they share.
    skills, first = player.memory.skills[1 : 1 + _SCHOOLS], level.skill[0]
    precision = first["precision"] + (skills["precision"] - first["precision"]).sum(0)
    pulls = [skill["precision"] @ skill["mean"] for skill in skills]
    base = first["precision"] @ first["mean"]
    record = level.skill[0]
    record["mean"] = np.linalg.solve(precision, base + sum(pull - base for pull in pulls))
    record["precision"], record["hands"] = precision, hands
    return Learned.of(record)


def ladder(level: Level, config: MeasureConfig, executor: Executor | None = None) -> dict[str, Any]:
    """Games against the next level, both after as many hands."""
    found = {}
    for stage, hands in STAGES.items():
        print(f"{level.name} {stage.replace('_', ' ')} against {config.above}")
        player = LevelPlayer(schooled(level, hands, config.seed), config.seed, learn=False)
        above: Player = make_player(config.above)
        if config.above in NAMES:
            above = LevelPlayer(schooled(load_level(config.above), hands, config.seed), learn=False)
        match = play_match(player, above, pairs=config.games // 2, seed=config.seed, executor=executor)
        found[stage] = {"share": match.share.to_dict(), "points": match.points.to_dict(), "games": config.games}
    return found


def coached(level: Level, config: MeasureConfig) -> dict[str, Any]:
    """Points per hand against ``formula`` that the coach has brought after each stage, and with shuffled answers."""
    taught = {stage: schooled(level, hands, config.seed) for stage, hands in STAGES.items()}
    taught["shuffled"] = schooled(level, STAGES["after_500"], config.seed, ShuffledPlayer)
    options: dict[str, Any] = {"series": config.cost_hands // 10, "hands": 10, "seed": config.seed + 1}
    points = {
        stage: play_series(
            LevelPlayer(one, config.seed, learn=False), make_formula(2), less_luck=True, domain=Domain.EVAL, **options
        ).astype(np.float64)
        for stage, one in taught.items()
    }
    return {
        stage: _one(rows - points["as_installed"]).to_dict()
        for stage, rows in points.items()
        if stage != "as_installed"
    }


def measure(level: Level, config: MeasureConfig, executor: Executor | None = None) -> dict[str, Any]:
    """Measures a level that learns; all figures as plain values.

    Args:
        level: the level.
        config: how much is played.
        executor: plays games and series in its processes, with the same figures; ``None`` plays them here.
    """
    began = time.perf_counter()
    named = [make_player(name, config.seed + 101 + k) for k, name in enumerate(config.strangers)]
    quick = level.with_settings(worlds=0)
    itself = LevelPlayer(quick, config.seed + 1, learn=False)
    document: dict[str, Any] = {"level": level.name, "sha256": level.digest, "versions": versions()}
    document["responses"] = _responses()
    document["settings"], document["config"] = level.settings.model_dump(mode="json"), asdict(config)
    document["ladder"] = ladder(level, config, executor)
    document["coached"] = coached(quick, config)
    print(f"{level.name} against {config.styles} styles")
    drawn = draw_styles(config.seed, config.styles)
    styles: list[Player] = [StylePlayer(drawn[k : k + 1], config.seed) for k in range(config.styles)]
    document["gains"] = gains(play_ways(quick, styles, config, executor), config.hands)
    print(f"{level.name} against strangers")
    points = play_ways(quick, [*named, itself], config, executor)
    document["strangers"] = gains(points, config.hands) | {
        "by_opponent": {
            name: {gain: _one((points[one] - points[other])[k]).to_dict() for gain, (one, other) in GAINS.items()}
            for k, name in enumerate([*(player.name for player in named), "the level itself"])
        }
    }
    print(f"{level.name}: variety")
    document["variety"] = measure_variety(level, config.deals, config.plays, config.cost_hands)
    return document | {"seconds": round(time.perf_counter() - began, 1)}


def _one(differences: np.ndarray) -> Estimate:
    """The mean over one opponent's series, ``float64[series, hands]``."""
    return ratio(differences.mean(1), np.ones(len(differences)))


def _stored() -> dict[str, Any]:
    """The figures of the installed levels, by name."""
    document = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    now = _responses()
    return {
        name: row
        for name, row in document.items()
        if (row["sha256"], row.get("responses")) == (load_level(name).digest, now)
    }


def _responses() -> str:
    """SHA-256 of how levels answer what they know of an opponent."""
    return hashlib.sha256(RESPONSES.read_bytes()).hexdigest()


def main(levels: tuple[Literal["level-1", "level-2", "level-3", "level-4"], ...] = (), workers: int = 1) -> None:
    """Measures some levels, or all, in so many processes."""
    # Threads that wait for one another take longer than these small batches.
    torch.set_num_threads(1)
    with open_executor(workers) as executor:
        for name in levels or NAMES:
            row = measure(load_level(name), MeasureConfig(ABOVE[name]), executor)
            write_json(RESULTS, dict(sorted((_stored() | {name: row}).items())))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
