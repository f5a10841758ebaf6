from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.luck import chance_per_point, deadwood_value, draw_luck
from agents.arena.sequential import SequentialTest
from ginenv.engine.engine import STATE, apply, next_word, random_action, stock_count
from ginenv.engine.game import start_game
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError
from tests.support.refusals import refuses


def states_after_draws(preset, count):
    """States of random play, each just after a draw from the stock."""
    states = np.zeros(count, STATE)
    word = np.uint64(7)
    found = 0
    s = np.zeros(1, STATE)
    s["rules"] = get_rules(preset).block
    key = 0
    while found < count:
        s["key"] = key
        key += 1
        start_game(s[0])
        while s["phase"][0] != 6 and found < count:
            position = int(s["position"][0])
            word, drawn = (np.uint64(part) for part in next_word(word))
            apply(s[0], random_action(s[0], drawn))
            if s["position"][0] > position and drawn >> np.uint64(61) == 0:
                states[found] = s[0]
                found += 1
    return states


def with_next_card(state, k):
    """The state in which the k-th card of the stock (from the drawn one) had been drawn instead."""
    other = state.copy()
    at = int(state["position"]) - 1
    real, card = int(state["deck"][at]), int(state["deck"][at + k])
    other["deck"][at], other["deck"][at + k] = card, real
    other["drawn"] = card
    other["hands"][int(state["turn"])] += (1 << card) - (1 << real)
    return other


def odd_value(states):
    """A value function without sense, of everything that may matter."""
    return np.sin(states["hands"][:, 0] % 1009) * 30 + states["drawn"] * states["turn"] + states["hands"][:, 1] % 17


@pytest.mark.parametrize("values", [deadwood_value, odd_value])
@pytest.mark.parametrize("preset", ["eaai", "gr-oklahoma", "ht2-simple"])
def test_corrections_sum_to_zero_over_the_stock(values, preset):
    for state in states_after_draws(preset, 40):
        count = int(stock_count(state)) + 1
        enumerated = np.array([with_next_card(state, k) for k in range(count)])
        luck = draw_luck(enumerated, values)
        assert abs(luck.sum()) < 1e-8 * count
        assert np.abs(luck).max() > 0


def test_luck_is_the_value_less_the_mean_over_what_could_have_come():
    for state in states_after_draws("eaai", 20):
        count = int(stock_count(state)) + 1
        values = deadwood_value(np.array([with_next_card(state, k) for k in range(count)]))
        assert draw_luck(np.array([state]))[0] == pytest.approx(values[0] - values.mean())


@pytest.mark.parametrize("unit", ["games", "hands"])
def test_an_unequal_match_has_the_same_mean_with_and_without_luck(unit):
    other = "random" if unit == "hands" else "simple"
    result = play_match("camper", other, pairs=400, unit=unit, settings=MatchSettings(luck=True))
    assert result.luck is not None and result.adjusted_points is not None
    for column in (0, 1):
        luck = result.luck[:, column].reshape(-1, 2).sum(axis=1)
        assert np.abs(luck).max() > 0
        assert abs(luck.mean()) < 3.5 * luck.std() / np.sqrt(len(luck))


def test_the_default_value_makes_the_interval_shorter():
    for a, b in (("formula", "simple"), ("camper", "simple"), ("formula", "easy")):
        result = play_match(a, b, pairs=600, seed=3, settings=MatchSettings(luck=True))
        assert result.adjusted_points is not None and result.adjusted_share is not None
        assert result.adjusted_points.half < 0.93 * result.points.half
        assert result.adjusted_share.half < result.share.half


def test_luck_does_not_depend_on_the_batch_and_changes_no_result():
    plain = play_match("formula", "simple", pairs=30)
    one = play_match("formula", "simple", pairs=30, settings=MatchSettings(luck=True))
    two = play_match("formula", "simple", pairs=30, settings=MatchSettings(luck=True, batch=7))
    assert (plain.games == one.games).all()
    assert one.luck is not None and two.luck is not None
    np.testing.assert_allclose(one.luck, two.luck, atol=1e-9)


def test_a_point_is_worth_more_when_the_game_is_close():
    scores = np.array([[0, 0], [90, 90], [90, 0]])
    worth = chance_per_point(scores, np.array([100, 100, 100]))
    assert worth[1] > worth[0] > worth[2] > 0


def simulate(share, test, repetitions=300, limit=20000):
    rng = np.random.default_rng(5)
    verdicts = []
    for _ in range(repetitions):
        scores = rng.binomial(2, share, limit) / 2
        for count in range(100, limit + 1, 200):
            verdict = test.verdict(scores[:count])
            if verdict:
                break
        verdicts.append(verdict)
    return {name: verdicts.count(name) / repetitions for name in ("better", "worse", "equal", "")}


def test_the_sequential_test_keeps_its_error_rates():
    test = SequentialTest(margin=0.03, alpha=0.05, beta=0.05)
    equal = simulate(0.5, test)
    assert equal["better"] + equal["worse"] < 0.08 and equal["equal"] > 0.9
    assert simulate(0.53, test)["better"] > 0.92
    worse = simulate(0.44, test)
    assert worse["worse"] > 0.98 and worse["better"] == 0


def test_a_match_stops_when_the_question_is_answered():
    settings = MatchSettings(until=SequentialTest(margin=0.05))
    result = play_match("formula", "random", pairs=5000, settings=settings)
    assert result.pairs == 100 and result.verdict.startswith("formula is better than random")
    with ThreadPoolExecutor(2) as threads:
        same = play_match("formula", "random", pairs=5000, executor=threads, settings=settings)
    assert (same.games == result.games).all()
    short = play_match("simple", "simple", pairs=50, settings=settings)
    assert short.pairs == 50 and short.verdict.startswith("not decided")
    with refuses(GinError, "margin", 0, 0.5, 0.7):
        SequentialTest(margin=0.7)
