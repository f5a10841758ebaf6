"""The vector environment: the same as a list of single ones, in both autoreset modes, and what it hands out."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import ginenv
from ginenv.envs import vector
from ginenv.errors import GinError, IllegalActionError
from tests.support.players import CountingPlayer, first_legal
from tests.support.refusals import refuses
from tests.support.vector_scenes import assert_same

KINDS = {"Gin/Hand-v0": ginenv.HandEnv, "Gin/Game-v0": ginenv.GameEnv}


@pytest.mark.parametrize(
    ("name", "mode", "in_python"),
    [
        ("Gin/Hand-v0", "same_step", False),
        ("Gin/Game-v0", "same_step", True),
        ("Gin/Game-v0", "next_step", False),
        ("Gin/Hand-v0", "next_step", True),
        ("Gin/Hand-v0", "disabled", False),
    ],
)
def test_it_is_a_list_of_single_environments(name: str, mode: Any, in_python: bool) -> None:
    """Observations, rewards, ends and infos, key by key, against Gymnasium's own vectorizer, through resets of some tables.

    With and without seeds and options; without autoreset, where episodes are over, otherwise anywhere.
    """
    options = {"rules": "ht1", "seat": "alternate", "reward": "points"}
    opponent: Any = CountingPlayer("knocker", "knocker") if in_python else "knocker"
    envs: Any = gym.make_vec(name, num_envs=5, autoreset_mode=mode, opponent=opponent, **options)
    mode = envs.metadata["autoreset_mode"]
    several = SyncVectorEnv([lambda: KINDS[name](opponent="knocker", **options)] * 5, autoreset_mode=mode)
    one, other = envs.reset(seed=5), several.reset(seed=5)
    assert_same(one, other)
    rng = np.random.default_rng(0)
    ends = illegal = resets = 0
    kept = []
    for step in range(300):
        actions = np.array([rng.choice(np.nonzero(mask)[0]) for mask in envs.action_masks()])
        if step % 50 == 7:
            actions[3] = (actions[3] + 17) % 107
        one, other = envs.step(actions), several.step(actions)
        assert_same(one, other)
        kept.append((one, other))
        ends += one[2].sum()
        illegal += one[-1].get("final_info", one[-1])["illegal_action"].sum()
        over = one[2] if mode is AutoresetMode.DISABLED else rng.random(5) < 0.02
        if over.any():
            how = {"seed": [None, step, 7, None, step], "options": {"seat": step % 2}} if step % 2 else {}
            given = {"reset_mask": over} | how.pop("options", {})
            assert_same(envs.reset(options=given, **how), several.reset(options=dict(given), **how))
            resets += 1
        if step == 200:
            assert_same(envs.reset(), several.reset())
    # Whatever was played since, arrays stay what they were.
    assert_same(*map(tuple, zip(*kept, strict=True)))
    assert ends > 15 and illegal > 0 and resets > 10


def test_without_autoreset_a_step_needs_a_reset() -> None:
    envs = ginenv.HandVectorEnv(3, "simple", autoreset_mode="disabled")
    envs.reset(seed=0)
    done = np.zeros(3, bool)
    while not done.any():
        rows, _, done, _, _ = envs.step(envs.action_masks().argmax(axis=1))
    with refuses(ResetNeeded, np.flatnonzero(done)[0]):
        envs.step(np.zeros(3, int))
    again, _ = envs.reset(options={"reset_mask": done})
    assert np.array_equal(again[~done], rows[~done]) and not np.array_equal(again[done], rows[done])
    envs.step(envs.action_masks().argmax(axis=1))


def test_a_bad_reset_mask_is_refused_and_changes_nothing() -> None:
    envs = ginenv.HandVectorEnv(2, "random")
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset(seed=1)
    before = envs.views
    for mask in ([True, False], np.ones(3, bool), np.array([1, 0]), np.zeros(2, bool), None):
        with refuses(GinError, "reset_mask", 2):
            envs.reset(options={"reset_mask": mask})
    assert (envs.views == before).all()


def test_opponents_come_and_go_at_every_table() -> None:
    def guest(name: str) -> CountingPlayer:
        def act(views: np.ndarray, slots: np.ndarray) -> np.ndarray:
            # Whoever is asked in a step may have sat down in it.
            assert all(name in (seated[slot], following[slot]) for slot in slots)
            return first_legal(views)

        return CountingPlayer(act, name)

    envs = ginenv.HandVectorEnv(6, "simple", seat="random")
    seated, following = ["simple"] * 6, ["simple"] * 6
    _, infos = envs.reset(seed=0)
    ended = 0
    for step in range(200):
        names = [f"guest {step}", ("simple", "knocker")[step % 2]]
        if step % 3 == 0:
            envs.set_opponent([guest(names[0]), names[1]])
            following = names * 3
        before = seated
        _, _, done, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        seated = [following[lane] if done[lane] else before[lane] for lane in range(6)]
        assert envs.opponents == seated
        ended += done.sum()
    assert ended > 20


def test_a_step_that_is_broken_off_needs_a_reset() -> None:
    """Else the learner's next actions would be played for the opponent, at tables where it was still to move."""

    def falters() -> CountingPlayer:
        def act(views: np.ndarray, slots: np.ndarray) -> np.ndarray:
            if len(player.calls) == 7:
                raise KeyboardInterrupt
            return first_legal(views)

        player = CountingPlayer(act)
        return player

    for envs in (ginenv.HandVectorEnv(4, falters(), seat=0), ginenv.HandEnv(falters(), seat=0)):
        envs.reset(seed=1)
        with pytest.raises(KeyboardInterrupt):
            for _ in range(50):
                envs.step(envs.action_masks().argmax(axis=-1))
        for _ in range(2):
            with refuses(ResetNeeded, "reset"):
                envs.step(envs.action_masks().argmax(axis=-1))
        envs.reset()
        envs.step(envs.action_masks().argmax(axis=-1))


