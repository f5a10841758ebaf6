"""How freely levels choose among what is nearly as good, and how that is measured."""

import numpy as np
from test_search import mid_hand

from agents.config import parse_config
from agents.levels.bench.variety import measure_variety
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD, UPCARD
from ginenv.engine.melds import card_points
from ginenv.view.view import VIEW, make_views
from tests.support.level_scenes import hands_of


def searching(level: Level, **settings: float) -> Level:
    return level.with_settings(worlds=4, **settings)


def test_a_level_with_worlds_leaves_every_choice_to_its_search(level: Level) -> None:
    states = mid_hand(80, moves=(0, 25))
    views = make_views(states, states["turn"])
    assert {PHASE_UPCARD, PHASE_DRAW, PHASE_DISCARD} == set(views["phase"].tolist())
    slots = np.arange(len(views))
    for slack in (0.0, 2.0):
        player = LevelPlayer(searching(level, slack=slack), 3, learn=False)
        config = parse_config({"worlds": 4, "particles": 64, "slack": slack}, SearchConfig, "a test")
        search = SearchPlayer(config, 3, LevelPlayer(level, 3, learn=False).policy)
        assert (player.act(views, slots) == search.act(views, slots)).all()
    assert (player.act(views, slots) != LevelPlayer(level, 3, learn=False).act(views, slots)).any()


def test_a_search_goes_by_what_its_level_knows(level: Level) -> None:
    states = mid_hand(80, moves=(0, 25))
    views = make_views(states, states["turn"])
    slots = np.zeros(len(views), np.int64)
    frozen, learns = (LevelPlayer(searching(level), 3, learn=learn) for learn in (False, True))
    assert (learns.act(views, slots) == frozen.act(views, slots)).all()
    for view in hands_of(make_simple(1), make_formula(2), 20):
        learns.observe_hands(np.array([view], VIEW), np.zeros(1, np.int64))
    assert (learns.act(views, slots) != frozen.act(views, slots)).any()
    # Of another opponent nothing is known.
    others = np.ones(len(views), np.int64)
    assert (learns.act(views, others) == frozen.act(views, others)).all()


def test_variety_is_counted_by_deal_and_costs_what_errors_cost(level: Level) -> None:
    found = measure_variety(level, deals=3, plays=50, cost_hands=2000)
    assert found["different"] > 5 and 1 / found["different"] <= found["commonest"] < 1 and found["cost"]["mean"] != 0
    # Without errors it is the same player, hand for hand.
    calm = level.with_settings(temperature=0.0, draw_temperature=0.0, hand_taste=0.0)
    same = measure_variety(calm, deals=2, plays=20, cost_hands=200)
    assert (same["different"], same["commonest"], same["cost"]["mean"]) == (1, 1, 0)


def scene(count: int = 60) -> np.ndarray:
    states = mid_hand(count, moves=(0, 25))
    return make_views(states, states["turn"])


def chosen(level: Level, views: np.ndarray, tries: int = 40, /, **settings: float) -> np.ndarray:
    """What it chooses with other luck: ``[tries, n]``."""
    calm = {
        "temperature": 0.0,
        "draw_temperature": 0.0,
        "hand_taste": 0.0,
        "max_logit_gap": 60.0,
        "max_extra_deadwood": 99.0,
    }
    player = LevelPlayer(level.with_settings(**(calm | settings)), 3, learn=False)
    rows = []
    for word in range(tries):
        again = views.copy()
        again["luck"] = views["luck"] + np.uint64(word)
        rows.append(player.act(again))
    return np.stack(rows)


def test_draws_and_discards_err_apart(level: Level) -> None:
    views = scene()
    discards = views["phase"] == PHASE_DISCARD
    for settings, varies in (({"temperature": 3.0}, discards), ({"draw_temperature": 3.0}, ~discards)):
        different = (np.diff(chosen(level, views, **settings), axis=0) != 0).any(0)
        assert different[varies].mean() > 0.3 and not different[~varies].any()


def test_high_card_bias_and_upcard_bias(level: Level) -> None:
    views = scene(200)
    discards = views["phase"] == PHASE_DISCARD
    free, high_card_bias, upcard_bias = (
        chosen(level, views, 1, **{name: 4.0})[0] for name in ("temperature", "high_card_bias", "upcard_bias")
    )
    calm = chosen(level, views, 1)[0]
    points = [np.mean([card_points(int(a) % KNOCK) for a in actions[discards]]) for actions in (calm, high_card_bias)]
    assert points[1] < points[0] - 0.5 and (high_card_bias[~discards] == calm[~discards]).all()
    taken = [(actions[~discards] == UPCARD).mean() for actions in (calm, upcard_bias)]
    assert taken[1] > taken[0] + 0.1 and (upcard_bias[discards] == calm[discards]).all()
    assert (free[discards] != calm[discards]).any()
