"""Levels at play: what they notice, how they err, what they learn and forget."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import ginenv  # noqa: F401  (registers the environments)
from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer, make_formula, make_simple, style
from agents.config import parse_config
from agents.levels.bench.opponents import Switcher
from agents.levels.choice import LEANING, choose
from agents.levels.habits import COUNTS, HABITS, NUM_HABITS, count_all
from agents.levels.level import NAMES, Level, LevelSettings, load_level
from agents.levels.plans import DRIFT, HAND_NOISE, NUM_PLANS, TURNS, better, draw_plan, first_belief, observe
from agents.levels.player import LevelPlayer
from agents.levels.population import Population
from agents.levels.prior import Whole
from agents.levels.responses import PLANS, best_responses, foresight, smoothed
from agents.levels.transfer import check_plays
from agents.network.bounds import EVERYTHING, NOTHING, blank
from ginenv.actions import KNOCK, PHASE_DISCARD
from ginenv.encoding import encode_views
from ginenv.errors import GinError
from ginenv.melds import deadwood
from ginenv.players import make_player
from ginenv.view import VIEW
from tests.support.level_scenes import hands_of


def rates(opponent: StylePlayer, hands: int = 60) -> dict[str, float]:
    counts = np.zeros(1, COUNTS)
    views = np.array(hands_of(make_simple(2), opponent, hands), VIEW)
    count_all(views, counts, np.zeros(len(views), np.int64))
    found = counts["hits"][0] / np.maximum(counts["chances"][0], 1e-9)
    return dict(zip(HABITS, found.tolist(), strict=True))


# --- habits ---------------------------------------------------------------------------------------------------------------------


def test_habits_tell_opposite_players_apart() -> None:
    everything, nothing = rates(StylePlayer(style("takes-all"))), rates(StylePlayer(style("takes-none")))
    for habit in ("takes the upcard in its first two turns", "takes the upcard in turns three to five"):
        assert everything[habit] == 1 and nothing[habit] == 0
    dreams, knocks = rates(StylePlayer(style("simple", knock=0, late=0))), rates(StylePlayer(style("simple")))
    assert dreams["knocks with points left"] == 0 < knocks["knocks with points left"]
    assert dreams["sits on a hand it could have knocked with, when I end the hand"] > 0.1
    assert knocks["sits on a hand it could have knocked with, when I end the hand"] == 0
    sheds, keeps = rates(StylePlayer(style("sheds-high", high=-3.0))), rates(StylePlayer(style("keeps-high", high=3.0)))
    assert sheds["points of its first discard / 10"] > keeps["points of its first discard / 10"]


def test_habits_agree_with_what_the_views_say() -> None:
    views = np.array(hands_of(make_simple(2), make_formula(3), 50), VIEW)
    counts = np.zeros(1, COUNTS)
    count_all(views, counts, np.zeros(len(views), np.int64))
    by_name = {name: (counts["hits"][0, k], counts["chances"][0, k]) for k, name in enumerate(HABITS)}
    assert by_name["hands that I win"] == ((views["winner"] == 0).sum(), 50)
    assert by_name["goes gin"][0] == ((views["knocker"] == 1) & (views["end"] == 1)).sum()
    assert by_name["points a hand brings me / 25"][0] == pytest.approx(views["points"].sum() / 25, rel=1e-5)
    thrown = sum(bin(int(mask)).count("1") for mask in views["thrown"][:, 1])
    told = sum(by_name[name][1] for name in HABITS if name.startswith("points of") and "discard" in name)
    # All discards but those that end a hand are told; a card thrown twice is one card of the mask.
    assert thrown - 50 <= told <= thrown + 10


def test_nothing_seen_is_exactly_nothing_and_evidence_moves_towards_the_truth(population: Population) -> None:
    empty = np.zeros(1, COUNTS)
    assert not population.features(empty).any()
    k = HABITS.index("takes the upcard later")
    few, many = np.zeros(1, COUNTS), np.zeros(1, COUNTS)
    few["hits"][0, k] = few["chances"][0, k] = 2
    many["hits"][0, k] = many["chances"][0, k] = 200
    assert population.mean[k] < population.rates(few)[0, k] < population.rates(many)[0, k] < 1


def test_population_reads_back_and_refuses_what_is_no_population(population: Population) -> None:
    again = Population.from_json(json.loads(json.dumps(population.to_json())))
    assert np.allclose(again.mean, population.mean, atol=1e-5)
    with pytest.raises(GinError, match="goes gin"):
        Population.from_json(population.to_json() | {"goes gin": [0.1, 0.0, 3]})


# --- bounds and choices ---------------------------------------------------------------------------------------------------------


def positions(count: int = 40) -> np.ndarray:
    """Views of discards some way into hands."""
    seen: list[np.void] = []

    class Watcher(StylePlayer):
        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            seen.extend(view.copy() for view in views[(views["phase"] == PHASE_DISCARD) & (views["num_pile"] > 5)])
            return super().act(views, slots)

    play_series(Watcher(style("simple", knock=0, late=0)), make_formula(1), series=30, hands=1, seed=8)
    return np.array(seen[:count], VIEW)


def test_a_beginner_cannot_tell_what_it_does_not_remember() -> None:
    for view in positions():
        other = view.copy()
        # The same hand with other cards at the bottom of the pile, taken from the unseen ones.
        bottom, fresh = 1 << int(view["pile"][0]), int(view["unseen"]) & -int(view["unseen"])
        for name in ("pile_cards", "thrown"):
            part = other[name] if name == "pile_cards" else other[name][1]
            changed = int(part) & ~bottom | (fresh if int(part) & bottom else 0)
            if name == "pile_cards":
                other[name] = changed
            else:
                other[name][1] = changed
        other["refused"][1] = 0
        rows = encode_views(np.array([view, other], VIEW))
        assert (rows[0] != rows[1]).any()
        for k, seen in enumerate((view, other)):
            blank(seen, 3, NOTHING, rows[k])
        # Its own discards are not part of the observation, so nothing else differs.
        assert (rows[0] == rows[1]).all()


def test_full_bounds_blank_nothing() -> None:
    views = positions()
    rows = encode_views(views)
    before = rows.copy()
    for view, row in zip(views, rows, strict=True):
        blank(view, 32, EVERYTHING, row)
    assert (rows == before).all()


def chosen(views: np.ndarray, logits: np.ndarray, tries: int = 60, **changes: float) -> np.ndarray:
    manner = parse_config({"title": "t", "plans": [0] * NUM_PLANS} | changes, LevelSettings).manner
    legal = np.ascontiguousarray(views["legal"])
    rng = np.random.default_rng(1)
    actions = np.zeros((tries, len(views)), np.int64)
    for k in range(tries):
        words = rng.integers(0, 2**64, len(views), dtype=np.uint64)
        choose(views, manner[0], np.zeros(len(views), LEANING), logits.copy(), legal, words, actions[k])
    return actions


def test_errors_are_bounded_in_points_and_grow_as_choices_are_close() -> None:
    views = positions()
    logits = np.random.default_rng(2).normal(0, 0.3, (len(views), 107)).astype(np.float32)
    actions = chosen(views, logits, temperature=3.0, reach=60, most_points=4)
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
        shares.append((chosen(views, row, temperature=1.0, reach=6, most_points=99) == np.array(second)).mean())
    assert 0.45 > shares[0] > 0.3 > shares[1] > 0.05


def test_temperature_0_plays_the_favourite() -> None:
    views = positions(10)
    logits = np.random.default_rng(2).normal(0, 1, (len(views), 107)).astype(np.float32)
    actions = chosen(views, logits, temperature=0.0, tries=5)
    assert (actions == actions[0]).all()


# --- plans ----------------------------------------------------------------------------------------------------------------------


def test_a_belief_finds_the_better_plan_and_keeps_its_doubt_positive() -> None:
    rng = np.random.default_rng(3)
    worth = np.array([-4.0, -2.0, 0.0, 1.0, 2.0])
    shares = []
    for _ in range(8):
        belief = first_belief(np.array([0.0, -1, -2, -2.5, -3]), 3.0)
        played = []
        for hand in range(400):
            plan = draw_plan(belief[0], np.zeros(NUM_PLANS), 0.6, np.uint64(rng.integers(0, 2**63)))
            observe(belief[0], plan, rng.normal(worth[plan], HAND_NOISE), HAND_NOISE, DRIFT)
            played.append(plan)
            if hand % 100 == 99:
                assert np.linalg.eigvalsh(belief["cov"][0]).min() > 0
        shares.append(worth[played[200:]].mean() - worth[0])
    assert np.mean(shares) > 2.5


def test_a_stranger_meets_what_was_promoted_only_when_it_is_certain() -> None:
    whole = Whole.installed(np.array([0.0, -1, -2, -2.5, -3]), 3.0)
    rng = np.random.default_rng(1)
    assert whole.promoted == 0
    for _ in range(12):
        whole.add(4, rng.normal(6, HAND_NOISE))
    assert whole.promoted == 0 and (whole.start()["mean"] == whole.first["mean"]).all()
    for k in range(3000):
        plan = k % NUM_PLANS
        whole.add(plan, rng.normal(2.0 * plan, HAND_NOISE))
    assert whole.promoted == 4
    gain, doubt = better(whole.start(), 4, 0)
    assert gain > 0 and doubt > 0


def test_plans_decide_when_a_hand_may_be_knocked(level: Level) -> None:
    turns = {}
    for plan in (0, 4):
        beliefs = tuple(-50.0 * (k != plan) for k in range(NUM_PLANS))
        player = LevelPlayer(level.with_settings(plans=beliefs, early_knock=8.0), seed=2, learn=False)
        views = np.array(hands_of(player, make_simple(3), 40, series=4), VIEW)
        mine = views[views["knocker"] == 0]
        turns[TURNS[plan]] = (mine["end"] != 1).mean() if len(mine) else 0.0
    assert turns[0] == 0 and turns[99] > 0.5


def test_responses_are_smoothed_over_habits() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, NUM_HABITS))
    truth = np.stack([np.zeros(300)] * 16 + [2 * features[:, 0]], 1)
    noisy = truth + rng.normal(0, 2, truth.shape)
    assert np.abs(smoothed(features, noisy) - truth).mean() < 0.75 * np.abs(noisy - truth).mean()
    right = best_responses(features, noisy) == 16
    assert right[features[:, 0] > 1].mean() > 0.65 and right[features[:, 0] < -1].mean() < 0.05
    table = foresight(features, np.stack([features[:, 1] * (k == 2) for k in range(17)], 1)[:, PLANS])
    assert table[1, 0] > 0.5 and abs(table[2, 0]) < 0.2


# --- the player -----------------------------------------------------------------------------------------------------------------


def test_frozen_is_what_a_level_that_reads_nothing_plays(level: Level) -> None:
    frozen = play_series(LevelPlayer(level, 1, learn=False), make_simple(2), series=6, hands=12, seed=5)
    blanked = play_series(LevelPlayer(level, 1, blank=True), make_simple(2), series=6, hands=12, seed=5)
    learns = play_series(LevelPlayer(level, 1), make_simple(2), series=6, hands=12, seed=5)
    assert (frozen == blanked).all() and (frozen != learns).any()


def test_what_is_forgotten_is_as_installed_bit_for_bit(level: Level) -> None:
    player = LevelPlayer(level, 1)
    first = play_series(player, make_simple(2), series=4, hands=12, seed=5)
    assert player.records["hands"].max() == 12
    player.forget(np.arange(4))
    assert (play_series(player, make_simple(2), series=4, hands=12, seed=5) == first).all()
    player.reset(1)
    assert (play_series(player, make_simple(2), series=4, hands=12, seed=5) == first).all()


def test_series_do_not_depend_on_each_other(level: Level) -> None:
    together = play_series(LevelPlayer(level, 1), make_formula(2), series=5, hands=8, seed=5)
    again = play_series(LevelPlayer(level, 1), make_formula(2), series=3, hands=8, seed=5)
    assert (together[:3] == again).all()


def test_the_governor_notices_a_change_and_the_level_forgets(level: Level) -> None:
    first, then = style("takes-all", high=3.0), style("formula")
    player = LevelPlayer(level, 1)
    hands = 60
    play_series(player, Switcher(first, first, 0), series=6, hands=hands, seed=5)
    steady = player.records["failures"][1:7].copy()
    player.forget(np.arange(6))
    play_series(player, Switcher(first, then, hands - 20), series=6, hands=hands, seed=5)
    assert steady.sum() <= 1 < player.records["failures"][1:7].sum()


def test_every_level_plays_every_preset(level: Level) -> None:
    check_plays(level)
    for name in NAMES:
        check_plays(load_level(name).with_settings(worlds=0), ["eaai", "ht2-traditional", "gr-oklahoma"])


def test_an_environment_forgets_or_keeps_what_the_level_learned(directory: Path) -> None:
    seen = {}
    for memory in ("none", "env"):
        player = make_player(str(directory))
        assert isinstance(player, LevelPlayer)
        env = gymnasium.make("Gin/Hand-v0", opponent=player, opponent_memory=memory)
        _, info = env.reset(seed=3)
        for _ in range(4):
            ended = False
            while not ended:
                action = int(np.flatnonzero(info["action_mask"])[0])
                _, _, ended, _, info = env.step(action)
            _, info = env.reset()
        seen[memory] = int(player.records["hands"].max())
    assert seen["none"] <= 1 and seen["env"] >= 4
