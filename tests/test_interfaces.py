"""Faces for others: self-play, masks in libraries' dialects, PettingZoo, sb3-contrib, rendering."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import pickle
import warnings
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import ginenv
from ginenv.engine.actions import PASS, PHASE_OVER, UPCARD
from ginenv.engine.cards import card_name, cards_of
from ginenv.engine.state import NO_CARD
from ginenv.envs.wrappers import MaskedObservation
from ginenv.errors import GinError, IllegalActionError
from ginenv.tables.players import make_player
from ginenv.view.wording import last_draw, my_holding, opponent_holding
from tests.support.refusals import refuses
from tests.support.vector_scenes import assert_same


def needs(library: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(library) is None, reason=f"{library} is not installed")


# --- self-play -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("episode", ["hand", "game"])
def test_self_play_hands_over_the_seat_to_move(episode: str) -> None:
    game, env = ginenv.SelfPlay("ht1", episode), ginenv.HandEnv("random", "ht1", seat=0)
    game.reset(seed=3)
    env.reset(seed=3, options={"starter": 0})
    assert game.view(0)[0]["hand"] in (env.view["hand"], env.hand.view(1)[0]["hand"])
    rng = np.random.default_rng(0)
    seats = set()
    paid = np.zeros(2)
    game.reset(seed=7)
    while not game.over:
        view = game.view()[0]
        assert view["to_move"] and view["seat"] == game.seat
        observation, mask = game.observe()
        other, other_mask = game.observe(1 - game.seat)
        assert mask.any() and not other_mask.any() and not np.array_equal(observation, other)
        seats.add(game.seat)
        game.step(rng.choice(np.nonzero(mask)[0]))
        assert sum(game.rewards) == 0
        paid += game.rewards
    assert seats == {0, 1}
    end = game.view(0)[0]
    assert paid[0] == (end["score"][0] - end["score"][1] if episode == "game" else end["points"])
    with pytest.raises(ResetNeeded):
        game.step(0)


def test_self_play_in_a_batch_follows_the_single_one() -> None:
    batch, one = ginenv.SelfPlayBatch(9, "eaai"), ginenv.SelfPlay("eaai")
    batch.reset(seed=40)
    one.reset(seed=44)
    ended = 0
    for _ in range(200):
        actions = batch.masks.argmax(axis=1)
        observation, mask = one.observe()
        assert np.array_equal(observation, batch.observations[4]) and np.array_equal(mask, batch.masks[4])
        assert one.seat == batch.seats[4]
        rewards, done = batch.step(actions)
        one.step(int(mask.argmax()))
        assert one.rewards[0] == rewards[4] and one.over == done[4]
        if one.over:
            ended += 1
            one.reset()
    assert ended > 0
    masks, observations = batch.masks.copy(), batch.observations.copy()
    with pytest.raises(IllegalActionError):
        batch.step(batch.masks.argmin(axis=1))
    with refuses(GinError, "seet", "seat"):
        batch.reset(options={"seet": 0})
    assert np.array_equal(batch.masks, masks) and np.array_equal(batch.observations, observations)


# --- masks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "name", "mask_name", "dtype"),
    [("rllib", "observations", "action_mask", np.float32), ("tianshou", "obs", "mask", np.bool_)],
)
def test_masks_stand_where_the_library_looks(dialect: Any, name: str, mask_name: str, dtype: type) -> None:
    env = MaskedObservation(gym.make("Gin/Hand-v0", opponent="simple"), dialect)
    observation, info = env.reset(seed=0)
    over = False
    while not over:
        assert set(observation) == {name, mask_name} and env.observation_space.contains(observation)
        assert observation[mask_name].dtype == dtype
        assert np.array_equal(observation[mask_name].astype(np.int8), info["action_mask"])
        observation, _, over, _, info = env.step(np.int64(observation[mask_name].argmax()))
    with refuses(GinError, "rlib", "rllib"):
        MaskedObservation(gym.make("Gin/Hand-v0", opponent="simple"), "rlib")


# --- other libraries -------------------------------------------------------------------------------------------------


@pytest.mark.extra
@needs("pettingzoo")
def test_pettingzoos_own_tests_pass() -> None:
    from pettingzoo.test import api_test, render_test, seed_test

    from ginenv.adapters import pettingzoo as adapter

    def make(**options: Any) -> Any:
        return adapter.env(episode="game", **options)

    with warnings.catch_warnings(record=True) as message, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        api_test(make(), num_cycles=200)
        seed_test(make, num_cycles=60)
        render_test(make)
    # Said of every observation that is a dictionary with a mask, PettingZoo's own games included.
    unusual = [str(each.message) for each in message if not str(each.message).startswith("Observation")]
    assert not unusual


@pytest.mark.extra
@needs("pettingzoo")
def test_pettingzoos_rewards_are_the_hands_points() -> None:
    from ginenv.adapters import pettingzoo as adapter

    table = adapter.env(rules="eaai")
    player = make_player("simple")
    for seed in range(10):
        table.reset(seed=seed)
        inner: Any = table.unwrapped
        paid = dict.fromkeys(table.agents, 0.0)
        for agent in table.agent_iter():
            _, reward, over, _, _ = table.last()
            paid[agent] += reward
            table.step(None if over else int(player.act(inner._game.view())[0]))
        assert paid["player_0"] == -paid["player_1"] == inner._game.view(0)[0]["points"]
    # An illegal action loses.
    table.reset(seed=0)
    agent = table.agent_selection
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.step(int(table.observe(agent)["action_mask"].argmin()))
    assert table.terminations[agent] and table.rewards[agent] == -100


def _pettingzoo() -> Any:
    return pytest.importorskip("ginenv.adapters.pettingzoo").env(rules="eaai")


@pytest.mark.parametrize("make", [_pettingzoo, ginenv.SelfPlay, ginenv.GameEnv, partial(ginenv.HandVectorEnv, 3)])
def test_a_copy_plays_on_from_where_its_original_is(make: Any) -> None:
    """A deep copy and a pickle, in mid-hand; what either plays later does not touch the other."""

    def play(table: Any, steps: int) -> list[Any]:
        seen = []
        for _ in range(steps):
            if hasattr(table, "agent_iter"):
                seen.append(table.last())
                table.step(int(seen[-1][0]["action_mask"].argmax()))
            elif hasattr(table, "observe"):
                seen.append(table.observe())
                table.step(int(seen[-1][1].argmax()))
            else:
                seen.append(table.step(table.action_masks().argmax(axis=-1))[:3])
        return seen

    table = make()
    table.reset(seed=9)
    play(table, 3)
    copies = [copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    expected = play(table, 5)
    for one in copies:
        for a, b in zip(play(one, 5), expected, strict=True):
            assert_same(dict(enumerate(a)), dict(enumerate(b)))


@pytest.mark.extra
@needs("torchrl")
@pytest.mark.parametrize("form", ["single", "vector"])
def test_torchrls_random_actions_are_legal(form: str) -> None:
    import torch
    from torchrl.envs import GymEnv, GymWrapper

    from ginenv.adapters.torchrl import with_masks

    if form == "vector":
        envs = gym.make_vec("Gin/Hand-v0", num_envs=3, opponent="random", autoreset_mode="disabled")
        table = with_masks(GymWrapper(envs, categorical_action_encoding=True))
    else:
        table = with_masks(GymEnv("ginenv:Gin/Hand-v0", categorical_action_encoding=True, opponent="random"))
    played = table.rollout(150, break_when_any_done=False)
    table.close()
    assert played["next", "done"].any() and played["action_mask"].dtype == torch.bool
    assert played["action_mask"].gather(-1, played["action"][..., None]).all()


@pytest.mark.extra
@needs("sb3_contrib")
def test_stable_baselines_plays_the_vector_environment() -> None:
    from sb3_contrib.common.maskable.utils import get_action_masks

    from ginenv.adapters.sb3 import GinVecEnv

    options: dict[str, Any] = {"opponent": "random", "observation": "flat"}
    tables, twin = GinVecEnv(gym.make_vec("Gin/Hand-v0", num_envs=3, **options)), ginenv.HandVectorEnv(3, **options)
    tables.seed(5)
    observations, expected = tables.reset(), twin.reset(seed=5)[0]
    ended = 0
    while not ended:
        assert np.array_equal(observations, expected)
        masks = get_action_masks(tables)
        assert np.array_equal(tables.env_method("action_masks", indices=[2]), masks[2:])
        observations, rewards, done, infos = tables.step(masks.argmax(axis=1))
        expected, paid, _, _, given = twin.step(masks.argmax(axis=1))
        assert np.array_equal(rewards, paid)
        for table in np.flatnonzero(done):
            assert np.array_equal(infos[table]["terminal_observation"], given["final_obs"][table])
        ended += done.sum()
    again = tables.reset()
    assert not np.array_equal(again, twin.reset(seed=5)[0]), "a seed is used once"
    for wrong in (gym.make_vec("Gin/Hand-v0", num_envs=2, autoreset_mode="next_step"), gym.make("Gin/Hand-v0")):
        with refuses(GinError, "same_step", "disabled"):
            GinVecEnv(wrong)


@pytest.mark.extra
@needs("sb3_contrib")
def test_stable_baselines_steps_through_wrappers() -> None:
    from gymnasium.wrappers import vector

    from ginenv.adapters.sb3 import GinVecEnv

    envs: Any = gym.make_vec("Gin/Hand-v0", num_envs=3, autoreset_mode="disabled", opponent="random")
    tables: Any = GinVecEnv(vector.TransformReward(envs, lambda rewards: rewards + 1))
    plain: Any = GinVecEnv(gym.make_vec("Gin/Hand-v0", num_envs=3, opponent="random"))
    tables.seed(5), plain.seed(5)
    assert np.array_equal(tables.reset(), plain.reset())
    ended = 0
    while ended < 4:
        actions = np.array(plain.env_method("action_masks")).argmax(axis=1)
        found, expected = tables.step(actions), plain.step(actions)
        assert all(
            np.array_equal(a, b) for a, b in zip(found[:3], (expected[0], expected[1] + 1, expected[2]), strict=True)
        )
        for one, other in zip(found[3], expected[3], strict=True):
            assert np.array_equal(one.get("terminal_observation"), other.get("terminal_observation"))
        ended += found[2].sum()


# --- rendering -------------------------------------------------------------------------------------------------------


def test_text_shows_what_the_seat_sees_and_nothing_else() -> None:
    env = ginenv.HandEnv("formula", "eaai", render_mode="ansi")
    player = make_player("formula")
    for seed in range(4):
        env.reset(seed=seed)
        over = False
        while not over:
            text = env.render()
            view = env.view
            for kind, cards in (*my_holding(view).melds, *opponent_holding(view).melds):
                assert len({card % 13 if kind == "set" else card // 13 for card in cards}) == 1 and len(cards) >= 3
            hidden = int(env.hand.state["hands"][0][1 - int(view["seat"])]) & int(view["unseen"])
            for card in cards_of(int(view["hand"])):
                assert card_name(card, symbols=True) in text
            if view["phase"] != PHASE_OVER:
                for card in cards_of(hidden):
                    assert card_name(card, symbols=True) not in text
            assert f"knock at {int(view['limit'])}" in text and f"{int(view['stock'])} cards" in text
            _, _, over, _, _ = env.step(player.act(np.atleast_1d(env.view))[0])


def test_the_last_card_taken_is_named() -> None:
    env = ginenv.HandEnv("random", "eaai", seat=0)
    env.reset(seed=0, options={"starter": 0})
    assert last_draw(env.view) is None
    upcard = int(env.view["upcard"])
    env.step(UPCARD)
    assert last_draw(env.view) == (0, upcard)
    game = ginenv.SelfPlay("eaai")
    game.reset(seed=0, options={"starter": 1})
    for _ in range(2):
        game.step(PASS)
    assert last_draw(game.view(1)[0]) == (0, NO_CARD) and last_draw(game.view(0)[0]) == (1, NO_CARD)


def test_a_person_sees_the_table_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ginenv.HandEnv("simple", render_mode="human").reset(seed=0)
    assert "pile" in capsys.readouterr().out
