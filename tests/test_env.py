"""The single environment: Gymnasium's contract, what reset and step promise, illegal actions, opponents, rendering."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

import ginenv
from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.cards import format_cards
from ginenv.engine.engine import STATE, End
from ginenv.engine.game import set_keys
from ginenv.envs.env import GameEnv, HandEnv, TableEnv
from ginenv.errors import CardError, GinError, IllegalActionError, UnknownNameError
from ginenv.hands.hand import Hand
from ginenv.tables.players import BasePlayer, make_player
from ginenv.view.encoding import FLAT_SCALE, PLANES_SHAPE, encode_views
from tests.support.hidden import deal_hidden_anew

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


class Slow(BasePlayer):
    """A player that Python has to ask: the first legal action."""

    name = "slow"

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        return ginenv.action_masks(views).argmax(axis=1)


class Notebook(Slow):
    """A player that remembers the games it was asked about, and is told how hands ended."""

    name = "notebook"

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[int] = []
        self.forgotten: list[int] = []

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        assert (views["phase"] == PHASE_OVER).all()
        self.heard.extend(views["points"].tolist())

    def forget(self, slots: np.ndarray) -> None:
        self.forgotten.extend(slots.tolist())


@pytest.mark.parametrize("observation", ["planes", "flat"])
@pytest.mark.parametrize("name", IDS)
def test_gymnasiums_checker_passes(name: str, observation: str) -> None:
    env = gym.make(name, opponent="simple", observation=observation, render_mode="ansi")
    check_env(env.unwrapped, skip_render_check=False)


@pytest.mark.parametrize("name", IDS)
def test_a_spec_survives_json(name: str) -> None:
    env = gym.make(name, opponent="easy", rules={"preset": "eaai", "knock_limit": 5}, seat="alternate")
    assert env.spec is not None
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(env.spec.to_json())["kwargs"]["opponent"] == "easy"
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    first, total, _ = play_episode(env, rng, seed=5)
    second, again_total, _ = play_episode(again, other, seed=5)
    assert total == again_total
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_public_names_are_there() -> None:
    for name in ginenv.__all__:
        assert getattr(ginenv, name) is not None
    assert "HandEnv" in dir(ginenv)
    with pytest.raises(AttributeError, match="no attribute 'HandEnvs'"):
        ginenv.HandEnvs  # noqa: B018


@pytest.mark.parametrize("kind", [HandEnv, GameEnv])
def test_the_same_seed_plays_the_same(kind: type[TableEnv]) -> None:
    one, two = kind("formula"), kind("formula")
    a, total, info = play_episode(one, np.random.default_rng(1), seed=11)
    b, other_total, other_info = play_episode(two, np.random.default_rng(1), seed=11)
    c, *_ = play_episode(two, np.random.default_rng(1), seed=12)
    assert total == other_total and info["outcome"] == other_info["outcome"]
    assert len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert not np.array_equal(a[0], c[0])


def test_a_seed_deals_what_it_deals_elsewhere() -> None:
    env = HandEnv("random", rules="eaai", seat=0)
    env.reset(seed=21)
    states = np.zeros(1, STATE)
    set_keys(states, np.random.default_rng(21))
    assert env.hand.state["key"][0] == states["key"][0]
    assert np.array_equal(Hand.deal("eaai", seed=21).state["deck"][0], env.hand.state["deck"][0])


def test_later_episodes_follow_from_the_seed_and_differ() -> None:
    env = HandEnv("random", seat=0)
    hands = []
    for _ in range(2):
        env.reset(seed=3)
        hands.append([int(env.view["hand"])] + [int(env.reset()[1] is not None and env.view["hand"]) for _ in range(5)])
    assert hands[0] == hands[1]
    assert len(set(hands[0])) == 6


def test_an_episode_tells_what_happened() -> None:
    env = HandEnv("simple", rules="eaai", seat=1)
    rng = np.random.default_rng(0)
    for seed in range(30):
        _, total, info = play_episode(env, rng, seed=seed)
        outcome = info["outcome"]
        assert info["seat"] == 1 and env.opponent == "simple" and not info["illegal_action"]
        assert End(outcome["end"]) != End.NOT_OVER
        assert total == outcome["points"]
        assert np.sign(total) == outcome["won"]
        assert info["action_mask"].all() and info["action_mask"].dtype == np.int8
        state = env.hand.state[0]
        assert outcome["length"] == state["num_history"]
        assert outcome["deadwood"] == state["deadwood"][1]


@pytest.mark.parametrize(("reward", "scale"), [("points", 1.0), ("scaled", 0.01), ("win", None)])
def test_rewards_of_a_hand(reward: str, scale: float | None) -> None:
    env = HandEnv("simple", reward=reward)
    for seed in range(5):
        _, total, info = play_episode(env, np.random.default_rng(seed), seed=seed)
        points = info["outcome"]["points"]
        assert total == pytest.approx(np.sign(points) if scale is None else scale * points)


@pytest.mark.parametrize("reward", ["points", "scaled", "win", "win+points", "total"])
def test_rewards_of_a_game(reward: str) -> None:
    env = GameEnv("simple", rules="ht1", reward=reward)
    for seed in range(3):
        _, total, info = play_episode(env, np.random.default_rng(seed), seed=seed)
        points = int(info["score"][0] - info["score"][1])
        game = info["game"]
        expected = {
            "points": points,
            "scaled": points / 100,
            "win": game["won"],
            "win+points": game["won"] + points / 100,
            "total": game["total"] - game["opponent_total"],
        }
        assert total == pytest.approx(expected[reward])
        assert max(info["score"]) >= 100 and game["hands"] >= game["boxes"] + game["opponent_boxes"]


def test_seats() -> None:
    for seat in (0, 1):
        env = HandEnv("random", seat=seat)
        assert {env.reset(seed=seed)[1]["seat"] for seed in range(5)} == {seat}
    env = HandEnv("random", seat="alternate")
    assert [env.reset(seed=0 if k == 0 else None)[1]["seat"] for k in range(4)] == [0, 1, 0, 1]
    env = HandEnv("random", seat="random")
    seats = [env.reset(seed=seed)[1]["seat"] for seed in range(200)]
    assert 70 < sum(seats) < 130


def test_a_seat_that_was_asked_for_stays_when_the_hand_is_dealt_again() -> None:
    """Under these rules the opponent often knocks before the learner's first move."""
    rules = {"preset": "ht2-simple", "first_turn_knock": True, "ranks": 4, "suits": 4, "hand_size": 3}
    for seat in (0, 1):
        env = HandEnv("simple", rules, seat="random")
        skipped = 0
        for seed in range(60):
            _, info = env.reset(seed=seed, options={"seat": seat})
            assert info["seat"] == seat
            skipped += info["skipped_hands"]
        assert skipped > 10
        # It was asked for in one episode, and not for the next.
        assert {env.reset()[1]["seat"] for _ in range(20)} == {0, 1}


