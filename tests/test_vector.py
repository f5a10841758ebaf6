"""The vector environment: the same as a list of single ones, in both autoreset modes, and what it hands out."""

from __future__ import annotations

import functools
import importlib.util
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import ginenv
from ginenv.envs import vector
from ginenv.errors import GinError, IllegalActionError
from ginenv.tables.players import BasePlayer, make_player
from tests.support.vector_scenes import MODES, assert_same

KINDS = {"Gin/Hand-v0": ginenv.HandEnv, "Gin/Game-v0": ginenv.GameEnv}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", KINDS)
def test_it_is_a_list_of_single_environments(name: str, mode: str) -> None:
    """Observations, rewards, ends and infos, key by key, against Gymnasium's own vectorizer."""
    options = {"opponent": "knocker", "rules": "ht1", "seat": "alternate", "reward": "points"}
    envs: Any = gym.make_vec(name, num_envs=5, autoreset_mode=mode, **options)
    several = SyncVectorEnv([lambda: KINDS[name](**options)] * 5, autoreset_mode=MODES[mode])
    assert envs.metadata["autoreset_mode"] is MODES[mode]
    one, other = envs.reset(seed=5), several.reset(seed=5)
    assert_same(one, other)
    rng = np.random.default_rng(0)
    ends = illegal = 0
    for step in range(400):
        actions = np.array([rng.choice(np.nonzero(mask)[0]) for mask in one[-1]["action_mask"]])
        if step % 50 == 7:
            actions[3] = (actions[3] + 17) % 107
        one, other = envs.step(actions), several.step(actions)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
        ends += one[2].sum()
        illegal += one[-1].get("final_info", one[-1])["illegal_action"].sum()
        if step == 200:
            assert_same(envs.reset(), several.reset())
            one = (None, envs.reset()[1])
            several.reset()
    assert ends > 20 and illegal > 0


@pytest.mark.parametrize("mode", [*MODES, "disabled"])
@pytest.mark.parametrize("name", KINDS)
def test_some_tables_are_reset_as_in_a_list_of_single_environments(name: str, mode: str) -> None:
    """With and without seeds and options; without autoreset, where episodes are over, otherwise anywhere."""
    options = {"opponent": "knocker", "rules": "ht1", "reward": "points"}
    envs: Any = gym.make_vec(name, num_envs=5, autoreset_mode=mode, **options)
    mode = envs.metadata["autoreset_mode"]
    several = SyncVectorEnv([lambda: KINDS[name](**options)] * 5, autoreset_mode=mode)
    one, other = envs.reset(seed=5), several.reset(seed=5)
    rng = np.random.default_rng(0)
    resets = 0
    for step in range(300):
        legal = envs.action_masks()
        one, other = envs.step(legal.argmax(axis=1)), several.step(legal.argmax(axis=1))
        assert_same(dict(zip("ordti", one, strict=True)), dict(zip("ordti", other, strict=True)))
        over = one[2] if mode is AutoresetMode.DISABLED else rng.random(5) < 0.02
        if over.any():
            how = {"seed": [None, step, 7, None, step], "options": {"seat": step % 2}} if step % 2 else {}
            given = {"reset_mask": over} | how.pop("options", {})
            one, other = envs.reset(options=given, **how), several.reset(options=dict(given), **how)
            assert_same(one[0], other[0])
            assert_same(one[1], other[1])
            resets += 1
    assert resets > 15


def test_without_autoreset_a_step_needs_a_reset() -> None:
    envs = ginenv.HandVectorEnv(3, "simple", autoreset_mode="disabled")
    envs.reset(seed=0)
    done = np.zeros(3, bool)
    while not done.any():
        rows, _, done, _, _ = envs.step(envs.action_masks().argmax(axis=1))
    with pytest.raises(ResetNeeded, match=f": {np.flatnonzero(done)[0]}$"):
        envs.step(np.zeros(3, int))
    again, _ = envs.reset(options={"reset_mask": done})
    assert np.array_equal(again[~done], rows[~done]) and not np.array_equal(again[done], rows[done])
    envs.step(envs.action_masks().argmax(axis=1))