@pytest.mark.parametrize("difference", [-2, 0, 1])
def test_arrays_are_fresh_however_python_counts_references(monkeypatch: pytest.MonkeyPatch, difference: int) -> None:
    """A version of Python may count more or fewer references for the same code; the constant has to follow."""
    count = sys.getrefcount
    monkeypatch.setattr(sys, "getrefcount", lambda thing: count(thing) + difference)
    spec = importlib.util.spec_from_file_location("vector_under_another_python", vector.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    envs = module.HandVectorEnv(4, "simple")
    returned, infos = envs.reset(seed=0)
    mask = infos.pop("action_mask")
    expected, expected_mask = returned.copy(), mask.copy()
    places = []
    for _ in range(5):
        rows = envs.step(envs.action_masks().argmax(axis=1))[0]
        places.append(rows.ctypes.data)
        del rows
    assert np.array_equal(returned, expected) and np.array_equal(mask, expected_mask)
    # What nobody holds is written again.
    assert len(set(places)) == 1 and places[0] != returned.ctypes.data


def test_illegal_actions() -> None:
    envs = ginenv.HandVectorEnv(4, "simple", on_illegal="raise")
    _, infos = envs.reset(seed=0)
    # After a step there is an array of old masks that nobody holds.
    masks = envs.step(infos["action_mask"].argmax(axis=1))[-1]["action_mask"]
    before, actions = envs.views, masks.argmax(axis=1)
    wrong = [*actions[:2], masks[2].argmin(), actions[3]]
    with refuses(IllegalActionError, wrong[2], "table 2", *np.flatnonzero(masks[2])):
        envs.step(wrong)
    for shape in (np.zeros(3, np.int64), np.zeros(4)):
        with refuses(IllegalActionError, 4):
            envs.step(shape)
    with refuses(GinError, "seet", "seat"):
        envs.reset(seed=1, options={"seet": 0})
    assert (envs.views == before).all() and np.array_equal(envs.action_masks(), masks)
    envs.step(actions)


def test_bad_arguments_are_refused() -> None:
    with refuses(GinError, "num_envs", 1, 0):
        ginenv.HandVectorEnv(0)
    with refuses(GinError, "samestep", "same_step"):
        ginenv.HandVectorEnv(2, autoreset_mode="samestep")
    with refuses(GinError, 3, 2):
        ginenv.HandVectorEnv(2, "random").reset(seed=[1, 2, 3])


def test_a_seed_that_is_none_changes_nothing() -> None:
    env, same = ginenv.HandVectorEnv(2, "random"), ginenv.HandVectorEnv(2, "random")
    env.reset(seed=7)
    same.reset(seed=7)
    seeds: list[Any] = ["12", {1, 2}, [1, -1], [1, 2.5], [1, "2"], 1.5]
    for seed in seeds:
        with refuses(GinError, "seed"):
            env.reset(seed=seed)
    assert (env.reset()[0] == same.reset()[0]).all()


def test_only_tables_with_a_seed_of_their_own_are_forgotten() -> None:
    player = CountingPlayer("simple", learns=True)
    env = ginenv.HandVectorEnv(3, player)
    env.reset(seed=1)
    player.forgotten.clear()
    env.reset(seed=[5, None, 6])
    assert player.forgotten == [0, 2]


def test_gymnasiums_statistics_add_up() -> None:
    envs = RecordEpisodeStatistics(ginenv.HandVectorEnv(8, "simple", observation="flat"))
    rows, infos = envs.reset(seed=0)
    assert rows.dtype == np.float32 and envs.observation_space.contains(rows)
    total = 0.0
    for _ in range(150):
        _, rewards, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        total += rewards.sum()
    assert envs.episode_count == len(envs.return_queue) > 5
    assert sum(envs.return_queue) == total


def test_render_shows_every_table() -> None:
    envs = ginenv.HandVectorEnv(2, "simple", render_mode="ansi")
    envs.reset(seed=0)
    frames = envs.render()
    assert frames is not None and len(frames) == 2 and all("knock at 10" in frame for frame in frames)


def test_what_a_caller_does_to_the_terminations_leaves_the_final_masks() -> None:
    envs = ginenv.HandVectorEnv(64, "random")
    _, infos = envs.reset(seed=3)
    while True:
        _, _, done, _, infos = envs.step(infos["action_mask"].argmax(1))
        if done.any():
            break
    ended = done.copy()
    done[:] = False
    assert (infos["final_info"]["action_mask"] == ended[:, None]).all()


# What infos report.

SHORT = {"preset": "ht2-simple", "first_turn_knock": True, "ranks": 4, "suits": 4, "hand_size": 3}
# Rules, an opponent, and a first seed with which it soon knocks before the learner's first move.
SCENES = {
    "eaai": ({"preset": "eaai", "target": 100}, "knocker", 250),
    "standard": ("dg-standard", "formula", 20),
    "short": (SHORT, "simple", 6),
}


def observed_points(infos: dict[str, Any]) -> np.ndarray:
    points = infos["outcome"]["points"] if "outcome" in infos else np.zeros(len(infos["skipped_hands"]), int)
    return infos["skipped_points"] + np.maximum(np.stack([points, -points], axis=1), 0)


@pytest.mark.parametrize(
    ("scene", "mode"),
    [("eaai", "same_step"), ("standard", "same_step"), ("short", "same_step"), ("short", "next_step")],
)
def test_observed_hands_add_up_to_the_game(scene: str, mode: str) -> None:
    """Hands and, where games have no bonuses, points."""
    rules, opponent, seed = SCENES[scene]
    count = 6
    envs = ginenv.GameVectorEnv(count, opponent, rules, autoreset_mode=mode)
    _, infos = envs.reset(seed=seed)
    points, hands = np.zeros((count, 2), int), np.zeros(count, int)
    skipped = games = 0
    for _ in range(120):
        # What an episode that ended in this step has to say, then what the one in play has.
        parts = [(infos["final_info"], infos["_final_info"])] if "final_info" in infos else []
        for part, here in [*parts, (infos, np.ones(count, bool))]:
            points[here] += observed_points(part)[here]
            hands[here] += (part["skipped_hands"] + part.get("_outcome", np.zeros(count, int)))[here]
            over = here & part.get("_game", np.zeros(count, bool))
            if over.any():
                game = part["game"]
                assert np.array_equal(game["hands"][over], hands[over])
                if scene != "standard":
                    totals = np.stack([game["total"], game["opponent_total"]], axis=1)
                    assert np.array_equal(totals[over], points[over])
                points[over], hands[over] = 0, 0
                games += over.sum()
            skipped += part["skipped_hands"][here].sum()
        # The highest legal action: knocks whenever it can.
        infos = envs.step(106 - infos["action_mask"][:, ::-1].argmax(axis=1))[-1]
    assert skipped > 0 and games > 0


@pytest.mark.parametrize("kind", [ginenv.HandEnv, ginenv.GameEnv])
def test_every_hand_is_observed_even_without_the_learner(kind: Any) -> None:
    """What an opponent hears of every hand is the oracle. To one point, many a game ends before the learner moves."""
    opponent = CountingPlayer("simple")
    env = kind(opponent, SHORT | {"target": 1})
    observed = skipped = 0
    for seed in range(40):
        over, (_, info) = False, env.reset(seed=seed)
        while True:
            skipped += info["skipped_points"].sum()
            observed += abs(info["outcome"]["points"]) if "outcome" in info else 0
            if over:
                break
            _, _, over, _, info = env.step(106 - info["action_mask"][::-1].argmax())
    heard = np.concatenate(opponent.ended)["points"]
    assert skipped > 20 and observed + skipped == np.abs(heard).sum()
