"""The single environment: Gymnasium's contract, what reset and step promise, illegal actions, opponents, rendering."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import ginenv
from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.cards import format_cards
from ginenv.engine.engine import STATE, End
from ginenv.engine.game import set_keys
from ginenv.envs.env import RENDER_MODES, GameEnv, HandEnv, TableEnv
from ginenv.errors import CardError, GinError, IllegalActionError, UnknownNameError
from ginenv.hands.hand import Hand
from ginenv.tables.episode_kernels import GAME_REWARDS, HAND_REWARDS, SEATS
from ginenv.tables.episodes import TableOptions
from ginenv.view.encoding import FLAT_SCALE, PLANES_SHAPE, encode_views
from tests.support.players import CountingPlayer
from tests.support.refusals import refuses

IDS = ("Gin/Hand-v0", "Gin/Game-v0")


def play_episode(env: Any, rng: np.random.Generator, **reset: Any) -> tuple[list[np.ndarray], float, dict[str, Any]]:
    """A random episode: observations, sum of rewards, last info."""
    observation, info = env.reset(**reset)
    observations, total, over = [observation], 0.0, False
    while not over:
        observation, reward, over, _, info = env.step(rng.choice(np.nonzero(info["action_mask"])[0]))
        observations.append(observation)
        total += reward
    return observations, total, info


@pytest.mark.parametrize(("name", "observation"), [(IDS[0], "flat"), (IDS[1], "planes")])
def test_gymnasiums_checker_passes(name: str, observation: str) -> None:
    env = gym.make(name, opponent="simple", observation=observation, render_mode="ansi")
    check_env(env.unwrapped, skip_render_check=False)


def test_public_names_are_there() -> None:
    for name in ginenv.__all__:
        assert getattr(ginenv, name) is not None
    assert "HandEnv" in dir(ginenv)
    with refuses(AttributeError, "HandEnvs"):
        ginenv.HandEnvs  # noqa: B018


@pytest.mark.parametrize("kind", [HandEnv, GameEnv])
def test_the_same_seed_plays_the_same(kind: type[TableEnv]) -> None:
    """Against a player that Python asks too."""
    one, two = kind("formula"), kind(CountingPlayer("formula"))
    a, total, info = play_episode(one, np.random.default_rng(1), seed=11)
    b, other_total, other_info = play_episode(two, np.random.default_rng(1), seed=11)
    c, *_ = play_episode(two, np.random.default_rng(1), seed=12)
    assert (
        total == other_total and info["outcome"] == other_info["outcome"] and info.get("game") == other_info.get("game")
    )
    assert len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert not np.array_equal(a[0], c[0])


def test_a_seed_deals_what_it_deals_elsewhere() -> None:
    env = HandEnv("random", rules="eaai", seat=0)
    env.reset(seed=21)
    states = np.zeros(1, STATE)
    set_keys(states, np.random.default_rng(21))
    assert env.hand.state["key"][0] == states["key"][0]
    assert np.array_equal(Hand.deal("eaai", seed=21).state["deck"][0], env.hand.state["deck"][0])
    # Later episodes follow from the seed too, and differ.
    hands = []
    for _ in range(2):
        env.reset(seed=3)
        hands.append([int(env.view["hand"])] + [int(env.reset()[1] is not None and env.view["hand"]) for _ in range(5)])
    assert hands[0] == hands[1] and len(set(hands[0])) == 6


def test_an_episode_tells_what_happened() -> None:
    env = HandEnv("simple", rules="eaai", seat=1)
    rng = np.random.default_rng(0)
    for seed in range(10):
        _, total, info = play_episode(env, rng, seed=seed)
        outcome = info["outcome"]
        assert env.view["seat"] == 1 and env.opponent == "simple" and not info["illegal_action"]
        assert End(outcome["end"]) != End.NOT_OVER
        assert total == outcome["points"]
        assert np.sign(total) == outcome["won"]
        assert info["action_mask"].all() and info["action_mask"].dtype == np.int8
        state = env.hand.state[0]
        assert outcome["length"] == state["num_history"]
        assert outcome["deadwood"] == state["deadwood"][1]


@pytest.mark.parametrize("reward", ["points", "scaled", "win", "win+points", "total"])
def test_rewards(reward: str) -> None:
    for kind, rules, scale in ((HandEnv, "eaai", 100), (GameEnv, "ht1", 100)):
        if kind is HandEnv and reward in ("win+points", "total"):
            continue
        env = kind("simple", rules=rules, reward=reward)
        for seed in range(2):
            _, total, info = play_episode(env, np.random.default_rng(seed), seed=seed)
            game = info.get("game", info["outcome"])
            score = env.hand.state["score"][0][[env.view["seat"], 1 - env.view["seat"]]]
            points = info["outcome"]["points"] if kind is HandEnv else int(score[0] - score[1])
            expected = {"points": points, "scaled": points / scale, "win": game["won"]}
            if kind is GameEnv:
                expected |= {"win+points": game["won"] + points / scale}
                expected |= {"total": game["total"] - game["opponent_total"]}
                assert max(score) >= 100 and game["hands"] >= game["boxes"] + game["opponent_boxes"]
            assert total == pytest.approx(expected[reward])


def seat_after_reset(env: TableEnv, **options: Any) -> int:
    env.reset(**options)
    return int(env.view["seat"])


def test_seats() -> None:
    for seat in (0, 1):
        env = HandEnv("random", seat=seat)
        assert {seat_after_reset(env, seed=seed) for seed in range(5)} == {seat}
    env = HandEnv("random", seat="alternate")
    assert [seat_after_reset(env, seed=0 if k == 0 else None) for k in range(4)] == [0, 1, 0, 1]
    env = HandEnv("random", seat="random")
    assert 70 < sum(seat_after_reset(env, seed=seed) for seed in range(200)) < 130


def test_a_requested_seat_stays_after_a_redeal() -> None:
    """Under these rules the opponent often knocks before the learner's first move."""
    rules = {"preset": "ht2-simple", "first_turn_knock": True, "ranks": 4, "suits": 4, "hand_size": 3}
    for seat in (0, 1):
        env = HandEnv("simple", rules, seat="random")
        skipped = 0
        for seed in range(60):
            _, info = env.reset(seed=seed, options={"seat": seat})
            assert env.view["seat"] == seat
            skipped += info["skipped_hands"]
        assert skipped > 10
        # It was asked for in one episode, and not for the next.
        assert {seat_after_reset(env) for _ in range(20)} == {0, 1}


