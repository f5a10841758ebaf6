"""What the benchmark of the levels measures: adaptation, growth, and its opponents."""

import json
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.arena.series import counting_hands, play_series
from agents.config import parse_config
from agents.deal_streams import Domain
from agents.levels.bench import adaptation
from agents.levels.bench.adaptation import (
    WAYS,
    AdaptationConfig,
    AdaptationResult,
    MisinformedPlayer,
    hands_to_play,
    level_of,
    measure,
    partial_results,
    results,
)
from agents.levels.bench.growth import ExperiencedPlayer, measure_growth
from agents.levels.bench.opponents import PlayersBySeries, Switcher, held_out_names
from agents.levels.level import Level, LevelError, LevelSettings
from agents.levels.opponent_memory import OpponentMemory
from agents.reports.adaptation import GAINS, report_adaptation
from ginenv.bots.heuristics import make_simple, style
from ginenv.engine.actions import STOCK, UPCARD
from ginenv.tables.players import Player
from ginenv.view.view import VIEW
from tests.support.refusals import refuses


def settings(**options: int) -> AdaptationConfig:
    return parse_config({"level": "small", "series": 2, "hands": 60} | options, AdaptationConfig)


def test_the_benchmark_compares_on_the_same_deals_and_reports(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings(harm_series=3)
    played = []

    def counted(*players: Player, **how: Any) -> np.ndarray:
        played.append(how["series"] * how["hands"])
        return play_series(*players, **how)

    monkeypatch.setattr(adaptation, "play_series", counted)
    measured = measure(config, level)
    document = results(config, level, measured)
    assert sum(played) == hands_to_play(config)
    assert list(document["opponents"]) == held_out_names() and len(document["no_harm"]) == 4
    # Nothing is known in the first hand, so all ways play it alike.
    for way in WAYS[1:]:
        for k in range(len(measured.names)):
            assert (measured.points[way][k][:, 0] == measured.points["frozen"][k][:, 0]).all()
    assert document["total_gain"]["51_60"]["low"] < document["total_gain"]["51_60"]["high"]
    for gain in GAINS:
        assert set(document[gain]) == {"1_50", "51_60"}
    page = report_adaptation(json.loads(json.dumps(document)), "a command")
    assert page.count("<svg") == 2 and held_out_names()[0] in page and "a command" in page


def test_the_specific_gain_is_beyond_the_better_of_none_and_a_mixed_history() -> None:
    names = ["one", "other"]
    points = {"frozen": [0.0, 4.0], "own": [5.0, 5.0], "mixed": [2.0, 1.0], "wrong": [1.0, 0.0]}
    noise = np.random.default_rng(1).normal(size=(3, 60)) * 0.01
    parts = {way: [np.full((3, 60), value) + noise for value in values] for way, values in points.items()}
    harm = {"frozen": [np.zeros((3, 60))], "own": [np.full((3, 60), -0.2)]}
    measured = AdaptationResult(names, parts, ["strong"], harm)
    document = results(
        settings(series=3), SimpleNamespace(name="x", digest="0", settings=LevelSettings(title="x")), measured
    )  # type: ignore[arg-type]
    window = "1_50"
    assert document["specific_gain"][window]["mean"] == pytest.approx((3 + 1) / 2)
    assert document["total_gain"][window]["mean"] == pytest.approx((5 + 1) / 2)
    assert document["mixed_less_frozen"][window]["mean"] == pytest.approx((2 - 3) / 2)
    assert document["wrong_less_mixed"][window]["mean"] == pytest.approx(-1)
    assert document["opponents"]["other"]["specific_gain"][window]["mean"] == pytest.approx(1)
    assert document["no_harm"]["strong"]["mean"] == pytest.approx(-0.2)


def test_the_benchmark_is_the_same_in_any_executor(directory: Path, pool: Executor, tmp_path: Path) -> None:
    config = settings(harm_series=2).model_copy(update={"level": str(directory)})
    level, counts = level_of(config), []
    here = measure(config, level)
    with counting_hands(counts.append):
        there = measure(config, level, executor=pool)
    assert counts == sorted(counts) and len(counts) > 4 and counts[-1] == hands_to_play(config)
    for parts, others in ((here.points, there.points), (here.harm, there.harm)):
        for way, points in parts.items():
            assert all((one == other).all() for one, other in zip(points, others[way], strict=True))
    digests = [partial_results(config.model_copy(update={"workers": n, "out": tmp_path}), level).digest for n in (1, 2)]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("hands", "windows"),
    [(60, ["1_50", "51_60"]), (300, ["1_50", "51_100", "101_300"]), (301, ["1_50", "51_200", "201_301"])],
)
def test_the_last_window_of_series_that_a_search_can_play_begins_earlier(hands: int, windows: list[str]) -> None:
    points = {way: [np.zeros((2, hands))] for way in WAYS}
    measured = AdaptationResult(["one"], points, ["strong"], {way: [np.zeros((2, hands))] for way in WAYS[:2]})
    level = SimpleNamespace(name="x", digest="0", settings=LevelSettings(title="x"))
    document = results(settings(hands=hands), level, measured)  # type: ignore[arg-type]
    assert list(document["specific_gain"]) == windows


