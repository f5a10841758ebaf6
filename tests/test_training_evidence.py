"""What is reported about training: what TensorBoard is told, curves."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from agents.arena.hand_log import watch_hands
from agents.config import parse_config
from agents.deal_streams import Domain
from agents.training import diagnostics, ppo
from agents.training.batch import finished
from agents.training.learner import Learner
from ginenv.engine.rules import get_rules
from ginenv.tables.players import make_player
from tests.support.training_scenes import TINY, batches

# Hands of an untrained policy are long; a batch holds some of them whole.
LONG = TINY | {"num_steps": 200, "minibatch": 512, "rules": {"eaai": 1}, "reward": "points", "past_policy_share": 0}


def tiny_learner() -> Learner:
    return Learner(parse_config(LONG))


def test_the_log_receives_the_hidden_hand() -> None:
    decisions = [0, 0]

    def check(side: int, views: np.ndarray, hidden: np.ndarray) -> None:
        decisions[side] += len(views)
        assert all(cards.bit_count() == 10 for cards in hidden.tolist())
        # Whatever is hidden is either unseen or was taken from the pile before everybody's eyes.
        assert np.array_equal(hidden & ~views["unseen"], views["known_cards"][:, 1])
        for seen in ("hand", "pile_cards"):
            assert not (hidden & views[seen]).any() and not (views["unseen"] & views[seen]).any()

    players = (make_player("camper", 1), make_player("simple", 2))
    style = watch_hands(players, get_rules("eaai"), 20, 5, Domain.TEST, check)
    assert style["hands"].tolist() == [40, 40] and style["decisions"].tolist() == decisions


def test_entropy_of_a_policy_without_preferences_is_one_in_every_phase() -> None:
    learner = tiny_learner()
    with torch.no_grad():
        for parameter in learner.actor.policy.parameters():
            parameter.zero_()
    ppo.collect(learner)
    found = diagnostics.entropies(learner)
    assert {"upcard", "draw", "discard"} <= set(found)
    assert all(value == pytest.approx(1, abs=1e-3) for name, value in found.items() if name != "knock")


def test_calibration_compares_values_with_what_hands_brought() -> None:
    learner = tiny_learner()
    batches(learner, 2)
    groups = diagnostics.calibration(learner)
    assert groups is not None
    predicted, real = groups
    assert (np.diff(predicted) >= 0).all()
    steps = learner.steps
    slow = []
    for tick, game in np.argwhere(finished(steps["done"])[:50]):
        total = 0.0
        for later in range(tick, len(steps)):
            total += steps["reward"][later, game]
            if steps["done"][later, game]:
                break
        slow.append(total if steps["turn"][tick, game] == 0 else -total)
    assert real.mean() == pytest.approx(np.mean(slow), abs=0.01)


def test_style_tells_when_and_with_what_it_knocks() -> None:
    style = watch_hands((make_player("simple", 1), make_player("camper", 1)), get_rules("eaai"), 60, 1, Domain.TEST)
    early, late = (diagnostics.style_figures(style[[side, side]]) for side in (0, 1))
    assert early["knock_share/turn_05"] == 1 and 0 < early["knock_deadwood/turn_05"] <= 10
    assert late["gin_rate"] > early["gin_rate"] and late["knock_rate"] < early["knock_rate"]


class Writer:
    """Remembers what TensorBoard would be told."""

    def __init__(self) -> None:
        self.written: dict[str, object] = {}

    def add_scalar(self, name: str, value: float, step: int) -> None:
        assert np.isfinite(value), name
        self.written[name] = value


def test_diagnostics_change_nothing_of_the_run() -> None:
    plain, reported = tiny_learner(), tiny_learner()
    writer = Writer()
    for learner in (plain, reported):
        batches(learner, 2)
        if learner is reported:
            diagnostics.write_diagnostics(writer, learner)  # type: ignore[arg-type]
        batches(learner, 1)
    for one, other in zip(plain.actor.parameters(), reported.actor.parameters(), strict=True):
        assert torch.equal(one, other)
    assert [r.states.tobytes() for r in plain.rollouts] == [r.states.tobytes() for r in reported.rollouts]
    assert {"entropy/discard", "calibration/error", "style/gin_rate"} <= writer.written.keys()


def test_a_critic_that_values_all_alike_is_compared_without_a_warning() -> None:
    learner, writer = tiny_learner(), Writer()
    batches(learner, 1)
    with torch.no_grad():
        learner.critic.trunk.get_parameter("layers.0.bias").fill_(-1e6)
    learner.begin_batch()
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.RankWarning)
        diagnostics.write_diagnostics(writer, learner)  # type: ignore[arg-type]
    assert "calibration/error" in writer.written and "calibration/slope" not in writer.written