def test_a_given_deal_is_dealt() -> None:
    deck = np.random.default_rng(0).permutation(52)
    env = HandEnv("random", rules="eaai", seat=0)
    env.reset(seed=0, options={"deal": deck, "starter": 0})
    assert int(env.view["hand"]) == sum(1 << int(card) for card in deck[:10])
    assert env.view["upcard"] == deck[20] and env.view["started"] == 1
    env.reset(options={"deal": format_cards(deck), "dealer": 0, "seat": 1})
    assert env.view["started"] == 1 and env.view["upcard"] == deck[20]


def test_bad_options_are_refused_and_nothing_is_lost() -> None:
    env = HandEnv("random", seat=0)
    env.reset(seed=0)
    before = env.view.copy()
    with pytest.raises(CardError, match="missing: AS; duplicate: 2S"):
        env.reset(options={"deal": [1, 1, *range(2, 52)]})
    with pytest.raises(UnknownNameError, match="did you mean 'dealer'"):
        env.reset(options={"dealr": 0})
    with pytest.raises(GinError, match="starter must be one of 0, 1, got 2"):
        env.reset(options={"starter": 2})
    with pytest.raises(GinError, match="cannot be dealer and starter"):
        env.reset(options={"starter": 1, "dealer": 1})
    assert env.view == before


