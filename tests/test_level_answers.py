"""Levels whose network has answers to kinds of opponents, and where a level errs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from test_level_training import TINY
from test_search import mid_hand

from agents.arena.series import play_series
from agents.bots.heuristics import make_formula, make_simple
from agents.config import ConfigError, parse_config
from agents.files import write_json
from agents.levels.habits import NUM_HABITS
from agents.levels.kinds import KINDS, codes, styles_of_kinds
from agents.levels.level import LEVEL, Level, LevelError, LevelSettings, load_level
from agents.levels.plans import NUM_PLANS, OPPONENT_SPREAD, first_belief
from agents.levels.player import LevelPlayer
from agents.levels.population import Population, PopulationPlayer
from agents.levels.profile import Profile
from agents.levels.training import OPPONENTS, POPULATION, LevelTrainConfig, LevelTrainer
from agents.levels.transfer import build_level
from agents.levels.words import plan_in_words, plans_in_words, what_did_you_learn
from agents.network.checkpoint import save_checkpoint
from agents.network.nets import Actor
from ginenv.actions import KNOCK, PHASE_DISCARD, UPCARD
from ginenv.melds import card_points
from ginenv.view import VIEW, make_views
from tests.support.level_scenes import hands_of, write_small_level


def believing(level: Level, plan: int, **settings: float | bool) -> Level:
    """A level with answers that is sure of one plan."""
    plans = tuple(0.0 if k == plan else -100.0 for k in range(NUM_PLANS))
    return level.with_settings(answers=True, heeds=0.0, plans=plans, **settings)


def scene(count: int = 60) -> np.ndarray:
    states = mid_hand(count, moves=(0, 25))
    return make_views(states, states["turn"])


def test_styles_are_of_their_kinds_and_otherwise_random() -> None:
    styles = styles_of_kinds(400, np.random.default_rng(3))
    gin, hasty, refusing, other = (styles[k :: len(KINDS)] for k in range(len(KINDS)))
    assert (gin["knock"] == 0).all() and (gin["late"] == 0).all()
    assert (hasty["knock"] >= 8).all() and (hasty["late"] == hasty["knock"]).all() and (hasty["turns"] == 99).all()
    assert len(set(refusing["draw"].tolist())) == 1 and len(set(other["draw"].tolist())) > 1
    assert len(set(other["knock"].tolist())) > 3
    for kind in (gin, hasty, refusing, other):
        assert len(set(kind["noise"].tolist())) > 20
    assert len(np.unique(styles)) > 390


def test_every_plan_but_the_default_has_a_code_of_its_own() -> None:
    rows = codes(np.arange(NUM_PLANS))
    assert rows.shape == (NUM_PLANS, NUM_HABITS) and not rows[0].any()
    assert len({tuple(row) for row in rows.tolist()}) == NUM_PLANS


def test_training_tells_the_network_the_kind_and_nothing_else(tmp_path: Path) -> None:
    pool = [{"player": "population:count=8,draw=2,kinds=True"}]
    config = parse_config(TINY | {"pool": pool, "clone_decisions": 0, "blank": 0.3}, LevelTrainConfig)
    trainer = LevelTrainer(config, tmp_path)
    trainer.collect()
    kinds = 1 + np.arange(config.games) % len(KINDS)
    assert (trainer.features == codes(np.where(trainer.knows, kinds, 0))).all()
    assert 0 < trainer.knows.sum() < config.games
    told = np.abs(trainer.known).sum(2) > 0
    assert told.any() and not told[:, ~trainer.knows].any()


def test_a_level_plays_the_answer_it_believes_in(level: Level) -> None:
    views = scene()
    default = LevelPlayer(level, 3, learn=False).act(views)
    played = [LevelPlayer(believing(level, plan), 3, learn=False).act(views) for plan in range(NUM_PLANS)]
    # No number of turns binds it: the default is the level whose plan is to knock as soon as it may.
    assert (played[0] == default).all()
    assert len({tuple(actions.tolist()) for actions in played}) == NUM_PLANS


def test_a_search_is_the_default_of_a_level_with_answers(level: Level) -> None:
    views = scene()
    searched = LevelPlayer(level.with_settings(worlds=4), 3, learn=False).act(views)
    alone = LevelPlayer(believing(level, 0), 3, learn=False).act(views)
    assert (LevelPlayer(believing(level, 0, worlds=4), 3, learn=False).act(views) == searched).all()
    assert (searched != alone).any()
    answer = LevelPlayer(believing(level, 2), 3, learn=False).act(views)
    assert (LevelPlayer(believing(level, 2, worlds=4), 3, learn=False).act(views) == answer).all()


def test_every_table_plays_its_own_plan(level: Level) -> None:
    views = scene(90)
    slots = np.arange(len(views)) % 3
    sure = level.with_settings(answers=True, heeds=0.0, worlds=4, doubt=0.01, boldness=0.0)
    player = LevelPlayer(sure, 3)
    rows = player.rows_of(np.arange(3), 3)
    player.records["mean"][rows] = np.eye(NUM_PLANS)[[0, 2, 4]]
    played = player.act(views, slots)
    for slot, plan in enumerate((0, 2, 4)):
        alone = LevelPlayer(believing(level, plan, worlds=4), 3, learn=False).act(views, slots)
        assert (played[slots == slot] == alone[slots == slot]).all()
        assert (played[slots != slot] != alone[slots != slot]).any()


def test_a_level_learns_which_answer_pays(level: Level) -> None:
    player = LevelPlayer(believing(level, 0).with_settings(plans=(0.0,) * NUM_PLANS, doubt=6.0, boldness=1.0), 3)
    slots, views = np.zeros(1, np.int64), scene(1)
    views["num_history"] = 0
    for hand in range(150):
        views["hand_luck"] = hand
        plan = int(player._hand_plans(views, slots, player.rows_of(slots, 1))[0][0])
        views["points"] = 30 if plan == 3 else -10
        player.observe_hands(views, slots)
    record = player.records[player.rows_of(slots, 1)[0]]
    assert record["mean"].argmax() == 3 and record["plans"][3, 0] > 75


def test_answers_say_nothing_about_each_other() -> None:
    apart, alike = (first_belief(np.zeros(NUM_PLANS), 2.0, apart)["cov"][0] for apart in (True, False))
    off = ~np.eye(NUM_PLANS, dtype=bool)
    assert (apart[off] == OPPONENT_SPREAD**2).all() and (alike[off] > OPPONENT_SPREAD**2).all()
    assert (np.diag(apart) == np.diag(alike)).all()


def test_words_name_the_answer() -> None:
    assert KINDS[1] in plan_in_words(2, True) and KINDS[1] not in plan_in_words(2, False)
    belief = first_belief(np.array([0.0, 0, 5, 0, 0]), 1.0, True)
    assert KINDS[1] in plans_in_words(belief, 0, True) and "+5.0" in plans_in_words(belief, 0, True)


def test_a_level_with_answers_is_built_with_what_habits_say_of_them(
    tmp_path: Path, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.levels.transfer._ANSWER_HANDS", 2)
    run, checkpoint = tmp_path / "run", tmp_path / "checkpoint"
    LevelTrainer(parse_config(TINY | {"clone_decisions": 0}, LevelTrainConfig), run)
    assert (run / OPPONENTS).exists() and (run / POPULATION).exists()
    write_small_level(checkpoint, population)
    settings = load_level(str(checkpoint)).settings.model_copy(update={"answers": True, "heeds": 0.0, "insight": 1.0})
    built = build_level(tmp_path / "level", "expert", settings, checkpoint, run, {})
    assert np.abs(built.foresight).max() > 0
    # Who plays the answers costs minutes, so what they brought is kept.
    kept = list(run.glob("answers-*.npy"))
    assert len(kept) == 1 and np.load(kept[0]).shape == (8, NUM_PLANS)
    monkeypatch.setattr("agents.levels.transfer.LevelPlayer", None)
    blind = settings.model_copy(update={"insight": 0.0})
    assert not build_level(tmp_path / "blind", "expert", blind, checkpoint, run, {}).foresight.any()
    again = build_level(tmp_path / "again", "expert", settings, checkpoint, run, {})
    assert (again.foresight == built.foresight).all()
    assert json.loads((tmp_path / "again" / LEVEL).read_text())["settings"]["answers"] is True


def test_what_was_learned_of_other_plans_is_set_aside(level: Level, tmp_path: Path) -> None:
    views = np.array(hands_of(make_simple(1), make_formula(2), 4), VIEW)
    turns, answers = level, level.with_settings(answers=True, heeds=0.0)
    for k in range(4):
        LevelPlayer(turns, 1, profile=Profile.open(tmp_path, turns, "anna")).observe_hands(
            views[k : k + 1], np.zeros(1, np.int64)
        )
    kept, other = (Profile.open(tmp_path, one, "anna") for one in (turns, answers))
    start = answers.nothing_learned().start()
    assert (kept.record["mean"] != start["mean"]).any() and kept.whole.hands == 4
    assert (
        (other.record["mean"] == start["mean"]).all() and (other.record["plans"] == 0).all() and other.whole.hands == 0
    )
    assert (other.record["hits"] == kept.record["hits"]).all() and other.record["hands"] == 4
    assert "4 hands seen, points not counted" in what_did_you_learn(tmp_path, answers)
    LevelPlayer(answers, 1, profile=other).observe_hands(views[:1], np.zeros(1, np.int64))
    assert Profile.open(tmp_path, answers, "anna").whole.hands == 1
    assert "in the last 1" in what_did_you_learn(tmp_path, answers)
    # Beside a search the same answers are worth something else.
    assert Profile.open(tmp_path, answers.with_settings(worlds=4), "anna").whole.hands == 0


def test_answers_that_nobody_could_play_are_refused(directory: Path, tmp_path: Path) -> None:
    for settings, wrong in (
        ({"answers": True, "heeds": 0, "bot": True}, "answers must be false"), ({"bot": True, "worlds": 4}, "worlds 0"),
        ({"answers": True}, "heeds must be 0"), ({"answers": True, "heeds": 0, "worlds": 4, "insight": 1}, "must be 0"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=wrong):
            parse_config({"title": "t"} | settings, LevelSettings)
    with pytest.raises(ConfigError, match="worlds"):
        load_level(str(directory)).with_settings(worlds=5000)
    path = tmp_path / "level"
    shutil.copytree(directory, path)
    torch.manual_seed(1)
    save_checkpoint(path, Actor((16,), 0), (16,), {})
    values = json.loads((path / LEVEL).read_text())
    values["weights_sha256"] = json.loads((path / "checkpoint.json").read_text())["weights_sha256"]
    for answers in (False, True):
        values["settings"] |= {"answers": answers, "heeds": 0.0}
        write_json(path / LEVEL, values)
        if answers:
            with pytest.raises(LevelError, match="answers must be false"):
                load_level(str(path))
        else:
            load_level(str(path))


# --- where it errs ----------------------------------------------------------------------------------------------------------------


def chosen(level: Level, views: np.ndarray, tries: int = 40, /, **settings: float) -> np.ndarray:
    """What it chooses with other luck: ``[tries, n]``."""
    calm = {"temperature": 0.0, "draw_temperature": 0.0, "leaning": 0.0, "reach": 60.0, "most_points": 99.0}
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


def test_leanings_to_keep_high_cards_and_to_take_upcards(level: Level) -> None:
    views = scene(200)
    discards = views["phase"] == PHASE_DISCARD
    free, hoards, grabs = (chosen(level, views, 1, **{name: 4.0})[0] for name in ("temperature", "hoards", "grabs"))
    calm = chosen(level, views, 1)[0]
    points = [np.mean([card_points(int(a) % KNOCK) for a in actions[discards]]) for actions in (calm, hoards)]
    assert points[1] < points[0] - 0.5 and (hoards[~discards] == calm[~discards]).all()
    taken = [(actions[~discards] == UPCARD).mean() for actions in (calm, grabs)]
    assert taken[1] > taken[0] + 0.1 and (grabs[discards] == calm[discards]).all()
    assert (free[discards] != calm[discards]).any()


def test_a_population_of_kinds_is_a_player(level: Level) -> None:
    styles = PopulationPlayer(count=8, draw=1, kinds=True).styles
    assert (styles == styles_of_kinds(8, np.random.default_rng(1))).all()
    assert (styles != PopulationPlayer(count=8, draw=1).styles).any()
    points = play_series(
        LevelPlayer(level, 1, learn=False), PopulationPlayer(count=8, draw=1, kinds=True), series=8, hands=4, seed=3
    )
    assert points.shape == (8, 4) and points.any()
    assert (points == play_series(LevelPlayer(level, 1, learn=False), PopulationPlayer(count=8, draw=1, kinds=True),
                                  series=8, hands=4, seed=3)).all()  # fmt: skip
    assert (points != play_series(LevelPlayer(level, 1, learn=False), make_simple(1), series=8, hands=4, seed=3)).any()
