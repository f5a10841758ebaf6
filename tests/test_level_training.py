"""How levels are trained, and what the benchmark says of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.bots.heuristics import make_simple, style
from agents.config import parse_config
from agents.deals import Domain
from agents.levels.bench import adaptation
from agents.levels.bench.adaptation import AdaptationConfig, Measured, Table, _best_plans, _with_plan, measure, results
from agents.levels.bench.growth import Experienced, measure_growth
from agents.levels.bench.opponents import HABITUAL, Switcher
from agents.levels.level import Level
from agents.levels.plans import NUM_PLANS
from agents.levels.training import LevelTrainConfig, LevelTrainer
from agents.reports.adaptation import report_adaptation
from ginenv.actions import STOCK, UPCARD

TINY = {
    "kind": "levels", "games": 24, "ticks": 12, "minibatch": 128, "decisions": 1_000_000, "clone_decisions": 1500,
    "observed_hands": 8, "response_hands": 1, "network": {"actor": [32], "critic": [32]}, "shaping": 0, "threads": 1,
    "pool": [{"player": "population:count=8,draw=2"}], "pool_share": 0.7, "selves_share": 0.0, "bfloat16": "no",
    "bounds": [{"memory": 3, "notices": 0, "share": 1}, {"memory": 32, "notices": 2, "share": 1}],
}  # fmt: skip


def test_training_imitates_then_learns_and_only_then_knows_an_opponent(tmp_path: Path) -> None:
    trainer = LevelTrainer(parse_config(TINY, LevelTrainConfig), tmp_path)
    losses, kinds = [], []

    def after(figures: dict[str, float]) -> bool:
        losses.append(figures["policy_loss"])
        kinds.append(trainer.cloning)
        return trainer.batches < 22

    trainer.run(after)
    assert kinds[0] and not kinds[-1]
    cloned = losses[: kinds.index(False)]
    # Imitation to its end: the batch in which it ends too was played by the teacher. A policy gradient's loss is about 0.
    assert min(cloned) > 10 * max(abs(loss) for loss in losses[kinds.index(False) :])
    assert np.mean(cloned[-2:]) < np.mean(cloned[:2])
    rollout = trainer.rollout
    known = np.abs(trainer.known).sum(2) > 0
    facing = (rollout.kinds == 0) & (rollout.seats == rollout.turns[-1])
    assert not known[-1][~facing].any() and trainer.features.any()
    again = LevelTrainer(parse_config(TINY, LevelTrainConfig), tmp_path)
    assert (again.responses == trainer.responses).all() and (again.blocks == trainer.blocks).all()


def test_the_benchmark_compares_on_the_same_deals_and_reports(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation, "_AFTERWARDS", 3)
    monkeypatch.setattr(adaptation, "_BLANK_HANDS", 12)
    config = AdaptationConfig(level="small", series=2, hands=60, ceiling_hands=10, harm_series=2, worlds=-1, seed=0)
    document = results(config, level, measure(config, level))
    assert list(document["opponents"]) == list(HABITUAL) and len(document["no_harm"]) == 4
    assert document["controls"]["numbers blanked, less frozen"]["largest difference"] == 0
    assert document["mean_gain"]["51_60"]["low"] < document["mean_gain"]["51_60"]["high"]
    assert "51_60" in document["controls"]["best plan from the first hand"]
    page = report_adaptation(json.loads(json.dumps(document)), "a command")
    assert page.count("<svg") == 1 and "scatterbrain" in page and "a command" in page


def test_a_ceiling_within_bounds_is_the_level_with_the_plan_that_is_best_against_each(level: Level) -> None:
    """Whatever other deals say of the plans is what is played, opponent by opponent."""
    for plan in range(NUM_PLANS):
        assert _with_plan(level, plan, 1).whole.default == plan
    config = AdaptationConfig(level="small", series=2, hands=60, ceiling_hands=80, seed=0)
    played: list[list[int]] = []

    class Plans(Table):
        def __init__(self, players, series):
            super().__init__(players, series)
            played.append([getattr(player, "whole", level.nothing_learned()).default for player in players])

    with pytest.MonkeyPatch.context() as patch:
        worth = [[0, 1, 0, 0, 0], [3, 0, 0, 0, 0], [0, 0, 0, 0, 2]]
        answers = iter(np.array(worth, float).T.tolist())
        patch.setattr(adaptation, "_on_other_deals", lambda *_: next(answers))
        patch.setattr(adaptation, "Table", Plans)
        measured = Measured(["a", "b", "c"], 0, [], [])
        _best_plans(config, level, [make_simple(k) for k in range(3)], measured)
    assert played[0] == [1, 0, 4]
    assert [part.shape for part in measured.controls["best plan from the first hand"]] == [(2, 60)] * 3


def test_experience_counts_every_hand_and_installed_levels_gain_nothing(level: Level) -> None:
    level = level.with_settings(plans=(0.0, -9, -9, -9, -9), doubt=0.01)
    wholes = [level.nothing_learned() for _ in range(2)]
    player = Experienced(level, wholes, 3, 1)
    play_series(player, make_simple(), series=6, hands=4, seed=1, domain=Domain.SELECT)
    assert [whole.hands for whole in wholes] == [12, 12]
    assert not np.allclose(wholes[0].belief["mean"], wholes[1].belief["mean"])
    # Who is sure of its plan changes nothing, so the same hands are played with and without the history.
    found = measure_growth(level, histories=2, hands=500, fresh=100)
    assert found.promoted == 0 and (found.gains == 0).all()


def test_experience_changes_what_strangers_meet(level: Level) -> None:
    wholes = [level.nothing_learned() for _ in range(2)]
    other = (wholes[0].default + 1) % NUM_PLANS
    for _ in range(3000):
        wholes[1].add(other, 60.0)
        wholes[1].add(wholes[1].default, -60.0)
    player = Experienced(level, wholes, 2, 1)
    rows = player.rows_of(np.arange(4), 4)
    means = player.records["mean"][rows]
    assert (means[0] == means[1]).all() and (means[2] == means[3]).all()
    assert means[0].argmax() == wholes[0].default and means[2].argmax() == wholes[1].promoted != wholes[1].default


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
    play_series(make_simple(1), Table([player], 4), series=4, hands=6, seed=1)
    assert player.hands == dict.fromkeys(range(4), 6)
    assert {series for series, hand in player.took if hand >= 3} == set(range(4))
    assert all(took == {hand >= 3} for (_, hand), took in player.took.items())