@pytest.mark.parametrize("mask", [[True, False], np.ones(3, bool), np.array([1, 0]), np.zeros(2, bool), None])
def test_a_bad_reset_mask_is_refused_and_changes_nothing(mask: Any) -> None:
    envs = ginenv.HandVectorEnv(2, "random")
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset(seed=1)
    before = envs.views
    with pytest.raises(GinError, match=r"reset_mask.* 2 truth values"):
        envs.reset(options={"reset_mask": mask})
    assert (envs.views == before).all()


def test_gymnasiums_own_processes_play_what_its_list_plays() -> None:
    """``AsyncVectorEnv``, each environment in a process of its own, observations in shared memory."""
    # With the module's name before it, a process that was started fresh finds it too.
    make = functools.partial(gym.make, "ginenv:Gin/Hand-v0", opponent="simple", rules="eaai")
    several, one = AsyncVectorEnv([make] * 3), SyncVectorEnv([make] * 3)
    try:
        assert_same(several.reset(seed=5), one.reset(seed=5))
        rng = np.random.default_rng(0)
        masks = one.reset(seed=5)[1]["action_mask"]
        several.reset(seed=5)
        for _ in range(60):
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
            here, there = one.step(actions), several.step(actions)
            for a, b in zip(there, here, strict=True):
                assert_same(a, b)
            masks = here[-1]["action_mask"]
    finally:
        several.close()
        one.close()


def test_one_table_of_many_plays_like_one_alone() -> None:
    envs = ginenv.HandVectorEnv(64, "formula")
    _, infos = envs.reset(seed=100)
    alone = ginenv.HandEnv("formula")
    observation, info = alone.reset(seed=137)
    for _ in range(300):
        actions = infos["action_mask"].argmax(axis=1)
        action = int(info["action_mask"].argmax())
        assert action == actions[37]
        rows, rewards, done, _, infos = envs.step(actions)
        observation, reward, over, _, info = alone.step(action)
        assert rewards[37] == reward and done[37] == over
        if over:
            observation, info = alone.reset()
        assert np.array_equal(rows[37], observation)


def test_golden_results() -> None:
    """Fixed seeds, the same numbers on every machine and at every batch size."""
    totals = []
    for sizes in ((48,), (16, 16, 16)):
        hands = points = steps = 0
        start = 0
        for size in sizes:
            envs = ginenv.HandVectorEnv(size, "formula", "eaai", seat="alternate")
            _, infos = envs.reset(seed=start)
            start += size
            for _ in range(200):
                actions = infos["action_mask"].argmax(axis=1)
                _, rewards, done, _, infos = envs.step(actions)
                hands += int(done.sum())
                points += int(rewards.sum())
                steps += size
        totals.append((hands, points, steps))
    assert totals[0] == totals[1]


def test_several_opponents_are_asked_in_batches() -> None:
    class Asked(BasePlayer):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name
            self.calls: list[int] = []

        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            assert slots is not None and (slots % 3 == (0 if self.name == "a" else 1)).all()
            self.calls.append(len(views))
            return ginenv.action_masks(views).argmax(axis=1)

    a, b = Asked("a"), Asked("b")
    envs = ginenv.HandVectorEnv(30, [a, b, "simple"], "eaai", seat=0)
    _, infos = envs.reset(seed=0)
    assert envs.opponents == ["a", "b", "simple"] * 10
    for _ in range(60):
        _, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
    assert max(a.calls) > 5 and max(b.calls) > 5
    envs.set_opponent("random", envs=[0])
    for _ in range(120):
        _, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
    assert envs.opponents[0] == "random" and envs.opponents[3] == "a"


