"""The learner: runs that continue bit for bit, checkpoints that refuse what does not fit, configurations, rollout arithmetic."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import train
from agents.bots.heuristics import make_simple
from agents.config import ConfigError, load_config, parse_config
from agents.learning.losses import expand_cards, expand_legal
from agents.learning.ppo import Trainer
from agents.learning.rollout import POINT, Rollout, generalised_advantages, next_actions, sample_actions
from agents.learning.run import Run
from agents.network.checkpoint import CARD, WEIGHTS, CheckpointError, load_checkpoint, save_checkpoint
from agents.network.nets import Actor, FrozenActor
from agents.network.player import NetworkPlayer, load_network
from ginenv.actions import PHASE_DISCARD
from ginenv.cards import mask_of
from ginenv.errors import GinError
from ginenv.melds import deadwood
from ginenv.players import make_player

TINY = {
    "games": 24,
    "ticks": 12,
    "minibatch": 64,
    "decisions": 10_000_000,
    "network": {"actor": [32], "critic": [32]},
    "rules": {"eaai": 1, "dg-standard": 1, "gr-oklahoma": 1, "ht2-simple": 1},
    "pool": [{"player": "simple"}, {"player": "camper"}],
    "pool_share": 0.3,
    "selves_share": 0.2,
    "selves_every": 2,
    "reward": "game",
    "threads": 1,
    "bfloat16": "no",
}


def batches(trainer: Trainer, count: int) -> None:
    target = trainer.batches + count
    trainer.run(lambda figures: trainer.batches < target)


def weights(trainer: Trainer) -> torch.Tensor:
    parts = [
        p.detach().reshape(-1) for net in (trainer.actor, trainer.critic, trainer.average) for p in net.parameters()
    ]
    return torch.cat(parts)


def test_stop_and_resume_equals_going_on_bit_for_bit(tmp_path: Path) -> None:
    config = parse_config(TINY)
    straight = Trainer(config)
    batches(straight, 7)
    stopped = Trainer(config, tmp_path)
    batches(stopped, 4)
    stopped.save()
    resumed = Trainer(config, tmp_path)
    assert resumed.resume()
    batches(resumed, 3)
    assert resumed.decisions == straight.decisions
    assert torch.equal(weights(resumed), weights(straight))
    assert resumed.rollout.states.tobytes() == straight.rollout.states.tobytes()


def test_training_changes_the_policy_and_the_seed_decides() -> None:
    config = parse_config(TINY)
    one, two, other = Trainer(config), Trainer(config), Trainer(parse_config({**TINY, "seed": 5}))
    before = weights(one).clone()
    for trainer in (one, two, other):
        batches(trainer, 2)
    assert not torch.equal(weights(one), before)
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))


def test_a_damaged_resume_file_is_named(tmp_path: Path) -> None:
    trainer = Trainer(parse_config(TINY), tmp_path)
    batches(trainer, 1)
    trainer.save()
    path = tmp_path / "resume.pt"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(GinError, match=r"resume\.pt cannot be resumed"):
        Trainer(parse_config(TINY), tmp_path).resume()


def test_three_resume_files_are_kept(tmp_path: Path) -> None:
    trainer = Trainer(parse_config(TINY), tmp_path)
    seen = []
    for _ in range(4):
        batches(trainer, 1)
        trainer.save()
        seen.append(trainer.decisions)
    found = [
        torch.load(tmp_path / name, weights_only=True)["decisions"]
        for name in ("resume.pt", "resume.pt.1", "resume.pt.2")
    ]
    assert found == seen[:0:-1]


def test_a_broken_batch_is_rolled_back_and_a_hopeless_run_ends(capsys: pytest.CaptureFixture[str]) -> None:
    trainer = Trainer(parse_config(TINY))
    batches(trainer, 1)
    good = weights(trainer).clone()
    trainer._safe = trainer._learned()
    with torch.no_grad():
        next(trainer.actor.parameters()).fill_(float("nan"))
    trainer._check({"policy_loss": float("nan"), "kl": 0.0})
    assert torch.equal(weights(trainer), good)
    assert "policy_loss is not a number" in capsys.readouterr().out
    with pytest.raises(GinError, match="rollbacks"):
        for _ in range(4):
            trainer._check({"kl": 0.9})


def test_advantages_equal_a_slow_computation_from_each_side() -> None:
    rng = np.random.default_rng(3)
    ticks, games, lam = 40, 6, 0.9
    rewards = rng.normal(size=(ticks, games)).astype(np.float32)
    done = (rng.random((ticks, games)) < 0.15).astype(np.uint8)
    turns = rng.integers(0, 2, (ticks, games)).astype(np.uint8)
    values = rng.normal(size=(ticks, games)).astype(np.float32)
    last_values = rng.normal(size=games).astype(np.float32)
    last_turns = rng.integers(0, 2, games).astype(np.uint8)
    advantages, returns = np.empty_like(values), np.empty_like(values)
    generalised_advantages(rewards, done, turns, values, last_values, last_turns, lam, advantages, returns)
    sign = np.where(turns == 0, 1.0, -1.0)
    side0 = np.vstack([values * sign, last_values * np.where(last_turns == 0, 1.0, -1.0)])
    for g in range(games):
        for t in range(ticks):
            expected, factor = 0.0, 1.0
            for k in range(t, ticks):
                following = 0.0 if done[k, g] else side0[k + 1, g]
                expected += factor * (rewards[k, g] + following - side0[k, g])
                if done[k, g]:
                    break
                factor *= lam
            assert advantages[t, g] == pytest.approx(expected * sign[t, g], abs=1e-4)
            assert returns[t, g] == pytest.approx((expected + side0[t, g]) * sign[t, g], abs=1e-4)


def test_next_actions_are_the_others_and_stay_within_the_hand() -> None:
    turns = np.array([[0], [0], [1], [1], [0], [1]], np.uint8)
    done = np.array([[0], [0], [0], [1], [0], [0]], np.uint8)
    actions = np.array([[10], [11], [12], [13], [14], [15]], np.int64)
    targets = np.empty((6, 1), np.int64)
    next_actions(turns, done, actions, targets)
    assert targets[:, 0].tolist() == [12, 12, -1, -1, 15, -1]


def test_sampling_is_legal_and_follows_the_softmax() -> None:
    n = 40_000
    logits = np.tile(np.arange(107, dtype=np.float32) / 20, (n, 1))
    legal = np.tile(np.array([1 << 3 | 1 << 40, 1 << 2, 0b101], np.int64), (n, 1))
    words = np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64)
    actions, logps = np.empty(n, np.int64), np.empty(n, np.float32)
    sample_actions(logits, legal, words, False, actions, logps)
    allowed = [3, 40, 54, 104, 106]
    chances = np.exp(logits[0, allowed] - logits[0, allowed].max())
    chances /= chances.sum()
    counts = np.array([(actions == action).mean() for action in allowed])
    assert counts.sum() == pytest.approx(1)
    assert np.abs(counts - chances).max() < 0.01
    for action, chance in zip(allowed, chances, strict=True):
        assert logps[actions == action][0] == pytest.approx(np.log(chance), abs=1e-4)
    sample_actions(logits, legal, words, True, actions, logps)
    assert (actions == 106).all()


def test_masks_expand_to_the_action_space() -> None:
    legal = torch.tensor([[1 << 51, 1, 0b110]])
    assert expand_legal(legal)[0].nonzero().flatten().tolist() == [51, 52, 105, 106]
    assert expand_cards(torch.tensor([0b1001]))[0].nonzero().flatten().tolist() == [0, 3]


def test_rollout_rewards_are_the_hands_results() -> None:
    rollout = Rollout(16, 200, {"eaai": 1}, 3, [], 0.0, 0.0, False)
    total = 0.0
    for tick in range(200):
        rollout.observe(tick)
        rollout.sample(tick, np.zeros((16, 107), np.float32))
        scores = rollout.states["score"].astype(int).copy()
        games = rollout.counts.copy()
        rollout.advance(tick, 0.0)
        gained = rollout.states["score"].astype(int) - scores
        same = rollout.counts == games
        assert rollout.rewards[tick][same] == pytest.approx((gained[:, 0] - gained[:, 1])[same] / 50, abs=1e-5)
        total += np.abs(rollout.rewards[tick]).sum()
    assert rollout.done.sum() > 16 and total > 0


def test_a_seat_bound_to_gin_is_offered_no_other_knock() -> None:
    eager = np.zeros((256, 107), np.float32)
    eager[:, 52:104] = 9.0
    knocks_and_gins = []
    for share in (0.0, 1.0):
        rollout = Rollout(256, 120, {"eaai": 1}, 1, [], share, share, False)
        for tick in range(120):
            rollout.observe(tick)
            rollout.sample(tick, eager)
            rollout.advance(tick, 0.0)
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
    actor, card = load_checkpoint(checkpoint)
    assert card["widths"] == [16, 16]
    inputs = torch.rand(3, 521)
    assert torch.equal(actor.logits(inputs), load_checkpoint(checkpoint)[0].logits(inputs))
    assert FrozenActor(actor, False)(inputs).numpy() == pytest.approx(actor.logits(inputs).detach().numpy(), abs=1e-4)
    assert isinstance(load_network(str(checkpoint)), NetworkPlayer)
    assert make_player(str(checkpoint)).name == "agent"


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda p: (p / WEIGHTS).write_bytes((p / WEIGHTS).read_bytes()[:-40]), "truncated or not the file"),
        (lambda p: (p / WEIGHTS).unlink(), "cannot be read"),
        (lambda p: (p / CARD).unlink(), "cannot be read"),
        (lambda p: (p / CARD).write_text("{"), "is no JSON"),
        (lambda p: edit(p, observation_version=99), "observation_version is 99"),
        (lambda p: edit(p, format=7), "format is 7"),
        (lambda p: edit(p, widths=[16, 8]), "does not fit the network"),
        (lambda p: edit(p, widths="big"), "widths is 'big'"),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_refused_in_a_sentence(checkpoint: Path, damage, sentence: str) -> None:
    damage(checkpoint)
    with pytest.raises(CheckpointError, match=sentence) as caught:
        load_checkpoint(checkpoint)
    assert "\n" not in str(caught.value)


def edit(path: Path, **changes: object) -> None:
    card = json.loads((path / CARD).read_text())
    (path / CARD).write_text(json.dumps(card | changes))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"learning_rat": 1}, "did you mean 'learning_rate'"),
        ({"games": -1}, "games is -1"),
        ({"reward": "glory"}, "reward is 'glory'"),
        ({"pool": [{"player": "simple", "weigth": 1}]}, "unknown key"),
    ],
)
def test_a_wrong_configuration_is_refused_in_a_sentence(values: dict, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_config(values)


def test_every_shipped_configuration_loads_and_overrides_apply() -> None:
    files = [
        p
        for p in sorted(Path("configs").glob("*.yaml"))
        if p.name in ("smoke.yaml", "quick.yaml", "strong.yaml", "gpu.yaml")
    ]
    assert len(files) == 4
    for path in files:
        load_config(path)
    changed = load_config(files[0], ["network.actor=[8, 9]", "learning_rate=0.5"])
    assert changed.network.actor == (8, 9) and changed.learning_rate == 0.5
    with pytest.raises(ConfigError, match="written key=value"):
        load_config(files[0], ["games"])
    with pytest.raises(ConfigError, match="known: "):
        load_config("configs/nowhere.yaml")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("decisions.foo=3", r"decisions is \d+, which has no keys"),
        ("decisions.foo.bar=3", r"decisions is \d+, which has no keys"),
        ("panel=[a", "has a value that is no YAML"),
        ("games=" + "9" * 5000, "has a value that is no YAML"),
        ("panel=2020-02-31", "has a value that is no YAML"),
    ],
)
def test_an_override_that_cannot_be_read_is_refused_in_a_sentence(override: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load_config("configs/quick.yaml", [override])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"games: 3 # \xe9\n", "no text in UTF-8"),
        (b"games: 2020-02-31\n", "is no YAML"),
        (b"games: [3\n", "is no YAML"),
    ],
)
def test_a_file_that_is_no_configuration_ends_the_program_with_a_sentence(
    content: bytes, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=sentence):
        train.load_run(path, [])


def test_the_program_ends_with_a_sentence_and_no_traceback() -> None:
    done = subprocess.run([sys.executable, "train.py", "--set", "gamse=3"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "did you mean 'games'" in done.stderr and "Traceback" not in done.stderr


def test_a_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GinError, match="file cannot be written: File exists"):
        Run(parse_config(TINY), tmp_path / "file", "a test")
    with pytest.raises(GinError, match="unknown player 'nobody'"):
        Run(parse_config({**TINY, "panel": ["nobody"]}), tmp_path / "run", "a test")
    save_checkpoint(tmp_path / "net", Actor((16,), advice=105), (16,), {})
    for change, sentence in (
        ({"network": {"actor": [8], "advice": True}}, r"widths is \[16\]; this configuration begins from \[8\]"),
        ({"network": {"actor": [16]}}, "advice is 105; this configuration begins from 0$"),
    ):
        with pytest.raises(CheckpointError, match=sentence):
            Run(parse_config({**TINY, **change}), tmp_path / "run", "a test", str(tmp_path / "net"))
    assert not (tmp_path / "run").exists()


def least_of_ten(cards: int) -> int:
    """Least deadwood of ten of some cards, by trying all that may go."""
    held = [card for card in range(52) if cards >> card & 1]
    return min(int(deadwood(mask_of(kept))) for kept in itertools.combinations(held, 10))


def test_the_critic_is_told_what_the_stock_will_bring() -> None:
    """The deadwood after each of the next turns is that of the best ten of the hand and what comes; rarely more, never less."""
    rollout = Rollout(64, 2, {"eaai": 1.0}, 3, [], 0.0, 0.0, False)
    rng = np.random.default_rng(1)
    exact = seen = 0
    for _ in range(12):
        rollout.observe(0)
        for i in range(0, 64, 8):
            s, rows = rollout.states[i], rollout.future[0, i].reshape(2, -1)
            seat, discards = int(s["turn"]), s["phase"] == PHASE_DISCARD
            for side, ahead in ((0, 1 if discards else 0), (1, 0 if discards else 1)):
                cards = int(s["hands"][seat if side == 0 else 1 - seat])
                for turn in range(2):
                    least = least_of_ten(cards)
                    assert rows[side, turn] >= least
                    exact += rows[side, turn] == least
                    seen += 1
                    cards |= 1 << int(s["deck"][int(s["position"]) + ahead + 2 * turn])
        rollout.sample(0, rng.standard_normal((64, 107), np.float32))
        rollout.advance(0, 0.0)
    assert exact > 0.95 * seen


def test_where_there_is_no_game_points_are_the_reward():
    rollout, player = Rollout(128, 160, {"openspiel": 1.0}, 3, [], 0.0, 0.0, True), make_simple()
    for tick in range(rollout.ticks):
        rollout.observe(tick)
        rollout.actions[tick] = player.act(rollout.views)
        rollout.advance(tick, 0.0)
    rewards = np.abs(rollout.rewards[rollout.done == 1])
    points = rewards / POINT
    assert len(np.unique(points.round(3))) > 5 and points.max() > 25
    assert np.allclose(points, points.round(), atol=1e-3)