def test_a_given_deal_is_dealt() -> None:
    deck = np.random.default_rng(0).permutation(52)
    env = HandEnv("random", rules="eaai", seat=0)
    env.reset(seed=0, options={"deal": deck, "starter": 0})
    assert int(env.view["hand"]) == sum(1 << int(card) for card in deck[:10])
    assert env.view["upcard"] == deck[20] and env.view["started"] == 1
    env.reset(options={"deal": format_cards(deck), "starter": 1, "seat": 1})
    assert env.view["started"] == 1 and env.view["upcard"] == deck[20]


def test_bad_options_are_refused_and_nothing_is_lost() -> None:
    env = HandEnv("random", seat=0)
    env.reset(seed=0)
    before = env.view.copy()
    for error, facts, options in (
        (CardError, ["AS", "2S"], {"deal": [1, 1, *range(2, 52)]}),
        (UnknownNameError, ["startr", "starter"], {"startr": 0}),
        (GinError, ["starter", 0, 1, 2], {"starter": 2}),
        (GinError, ["seat", 0, 1, -1], {"seat": -1}),
    ):
        with refuses(error, *facts):
            env.reset(options=options)
    assert env.view == before


def test_bad_arguments_are_refused() -> None:
    for argument, value, allowed in (
        ("opponent", "simpel", ["simple"]),
        ("rules", "eai", ["eaai"]),
        ("seat", 2, [0, 1, "alternate", "random"]),
        ("observation", "plane", ["planes"]),
        ("reward", "point", ["points"]),
        ("on_illegal", "rase", ["raise"]),
        ("opponent_memory", "profil", ["profile"]),
        ("render_mode", "rgb", ["ansi", "rgb_array", "human"]),
    ):
        with refuses(GinError, value, *allowed):
            HandEnv(**{argument: value})


class Nameless:
    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        return np.zeros(len(views), np.int64)


def test_what_is_no_opponent_is_refused_by_every_environment() -> None:
    opponents: list[tuple[Any, list[Any]]] = [
        (CountingPlayer, ["CountingPlayer"]),
        (Nameless(), ["Nameless", "name", "reset", "act", "observe_hands"]),
        (None, [None]),
        ("nobody at all", ["nobody at all", "simple"]),
    ]
    for made in (HandEnv, partial(ginenv.GameVectorEnv, 2)):
        env: Any = made(opponent="random")
        for opponent, facts in opponents:
            with refuses(GinError, *facts):
                made(opponent=opponent)
            with refuses(GinError, *facts):
                env.set_opponent(opponent)


def test_an_illegal_action_loses() -> None:
    env = HandEnv("simple", rules="eaai")
    _, info = env.reset(seed=1)
    _, reward, over, _, info = env.step(int(np.argmin(info["action_mask"])))
    assert over and reward == -100 and info["illegal_action"] and "outcome" not in info
    assert info["action_mask"].all()
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_what_is_no_action_is_an_error_that_loses_nothing() -> None:
    env, envs = HandEnv("simple", rules="eaai"), ginenv.HandVectorEnv(3, "simple", rules="eaai")
    _, info = env.reset(seed=1)
    _, infos = envs.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    wrongs: list[Any] = [-1, 107, 2**70, 1.0, "take", None]
    for wrong in wrongs:
        with refuses(IllegalActionError, 0, 106, repr(wrong).strip("'")):
            env.step(wrong)
        with pytest.raises(IllegalActionError):
            envs.step([*actions[:2], wrong])
    assert not env.step(int(info["action_mask"].argmax()))[4]["illegal_action"]
    assert not envs.step(actions)[4]["illegal_action"].any()