def test_opponents_come_and_go_at_every_table() -> None:
    class Guest(BasePlayer):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            assert slots is not None
            # Whoever is asked in a step may have sat down in it.
            assert all(self.name in (seated[slot], following[slot]) for slot in slots)
            return ginenv.action_masks(views).argmax(axis=1)

    envs = ginenv.HandVectorEnv(6, "simple", seat="random")
    seated, following = ["simple"] * 6, ["simple"] * 6
    rng = np.random.default_rng(5)
    _, infos = envs.reset(seed=0)
    ended = 0
    for step in range(400):
        lanes = rng.choice(6, 2, replace=False)
        names = [f"guest {step}", ("simple", "knocker")[step % 2]]
        if step % 3 == 0:
            envs.set_opponent([Guest(names[0]), names[1]], envs=lanes)
            for lane, name in zip(lanes, names, strict=True):
                following[lane] = name
        before = seated
        _, _, done, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        seated = [following[lane] if done[lane] else before[lane] for lane in range(6)]
        assert envs.opponents == seated
        ended += done.sum()
    assert ended > 50


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), ZeroDivisionError()])
def test_a_step_that_is_broken_off_needs_a_reset(fault: BaseException) -> None:
    """Else the learner's next actions would be played for the opponent, at tables where it was still to move."""

    class Falters(BasePlayer):
        name = "falters"
        calls = 0

        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            self.calls += 1
            if self.calls == 7:
                raise fault
            return ginenv.action_masks(views).argmax(axis=1)

    for envs in (ginenv.HandVectorEnv(4, Falters(), seat=0), ginenv.HandEnv(Falters(), seat=0)):
        envs.reset(seed=1)
        with pytest.raises(type(fault)):
            for _ in range(50):
                envs.step(envs.action_masks().argmax(axis=-1))
        for _ in range(2):
            with pytest.raises(ResetNeeded, match="broken off while opponents were asked; call reset first"):
                envs.step(envs.action_masks().argmax(axis=-1))
        envs.reset()
        envs.step(envs.action_masks().argmax(axis=-1))


def test_a_batch_that_python_asks_equals_the_compiled_one() -> None:
    class Asked(BasePlayer):
        name = "knocker"

        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            return make_player("knocker").act(views, slots)

    fast, slow = ginenv.GameVectorEnv(8, "knocker"), ginenv.GameVectorEnv(8, Asked())
    one, other = fast.reset(seed=1), slow.reset(seed=1)
    for _ in range(150):
        actions = one[-1]["action_mask"].argmax(axis=1)
        one, other = fast.step(actions), slow.step(actions)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)


def test_final_values_belong_to_the_old_episode() -> None:
    envs = ginenv.HandVectorEnv(32, "simple")
    _, infos = envs.reset(seed=0)
    seen = 0
    for _ in range(200):
        rows, rewards, done, truncated, infos = envs.step(infos["action_mask"].argmax(axis=1))
        assert not truncated.any()
        if not done.any():
            assert "final_info" not in infos
            continue
        final = infos["final_info"]
        assert np.array_equal(infos["_final_info"], done) and np.array_equal(final["_outcome"], done)
        assert np.array_equal(final["outcome"]["points"][done], rewards[done])
        assert (final["action_mask"][done] == 1).all() and (infos["action_mask"].sum(axis=1) < 107).all()
        for lane in np.nonzero(done)[0]:
            seen += 1
            old = infos["final_obs"][lane]
            assert old.shape == rows[lane].shape and not np.array_equal(old, rows[lane])
            assert rows[lane, 9, 0, 10] <= 2  # actions so far in the new hand
    assert seen > 50


def test_arrays_are_fresh_unless_asked_otherwise() -> None:
    for fresh in (True, False):
        envs = ginenv.HandVectorEnv(4, "simple", copy=fresh)
        first, infos = envs.reset(seed=0)
        mask = infos["action_mask"]
        kept, kept_mask = first.copy(), mask.copy()
        for _ in range(5):
            _, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        assert np.array_equal(first, kept) == fresh and np.array_equal(mask, kept_mask) == fresh


