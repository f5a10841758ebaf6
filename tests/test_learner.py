"""The learner: runs that continue bit for bit, threads, rows that are trained, a policy that is held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from agents.config import ConfigError, parse_config
from agents.network.inputs import expand_legal
from agents.training import learner as learner_module
from agents.training import ppo
from agents.training.learner import Learner
from agents.training.losses import log_probabilities
from agents.training.rollout import Rollout
from ginenv.errors import GinError
from tests.support.training_scenes import TINY, batches, weights


def test_stop_and_resume_equals_going_on_bit_for_bit(tmp_path: Path) -> None:
    config = parse_config(TINY)
    straight = Learner(config)
    batches(straight, 7)
    stopped = Learner(config, tmp_path)
    batches(stopped, 4)
    stopped.save()
    resumed = Learner(config, tmp_path)
    assert resumed.resume()
    batches(resumed, 3)
    assert resumed.decisions == straight.decisions
    assert torch.equal(weights(resumed), weights(straight))
    assert [r.states.tobytes() for r in resumed.rollouts] == [r.states.tobytes() for r in straight.rollouts]


def test_training_changes_the_policy_and_the_seed_decides() -> None:
    config = parse_config(TINY)
    one, two, other = Learner(config), Learner(config), Learner(parse_config({**TINY, "seed": 5}))
    before = weights(one).clone()
    for learner in (one, two, other):
        batches(learner, 2)
    assert not torch.equal(weights(one), before)
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))


def test_a_damaged_resume_file_is_named(tmp_path: Path) -> None:
    learner = Learner(parse_config(TINY), tmp_path)
    batches(learner, 1)
    learner.save()
    path = tmp_path / "resume.pt"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(GinError, match=r"resume\.pt is damaged; --fresh begins anew$"):
        Learner(parse_config(TINY), tmp_path).resume()
    learner.save()
    path.write_bytes(b"junk")
    with pytest.raises(
        GinError, match=r"resume\.pt is damaged; renaming .*resume\.pt\.1 to it goes back to an earlier"
    ):
        Learner(parse_config(TINY), tmp_path).resume()


def test_three_resume_files_are_kept(tmp_path: Path) -> None:
    learner = Learner(parse_config(TINY), tmp_path)
    seen = []
    for _ in range(4):
        batches(learner, 1)
        learner.save()
        seen.append(learner.decisions)
    found = [
        torch.load(tmp_path / name, weights_only=True)["decisions"]
        for name in ("resume.pt", "resume.pt.1", "resume.pt.2")
    ]
    assert found == seen[:0:-1]


def test_a_broken_batch_is_rolled_back_and_a_hopeless_run_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(parse_config(TINY))
    good = weights(learner).clone()
    learn = ppo.learn

    def broken(learner: Learner) -> dict[str, float]:
        figures = learn(learner)
        with torch.no_grad():
            next(learner.actor.parameters()).fill_(float("nan"))
        return figures | {"policy_loss": float("nan")}

    monkeypatch.setattr(ppo, "learn", broken)
    batches(learner, 1)
    assert torch.equal(weights(learner), good) and learner.speed < 0.7
    assert "policy_loss is not finite" in capsys.readouterr().out
    with pytest.raises(GinError, match="rollbacks"):
        batches(learner, 4)


@pytest.mark.parametrize(("games", "ticks"), [(16, 2), (4, 8)])
def test_a_batch_too_small_for_a_gradient_step_is_refused(games: int, ticks: int) -> None:
    with pytest.raises(ConfigError, match=r"games times ticks is 32, .* half of minibatch, 32$"):
        parse_config({**TINY, "games": games, "ticks": ticks})
    # A few half-moves more still bring too few decisions where another player makes half of them.
    against = {"pool": [{"player": "simple"}], "pool_share": 1.0, "selves_share": 0.0}
    learner = Learner(parse_config({**TINY, **against, "games": games + 1, "ticks": ticks}))
    with pytest.raises(GinError, match="too few for a gradient step"):
        batches(learner, 20)


class Noise:
    """A context of numbers that say nothing."""

    width = 3

    def __call__(self, rollout: Rollout, tick: int, out: np.ndarray) -> None:
        out[:] = np.random.default_rng(tick).normal(size=out.shape)


def test_a_context_is_read_by_both_networks_and_a_run_with_one_continues_bit_for_bit(tmp_path: Path) -> None:
    config = parse_config(TINY)
    straight, stopped = (Learner(config, out, context=Noise()) for out in (None, tmp_path))
    first = 521
    for network, column in ((straight.actor, first), (straight.critic, 586)):
        assert network.context == 3 and len(network.state_dict()["trunk.layers.0.weight"][0]) == column + 3
    weight = straight.actor.state_dict()["trunk.layers.0.weight"]
    before = weight[:, first:].clone()
    batches(straight, 5)
    assert not torch.equal(weight[:, first:], before)
    batches(stopped, 2)
    stopped.save()
    resumed = Learner(config, tmp_path, context=Noise())
    assert resumed.resume()
    batches(resumed, 3)
    assert torch.equal(weights(resumed), weights(straight))


def test_threads_that_play_their_own_games_continue_bit_for_bit(tmp_path: Path) -> None:
    changes = {"threads": 3, "rows": 0.5, "network": {"actor": [16], "critic": [16], "share_suits": True}}
    config = parse_config(TINY | changes)
    straight, stopped = Learner(config), Learner(config, tmp_path)
    decks = [rollout.states["deck"].tobytes() for rollout in straight.rollouts]
    assert len(set(decks)) == 3 and [rollout.num_tables for rollout in straight.rollouts] == [8, 8, 8]
    batches(straight, 5)
    batches(stopped, 3)
    stopped.save()
    resumed = Learner(config, tmp_path)
    assert resumed.resume()
    batches(resumed, 2)
    assert torch.equal(weights(resumed), weights(straight))
    assert [r.states.tobytes() for r in resumed.rollouts] == [r.states.tobytes() for r in straight.rollouts]


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
    monkeypatch.setattr(learner_module, "faster_in_bfloat16", lambda device: True)
    begun = Learner(parse_config(TINY | {"bfloat16": "auto"}), tmp_path)
    batches(begun, 1)
    begun.save()
    monkeypatch.setattr(learner_module, "faster_in_bfloat16", lambda device: False)
    assert not Learner(parse_config(TINY | {"bfloat16": "auto"})).bfloat16
    resumed = Learner(parse_config(TINY | {"bfloat16": "auto"}), tmp_path)
    assert resumed.resume() and resumed.bfloat16


def test_rows_of_large_advantage_and_all_knock_decisions_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner(parse_config(TINY | {"rows": 0.25, "ticks": 40, "minibatch": 16}))
    trained: list[np.ndarray] = []
    straight = learner.backend.gradients
    monkeypatch.setattr(learner.backend, "gradients", lambda rows, w: trained.append(rows) or straight(rows, w))
    learner.play()
    ppo.judge(learner)
    ppo.learn(learner)
    flat, rows = learner.steps.reshape(-1), np.concatenate(trained)
    learns = np.flatnonzero(flat["learns"])
    waiting = learns[np.isfinite(flat["waiting"][learns])]
    left = np.setdiff1d(learns, rows)
    assert waiting.size and not np.intersect1d(waiting, left).size
    others = np.setdiff1d(rows, waiting)
    assert len(rows) < 0.5 * len(learns) and learner.decisions == len(learns)
    assert np.abs(flat["advantage"][others]).min() >= np.abs(flat["advantage"][left]).max()


def test_the_commitment_to_gin_fades() -> None:
    learner = Learner(parse_config(TINY | {"commit": 0.8, "commit_end": 0.1}))
    found = []
    for part in (0, 0.1, 0.25, 0.4, 1):
        learner.decisions = int(part * learner.config.decisions)
        found.append(learner.commitment())
    assert found == pytest.approx([0.8, 0.8, 0.45, 0.1, 0.1])
    learner.play()
    assert learner.rollouts[0].deals.commit == pytest.approx(0.1)
    constant = Learner(parse_config(TINY | {"commit": 0.8}))
    constant.decisions = constant.config.decisions
    assert constant.commitment() == 0.8


def test_a_policy_is_held_to_what_it_began_from() -> None:
    """Of two runs with the same steps, the one with an anchor moves its policy less."""
    moved = []
    for anchor in (0.0, 30.0):
        learner = Learner(parse_config(TINY | {"anchor": anchor, "learning_rate": 0.003, "selves_share": 0.0}))
        learner.backend.refresh()
        batches(learner, 6)
        rows = np.flatnonzero(learner.steps["learns"])
        began = Learner(parse_config(TINY | {"anchor": anchor})).actor
        inputs, legal = (
            learner.inputs.read(rows)[0],
            expand_legal(torch.from_numpy(learner.steps.reshape(-1)["legal"][rows])),
        )
        with torch.no_grad():
            one, other = (log_probabilities(actor.logits(inputs), legal) for actor in (learner.actor, began))
        moved.append(float((one.exp() * (one - other)).sum(1).mean()))
    assert moved[1] < 0.3 * moved[0]
