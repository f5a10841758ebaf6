"""What the benchmark of the levels measures: adaptation, growth, and its opponents."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.bots.heuristics import make_simple, style
from agents.config import parse_config
from agents.deals import Domain
from agents.levels.bench import adaptation
from agents.levels.bench.adaptation import AdaptationConfig, best_plans, hands_to_play, measure, plans_found, results
from agents.levels.bench.growth import Experienced, measure_growth
from agents.levels.bench.opponents import PlayersBySeries, Switcher, held_out_names
from agents.levels.level import Level, LevelError
from agents.levels.plans import NUM_PLANS
from agents.levels.player import LevelPlayer
from agents.reports.adaptation import report_adaptation
from ginenv.actions import STOCK, UPCARD
from ginenv.players import Player


def asked(**options: int) -> AdaptationConfig:
    return parse_config({"level": "small", "series": 2, "hands": 60} | options, AdaptationConfig)


def test_the_benchmark_compares_on_the_same_deals_and_reports(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation, "_AFTERWARDS", 3)
    config = asked(ceiling_hands=10, harm_series=3)
    played = []

    def counted(*players: Player, **how: Any) -> np.ndarray:
        played.append(how["series"] * how["hands"])
        return play_series(*players, **how)

    monkeypatch.setattr(adaptation, "play_series", counted)
    document = results(config, level, measure(config, level))
    assert sum(played) == hands_to_play(config)
    assert list(document["opponents"]) == held_out_names() and len(document["no_harm"]) == 4
    assert document["mean_gain"]["51_60"]["low"] < document["mean_gain"]["51_60"]["high"]
    assert "51_60" in document["controls"]["best plan from the first hand"]
    page = report_adaptation(json.loads(json.dumps(document)), "a command")
    assert page.count("<svg") == 1 and held_out_names()[0] in page and "a command" in page


def test_a_ceiling_is_the_level_with_the_plan_that_is_best_against_each(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever other deals say of the plans is what is played, opponent by opponent."""
    for plan in range(NUM_PLANS):
        assert LevelPlayer(level.with_plan(plan), 1, learn=False).prior.default == plan
    config = asked(ceiling_hands=80)
    worth = np.array([[0, 1, 0, 0, 0], [3, 0, 0, 0, 0], [0, 0, 0, 0, 2]])

    def told(player, table, **how):
        return np.repeat(worth[:, player.prior.default], how["series"] // 3)[:, None]

    monkeypatch.setattr(adaptation, "play_series", told)
    chosen = best_plans(config, level, plans_found(config, level, [make_simple(k) for k in range(3)]))
    assert chosen.series == 2 and [
        player.prior.default for player in chosen.players if isinstance(player, LevelPlayer)
    ] == [1, 0, 4]


def test_a_level_that_learns_nothing_is_not_measured(level: Level) -> None:
    with pytest.raises(LevelError, match="learns nothing"):
        measure(asked(), level.with_settings(worlds=4))


def test_experience_counts_every_hand_and_installed_levels_gain_nothing(level: Level) -> None:
    level = level.with_settings(plans=(0.0, -9, -9, -9, -9), doubt=0.01)
    priors = [level.nothing_learned() for _ in range(2)]
    player = Experienced(level, priors, 3, 1)
    play_series(player, make_simple(), series=6, hands=4, seed=1, domain=Domain.SELECT)
    assert [prior.hands for prior in priors] == [12, 12]
    assert not np.allclose(priors[0].belief["mean"], priors[1].belief["mean"])
    # Who is sure of its plan changes nothing, so the same hands are played with and without the history.
    found = measure_growth(level, histories=2, hands=500, fresh=100)
    assert found.promoted == 0 and (found.gains == 0).all()


def test_experience_changes_what_strangers_meet(level: Level) -> None:
    priors = [level.nothing_learned() for _ in range(2)]
    other = (priors[0].default + 1) % NUM_PLANS
    for _ in range(3000):
        priors[1].add(other, 60.0)
        priors[1].add(priors[1].default, -60.0)
    player = Experienced(level, priors, 2, 1)
    rows = player.rows_of(np.arange(4), 4)
    means = player.records["mean"][rows]
    assert (means[0] == means[1]).all() and (means[2] == means[3]).all()
    assert means[0].argmax() == priors[0].default and means[2].argmax() == priors[1].promoted != priors[1].default


class Told(Switcher):
    """Writes down, by series and hand, what it does where it may take an upcard."""

    def __init__(self, first: np.ndarray, then: np.ndarray, at: int) -> None:
        super().__init__(first, then, at)
        self.took: dict[tuple[int, int], set[bool]] = {}

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        actions = super().act(views, slots)
        assert slots is not None
        for view, slot, action in zip(views, slots.tolist(), actions.tolist(), strict=True):
            if int(view["legal"][2]) >> (UPCARD - STOCK) & 1:
                self.took.setdefault((slot, self.hands.get(slot, 0)), set()).add(action == UPCARD)
        return actions


def test_a_switcher_switches_at_its_hand_in_every_series() -> None:
    player = Told(style("takes-none"), style("takes-all"), 3)
    play_series(make_simple(1), PlayersBySeries([player], 4), series=4, hands=6, seed=1)
    assert player.hands == dict.fromkeys(range(4), 6)
    assert {series for series, hand in player.took if hand >= 3} == set(range(4))
    assert all(took == {hand >= 3} for (_, hand), took in player.took.items())
