"""What is measured of levels: the ladder, gains by learning, and from whose hands."""

import json

import numpy as np
import pytest

from agents.levels.level import Level
from benchmarks.levels.measure import (
    STAGES,
    STRANGERS,
    WAYS,
    MeasureConfig,
    MisinformedPlayer,
    estimates,
    hands_of_others,
    measure,
    play_ways,
    windows,
)
from benchmarks.levels.variety import measure_variety
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.view.view import VIEW

SMALL = MeasureConfig("easy", 2, 20, 2, STRANGERS[:2], games=4, deals=2, plays=5, cost_hands=20)


def test_a_level_is_measured(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.levels.measure.STAGES", {"as_installed": 0, "after_500": 8, "after_5000": 16})
    document = measure(level, SMALL)
    assert document == json.loads(json.dumps(document)) | {"config": document["config"]}
    assert document["sha256"] == level.digest and len(document["strangers"]["by_opponent"]) == 3
    assert list(document["coached"]) == ["after_500", "after_5000", "shuffled"]
    assert list(document["ladder"]) == list(STAGES)
    assert list(document["gains"]["specific"]) == list(windows(20))
    total = document["gains"]["total"]["9_20"]
    assert total["low"] < total["mean"] < total["high"]
    assert total["newly_drawn"]["mean"] == pytest.approx(total["mean"], abs=1e-5)


def test_the_ways_part_only_where_something_is_known(level: Level) -> None:
    points = play_ways(level, [make_simple(1), make_formula(2)], SMALL)
    assert tuple(points) == WAYS
    assert all(each.shape == (2, 2, 20) for each in points.values())
    for way in ("own", "mixed"):
        assert (points[way][:, :, 0] == points["frozen"][:, :, 0]).all() and (points[way] != points["frozen"]).any()


def test_intervals_are_of_the_opponents_played_and_of_others_like_them() -> None:
    values = np.random.default_rng(1).normal(0, 0.01, (4, 30)) + np.array([-3.0, -1.0, 1.0, 3.0])[:, None]
    found = estimates(values)
    assert found["high"] - found["low"] < 0.02 < 2 < found["newly_drawn"]["high"] - found["newly_drawn"]["low"]
    assert found["mean"] == pytest.approx(values.mean(), abs=1e-5)


def test_a_mixed_history_is_of_all_others_in_turn(level: Level) -> None:
    """Each table is shown hands of its own series number, in their order, and none of its opponent's."""
    shown: list[tuple[int, int]] = []
    hands = np.zeros((4, 2, 9), VIEW)
    hands["score"][..., 0] = 10 * np.arange(2)[:, None] + np.arange(4)[:, None, None]
    hands["score"][..., 1] = np.arange(9)
    player = MisinformedPlayer(level, 1, hands_of_others(hands).reshape(8, 9))
    player.memory.opponents.learn = lambda views, rows: shown.extend(map(tuple, views["score"].tolist()))  # type: ignore[method-assign]
    for _ in range(6):
        # Series 1 of opponent 1.
        player.observe_hands(np.zeros(1, VIEW), np.array([3]))
    assert shown == [(10 + other, hand) for hand, other in enumerate([2, 3, 0, 2, 3, 0])]


def test_variety_is_counted_by_deal_and_costs_what_errors_cost(level: Level) -> None:
    found = measure_variety(level, deals=3, plays=50, cost_hands=400)
    assert found["different"] > 5 and 1 / found["different"] <= found["commonest"] < 1 and found["cost"]["mean"] != 0
    # Without errors it is the same player, hand for hand.
    calm = level.with_settings(temperature=0.0, draw_temperature=0.0, hand_taste=0.0)
    same = measure_variety(calm, deals=2, plays=20, cost_hands=200)
    assert (same["different"], same["commonest"], same["cost"]["mean"]) == (1, 1, 0)
