"""The learner: runs that continue bit for bit, threads, rows that are trained, a policy that is held."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.config import ConfigError, parse_config
from agents.network.inputs import bytes_of
from agents.training import learner as learner_module
from agents.training import ppo
from agents.training.batch import generalised_advantages
from agents.training.learner import Learner, Schedule
from ginenv.errors import GinError
from tests.support.training_scenes import TINY, batches, weights

SUITS = {"actor": [16], "critic": [16]}


@pytest.fixture(autouse=True)
def _past_policies_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_module, "SNAPSHOT_EVERY", 2)


def test_training_changes_the_policy_and_the_seed_decides() -> None:
    config = parse_config(TINY)
    one, two, other = Learner(config), Learner(config), Learner(parse_config({**TINY, "seed": 5}))
    before = weights(one).clone()
    for learner in (one, two, other):
        batches(learner, 2)
    assert not torch.equal(weights(one), before)
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))


def test_three_resume_files_are_stored_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    learner, path = Learner(parse_config(TINY), tmp_path), tmp_path / "resume.pt"
    seen = []
    for k in range(4):
        batches(learner, 1)
        learner.save()
        seen.append(learner.decisions)
        if k in (0, 3):
            kept = path.read_bytes()
            path.write_bytes(kept[:1000])
            with pytest.raises(GinError, match=r"resume\.pt is damaged"):
                Learner(parse_config(TINY), tmp_path).resume()
            path.unlink()
            older = Learner(parse_config(TINY), tmp_path)
            assert older.resume() == (k > 0) and older.decisions == (seen[-2] if k else 0)
            path.write_bytes(kept)
    files = [tmp_path / f"resume.pt{age}" for age in ("", ".1", ".2")]
    assert [torch.load(file, weights_only=True)["decisions"] for file in files] == seen[:0:-1]


def test_a_broken_batch_is_rolled_back_and_a_hopeless_run_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(parse_config(TINY))
    good = weights(learner).clone()
    update = ppo.update

    def broken(learner: Learner) -> dict[str, float]:
        figures = update(learner)
        with torch.no_grad():
            next(learner.actor.parameters()).fill_(float("nan"))
        return figures | {"policy_loss": float("nan")}

    monkeypatch.setattr(ppo, "update", broken)
    batches(learner, 1)
    assert torch.equal(weights(learner), good) and learner.lr_factor < 0.7
    assert "policy_loss is not finite" in capsys.readouterr().out
    with pytest.raises(GinError, match="rollbacks"):
        batches(learner, 4)


@pytest.mark.parametrize(("games", "steps"), [(16, 2), (4, 8)])
def test_a_batch_too_small_for_a_gradient_step_is_refused(games: int, steps: int) -> None:
    with pytest.raises(ConfigError, match=r"num_envs times num_steps is 32, .* half of minibatch, 32$"):
        parse_config({**TINY, "num_envs": games, "num_steps": steps})
    # A few half-moves more still bring too few decisions where another player makes half of them.
    against = {"pool": [{"player": "simple"}], "pool_share": 1.0, "past_policy_share": 0.0}
    learner = Learner(parse_config({**TINY, **against, "num_envs": games + 1, "num_steps": steps}))
    with pytest.raises(GinError, match="too few for a gradient step"):
        batches(learner, 20)


def test_gradients_do_not_depend_on_chunks_or_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head that guesses cards trains on a part of each chunk, so its loss is left out."""
    changes = {"network": SUITS, "kl_to_start_coef": 0.1}
    monkeypatch.setattr(ppo, "BELIEF_COEF", 0.0)
    found = []
    for threads, chunk in ((1, 10_000), (2, 50), (4, 16), (4, 16)):
        monkeypatch.setattr(learner_module, "CPU_CHUNK", chunk)
        learner = Learner(parse_config(TINY | changes))
        ppo.collect(learner)
        ppo.compute_advantages(learner)
        learner.threads, learner.pool = threads, ThreadPoolExecutor(threads)
        rows = np.flatnonzero(learner.steps["learns"])
        figures = learner.backward(
            partial(ppo.loss, learner.batch, learner.config, Schedule(0.001, 0.03, 1.0, False)), rows
        )
        assert figures["kl"] == pytest.approx(0, abs=1e-6), "the policy is still that of the batch"
        found.append(torch.cat([p.grad.reshape(-1) for p in learner.parameters() if p.grad is not None]))
    assert found[0].abs().max() > 1e-4
    assert all(torch.allclose(found[0], other, atol=1e-6, rtol=1e-3) for other in found[1:])
    assert torch.equal(found[2], found[3])


@pytest.mark.parametrize("committed", [False, True])
def test_inputs_by_suit_are_the_rows_that_networks_play_with(committed: bool) -> None:
    learner = Learner(parse_config(TINY))
    ppo.collect(learner)
    rows = np.flatnonzero(learner.steps["learns"])
    by_suit, hidden = learner.batch.read(rows, committed), learner.batch.minibatch(rows, len(rows)).hidden
    inputs = learner.batch.inputs.reshape(-1)[rows]
    assert not inputs["gin_only"].all()
    if committed:
        inputs["gin_only"] = 1
    flat = [torch.from_numpy(bytes_of(inputs, is_critic)).float() for is_critic in (False, True)]
    assert torch.equal(flat[1][:, -88:-36], hidden) and (hidden.sum(1) >= 10).all()
    for trunk, one, other in zip((learner.actor.trunk, learner.critic.trunk), by_suit, flat, strict=True):
        assert torch.allclose(trunk(one).pooled, trunk(other).pooled, atol=1e-5)


