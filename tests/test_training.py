"""Rollout arithmetic, checkpoints that refuse what does not fit, configurations."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from agents.cli.train import train
from agents.config import ConfigError, TrainConfig, load_config, parse_config
from agents.levels.level import load_level
from agents.network.checkpoint import (
    METADATA,
    WEIGHTS,
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
)
from agents.network.inputs import NUM_BOTS, NUM_FUTURE
from agents.network.nets import POINT_REWARD, Actor, FrozenActor
from agents.network.player import NetworkPlayer, load_network
from agents.training.batch import STEP, Batch, generalised_advantages
from agents.training.legend import FIGURES, LEGEND, figures_text
from agents.training.run import TrainingRun
from agents.training.selfplay import Rollout
from ginenv.bots.heuristics import make_simple
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.cards import mask_of
from ginenv.engine.melds import deadwood
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from ginenv.view.sampling import sample_action, sample_actions
from tests.support.level_scenes import write_small_level
from tests.support.training_scenes import TINY


def empty_batch(config: TrainConfig) -> Batch:
    return Batch.empty((config.num_steps, config.num_envs), torch.device("cpu"), torch.float32)


def rollout_of(changes: dict, number: int = 0) -> Rollout:
    """Games without opponents that nobody binds to gin, unless the changes say so."""
    quiet = {"minibatch": 16, "gin_only": 0, "commit": 0, "rules": {"eaai": 1}, "seed": 3}
    config = parse_config(quiet | changes)
    return Rollout(config, empty_batch(config), number)


def test_advantages_equal_a_slow_computation_from_each_side() -> None:
    rng = np.random.default_rng(3)
    num_steps, games, lam = 40, 6, 0.9
    steps = np.zeros((num_steps + 1, games), STEP)
    steps["reward"] = rng.normal(size=steps.shape)
    steps["done"] = rng.random(steps.shape) < 0.15
    steps["turn"] = rng.integers(0, 2, steps.shape)
    steps["value"] = rng.normal(size=steps.shape)
    generalised_advantages(steps, lam)
    sign = np.where(steps["turn"] == 0, 1.0, -1.0)
    side0 = steps["value"] * sign
    for g in range(games):
        for t in range(num_steps):
            expected, factor = 0.0, 1.0
            for k in range(t, num_steps):
                following = 0.0 if steps["done"][k, g] else side0[k + 1, g]
                expected += factor * (steps["reward"][k, g] + following - side0[k, g])
                if steps["done"][k, g]:
                    break
                factor *= lam
            assert steps["advantage"][t, g] == pytest.approx(expected * sign[t, g], abs=1e-4)
            assert steps["returns"][t, g] == pytest.approx((expected + side0[t, g]) * sign[t, g], abs=1e-4)


def test_sampling_is_legal_and_follows_the_softmax() -> None:
    n = 40_000
    logits = np.tile(np.arange(107, dtype=np.float32) / 20, (n, 1))
    legal = np.tile(np.array([1 << 3 | 1 << 40, 1 << 2, 0b101], np.int64), (n, 1))
    words = np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64)
    actions = np.empty(n, np.int64)
    sample_actions(logits, legal, words, False, actions)
    allowed = [3, 40, 54, 104, 106]
    chances = np.exp(logits[0, allowed] - logits[0, allowed].max())
    chances /= chances.sum()
    counts = np.array([(actions == action).mean() for action in allowed])
    assert counts.sum() == pytest.approx(1)
    assert np.abs(counts - chances).max() < 0.01
    for action, chance in zip(allowed, chances, strict=True):
        drawn, logp = sample_action(logits[0], legal[0], words[actions == action][0], False)
        assert drawn == action and logp == pytest.approx(np.log(chance), abs=1e-4)
    sample_actions(logits, legal, words, True, actions)
    assert (actions == 106).all()


@pytest.mark.parametrize("logit", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("greedy", [False, True])
def test_a_destroyed_network_still_draws_a_legal_action(logit: float, greedy: bool) -> None:
    logits, legal = np.full(107, logit, np.float32), np.array([0, 0, 0b110])
    assert sample_action(logits, legal, np.uint64(1 << 63), greedy)[0] in (105, 106)


def test_rollout_rewards_are_the_hands_results() -> None:
    rollout = rollout_of({"num_envs": 64, "num_steps": 300})
    total = 0.0
    for step in range(300):
        rows = rollout.observe(step)
        rollout.sample(step, rows, np.zeros((len(rows), 107), np.float32))
        scores = rollout.states["score"].astype(int).copy()
        count = rollout.games["count"].copy()
        rollout.advance(step)
        gained = rollout.states["score"].astype(int) - scores
        same = rollout.games["count"] == count
        assert rollout.steps["reward"][step][same] == pytest.approx((gained[:, 0] - gained[:, 1])[same] / 50, abs=1e-5)
        total += np.abs(rollout.steps["reward"][step]).sum()
    assert rollout.steps["done"].sum() > 64 and total > 0


def test_a_seat_bound_to_gin_is_offered_no_other_knock() -> None:
    eager = np.zeros((256, 107), np.float32)
    eager[:, 52:104] = 9.0
    knocks_and_gins = []
    for share in (0.0, 1.0):
        rollout = rollout_of({"num_envs": 256, "num_steps": 120, "gin_only": share, "commit": share, "seed": 1})
        for step in range(120):
            rows = rollout.observe(step)
            rollout.sample(step, rows, eager[rows])
            rollout.advance(step)
        knocks_and_gins.append((int(rollout.tally[2]), int(rollout.tally[1])))
    (free_knocks, free_gins), (bound_knocks, bound_gins) = knocks_and_gins
    assert free_knocks > free_gins + 5
    assert bound_knocks == bound_gins


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    save_checkpoint(tmp_path / "agent", Actor((16, 16)), (16, 16), {"decisions": 0})
    return tmp_path / "agent"


def test_a_checkpoint_plays_as_its_actor(checkpoint: Path) -> None:
    actor, metadata = load_checkpoint(checkpoint)
    assert metadata["widths"] == [16, 16]
    inputs = torch.rand(3, 626)
    assert torch.equal(actor.logits(inputs), load_checkpoint(checkpoint)[0].logits(inputs))
    assert FrozenActor(actor, False)(inputs).numpy() == pytest.approx(actor.logits(inputs).detach().numpy(), abs=1e-4)
    assert isinstance(load_network(str(checkpoint)), NetworkPlayer)
    assert make_player(str(checkpoint)).name == str(checkpoint)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda p: (p / WEIGHTS).write_bytes((p / WEIGHTS).read_bytes()[:-40]), "truncated or not the file"),
        (lambda p: edit(p, observation_version=99), "observation_version is 99"),
        (lambda p: spoil(p), r"holds numbers that are not finite, in .*trunk"),
        (lambda p: edit(p, widths=[16, 8]), "does not fit the network"),
        (lambda p: edit(p, widths="big"), "widths must be a list .* got 'big'"),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_refused_in_a_sentence(checkpoint: Path, damage, sentence: str) -> None:
    damage(checkpoint)
    with pytest.raises(CheckpointError, match=sentence) as caught:
        load_checkpoint(checkpoint)
    assert "\n" not in str(caught.value)


def spoil(path: Path) -> None:
    """One weight that is not finite, and a hash that agrees with it."""
    weights = load_file(str(path / WEIGHTS))
    weights["trunk.layers.0.own.weight"][3, 5] = math.nan
    save_file(weights, path / WEIGHTS)
    edit(path, weights_sha256=hashlib.sha256((path / WEIGHTS).read_bytes()).hexdigest())


def edit(path: Path, **changes: object) -> None:
    metadata = json.loads((path / METADATA).read_text())
    (path / METADATA).write_text(json.dumps(metadata | changes))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"learning_rat": 1}, "did you mean 'learning_rate'"),
        ({"num_envs": -1}, "num_envs is -1"),
        ({"network": {"actor": [8193]}}, "8193"),
        ({"reward": "glory"}, "reward is 'glory'"),
        ({"pool": [{"player": "simple", "weigth": 1}]}, "unknown key"),
    ],
)
def test_a_wrong_configuration_is_refused_in_a_sentence(values: dict, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_config(values)


def test_every_shipped_configuration_loads_and_overrides_apply() -> None:
    names = ("exploit", "finish", "gpu", "quick", "smoke", "strong")
    files = [Path("configs") / f"{name}.yaml" for name in names]
    for path in files:
        load_config(path)
    changed = load_config(files[0], ["network.actor=[8, 9]", "learning_rate=0.5"])
    assert changed.network.actor == (8, 9) and changed.learning_rate == (0.5, 0.5)
    with pytest.raises(ConfigError, match="written key=value"):
        load_config(files[0], ["num_envs"])
    assert [load_config(name) for name in names] == [load_config(path) for path in files]
    with pytest.raises(ConfigError, match="known: "):
        load_config("configs/nowhere.yaml")


def test_every_figure_of_the_training_line_is_explained() -> None:
    text, page = figures_text({}), Path("docs/train.md").read_text(encoding="utf-8")
    for figure in FIGURES:
        assert figure.label in text and figure.meaning in LEGEND
        assert f"| `{figure.label}` | {figure.meaning} |" in page


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("decisions.foo=3", r"decisions is \d+, which has no keys"),
        ("pool=[a", "the value of override .* is not YAML"),
        ("network={actor: [8], actor: [9]}", "the value of override .*: key 'actor' is given twice, again in line 1$"),
    ],
)
def test_an_override_that_cannot_be_read_is_refused_in_a_sentence(override: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load_config("configs/quick.yaml", [override])


def test_a_key_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^override 'num_envs=3': num_envs is given twice$"):
        load_config("configs/quick.yaml", ["num_envs=2", "seed=1", "num_envs=3"])
    path = tmp_path / "twice.yaml"
    path.write_text('network:\n  actor: [8]\n  critic: [8]\n  "actor": [9]\n')
    with pytest.raises(ConfigError, match=r"twice.yaml: key 'actor' is given twice, again in line 4$"):
        load_config(path)
    # One that is merged into another mapping may be given again there.
    path.write_text("pool: [{<<: {player: simple, weight: 2}, player: easy}]\n")
    assert [(one.player, one.weight) for one in load_config(path).pool] == [("easy", 2)]


def test_a_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GinError, match="cannot be written"):
        TrainingRun(parse_config(TINY), tmp_path / "file", "a test")
    save_checkpoint(tmp_path / "net", Actor((16,)), (16,), {})
    with pytest.raises(CheckpointError, match=r"widths is \[16\]; this configuration begins from \[32\]"):
        TrainingRun(parse_config(TINY), tmp_path / "run", "a test", str(tmp_path / "net"))
    assert not (tmp_path / "run").exists()


def least_of_ten(cards: int) -> int:
    """Least deadwood of ten of some cards, by trying all that may go."""
    hand_cards = [card for card in range(52) if cards >> card & 1]
    return min(int(deadwood(mask_of(cards))) for cards in itertools.combinations(hand_cards, 10))


def test_the_critic_sees_the_stock() -> None:
    """The deadwood after each of the next turns is that of the best ten of the hand and what comes; rarely more, never less."""
    rollout = rollout_of({"num_envs": 64, "num_steps": 2})
    rng = np.random.default_rng(1)
    exact = seen = 0
    for _ in range(12):
        choosing = rollout.observe(0)
        for i in range(0, 64, 8):
            s, rows = rollout.states[i], rollout.batch.inputs["secrets"][0, i, :NUM_FUTURE].reshape(2, -1)
            seat, discards = int(s["turn"]), s["phase"] == PHASE_DISCARD
            for side, ahead in ((0, 1 if discards else 0), (1, 0 if discards else 1)):
                cards = int(s["hands"][seat if side == 0 else 1 - seat])
                for turn in range(2):
                    least = least_of_ten(cards)
                    assert rows[side, turn] >= least
                    exact += rows[side, turn] == least
                    seen += 1
                    cards |= 1 << int(s["deck"][int(s["position"]) + ahead + 2 * turn])
        rollout.sample(0, choosing, rng.standard_normal((len(choosing), 107), np.float32))
        rollout.advance(0)
    assert exact > 0.95 * seen


def test_the_critic_knows_which_bots_play_and_in_which_seat() -> None:
    """Those of the pool alone: a past policy is as good as the learner itself."""
    pool = [{"player": "simple"}, {"player": "easy"}]
    changes = {"num_envs": 64, "num_steps": 2, "pool": pool, "pool_share": 0.6, "past_policy_share": 0.3}
    # Games of a single hand: past policies sit in games that begin after they are set.
    rollout = rollout_of(changes | {"rules": {"openspiel": 1}})
    rollout.set_past_policies([make_player("formula")], [True])
    seen = set()
    for _ in range(60):
        rollout.observe(0)
        for i, step in enumerate(rollout.steps[0]):
            rows = rollout.batch.inputs["secrets"][0, i, NUM_FUTURE:].reshape(2, NUM_BOTS)
            for seat, row in ((int(step["turn"]), rows[0]), (1 - int(step["turn"]), rows[1])):
                player = int(rollout.tables["player"][i, seat])
                assert np.flatnonzero(row).tolist() == ([player] if 0 <= player < len(pool) else [])
                seen.add((player, seat == step["turn"]))
        rollout.steps["action"][0] = make_simple().act(rollout.views)
        rollout.advance(0)
    assert seen == {(player, moves) for player in (-1, 0, 1, 2) for moves in (False, True)}


def test_where_there_is_no_game_points_are_the_reward():
    rollout = rollout_of({"num_envs": 128, "num_steps": 160, "rules": {"openspiel": 1}, "reward": "game"})
    player = make_simple()
    for step in range(160):
        rollout.observe(step)
        rollout.steps["action"][step] = player.act(rollout.views)
        rollout.advance(step)
    rewards = np.abs(rollout.steps["reward"][rollout.steps["done"] == 1])
    points = rewards / POINT_REWARD
    assert len(np.unique(points.round(3))) > 5 and points.max() > 25
    assert np.allclose(points, points.round(), atol=1e-3)


def test_an_export_takes_no_levels_place(tmp_path: Path) -> None:
    write_small_level(tmp_path / "level")
    digest = load_level(tmp_path / "level").digest
    with pytest.raises(GinError, match="holds a level, whose network would be lost"):
        train(Path("configs/smoke.yaml"), tmp_path / "run", export=tmp_path / "level")
    assert load_level(tmp_path / "level").digest == digest and not (tmp_path / "run").exists()
