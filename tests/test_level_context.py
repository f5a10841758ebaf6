"""Levels whose network is told which style to expect of an opponent."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.arena.series import play_series
from agents.cli.levels import levels
from agents.levels import fit_responses as fit_module
from agents.levels.describe import describe_learning, findings
from agents.levels.fit_responses import FitConfig, fit_responses, hands_to_play
from agents.levels.level import Level, LevelError, LevelSettings, load_level
from agents.levels.package import build_level
from agents.levels.player import LevelPlayer
from agents.levels.responses import INPUTS, RESPONSES, Responses
from agents.network.checkpoint import save_checkpoint
from agents.network.nets import Actor
from agents.network.player import load_network
from agents.opponent_model.features import NUM_WEIGHTS
from agents.opponent_model.posterior import CONTEXT_WIDTH
from ginenv.bots.heuristics import make_formula
from ginenv.bots.population import OPPONENT_CONTEXT_WIDTH, draw_styles, style_vectors
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from ginenv.view.view import VIEW
from tests.support.level_scenes import hands_of
from tests.support.refusals import refuses

NONE = np.zeros((len(INPUTS), NUM_WEIGHTS))


def write_context_network(path: Path) -> None:
    """Writes the checkpoint of a small untrained network that goes by what it is told."""
    torch.manual_seed(5)
    actor = Actor((16,), context=OPPONENT_CONTEXT_WIDTH)
    with torch.no_grad():
        actor.policy.weight.mul_(100)
    save_checkpoint(path, actor, (16,), {"command": "a test"})


@pytest.fixture(scope="module")
def context_level(tmp_path_factory: pytest.TempPathFactory) -> Level:
    """Built of such a network, with random expectations."""
    made = tmp_path_factory.mktemp("told")
    write_context_network(made / "network")
    expected = np.random.default_rng(1).normal(0, 2, (len(INPUTS), OPPONENT_CONTEXT_WIDTH))
    expected[:, 0] = np.arange(len(INPUTS)) == 0
    expected[3, 0] = 0.5
    settings = LevelSettings(title="told", temperature=1.0)  # pyright: ignore[reportCallIssue]
    return build_level(made / "level", settings, made / "network", Responses(NONE, {}, expected))


def positions() -> np.ndarray:
    seen: list[np.ndarray] = []

    class Watcher(type(make_formula(1))):
        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            seen.append(views.copy())
            return super().act(views, slots)

    play_series(Watcher(make_formula(1).styles), make_formula(2), series=8, hands=2, seed=3)
    return np.concatenate(seen)


def test_the_context_follows_from_the_posterior(context_level: Level) -> None:
    responses = context_level.responses
    assert responses is not None and responses.expected is not None and context_level.learns
    contexts = np.random.default_rng(2).normal(size=(6, CONTEXT_WIDTH)).astype(np.float32)
    contexts[0], contexts[1:, 0] = 0, 1
    found = context_level.opponent_context(contexts, np.arange(6))
    assert found is not None and found.dtype == np.float32 and found.shape == (6, OPPONENT_CONTEXT_WIDTH)
    # Nothing is told of a stranger; of anybody else how likely it is to be of the population, by its own context, and so much of its style.
    odds = np.exp(1 + contexts[1:, 3] / 2)
    assert not found[0].any()
    np.testing.assert_allclose(found[1:, 0], odds / (1 + odds), rtol=1e-5)
    style = contexts[1:, : len(INPUTS)] @ responses.expected[:, 1:]
    np.testing.assert_allclose(found[1:, 1:], found[1:, :1] * style, rtol=1e-3, atol=1e-4)
    # Where what is known counts by half, half of the style; the probability is told as it is.
    half = context_level.with_settings(half_life_hands=3.0).opponent_context(contexts[3:4], np.array([3]))
    assert half is not None and half[0, 0] == found[3, 0]
    np.testing.assert_allclose(half[:, 1:], found[3:4, 1:] / 2, rtol=1e-6)
    # Of somebody who cannot be of the population nothing is told, whatever the numbers.
    contexts[3, 3] = -1e6
    sure = context_level.opponent_context(contexts[3:4], np.array([3]))
    assert sure is not None and not sure.any()


def test_without_context_it_plays_as_its_network(context_level: Level) -> None:
    views = positions()
    frozen = LevelPlayer(context_level, 4, learn=False)
    alone = load_network(str(context_level.directory), 4)
    alone.contexts = np.zeros((1, OPPONENT_CONTEXT_WIDTH), np.float32)
    slots = np.zeros(len(views), np.int64)
    logits = frozen.policy(views, slots)
    learns = LevelPlayer(context_level, 4)
    np.testing.assert_array_equal(learns.policy(views, slots), logits)
    seen, conditions = frozen._see(views)[:2]
    np.testing.assert_array_equal(alone.logits(views, seen, conditions, slots), logits)
    # After hands of somebody it is told of him, in that slot alone, until it forgets.
    hands = np.array(hands_of(learns, make_player("camper"), 6), VIEW)
    learns.observe_hands(hands, np.zeros(len(hands), np.int64))
    with_context = learns.policy(views, slots)
    acted = [player.act(views, slots) for player in (frozen, learns)]
    assert (acted[0] != acted[1]).any()
    # By chance alone, of what it is told, and by nothing else.
    np.testing.assert_array_equal(acted[1], learns.choose(views, None, learns.opponent_context(slots, len(views))))
    np.testing.assert_array_equal(learns.act(views, slots + 1), acted[0])
    alone.contexts = learns.opponent_context(slots[:1], 1)
    assert alone.contexts is not None and np.abs(with_context - logits).max() > 0.1
    np.testing.assert_array_equal(alone.logits(views, seen, conditions, slots), with_context)
    np.testing.assert_array_equal(learns.policy(views, slots + 1), logits)
    learns.forget(slots[:1])
    np.testing.assert_array_equal(learns.policy(views, slots), logits)


def test_responses_of_another_kind_of_network_are_refused(context_level: Level, tmp_path: Path) -> None:
    plain, with_context = tmp_path / "plain", tmp_path / "told"
    level = load_level("level-1")
    build_level(plain, level.settings, level.directory, level.responses)
    levels(["export", str(context_level.directory), str(with_context)])
    (plain / RESPONSES).rename(tmp_path / RESPONSES)
    (with_context / RESPONSES).rename(plain / RESPONSES)
    (tmp_path / RESPONSES).rename(with_context / RESPONSES)
    with refuses(LevelError, plain):
        load_level(plain)
    with refuses(LevelError, with_context):
        load_level(with_context)
    values = json.loads((plain / RESPONSES).read_text())
    rows = values["expected"]
    for wrong, facts in (
        ([*rows[:3], rows[3][1:], *rows[4:]], [len(INPUTS), OPPONENT_CONTEXT_WIDTH]), ([*rows, [0.0]], [len(INPUTS)]),
        ([*rows[:3], [1e999] * OPPONENT_CONTEXT_WIDTH, *rows[4:]], ["expected.3.0", "inf"]),
    ):  # fmt: skip
        (with_context / RESPONSES).write_text(json.dumps(values | {"expected": wrong}))
        with refuses(GinError, *facts):
            load_level(with_context)
    # A fit makes them again, whatever they are.
    levels(["fit", str(with_context), "--set", "styles=16", "strong=0.25", "series=60", "hands=2", "rounds=2"])
    assert load_level(with_context).responses is not None
    # A network that reads anything else is no level's.
    save_checkpoint(tmp_path / "other", Actor((16,), context=5), (16,), {"command": "a test"})
    with refuses(LevelError, 5):
        build_level(tmp_path / "new", context_level.settings, tmp_path / "other")
    assert not (tmp_path / "new").exists()


def test_a_level_is_built_fitted_and_exported(tmp_path, capsys):
    write_context_network(tmp_path / "network")
    mine = tmp_path / "mine"
    levels(["build", str(tmp_path / "network"), "--out", str(mine), "--like", "level-2", "--set", "half_life_hands=0"])
    assert "It learns nothing until gin levels fit" in capsys.readouterr().out
    assert not load_level(mine).learns
    changes = ["styles=16", "strong=0.25", "series=60", "hands=2", "rounds=2"]
    levels(["fit", str(mine), "--set", *changes])
    fitted = load_level(mine)
    assert fitted.responses is not None and fitted.responses.expected is not None and fitted.learns
    assert fitted.responses.about["config"]["seed"] == FitConfig.model_fields["seed"].default
    levels(["export", str(mine), str(tmp_path / "mine.zip")])
    levels(["import", str(tmp_path / "mine.zip"), str(tmp_path / "theirs")])
    assert load_level(tmp_path / "theirs").digest == fitted.digest
    capsys.readouterr()
    home = tmp_path / "home"
    player = make_player(f"{mine}:profile={home},opponent=Ann", 1)
    hands_of(player, make_player("camper"), 12)
    (found,) = findings(home, fitted, "Ann")
    assert found["hands_shown"] and "Ann" in describe_learning(home, fitted)


@pytest.mark.parametrize(
    ("worth", "accepted"),
    [((1, 1), [True, True]), ((1, -2), [True, False]), ((-1, -1), [False, False]), ((-1, 2), [True, True])],
)
def test_a_fit_finds_the_style_behind_what_is_known_and_keeps_what_wins(context_level, monkeypatch, worth, accepted):
    """Play is replaced: what is known are some of a style's own numbers, and validation favours one, both or neither."""
    places = list(range(0, OPPONENT_CONTEXT_WIDTH - 1, 2))[: len(INPUTS) - 1]
    config = FitConfig(styles=40, strong=0.25, rounds=2, series=150, hands=2, seed=3)  # type: ignore[call-arg]

    def inputs_after_hands(level: Level, opponents: Any, count: int, seed: int) -> np.ndarray:
        numbers = style_vectors(draw_styles(seed, count))
        one = np.zeros((count, len(INPUTS)))
        one[:, 0], one[:, 1 : 1 + len(places)] = 1, numbers[:, places] / 3
        one[:, -1] = np.random.default_rng(seed).normal(0, 0.5, count)
        # Strong players are unlike styles in one number, and the rest of theirs says nothing.
        if opponents is not None:
            one[opponents.first_strong :, -1] += 3
        return np.stack([one] * len(fit_module.HISTORIES))

    def points(
        level: Level, opponents: object, moves: np.ndarray, with_context: np.ndarray, config: FitConfig
    ) -> np.ndarray:
        likes = worth[0] * with_context[:, 0].mean() + worth[1] * float(with_context[:, 1:].any())
        return np.random.default_rng(1).normal(0, 0.1, config.opponents) + likes

    monkeypatch.setattr(fit_module, "_inputs_after_hands", inputs_after_hands)
    monkeypatch.setattr(fit_module, "_points", points)
    message: list[str] = []
    found = fit_responses(context_level, config, message.append)
    # Biases are found after the context, and win nothing here.
    assert found.expected is not None and not found.matrix.any()
    assert [won["accepted"] for won in found.about["validated"].values()] == [*accepted, False, False]
    assert [line.endswith("accepted") for line in message[1:3]] == accepted and found.about["config"]["seed"] == 3
    assert found.expected[:, 1:].any() == accepted[1] and found.depends_on_opponent == any(accepted)
    # Known is one style, one strong player, and one style of which less is known.
    three = np.zeros((3, CONTEXT_WIDTH), np.float32)
    three[:, 0], three[1:, len(INPUTS) - 1] = 1, (3, 1)
    shown = found.opponent_context(three, np.ones(3))
    assert shown is not None
    likely = shown[:, 0]
    if accepted[0]:
        assert likely[0] > 0.97 and likely[1] < 0.05 and likely[1] < likely[2] < likely[0]
        assert found.about["styles_likely"] > 0.95 and found.about["strong_likely"] < 0.1
    else:
        assert likely.max() < 1e-9
    if accepted[1]:
        numbers = style_vectors(draw_styles(4321, 200))
        expected = found.opponent_context(
            inputs_after_hands(context_level, None, 200, 4321)[0].astype(np.float32), np.ones(200)
        )
        assert expected is not None
        varied = [k for k in places if numbers[:, k].std() > 0.1]
        style = expected[:, 1:] / expected[:, :1]
        np.testing.assert_allclose(style[:, varied], numbers[:, varied], atol=0.15)
    assert hands_to_play(context_level, config) == (8 * 40 + 80 + 2 * 50) * 150 + (2 * 2 + 7 * 4) * 150 * 2