def test_an_illegal_action_may_be_an_error_that_loses_nothing() -> None:
    env = HandEnv("simple", rules="eaai", on_illegal="raise", seat=0)
    _, info = env.reset(seed=1, options={"starter": 0})
    before = env.view.copy()
    for action, facts in (
        (104, ["104", "draw stock", "105", "take", "106", "pass"]),
        (1000, [1000]),
        ("take", [0, 106, "take"]),
    ):
        with refuses(IllegalActionError, *facts):
            env.step(action)
    assert env.view == before
    assert not env.step(int(np.argmax(info["action_mask"])))[2]


def test_a_knock_above_the_limit_is_a_discard_where_the_rules_say_so() -> None:
    env = HandEnv("simple", rules="dg-standard", seat=0)
    _, info = env.reset(seed=1, options={"starter": 0})
    _, _, _, _, info = env.step(105)
    card = int(np.argmax(info["action_mask"]))
    assert card < 52 and not info["action_mask"][52 + card]
    _, _, over, _, info = env.step(52 + card)
    assert not over and not info["illegal_action"] and (int(env.view["thrown"][0]) >> card) & 1


def test_observations_and_masks_are_those_of_the_view() -> None:
    """And no array is written twice."""
    planes, flat = HandEnv("simple"), HandEnv("simple", observation="flat")
    rng = np.random.default_rng(0)
    a, info = planes.reset(seed=4)
    b, _ = flat.reset(seed=4)
    over = False
    while not over:
        assert a.shape == PLANES_SHAPE and np.array_equal(a.reshape(-1), encode_views(planes.view)[0])
        assert np.array_equal(b, a.reshape(-1) * FLAT_SCALE) and b.dtype == np.float32 and b.shape == (520,)
        assert np.array_equal(planes.action_masks(), info["action_mask"].astype(bool))
        assert np.array_equal(ginenv.action_masks(planes.view)[0], info["action_mask"])
        stored, mask, before = a.copy(), info["action_mask"].copy(), (a, info)
        action = rng.choice(np.nonzero(mask)[0])
        a, _, over, _, info = planes.step(action)
        b = flat.step(action)[0]
        assert np.array_equal(before[0], stored) and np.array_equal(before[1]["action_mask"], mask)
    assert planes.action_masks().all()


def test_an_opponents_illegal_action_is_named() -> None:
    env = HandEnv(CountingPlayer(lambda views, slots: np.full(len(views), 104), "cheat"), rules="eaai", seat=0)
    with refuses(IllegalActionError, "cheat", 104, "draw stock"):
        env.reset(seed=0, options={"starter": 1})


def test_the_opponent_hears_and_forgets() -> None:
    for memory, expected in (("env", 1), ("profile", 0)):
        player = CountingPlayer()
        env = HandEnv(player, opponent_memory=memory)
        rng = np.random.default_rng(0)
        points = [play_episode(env, rng, **({"seed": 1} if k == 0 else {}))[1] for k in range(4)]
        heard = np.concatenate(player.ended)
        assert heard["points"].tolist() == [-point for point in points] and (heard["phase"] == PHASE_OVER).all()
        assert len(player.forgotten) == expected, memory


@pytest.mark.parametrize("face", [HandEnv, partial(ginenv.HandVectorEnv, 2), ginenv.SelfPlay, ginenv.SelfPlayBatch])
def test_nothing_is_played_or_seen_before_a_reset(face: Any) -> None:
    """Nor after a first reset that was refused."""
    table = face()
    names = "step render view views hand observe observations seat seats action_masks".split()
    for _ in range(2):
        for name in (name for name in names if hasattr(type(table), name)):
            with pytest.raises(ResetNeeded):
                getattr(table, name)(*[0] * (name == "step"))
        with pytest.raises(GinError):
            table.reset(seed=1, options={"starter": 2})


def test_help_lists_every_option_with_its_values() -> None:
    named = set(inspect.signature(HandEnv).parameters) - {"options"} | set(TableOptions.__annotations__)
    for kind in (HandEnv, GameEnv):
        shown = pydoc.plain(pydoc.render_doc(kind))
        assert {name for name in named if re.search(rf"\b{name}: ", shown)} == named
        values = [*RENDER_MODES, *SEATS[2:], *(GAME_REWARDS if kind is GameEnv else HAND_REWARDS)]
        values += ["planes", "flat", "terminate", "raise", "env", "profile"]
        assert [value for value in values if f'"{value}"' not in shown] == []


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: gym.make("Gin/Hand-v0", **options),
        lambda **options: gym.make_vec("Gin/Game-v0", num_envs=2, **options),
        ginenv.SelfPlay,
        ginenv.SelfPlayBatch,
    ],
)
def test_an_unknown_option_is_named_beside_those_that_there_are(make: Callable[..., object]) -> None:
    with refuses(TypeError, "'rewards'", "'reward'", "rules"):
        make(rewards="win")
    # What TorchRL looks for.
    with refuses(TypeError, "unexpected keyword argument 'frameskip'"):
        make(frameskip=4)
