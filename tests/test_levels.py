"""Levels at play: what they notice, how they err, what they learn and forget."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from test_search import mid_hand

import ginenv
from agents.arena import play_match
from agents.arena.series import play_series
from agents.config import parse_config
from agents.levels.choice import choose, describe
from agents.levels.coach import teach
from agents.levels.features import FEATURES, NUM_WEIGHTS
from agents.levels.level import NAMES, Level, LevelSettings, load_level
from agents.levels.player import LevelPlayer
from agents.network.bounds import NOTHING, blank
from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer
from ginenv.bots.hand_kernels import remembered
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD, UPCARD
from ginenv.engine.melds import card_points, deadwood
from ginenv.tables.players import make_player
from ginenv.view.encoding import encode_views
from ginenv.view.view import VIEW, action_masks, make_views
from tests.support.level_scenes import decisions, hands_of

# --- bounds and choices ---------------------------------------------------------------------------------------------------------


def positions(count: int = 40) -> np.ndarray:
    """Views of discards some way into hands."""
    views = decisions()
    return views[(views["phase"] == PHASE_DISCARD) & (views["num_pile"] > 5)][:count].copy()


def test_a_beginner_cannot_tell_what_it_does_not_remember() -> None:
    for view in positions():
        other = view.copy()
        # The same hand with another card at the bottom of the pile, one of the unseen.
        bottom, fresh = 1 << int(view["pile"][0]), int(view["unseen"]) & -int(view["unseen"])
        other["pile_cards"] = int(view["pile_cards"]) & ~bottom | fresh
        if int(view["thrown"][1]) & bottom:
            other["thrown"][1] = int(view["thrown"][1]) & ~bottom | fresh
        other["refused"][1] = 0
        rows = encode_views(np.array([view, other], VIEW))
        assert (rows[0] != rows[1]).any()
        for k, seen in enumerate((view, other)):
            blank(seen, remembered(seen, 3), NOTHING, rows[k])
        # Its own discards are not part of the observation, so nothing else differs.
        assert (rows[0] == rows[1]).all()


def chosen(views: np.ndarray, logits: np.ndarray, tries: int = 60, **changes: float) -> np.ndarray:
    behaviour = parse_config({"title": "t"} | changes, LevelSettings).behaviour
    choices = describe(views, behaviour, np.zeros(NUM_WEIGHTS), 1)
    rng, actions = np.random.default_rng(1), []
    for _ in range(tries):
        choices["word"] = rng.integers(0, 2**64, len(views), dtype=np.uint64)
        actions.append(choose(choices, logits.copy(), softens=False)[0])
    return np.stack(actions)


def test_errors_are_bounded_in_points_and_grow_as_choices_are_close() -> None:
    views = positions()
    logits = np.random.default_rng(2).normal(0, 0.3, (len(views), 107)).astype(np.float32)
    actions = chosen(views, logits, temperature=3.0, max_logit_gap=60, max_extra_deadwood=4)
    for i, view in enumerate(views):
        allowed = [card for card in range(52) if int(view["legal"][0]) >> card & 1]
        left = {card: int(deadwood(int(view["hand"]) & ~(1 << card))) for card in allowed}
        favourite = max(allowed, key=lambda card: logits[i, card])
        for action in actions[:, i]:
            if action < KNOCK and action != favourite:
                assert left[int(action)] <= min(left.values()) + 4
    # Of two discards alone in reach, the closer second is played more often.
    shares = []
    for gap in (0.5, 2.0):
        row = np.full((len(views), 107), -50, np.float32)
        first = [min(c for c in range(52) if int(v["legal"][0]) >> c & 1) for v in views]
        second = [max(c for c in range(52) if int(v["legal"][0]) >> c & 1) for v in views]
        row[np.arange(len(views)), first], row[np.arange(len(views)), second] = 0, -gap
        shares.append(
            (chosen(views, row, temperature=1.0, max_logit_gap=6, max_extra_deadwood=99) == np.array(second)).mean()
        )
    assert 0.45 > shares[0] > 0.3 > shares[1] > 0.05


def test_what_is_known_moves_a_level_and_strangers_meet_its_network_alone(level: Level) -> None:
    frozen, learns = LevelPlayer(level, 1, learn=False), LevelPlayer(level, 1)
    points = [play_series(player, make_simple(2), series=6, hands=12, seed=5) for player in (frozen, learns)]
    assert (points[0] != points[1]).any()
    # The first hand is that of strangers.
    assert (points[0][:, 0] == points[1][:, 0]).all()
    assert learns.memory.opponents.records["hands"].max() > 0 and not frozen.memory.opponents.records["hands"].any()


def test_what_is_forgotten_is_as_installed_bit_for_bit_and_series_do_not_depend_on_each_other(level: Level) -> None:
    player = LevelPlayer(level, 1)
    first = play_series(player, make_simple(2), series=4, hands=12, seed=5)
    assert player.memory.opponents.records["hands"].max() > 0
    player.forget(np.arange(4))
    assert (play_series(player, make_simple(2), series=4, hands=12, seed=5) == first).all()
    player.reset(1)
    assert (play_series(player, make_simple(2), series=2, hands=12, seed=5) == first[:2]).all()


def test_installed_levels_play_other_rules() -> None:
    for name in NAMES:
        player = LevelPlayer(load_level(name).with_settings(worlds=0), 1)
        play_series(player, make_formula(2), series=2, hands=2, seed=3, rules="ht2-traditional")


def test_an_environment_remembers_until_it_is_seeded(directory: Path, tmp_path: Path) -> None:
    for memory, expected in (("env", 0), ("profile", 4)):
        player = make_player(f"{directory}:profile={tmp_path}" if expected else str(directory))
        assert isinstance(player, LevelPlayer)
        env = gymnasium.make("Gin/Hand-v0", opponent=player, opponent_memory=memory)
        _, info = env.reset()
        for _ in range(4):
            ended = False
            while not ended:
                action = int(np.flatnonzero(info["action_mask"])[0])
                _, _, ended, _, info = env.step(action)
            _, info = env.reset()
        assert int(player.memory.skills["hands"].max()) >= 4
        env.reset(seed=3)
        assert int(player.memory.skills["hands"].max()) >= expected
        assert expected or int(player.memory.skills["hands"].max()) <= 1


def test_a_level_learns_in_a_match_only_on_request(directory: Path) -> None:
    games = {
        learn: play_match(f"{directory}{learn}", "simple", pairs=6, seed=3).games["points"].tolist()
        for learn in ("", ":learn=false", ":learn=true")
    }
    assert games[""] == games[":learn=false"] != games[":learn=true"]


def play_hands(envs: SyncVectorEnv | ginenv.HandVectorEnv, steps: int) -> list[np.ndarray]:
    """Observations, rewards and ends of steps in which every table plays its last legal action."""
    _, infos = envs.reset(seed=11)
    seen = []
    for _ in range(steps):
        last = infos["action_mask"].shape[1] - 1 - infos["action_mask"][:, ::-1].argmax(1)
        observations, rewards, ended, _, infos = envs.step(last)
        seen.append(np.concatenate([observations.reshape(len(last), -1), rewards[:, None], ended[:, None]], axis=1))
    return seen


def test_a_level_plays_alike_in_the_vector_environment_and_in_single_ones(directory: Path) -> None:
    options: dict[str, Any] = {"opponent": str(directory), "opponent_memory": "env"}
    native = ginenv.HandVectorEnv(5, autoreset_mode="same_step", **options)
    singles = SyncVectorEnv([lambda: ginenv.HandEnv(**options)] * 5, autoreset_mode=AutoresetMode.SAME_STEP)
    for one, other in zip(play_hands(native, 80), play_hands(singles, 80), strict=True):
        np.testing.assert_array_equal(one, other)


# --- search and preferences ---------------------------------------------------------------------------------------------------------


def scene(count: int = 60) -> np.ndarray:
    states = mid_hand(count, moves=(0, 25))
    return make_views(states, states["turn"])


def test_a_level_with_worlds_leaves_every_choice_to_its_search(level: Level) -> None:
    views = scene(40)
    assert {PHASE_UPCARD, PHASE_DRAW, PHASE_DISCARD} == set(views["phase"].tolist())
    slots, plain = np.arange(len(views)), LevelPlayer(level, 3, learn=False)
    for slack in (0.0, 2.0):
        player = LevelPlayer(level.with_settings(worlds=4, slack=slack), 3, learn=False)
        config = parse_config({"worlds": 4, "particles": 64, "slack": slack}, SearchConfig, "a test")
        assert (player.act(views, slots) == SearchPlayer(config, 3, plain.policy).act(views, slots)).all()
    assert (player.act(views, slots) != plain.act(views, slots)).any()


def test_a_search_goes_by_what_its_level_knows(level: Level) -> None:
    views = scene(40)
    slots, searching = np.zeros(len(views), np.int64), level.with_settings(worlds=4)
    frozen, learns = (LevelPlayer(searching, 3, learn=learn) for learn in (False, True))
    assert (learns.act(views, slots) == frozen.act(views, slots)).all()
    for view in hands_of(make_simple(1), make_formula(2), 20):
        learns.observe_hands(np.array([view], VIEW), np.zeros(1, np.int64))
    assert (learns.act(views, slots) != frozen.act(views, slots)).any()
    # Of another opponent nothing is known.
    assert (learns.act(views, slots + 1) == frozen.act(views, slots + 1)).all()


def choices(level: Level, views: np.ndarray, tries: int = 40, /, **settings: Any) -> np.ndarray:
    """What it chooses with other luck: ``[tries, n]``."""
    calm = {"temperature": 0, "draw_temperature": 0, "hand_taste": 0, "max_logit_gap": 60, "max_extra_deadwood": 99}
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
        different = (np.diff(choices(level, views, **settings), axis=0) != 0).any(0)
        assert different[varies].mean() > 0.3 and not different[~varies].any()


def test_habits_change_what_they_are_about_and_gin_is_no_habit(level: Level) -> None:
    views = scene(200)
    discards = views["phase"] == PHASE_DISCARD
    calm, high, upcards, knocks = (
        choices(level, views, 1, habits=habits)[0]
        for habits in ({}, {"points / 10": -4.0}, {"any upcard": 4.0}, {"any knock": 10.0})
    )
    points = [np.mean([card_points(int(a) % KNOCK) for a in actions[discards]]) for actions in (calm, high)]
    assert points[1] < points[0] - 0.5 and (high[~discards] == calm[~discards]).all()
    taken = [(actions[~discards] == UPCARD).mean() for actions in (calm, upcards)]
    assert taken[1] > taken[0] + 0.1 and (upcards[discards] == calm[discards]).all()
    may = views["legal"][:, 1] != 0
    assert (knocks[may] >= KNOCK).all() and (knocks[~may] == calm[~may]).all()


# --- the coach ---------------------------------------------------------------------------------------------------------


def taught(level: Level, hands: int) -> tuple[np.ndarray, int]:
    """By how much the coach moved each bias in some hands of one series, and from how many it taught."""
    player = LevelPlayer(level, 1)
    play_series(player, make_formula(2), series=1, hands=hands, seed=5)
    return player.memory.skills["mean"][1] - level.settings.biases, int(player.memory.skills["hands"][1])


def test_a_level_unlearns_its_habits() -> None:
    moved, hands = taught(load_level("level-1"), 30)
    assert hands == 30 and all(moved[FEATURES.index(name)] < 0 for name in ("any knock", "any upcard"))


def test_who_plays_as_the_coach_does_learns_nothing() -> None:
    moved, hands = taught(load_level("level-3").with_settings(habits={}), 10)
    assert hands == 10 and np.abs(moved).max() < 1e-6


def test_a_lesson_is_the_gradient_and_the_curvature_of_the_agreement_of_policies() -> None:
    """Against finite differences of the cross-entropy of the coach's policy under the level's, at biases a little to either side."""
    views = positions(12)
    rng = np.random.default_rng(3)
    own, coach = rng.normal(0, 8, (2, len(views), 107)).astype(np.float32)
    behaviour, legal = load_level("level-3").settings.behaviour, action_masks(views) > 0

    def lesson(biases: np.ndarray) -> np.void:
        choices = describe(views, behaviour, biases, 1)
        return teach(choices, own.copy(), coach.copy(), np.zeros(len(views), np.int64), 1)[0]

    def loss(biases: np.ndarray) -> float:
        biased = own.astype(np.float64) / 5
        for row, options in zip(biased, describe(views, behaviour, biases, 1)["options"], strict=True):
            for k in range(options["count"]):
                first, last = options["first"][k], options["last"][k]
                row[options["actions"][k]] += options["features"][k, : last - first] @ biases[first:last]
        wanted = _softmax(coach.astype(np.float64) / 5, legal)
        return float((wanted * np.log(np.where(legal, _softmax(biased, legal), 1))).sum())

    at, step = rng.normal(0, 0.3, NUM_WEIGHTS), 1e-4
    for k in (FEATURES.index("points / 10"), FEATURES.index("any knock")):
        move = step * np.eye(NUM_WEIGHTS)[k]
        assert lesson(at)["gradient"][k] == pytest.approx((loss(at + move) - loss(at - move)) / (2 * step), abs=1e-3)
        curve = (lesson(at - move)["gradient"][k] - lesson(at + move)["gradient"][k]) / (2 * step)
        assert lesson(at)["curve"][k, k] == pytest.approx(curve, abs=2e-2)


def _softmax(rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
    found = np.where(legal, np.exp(rows - np.where(legal, rows, -np.inf).max(1, keepdims=True)), 0)
    return found / found.sum(1, keepdims=True)
