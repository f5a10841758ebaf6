"""What is measured of levels: the ladder, gains by learning, and from whose hands."""

import json
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents.arena.series import counting_hands
from agents.cli.levels import levels
from agents.config import parse_config
from agents.levels.bench.measure import (
    STAGES,
    STRANGERS,
    WAYS,
    MeasureConfig,
    MisinformedPlayer,
    estimates,
    hands_of_others,
    hands_to_play,
    measure,
    play_ways,
    windows,
)
from agents.levels.level import Level, LevelError
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.view.view import VIEW
from tests.support.refusals import refuses

SMALL = {"series": 2, "hands": 20, "styles": 2, "games": 4, "deals": 2, "plays": 5, "cost_hands": 20}


def test_a_level_is_measured_on_the_same_deals(
    level: Level, directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, counts = parse_config(SMALL | {"above": "easy"}, MeasureConfig), []
    with counting_hands(counts.append):
        document = measure(level, config)
    assert counts == sorted(counts) and counts[-1] == hands_to_play(config)
    assert document == json.loads(json.dumps(document)) and document["sha256"] == level.digest
    assert list(document["ladder"]) == list(STAGES) and list(document["gains"]["specific"]) == list(windows(20))
    assert len(document["strangers"]["by_opponent"]) == len(STRANGERS) + 1
    assert 1 <= document["variety"]["different"] <= 5 and document["variety"]["cost"]["mean"]
    total = document["gains"]["total"]["9_20"]
    assert total["low"] < total["mean"] < total["high"] and total["newly_drawn"]["mean"] == pytest.approx(
        total["mean"], abs=1e-5
    )
    # The command does the same, and says it in words.
    sizes = [f"{key}={value}" for key, value in SMALL.items()]
    levels(["measure", str(directory), "--above", "easy", "--out", str(tmp_path / "x.json"), "--set", *sizes])
    written = json.loads((tmp_path / "x.json").read_text())
    assert {**written, "seconds": 0} == {**document, "seconds": 0}
    assert "own less mixed" in (printed := capsys.readouterr().out) and f"{total['mean']:+.2f}" in printed


def test_the_ways_part_only_where_something_is_known(level: Level) -> None:
    config = parse_config(SMALL, MeasureConfig)
    points = play_ways(level, [make_simple(1), make_formula(2)], config)
    assert tuple(points) == WAYS
    assert all(each.shape == (2, 2, 20) for each in points.values())
    for way in ("own", "mixed"):
        assert (points[way][:, :, 0] == points["frozen"][:, :, 0]).all() and (points[way] != points["frozen"]).any()
    # Who has seen 5,000 hands of others plays the first one otherwise.
    assert (points["experienced"][:, :, 0] != points["frozen"][:, :, 0]).any()


def test_an_executor_measures_the_same(level: Level, pool: Executor) -> None:
    config, counts = parse_config(SMALL | {"above": "easy", "styles": 7}, MeasureConfig), []
    with counting_hands(counts.append):
        there = measure(level, config, executor=pool)
    assert counts == sorted(counts) and counts[-1] == hands_to_play(config)
    assert {**there, "seconds": 0} == {**measure(level, config), "seconds": 0}


def test_intervals_are_of_the_opponents_played_and_of_others_like_them() -> None:
    values = np.random.default_rng(1).normal(0, 0.01, (4, 30)) + np.array([-3.0, -1.0, 1.0, 3.0])[:, None]
    found = estimates(values)
    assert found["high"] - found["low"] < 0.02 < 2 < found["newly_drawn"]["high"] - found["newly_drawn"]["low"]
    assert found["mean"] == pytest.approx(values.mean(), abs=1e-5)


def test_a_mixed_history_is_of_all_others_in_turn(level: Level) -> None:
    """Each table is shown hands of its own series number, in their order, and none of its opponent's."""
    shown: list[tuple[int, int]] = []
    hands = np.zeros((4, 2, 9), VIEW)
    hands["score"][..., 0], hands["score"][..., 1] = (
        10 * np.arange(2)[:, None] + np.arange(4)[:, None, None],
        np.arange(9),
    )
    player = MisinformedPlayer(level, 1, hands_of_others(hands).reshape(8, 9))
    player.opponents.learn = lambda views, rows: shown.extend(map(tuple, views["score"].tolist()))  # type: ignore[method-assign]
    for _ in range(6):
        # Series 1 of opponent 1.
        player.observe_hands(np.zeros(1, VIEW), np.array([3]))
    assert shown == [(10 + other, hand) for hand, other in enumerate([2, 3, 0, 2, 3, 0])]


def test_a_level_that_learns_nothing_is_not_measured(level: Level) -> None:
    with refuses(LevelError, level.name):
        measure(replace(level, responses=None), parse_config(SMALL, MeasureConfig))