@pytest.mark.parametrize("difference", [-3, -2, -1, 0, 1])
def test_arrays_are_fresh_however_python_counts_references(monkeypatch: pytest.MonkeyPatch, difference: int) -> None:
    """A version of Python may count more or fewer references for the same code; the constant has to follow."""
    count = sys.getrefcount
    monkeypatch.setattr(sys, "getrefcount", lambda thing: count(thing) + difference)
    spec = importlib.util.spec_from_file_location("vector_under_another_python", vector.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    envs = module.HandVectorEnv(4, "simple")
    held, infos = envs.reset(seed=0)
    mask = infos.pop("action_mask")
    kept, kept_mask = held.copy(), mask.copy()
    places = []
    for _ in range(5):
        rows = envs.step(envs.action_masks().argmax(axis=1))[0]
        places.append(rows.ctypes.data)
        del rows
    assert np.array_equal(held, kept) and np.array_equal(mask, kept_mask)
    # What nobody holds is written again.
    assert len(set(places)) == 1 and places[0] != held.ctypes.data


def test_illegal_actions() -> None:
    envs = ginenv.HandVectorEnv(4, "simple", on_illegal="raise")
    _, infos = envs.reset(seed=0)
    # After a step there is an array of old masks that nobody holds.
    _, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
    before = envs.views
    actions = infos["action_mask"].argmax(axis=1)
    actions[2] = infos["action_mask"][2].argmin()
    with pytest.raises(IllegalActionError, match=r"is not legal in the .* phase; legal actions: .* at table 2"):
        envs.step(actions)
    assert (envs.views == before).all()
    assert np.array_equal(envs.action_masks(), infos["action_mask"])
    with pytest.raises(GinError, match="did you mean 'seat'"):
        envs.reset(seed=1, options={"seet": 0})
    assert np.array_equal(envs.action_masks(), infos["action_mask"])
    actions[2] = infos["action_mask"][2].argmax()
    envs.step(actions)
    with pytest.raises(IllegalActionError, match="4 whole numbers"):
        envs.step(np.zeros(3, np.int64))
    ragged: Any = [[1, 2], [3], [4], [5]]
    with pytest.raises(IllegalActionError, match=r"4 whole numbers, .*not lists of different lengths"):
        envs.step(ragged)
    with pytest.raises(IllegalActionError, match="4 whole numbers"):
        envs.step(np.zeros(4))


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(GinError, match="num_envs must be a whole number of at least 1, got 0"):
        ginenv.HandVectorEnv(0)
    with pytest.raises(GinError, match="did you mean 'same_step'"):
        ginenv.HandVectorEnv(2, autoreset_mode="samestep")
    with pytest.raises(GinError, match="3 seeds are given for 2"):
        ginenv.HandVectorEnv(2, "random").reset(seed=[1, 2, 3])


@pytest.mark.parametrize("seed", ["12", {1, 2}, [1, -1], [1, 2.5], [1, "2"], 1.5])
def test_a_seed_that_is_none_changes_nothing(seed: Any) -> None:
    env, same = ginenv.HandVectorEnv(2, "random"), ginenv.HandVectorEnv(2, "random")
    env.reset(seed=7)
    same.reset(seed=7)
    with pytest.raises(GinError, match="seed must be a whole number"):
        env.reset(seed=seed)
    assert (env.reset()[0] == same.reset()[0]).all()


def test_tables_are_chosen_by_their_numbers_or_by_truth_values() -> None:
    env = ginenv.HandVectorEnv(3, "random")
    env.set_opponent("simple", np.array([False, True, False]))
    env.set_opponent("knocker", [2])
    env.set_opponent("easy", [])
    env.reset(seed=1)
    assert env.opponents == ["random", "simple", "knocker"]
    for envs in ([3], [-1], [0.5], [True, False], [[0]]):
        with pytest.raises(GinError, match="envs must be a list of whole numbers from 0 to 2, or 3 truth values"):
            env.set_opponent("random", envs)


def test_only_tables_with_a_seed_of_their_own_are_forgotten() -> None:
    class Hears(BasePlayer):
        learns, heard = True, 0
        name = "hears"

        def __init__(self) -> None:
            super().__init__()
            self.forgotten: list[int] = []

        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            return make_player("simple").act(views, slots)

        def forget(self, slots: np.ndarray | None = None) -> None:
            self.forgotten += [] if slots is None else slots.tolist()

    player = Hears()
    env = ginenv.HandVectorEnv(3, player)
    env.reset(seed=1)
    player.forgotten.clear()
    env.reset(seed=[5, None, 6])
    assert player.forgotten == [0, 2]


def test_flat_observations_and_statistics() -> None:
    flat, planes = ginenv.HandVectorEnv(3, "simple", observation="flat"), ginenv.HandVectorEnv(3, "simple")
    rows, _ = flat.reset(seed=1)
    cells, _ = planes.reset(seed=1)
    assert rows.dtype == np.float32 and flat.observation_space.contains(rows)
    assert planes.observation_space.contains(cells)
    envs = RecordEpisodeStatistics(ginenv.HandVectorEnv(8, "simple"))
    _, infos = envs.reset(seed=0)
    total = 0.0
    for _ in range(150):
        _, rewards, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        total += rewards.sum()
    assert len(envs.return_queue) > 5
    assert envs.episode_count == len(envs.return_queue)
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
