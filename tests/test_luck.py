"""Luck: what is subtracted is zero on average whatever the values are, and good values make intervals shorter."""

import numpy as np
import pytest

import agents.arena.luck
from agents.arena import MatchSettings, play_match
from agents.arena.hand_value import WEIGHTS, HandValue, shipped_value
from agents.arena.lockstep import Lockstep, Observer, mirrored_jobs
from agents.deal_streams import DealStream, Domain
from agents.levels.player import make_level
from agents.network.player import make_network
from agents.win_probability import PointWorths
from ginenv.engine.actions import actions_of
from ginenv.engine.engine import STATE, apply, next_word, random_action, stock_count
from ginenv.engine.game import start_game
from ginenv.engine.rules import get_rules
from ginenv.tables.kernels import HAND
from ginenv.view.view import make_views


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


def random_value(seed):
    """A value function without sense."""
    numbers = np.random.default_rng(seed).normal(size=WEIGHTS.itemsize // 4).astype(np.float32)
    return HandValue(numbers.view(WEIGHTS)[0], "random")


@pytest.mark.parametrize("preset", ["eaai", "ht2-simple"])
def test_luck_of_draws_sums_to_zero_over_the_stock_whatever_the_values_are(preset):
    for k, state in enumerate(states_after_draws(preset, 20)):
        value = random_value(k)
        alternatives = np.array([with_next_card(state, n) for n in range(int(stock_count(state)) + 1)])
        drawn, mean = value.draws(alternatives).swapaxes(0, 1)
        assert np.abs((drawn - mean).sum(axis=0)).max() < 1e-3 * np.abs(drawn).max() and np.ptp(drawn[:, 0]) > 0
        np.testing.assert_allclose(value.states(alternatives), drawn, rtol=1e-3, atol=1e-3)


def test_luck_of_deals_sums_to_zero_over_both_ways_to_hand_them_out():
    for preset in ("eaai", "ht2-simple"):
        deals = np.zeros(2, STATE)
        deals["rules"], deals["key"] = get_rules(preset).block, 8
        for s in deals:
            start_game(s)
        starter, size = int(deals["starter"][1]), 10
        first = sum(1 << int(card) for card in deals["deck"][1, :size])
        second = int(deals["hands"][1, 1 - starter])
        deals["hands"][1, starter] += second - first
        deals["hands"][1, 1 - starter] = first
        deals["deck"][1, : 2 * size] = np.roll(deals["deck"][1, : 2 * size], size)
        luck = random_value(3).deals(deals)
        assert np.abs(luck[0]).min() > 0
        np.testing.assert_allclose(luck[0], -luck[1], rtol=1e-4)


@pytest.mark.parametrize("preset", ["eaai", "ht1"])
def test_luck_of_actions_sums_to_zero_over_the_policy_whatever_the_values_are(preset):
    rng, word = np.random.default_rng(5), np.uint64(3)
    s, phases = np.zeros(1, STATE), set()
    s["rules"] = get_rules(preset).block
    for key in range(6):
        s["key"] = key
        start_game(s[0])
        while s["phase"][0] != 6:
            actions = np.array(actions_of(make_views(s, int(s["turn"][0]))["legal"][0]))
            policy = np.zeros((len(actions), 107), np.float32)
            policy[:, actions] = rng.dirichlet(np.full(len(actions), 0.3))
            luck = random_value(key).actions(np.repeat(s, len(actions)), actions, policy, 0.01)
            assert np.abs(policy[0, actions] @ luck).max() < 1e-3 * (1 + np.abs(luck).max())
            phases |= {int(s["phase"][0])} if luck.any() else set()
            word, drawn = (np.uint64(part) for part in next_word(word))
            apply(s[0], random_action(s[0], drawn))
    assert phases >= {0, 1, 2}


@pytest.mark.parametrize("unit", ["games", "hands"])
def test_an_unequal_match_has_the_same_mean_with_and_without_luck(unit, monkeypatch):
    for value, other in ((random_value(1), "simple"), (shipped_value(), "random")):
        monkeypatch.setattr(agents.arena.luck, "shipped_value", lambda value=value: value)
        luck = play_match("camper", other, pairs=80, unit=unit).luck.reshape(-1, 2, 2).sum(axis=1)
        assert (np.abs(luck.mean(axis=0)) < 3.5 * luck.std(axis=0) / len(luck) ** 0.5).all() and luck.any()


def test_intervals_are_shorter_than_with_luck_left_in():
    for a, b, pairs in (("formula", "simple", 200), ("network", "camper", 100)):
        result = play_match(a, b, pairs=pairs, seed=3)
        assert result.points.half < 0.9 * result.plain.points.half
        assert result.share.half < 0.97 * result.plain.share.half
        document = result.to_dict()
        assert document["luck_left_in"]["share"] == result.plain.share.to_dict() != document["share"]
        assert document["value_function"] == shipped_value().version


def test_no_share_is_shown_above_one_or_below_zero():
    results = [play_match("formula", "random", pairs=2, seed=seed) for seed in range(6)]
    # Less luck, means leave the bounds.
    assert any(result.pair_scores.mean() > 1 for result in results)
    for share in (each for result in results for each in (result.share, result.share.of_rest())):
        assert 0 <= share.low <= share.mean <= share.high <= 1


def test_luck_does_not_depend_on_the_batch_and_changes_no_result():
    plain, one, two = (
        play_match("network", "level-2", pairs=6, settings=settings)
        for settings in (MatchSettings(luck=False), MatchSettings(), MatchSettings(batch=5))
    )
    assert (plain.games == one.games).all() and plain.luck is None
    assert one.luck.any()
    np.testing.assert_allclose(one.luck, two.luck, atol=1e-3)


def test_luck_of_mirrored_play_cancels():
    mirrored = play_match("formula", "formula", unit="hands", pairs=20)
    assert mirrored.points.half == 0 and mirrored.luck.any()


class Chances(Observer):
    """Keeps what players say of their probabilities."""

    wants_policy = True

    def __init__(self):
        self.chosen, self.expected = [], []

    def before_actions(self, play, side, rows, views):
        has_policy = play.policy.any(axis=1)
        policy, actions = play.policy[has_policy], play.actions[has_policy]
        np.testing.assert_allclose(policy.sum(axis=1), 1, atol=1e-5)
        chances = policy[np.arange(len(actions)), actions]
        assert (chances > 0).all()
        self.chosen += chances.tolist()
        self.expected += (policy**2).sum(axis=1).tolist()


@pytest.mark.parametrize("make", [lambda seed: make_network(seed, temperature=1.0), lambda seed: make_level(seed, 2)])
def test_players_draw_with_the_probabilities_that_they_tell(make):
    chances_of = Chances()
    Lockstep(
        (make(1), make(2)),
        get_rules("eaai"),
        mirrored_jobs(DealStream(Domain.TEST, 4), 0, 40),
        80,
        HAND,
        observers=[chances_of],
    ).run()
    difference = np.array(chances_of.chosen) - chances_of.expected
    assert len(difference) > 1200 and abs(difference.mean()) < 4 * difference.std() / len(difference) ** 0.5
    assert np.mean(chances_of.expected) < 0.97


def test_a_point_is_worth_more_when_the_game_is_close():
    states = np.zeros(3, STATE)
    states["rules"], states["score"] = get_rules("eaai").block, [[0, 0], [99, 99], [90, 0]]
    worths = PointWorths(states["rules"][0])(states)
    hand = worths @ (20.0, 1.0)
    assert hand[1] == pytest.approx(0.5, abs=1e-3) and hand[1] > hand[0] > hand[2] > 0
    assert worths[1] == pytest.approx((0, 0.5), abs=1e-3)
