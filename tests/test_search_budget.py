"""What a decision of the search may cost: a number of worlds, or a time by a clock."""

from types import SimpleNamespace

import numpy as np
import pytest
from test_search import SMALL_SEARCH, views_of

from agents.config import ConfigError, parse_config
from agents.search import SearchConfig, SearchPlayer, make_search
from agents.search import player as search_player
from agents.search.config import MAX_TIMED
from agents.search.player import rounds
from agents.win_probability import EquityBank
from tests.support.refusals import refuses


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(search_player, "time", SimpleNamespace(perf_counter=clock.perf_counter))
    return clock


def test_without_a_limit_one_round_sees_all_worlds() -> None:
    assert list(rounds(128)) == [128]
    assert list(rounds(1)) == [1]


def test_with_time_enough_rounds_double_until_all_worlds_are_seen(clock: Clock) -> None:
    assert list(rounds(100, 1e6)) == [16, 16, 32, 36]
    assert list(rounds(10, 1e6)) == [10]


@pytest.mark.parametrize(("milliseconds", "seen"), [(1, 16), (16, 16), (40, 40), (100, 100), (1000, 500)])
def test_a_decision_sees_as_many_worlds_as_its_time_allows(clock: Clock, milliseconds: float, seen: int) -> None:
    evaluated = 0
    for worlds in rounds(500, milliseconds):
        evaluated += worlds
        clock.now += worlds / 1000  # a millisecond a world
    # Less what the clock's own arithmetic rounds off.
    assert seen - 3 <= evaluated <= seen


def test_what_was_spent_before_the_first_world_counts(clock: Clock) -> None:
    evaluated = 0
    for worlds in rounds(500, 100, began=clock.now - 0.05):
        evaluated += worlds
        clock.now += worlds / 1000
    assert 47 <= evaluated <= 50


def slow_search(clock: Clock, **options: float) -> SearchPlayer:
    """A search to whose clock every world takes a millisecond."""
    player = make_search(3, **options)
    world_values = player.world_values

    def slow(branches: np.ndarray, bank: EquityBank) -> np.ndarray:
        # All candidates of a decision are judged in the same worlds.
        clock.now += np.unique(branches["state"]["deck"], axis=0).shape[0] / 1000
        return world_values(branches, bank)

    player.world_values = slow  # type: ignore[assignment]
    return player


def test_more_time_sees_more_worlds_and_a_batch_has_time_for_each(clock: Clock) -> None:
    options = SMALL_SEARCH | {"particles": 16, "worlds": 400}
    views = views_of(6)
    seen = []
    for milliseconds in (20, 60):
        player = slow_search(clock, **options, milliseconds=milliseconds)
        before = clock.now
        found = [player.examine(views[i : i + 1]).candidates["worlds"].max() for i in range(6)]
        searched = sum(count > 0 for count in found)
        assert clock.now - before <= (milliseconds + 1) * searched / 1000
        assert max(found) <= milliseconds
        seen.append(max(found))
        before = clock.now
        assert (player.act(views) == [player.act(views[i : i + 1])[0] for i in range(6)]).all()
        assert clock.now - before <= 2 * (milliseconds + 1) * searched / 1000
    assert 16 <= seen[0] <= 20 and 55 <= seen[1] <= 60


def test_time_that_suffices_for_all_worlds_decides_by_all_of_them(clock: Clock) -> None:
    views = views_of(6)
    player = make_search(3, worlds=40, particles=64, milliseconds=1e6)
    for i in range(6):
        found = player.examine(views[i : i + 1])
        assert len(found.candidates) == 1 or (found.candidates["worlds"] == 40).all()
        assert np.isfinite(found.errors).all()


def test_a_limit_without_a_number_of_worlds_takes_what_there_is_time_for() -> None:
    assert parse_config({"milliseconds": 50}, SearchConfig, "search").worlds == MAX_TIMED
    assert parse_config({"milliseconds": 50, "worlds": 64}, SearchConfig, "search").worlds == 64
    assert parse_config({}, SearchConfig, "search").worlds == 128
    with refuses(ConfigError, "milliseconds", -1):
        parse_config({"milliseconds": -1}, SearchConfig, "search")