@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        ("opponent", "simpel", "did you mean 'simple'"),
        ("rules", "eai", "did you mean 'eaai'"),
        ("seat", 2, "must be one of 0, 1, 'alternate', 'random', got 2"),
        ("seat", "both", "must be one of"),
        ("observation", "plane", "did you mean 'planes'"),
        ("reward", "point", "did you mean 'points'"),
        ("on_illegal", "rase", "did you mean 'raise'"),
        ("opponent_memory", "profil", "did you mean 'profile'"),
        ("render_mode", "rgb", "must be one of 'ansi', 'rgb_array', 'human'"),
    ],
)
def test_bad_arguments_are_refused(argument: str, value: Any, words: str) -> None:
    with pytest.raises(GinError, match=words):
        HandEnv(**{argument: value})


class Nameless:
    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        return np.zeros(len(views), np.int64)


@pytest.mark.parametrize(
    ("opponent", "words"),
    [
        (Notebook, r"expected a Player, got the class Notebook; give an object of it, such as Notebook\(\)"),
        (Nameless(), r"needs name, reset, act, observe_hands; <.*Nameless .*> has no name and no reset and no observe"),
        (None, r"expected a player's name, .* got None"),
        (5, r"expected a player's name, .* got 5"),
        ("nobody at all", "unknown player 'nobody at all'; known: "),
    ],
)
def test_what_is_no_opponent_is_refused_by_every_environment(opponent: Any, words: str) -> None:
    for made in (gym.make, partial(gym.make_vec, num_envs=2)):
        for name in IDS:
            with pytest.raises(GinError, match=words):
                made(name, opponent=opponent)
            env = made(name, opponent="random").unwrapped
            with pytest.raises(GinError, match=words):
                env.set_opponent(opponent)


@pytest.mark.parametrize(("made", "first"), [("HandEnv", "opponent"), ("HandVectorEnv", "num_envs, opponent")])
def test_a_misspelt_argument_is_named_with_the_environment(made: str, first: str) -> None:
    """In Python's own words, by which libraries recognize it."""
    words = rf"{made}.*unexpected keyword argument 'rewrad'.*'reward'.*: {first}, rules, observation, .*seat, reward"
    with pytest.raises(TypeError, match=words):
        getattr(ginenv, made)(rewrad="points")


def test_a_number_is_not_misspelt() -> None:
    with pytest.raises(GinError, match=r"^seat must be one of 0, 1, got -1$"):
        HandEnv("simple").reset(options={"seat": -1})


def test_an_illegal_action_loses() -> None:
    env = HandEnv("simple", rules="eaai")
    for action in (None, -1, 107):
        _, info = env.reset(seed=1)
        wrong = int(np.argmin(info["action_mask"])) if action is None else action
        _, reward, over, _, info = env.step(wrong)
        assert over and reward == -100 and info["illegal_action"] and "outcome" not in info
        assert info["action_mask"].all()
        with pytest.raises(ResetNeeded):
            env.step(0)


def test_an_illegal_action_may_be_an_error_that_loses_nothing() -> None:
    env = HandEnv("simple", rules="eaai", on_illegal="raise", seat=0)
    _, info = env.reset(seed=1, options={"starter": 0})
    before = env.view.copy()
    with pytest.raises(
        IllegalActionError,
        match=r"action 104 \(draw stock\) is not legal.*; legal actions: 105 \(take\), 106 \(pass\)$",
    ):
        env.step(104)
    with pytest.raises(IllegalActionError, match="action 1000 is not legal"):
        env.step(1000)
    with pytest.raises(IllegalActionError, match="action must be a whole number from 0 to 106, got 'take'"):
        env.step("take")
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