def test_a_mixed_history_is_of_all_others_and_a_wrong_one_of_one(level: Level) -> None:
    """Each table is shown the hands of whom it should, of its own series and in their order."""
    shown: list[tuple[int, int]] = []
    hands = np.zeros((4, 2, 9), VIEW)
    hands["score"][..., 0], hands["score"][..., 1] = np.arange(4)[:, None, None], np.arange(9)

    class Watched(MisinformedPlayer):
        def rows_of(self, slots, n):
            return np.zeros(n, np.int64)

    for chooses, expected in ((adaptation._other_opponents, [2, 3, 0, 2, 3, 0]), (adaptation._wrong_opponent, [0] * 6)):
        player = Watched(level, 1, hands, chooses)
        player.opponents.learn = lambda views, rows: shown.extend(map(tuple, views["score"].tolist()))  # type: ignore[method-assign]
        shown.clear()
        for _ in range(6):
            # Series 0 of opponent 1.
            player.observe_hands(np.zeros(1, VIEW), np.array([2]))
        assert shown == [(other, hand) for hand, other in enumerate(expected)]


def test_a_level_that_learns_nothing_is_not_measured(level: Level) -> None:
    with refuses(LevelError, level.name):
        measure(settings(), replace(level, responses=None))


def test_every_history_knows_its_own(level: Level) -> None:
    memories = [OpponentMemory(pools_hands=True) for _ in range(2)]
    player = ExperiencedPlayer(level, memories, 3, 1)
    play_series(player, make_simple(), series=6, hands=4, seed=1, domain=Domain.SELECT)
    assert [len(memory) for memory in memories] == [4, 4]
    assert [memory.counts["could"][:, 0].sum() for memory in memories] == [12, 12]
    assert not np.array_equal(memories[0].contexts, memories[1].contexts)
    # In the next block everybody is new, and nobody is forgotten.
    again = ExperiencedPlayer(level, memories, 3, 2)
    assert not again.contexts(np.arange(6), 6).any() and [len(memory) for memory in memories] == [7, 7]
    assert memories[0].counts["could"][:, 0].sum() == 12


def test_growth_is_measured_on_the_same_deals(level: Level) -> None:
    # Where nothing holds against anybody, a level plays the same hands with and without the history.
    responses = level.responses
    assert responses is not None
    depends_on_opponent = replace(
        level, responses=replace(responses, matrix=np.vstack([0 * responses.matrix[:1], responses.matrix[1:]]))
    )
    assert (measure_growth(depends_on_opponent, histories=2, hands=500, fresh=100).gains == 0).all()
    assert (measure_growth(level, histories=2, hands=500, fresh=100).gains != 0).all()


class Recorder(Switcher):
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
    player = Recorder(style("takes-none"), style("takes-all"), 3)
    play_series(make_simple(1), PlayersBySeries([player], 4), series=4, hands=6, seed=1)
    assert player.hands == dict.fromkeys(range(4), 6)
    assert {series for series, hand in player.took if hand >= 3} == set(range(4))
    assert all(took == {hand >= 3} for (_, hand), took in player.took.items())


def test_stored_rows_are_of_unchanged_players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.adaptation import levels as measured

    document = measured.stored_results()
    document["rows"]["adaptation level-4 search"] = {}
    names = set(document["rows"])

    def gone(*changed: str) -> set[str]:
        path = tmp_path / "levels.json"
        path.write_text(json.dumps(document | {"players": document["players"] | dict.fromkeys(changed, "another")}))
        monkeypatch.setattr(measured, "RESULTS", path)
        return names - set(measured.stored_results()["rows"])

    assert gone("search") == {name for name in names if name.startswith("ladder level-4 ") or name.endswith(" search")}
    # Rows of a level's network stay where only its search changes; where what it learns is another, nothing of it stays.
    found = gone("level-4", "level-4 as installed")
    assert "adaptation level-4 search" in found and all("level-4" in name for name in found)
    assert not {"adaptation level-4", "growth level-4"} & found
    assert gone("level-4", "level-4 as installed", "level-4 without search") == {n for n in names if "level-4" in n}
