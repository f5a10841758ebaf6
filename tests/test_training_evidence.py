"""What is reported about training: beliefs against counting, what TensorBoard is told, curves."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from agents.arena.hand_log import SideDecisions, watch_hands
from agents.config import parse_config
from agents.deal_streams import Domain
from agents.network.nets import Actor, FrozenActor
from agents.network.player import PLAYED, NetworkPlayer
from agents.reports import beliefs as belief_report
from agents.reports.beliefs import BeliefMeter, card_rows, counting_chances, log_losses
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


@pytest.fixture(scope="module")
def watched() -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Decisions of both sides in some hands between bots, copied."""
    batches: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []

    def keep(d: SideDecisions) -> None:
        batches.append((d.side, d.pairs.copy(), d.views.copy(), d.hidden.copy()))

    players = (make_player("camper", 1), make_player("simple", 2))
    style = watch_hands(players, get_rules("eaai"), 20, 5, Domain.TEST, keep)
    assert style["hands"].tolist() == [40, 40]
    assert style["decisions"].tolist() == [sum(len(k[2]) for k in batches if k[0] == side) for side in (0, 1)]
    return batches


def test_the_witness_receives_the_hidden_hand(watched: list) -> None:
    for _, pairs, views, hidden in watched:
        assert pairs.min() >= 0 and pairs.max() < 20
        hand_cards = card_rows(hidden)
        assert (hand_cards.sum(1) == 10).all()
        # Whatever is hidden is either unseen or was taken from the pile before everybody's eyes.
        assert np.array_equal(hidden & ~views["unseen"], views["known_cards"][:, 1])
        for seen in ("hand", "pile_cards"):
            assert not (hidden & views[seen]).any() and not (views["unseen"] & views[seen]).any()


def test_counting_is_as_good_as_counting_can_be(watched: list) -> None:
    for _, _, views, hidden in watched:
        unseen = card_rows(views["unseen"]).sum(1)
        unknown = card_rows(hidden & views["unseen"]).sum(1)
        chances = counting_chances(views)
        assert np.allclose(chances * unseen, unknown)
        counted = log_losses(chances[:, None], views, hidden)
        entropy = -unseen * (chances * np.log(chances) + (1 - chances) * np.log(1 - chances))
        assert np.allclose(counted, entropy)
        for other in (chances * 0.9, np.minimum(0.99, chances * 1.1)):
            assert (log_losses(other[:, None], views, hidden) > counted).all()


def test_only_cards_that_nobody_could_place_count(watched: list) -> None:
    _, _, views, hidden = watched[-1]
    chances = np.full((len(views), 52), 0.3)
    wild = np.where(card_rows(views["unseen"]), 0.3, 0.999)
    assert np.array_equal(log_losses(chances, views, hidden), log_losses(wild, views, hidden))
    assert log_losses(card_rows(hidden), views, hidden).max() < 1e-6


def test_a_network_without_training_is_worse_than_counting() -> None:
    actor = FrozenActor(Actor([16]), False)
    meter = BeliefMeter(actor, 40)
    watch_hands(
        (NetworkPlayer(actor, 3, PLAYED), make_player("simple", 3)), get_rules("eaai"), 40, 3, Domain.EVAL, meter
    )
    below = meter.below(3)
    assert below.high < 0
    assert meter.loss(3).mean == pytest.approx(np.log(2), abs=0.02)
    assert meter.views[0] > 70 and meter.views[0] >= meter.views[5]


def test_what_is_learned_shows_as_below_counting(watched: list, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guess that leans towards the truth is measured as a gain, and one that says what counting says as none."""
    for lean, low, high in ((0.0, -1e-9, 1e-9), (1.0, 0.1, 0.9)):
        meter = BeliefMeter(FrozenActor(Actor([4]), False), 20)
        for side, pairs, views, hidden in watched:
            odds = np.log(counting_chances(views) / (1 - counting_chances(views)))[:, None]
            guess = odds + lean * np.where(card_rows(hidden), 1, -1)
            # The word of luck tells a decision from all others.
            guesses = dict(zip(views["luck"].tolist(), guess, strict=True))
            monkeypatch.setattr(
                belief_report,
                "belief_logits",
                lambda _, rows, guesses=guesses: np.stack([guesses[word] for word in rows["luck"].tolist()]),
            )
            meter(SideDecisions(side, pairs, views, hidden, np.zeros(len(views), np.int64)))
        assert low <= meter.below(2).mean <= high


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
    style = watch_hands(
        (make_player("simple", 1), make_player("camper", 1)), get_rules("eaai"), 60, 1, Domain.TEST, lambda d: None
    )
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
    for name in (
        "entropy/discard",
        "calibration/error",
        "style/gin_rate",
        "belief/turn_03/counting",
        "belief_below_counting/turn_03",
    ):
        assert name in writer.written


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