def test_masks_agree_in_every_dialect() -> None:
    env = HandEnv("simple")
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    over = False
    while not over:
        assert np.array_equal(env.action_masks(), info["action_mask"].astype(bool))
        assert np.array_equal(ginenv.action_masks(env.view)[0], info["action_mask"])
        _, _, over, _, info = env.step(rng.choice(np.nonzero(info["action_mask"])[0]))
    assert env.action_masks().all()


def test_observations_are_the_encoded_view() -> None:
    planes, flat = HandEnv("simple"), HandEnv("simple", observation="flat")
    a, _ = planes.reset(seed=4)
    b, _ = flat.reset(seed=4)
    assert a.shape == PLANES_SHAPE and b.shape == (520,)
    assert np.array_equal(b, a.reshape(-1) * FLAT_SCALE) and b.dtype == np.float32
    assert np.array_equal(a.reshape(-1), encode_views(planes.view)[0])


def test_no_array_is_written_twice() -> None:
    env = HandEnv("simple")
    observation, info = env.reset(seed=0)
    kept, mask = observation.copy(), info["action_mask"].copy()
    env.step(int(np.argmax(mask)))
    assert np.array_equal(observation, kept) and np.array_equal(info["action_mask"], mask)


def test_a_player_that_python_asks_plays_like_its_compiled_self() -> None:
    class Asked(BasePlayer):
        name = "asked"

        def __init__(self) -> None:
            super().__init__()
            self.inner = make_player("formula")

        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            return self.inner.act(views, slots)

    fast, slow = GameEnv("formula"), GameEnv(Asked())
    a, total, info = play_episode(fast, np.random.default_rng(2), seed=8)
    b, slow_total, slow_info = play_episode(slow, np.random.default_rng(2), seed=8)
    assert total == slow_total and info["game"] == slow_info["game"] and len(a) == len(b)
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_an_opponents_illegal_action_is_named() -> None:
    class Cheat(Slow):
        name = "cheat"

        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            return np.full(len(views), 104)

    env = HandEnv(Cheat(), rules="eaai", seat=0)
    with pytest.raises(IllegalActionError, match=r"player 'cheat': action 104 \(draw stock\) is not legal"):
        env.reset(seed=0, options={"starter": 1})


def test_the_opponent_hears_and_forgets() -> None:
    for memory, expected in (("env", 1), ("profile", 0)):
        player = Notebook()
        env = HandEnv(player, opponent_memory=memory)
        rng = np.random.default_rng(0)
        points = [play_episode(env, rng, **({"seed": 1} if k == 0 else {}))[1] for k in range(4)]
        assert player.heard == [-point for point in points]
        assert len(player.forgotten) == expected, memory


def test_another_opponent_sits_down_at_the_next_reset() -> None:
    env = HandEnv("random")
    env.reset(seed=0)
    env.set_opponent("formula")
    env.step(env.action_masks().argmax())
    assert env.opponent == "random"
    env.reset()
    assert env.opponent == "formula"


@pytest.mark.parametrize("options", ["", ":learn=false"])
def test_an_opponent_is_called_what_it_was_given_as(options: str, directory: Path) -> None:
    for name in ("level-1", str(directory)):
        env = HandEnv(opponent=f"{name}{options}")
        env.reset(seed=1)
        assert env.opponent == f"{name}{options}"


def test_former_opponents_are_forgotten_and_only_new_ones_described() -> None:
    class Counted(Slow):
        described = 0

        @property
        def compiled(self) -> None:
            self.described += 1

    kept = Counted()
    envs = ginenv.HandVectorEnv(2, kept)
    envs.reset(seed=0)
    described = kept.described
    former: list[weakref.ref[Counted]] = []
    for _ in range(10):
        another = Counted()
        former.append(weakref.ref(another))
        envs.set_opponent(another, envs=[1])
        envs.set_opponent(another, envs=[1])
        envs.reset()
        assert another.described == 1
        del another
    assert kept.described == described
    gc.collect()
    # The last one sits at its table, and the one before gave its place to none yet.
    assert sum(one() is not None for one in former) <= 2


