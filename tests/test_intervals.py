"""Intervals: how often they hold, over how many clusters, and where nothing varies."""

from dataclasses import replace

import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.estimates import proportion, ratio, weighted
from ginenv.errors import GinError
from tests.support.refusals import refuses

BEST = ("formula", "random")


def test_an_interval_is_that_of_the_clusters():
    rng = np.random.default_rng(0)
    means = []
    covered = 0
    for _ in range(400):
        denominator = rng.integers(1, 20, 200).astype(float)
        numerator = denominator * 2 + rng.normal(0, 3, 200)
        estimate = ratio(numerator, denominator)
        means.append(estimate.mean)
        covered += estimate.low < 2 < estimate.high
    assert abs(np.mean(means) - 2) < 0.01
    assert 0.92 < covered / 400 < 0.98


def test_an_interval_by_few_clusters_holds_as_often_as_it_says():
    rng = np.random.default_rng(3)
    for count in (2, 5, 30):
        found = [ratio(values, np.ones(count)) for values in rng.normal(2, 3, (4000, count))]
        coverage = np.mean([estimate.low < 2 < estimate.high for estimate in found])
        assert coverage == pytest.approx(0.95, abs=0.012), count
        # Clusters in which nothing could happen say nothing.
        one = rng.normal(2, 3, count)
        padded, alone = ratio(np.append(one, [0] * 9), np.append(np.ones(count), [0] * 9)), ratio(one, np.ones(count))
        assert (padded.mean, padded.half) == pytest.approx((alone.mean, alone.half))
    # Parts that do not vary alike and are not equally many, the later less the earlier.
    few, many = rng.normal(1, 6, (4000, 5)), rng.normal(4, 1, (4000, 40))
    found = [weighted(parts, (-1, 1)) for parts in zip(few, many, strict=True)]
    assert np.mean([estimate.low < 3 < estimate.high for estimate in found]) == pytest.approx(0.95, abs=0.012)
    assert np.isnan(weighted((few[0], many[0][:1]), (-1, 1)).half) and weighted((np.ones(3),), (2,)).half == 0


def test_a_share_of_all_or_none_has_an_interval_by_the_number_of_pairs():
    plain = MatchSettings(luck=False)
    for pairs, low in ((2, 0.025 ** (1 / 2)), (40, 0.025 ** (1 / 40))):
        won, lost = (play_match(*names, pairs=pairs, settings=plain) for names in (BEST, BEST[::-1]))
        assert (won.share.low, won.share.mean, won.share.high) == pytest.approx((low, 1, 1))
        assert (lost.share.low, lost.share.mean, lost.share.high) == pytest.approx((0, 0, 1 - low))
    assert won.share.text(percent=True) == "100.0 % (91.2 to 100.0)"
    assert won.hand_share == won.share and won.to_dict()["share"] == {"mean": 1, "low": 0.911903, "high": 1}
    # Where a player learns, series are what is independent; one pair says nothing of an interval.
    assert replace(won, series_pairs=4).share.low == pytest.approx(0.025 ** (1 / 10))
    assert "one pair, no interval" in play_match("formula", "random", pairs=1).share.text(percent=True)
    between = play_match("simple", "formula", pairs=40, settings=plain)
    by_hand = ratio(between.pair_scores, np.ones(40))
    assert 0 < between.share.mean < 1 and between.share.to_dict() == by_hand.to_dict()
    # Pairs that are all alike without being won whole, and few pairs that are not.
    assert proportion(np.array([0.5, 1.0]), np.ones(2)).half <= 1
    even, few = proportion(np.full(2, 0.5), np.ones(2)), proportion(np.array([0.9, 0.95, 1.0, 1.0, 1.0]), np.ones(5))
    assert (even.low, even.mean, even.high) == (0, 0.5, 1) and few.mean + few.half > 1 == few.high and few.low > 0


def test_what_one_wins_more_than_another_on_the_same_deals():
    """The interval is that of pairs drawn again and again, and shorter than that of two matches on different deals."""
    settings = MatchSettings(unit="hands", luck=False, seed=8)
    one, other = (play_match(name, "simple", pairs=300, settings=settings) for name in ("knocker", "camper"))
    gained = one.points_over(other)
    with refuses(GinError, "seed", "pairs", "unit", "rules"):
        one.points_over(play_match("camper", "simple", pairs=2, settings=settings))
    rng = np.random.default_rng(1)
    sums = []
    for match in (one, other):
        sums.append((match.margins, match.games["hands"].reshape(-1, 2).sum(1)))
    drawn = rng.integers(0, 300, (2000, 300))
    again = [points[drawn].sum(1) / hands[drawn].sum(1) for points, hands in sums]
    assert gained.mean == pytest.approx((again[0] - again[1]).mean(), abs=0.03)
    assert gained.half == pytest.approx(1.96 * (again[0] - again[1]).std(), rel=0.1)
    assert gained.half < 0.95 * np.hypot(one.points.half, other.points.half)