@pytest.mark.parametrize("changes", [{"threads": 3, "network": SUITS, "trained_fraction": 0.5}, {"q_weight": 0.7}])
def test_stop_and_resume_equals_going_on_bit_for_bit(tmp_path: Path, changes: dict) -> None:
    """With past policies, threads that play games of their own, and values of actions that were not taken."""
    config = parse_config(TINY | changes)
    straight, stopped = Learner(config), Learner(config, tmp_path)
    assert len({rollout.states["deck"].tobytes() for rollout in straight.rollouts}) == config.threads
    batches(straight, 6)
    batches(stopped, 4)
    stopped.save()
    torch.manual_seed(1)
    resumed = Learner(config, tmp_path)
    assert resumed.resume()
    batches(resumed, 2)
    assert resumed.decisions == straight.decisions and len(resumed.past_policies) == 2
    assert torch.equal(weights(resumed), weights(straight))
    assert [r.states.tobytes() for r in resumed.rollouts] == [r.states.tobytes() for r in straight.rollouts]
    assert np.nan_to_num(straight.steps["choice"]).any() == ("q_weight" in changes)


def test_a_run_goes_on_with_another_number_of_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stopped = Learner(parse_config(TINY), tmp_path)
    batches(stopped, 2)
    stopped.save()
    resumed = Learner(parse_config(TINY | {"threads": 2}), tmp_path)
    assert resumed.resume() and torch.equal(weights(resumed), weights(stopped))
    assert "had 1 threads and has 2 now" in capsys.readouterr().out
    batches(resumed, 1)
    assert not torch.equal(weights(resumed), weights(stopped))


def test_a_run_keeps_the_arithmetic_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_module, "has_bfloat16_units", lambda: True)
    begun = Learner(parse_config(TINY), tmp_path)
    batches(begun, 1)
    begun.save()
    monkeypatch.setattr(learner_module, "has_bfloat16_units", lambda: False)
    assert not Learner(parse_config(TINY)).bfloat16
    resumed = Learner(parse_config(TINY), tmp_path)
    assert resumed.resume() and resumed.bfloat16


def test_rows_of_large_advantage_and_all_knock_decisions_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner(parse_config(TINY | {"trained_fraction": 0.25, "num_steps": 40, "minibatch": 16}))
    trained: list[np.ndarray] = []
    straight = Learner.backward
    monkeypatch.setattr(Learner, "backward", lambda of, loss, rows: trained.append(rows) or straight(of, loss, rows))
    ppo.collect(learner)
    ppo.compute_advantages(learner)
    ppo.update(learner)
    flat, rows = learner.steps.reshape(-1), np.concatenate(trained)
    learns = np.flatnonzero(flat["learns"])
    waiting = learns[np.isfinite(flat["waiting"][learns])]
    left = np.setdiff1d(learns, rows)
    assert waiting.size and not np.intersect1d(waiting, left).size
    others = np.setdiff1d(rows, waiting)
    assert len(rows) < 0.5 * len(learns) and learner.decisions == len(learns)
    assert np.abs(flat["advantage"][others]).min() >= np.abs(flat["advantage"][left]).max()


def test_the_commitment_to_gin_fades() -> None:
    learner = Learner(parse_config(TINY | {"commit": [0.8, 0.1]}))
    found = []
    for part in (0, 0.1, 0.25, 0.4, 1):
        learner.decisions = int(part * learner.config.decisions)
        found.append(learner.commitment())
    assert found == pytest.approx([0.8, 0.8, 0.45, 0.1, 0.1])
    ppo.collect(learner)
    assert learner.rollouts[0].deals.commit == pytest.approx(0.1)
    constant = Learner(parse_config(TINY | {"commit": 0.8}))
    constant.decisions = constant.config.decisions
    assert constant.commitment() == 0.8


def test_a_policy_is_held_to_what_it_began_from() -> None:
    """Of two runs with the same steps, the one that is held moves its policy less."""
    moved = []
    for hand_cards in (0.0, 30.0):
        learner = Learner(
            parse_config(TINY | {"kl_to_start_coef": hand_cards, "learning_rate": 0.003, "past_policy_share": 0.0})
        )
        batches(learner, 6)
        rows = np.flatnonzero(learner.steps["learns"])
        began = Learner(parse_config(TINY | {"kl_to_start_coef": hand_cards})).actor
        b = learner.batch.minibatch(rows, 1)
        legal, columns = b.actions >= 0, b.actions.clamp(min=0)
        with torch.no_grad():
            actors = learner.actor, began
            one, other = (ppo.log_probabilities(actor.logits(b.actor).gather(1, columns), legal) for actor in actors)
        moved.append(float((one.exp() * (one - other)).sum(1).mean()))
    assert moved[1] < 0.3 * moved[0]


def test_a_gain_is_clipped_on_the_side_that_flatters() -> None:
    """PPO's objective by hand: what an action gains is bounded, and what it loses is not (Schulman et al. 2017, equation 7)."""
    ratio, advantage = torch.tensor([1.5, 0.5, 1.5, 0.5]), torch.tensor([1.0, 1.0, -1.0, -1.0])
    assert ppo.clipped_gain(ratio, advantage, 0.2).tolist() == pytest.approx([1.2, 0.5, -1.5, -0.8])


def test_advantages_look_ahead_as_far_as_lambda_says() -> None:
    learner = Learner(parse_config(TINY))
    ppo.collect(learner)
    ppo.compute_advantages(learner)
    again = learner.batch.steps.copy()
    generalised_advantages(again, 0.9)
    assert np.array_equal(again["advantage"], learner.batch.steps["advantage"])