def test_fitting_steps_use_the_networks_context(context_level, monkeypatch):
    """And what is kept beside what it is told is what wins with that."""
    config = FitConfig(styles=16, strong=0.25, rounds=2, series=60, hands=2, seed=3)  # type: ignore[call-arg]
    with_context: list[np.ndarray | None] = []

    def rewarded(one: Level, opponents: object, moves: np.ndarray, context_now: np.ndarray, *rest: int) -> object:
        with_context.append(context_now)
        gradients = play(one, opponents, moves, context_now, *rest)[1]  # type: ignore[arg-type]
        return 10 * gradients[..., 3], gradients

    def points(
        one: Level, opponents: object, moves: np.ndarray, with_context: np.ndarray, config: FitConfig
    ) -> np.ndarray:
        likes = with_context[:, 0].mean() * (1 + np.abs(moves).sum())
        return np.random.default_rng(1).normal(0, 0.1, config.opponents) + likes

    play = fit_module._play
    monkeypatch.setattr(fit_module, "_play", rewarded)
    monkeypatch.setattr(fit_module, "_points", points)
    found = fit_responses(context_level, config)
    assert found.expected is not None and found.matrix[0].any()
    assert len(with_context) == 4 and all(row is not None and row[:, 0].max() > 0.9 for row in with_context)
    assert found.about["validated"]["that it is of the population"]["accepted"]
    # The same luck and deals, but for what the network is told.
    opponents = fit_module._Opponents(context_level, config)
    moves = np.zeros((config.series, NUM_WEIGHTS))
    both = [play(context_level, opponents, moves, row, config, 7, 8)[1] for row in (with_context[0], None)]
    assert (both[0] != both[1]).any()


@pytest.mark.parametrize(("strong", "least"), [(0.0, 0.95), (0.05, 0.8)])
def test_where_nobody_strong_is_met_everybody_is_taken_for_a_style(context_level, monkeypatch, strong, least):
    """So few that the fit meets none; its regression, of eight times as many, meets three."""
    config = FitConfig(styles=8, strong=strong, rounds=2, series=24, hands=2, seed=3)  # type: ignore[call-arg]
    seen: list[np.ndarray] = []

    def points(
        level: Level, opponents: object, moves: np.ndarray, with_context: np.ndarray, config: FitConfig
    ) -> np.ndarray:
        seen.append(with_context)
        return np.full(config.opponents, with_context[:, 0].mean())

    monkeypatch.setattr(fit_module, "_points", points)
    message: list[str] = []
    about = fit_responses(context_level, config, message.append).about
    json.dumps(about, allow_nan=False)
    assert "strong_likely" not in about and "strong" not in message[0] and about["styles_likely"] > least
    # Nothing, that somebody is a style, and which.
    assert seen[0].max() < 1e-9 and seen[1][:, 0].mean() > least and not seen[1][:, 1:].any() and seen[2][:, 1:].any()