def test_skipped_hands_leave_results_unbiased() -> None:
    """Two players that knock as soon as they can: what is paid and what is skipped add up to an even match."""
    rules = {"preset": "ht2-simple", "first_turn_knock": True, "ranks": 4, "suits": 4, "hand_size": 3}
    envs = ginenv.HandVectorEnv(256, "simple", rules)
    player = make_player("simple")
    _, infos = envs.reset(seed=0)
    paid: list[float] = []
    skipped: list[int] = []
    while len(paid) < 6000:
        # Of several hands in one step only the sum is told.
        count, points = infos["skipped_hands"], infos["skipped_points"] @ [1, -1]
        skipped.extend(np.repeat(points / np.maximum(count, 1), count))
        _, rewards, done, _, infos = envs.step(player.act(envs.views))
        paid.extend(rewards[done])
    assert len(skipped) > 500
    assert np.mean(paid) < -1.0  # the hands that were paid alone would mislead
    everything = np.array([*paid, *skipped])
    assert abs(everything.mean()) < 4 * everything.std() / np.sqrt(len(everything))


def test_an_environment_can_be_copied_in_mid_hand() -> None:
    env = HandEnv("formula")
    _, info = env.reset(seed=9)
    _, _, _, _, info = env.step(int(np.argmax(info["action_mask"])))
    twin = copy.deepcopy(env)
    rng, other = np.random.default_rng(4), np.random.default_rng(4)
    for one, chance in ((env, rng), (twin, other)):
        over, now = False, info
        while not over:
            _, reward, over, _, now = one.step(chance.choice(np.nonzero(now["action_mask"])[0]))
        one.last = (reward, now["outcome"])  # type: ignore[attr-defined]
    assert env.last == twin.last  # type: ignore[attr-defined]


def test_gymnasiums_statistics_work() -> None:
    env = RecordEpisodeStatistics(gym.make("Gin/Hand-v0", opponent="simple"))
    _, total, info = play_episode(env, np.random.default_rng(0), seed=0)
    assert info["episode"]["r"] == total


@pytest.mark.parametrize(
    "face",
    [
        partial(HandEnv, render_mode="ansi"),
        partial(ginenv.HandVectorEnv, 2, render_mode="ansi"),
        ginenv.SelfPlay,
        ginenv.SelfPlayBatch,
    ],
)
def test_nothing_is_played_or_seen_before_a_reset(face: Any) -> None:
    """Nor after a first reset that was refused."""
    table = face()
    looks = {
        "step": [0],
        "render": [],
        "view": [],
        "views": [],
        "hand": [],
        "observe": [],
        "observations": [],
        "seat": [],
        "seats": [],
    }
    for _ in range(2):
        for name, given in looks.items():
            if hasattr(type(table), name):
                with pytest.raises(ResetNeeded):
                    getattr(table, name)(*given)
        with pytest.raises(GinError):
            table.reset(seed=1, options={"starter": 2})


def test_what_is_hidden_changes_no_observation() -> None:
    """The opponent's unknown cards and the stock may be permuted; nothing that the learner gets changes."""
    env = HandEnv("simple", rules="eaai")
    rng = np.random.default_rng(7)
    checked = 0
    for seed in range(15):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            views = ginenv.make_views(deal_hidden_anew(env.hand.state, info["seat"], rng), info["seat"])
            assert np.array_equal(encode_views(views), encode_views(env.view))
            assert np.array_equal(ginenv.action_masks(views)[0], info["action_mask"])
            checked += 1
            _, _, over, _, info = env.step(rng.choice(np.nonzero(info["action_mask"])[0]))
    assert checked > 150
