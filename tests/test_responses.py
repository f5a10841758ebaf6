"""A level's responses: biases that follow from what is known, and how they are found."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents.arena.series import counting_hands, play_series
from agents.cli import levels as levels_module
from agents.config import ConfigError
from agents.levels import fit_responses as fit_module
from agents.levels.fit_responses import FitConfig, fit_responses, hands_to_play
from agents.levels.level import Level, LevelSettings, load_level
from agents.levels.responses import INPUTS, RESPONSES, SPACE, Responses, add_logit_bias, features_of, read_responses
from agents.network.bounds import EVERYTHING
from agents.opponent_model.features import FEATURES, FIRST_KNOCK, NUM_WEIGHTS
from agents.opponent_model.posterior import CONTEXT_WIDTH
from ginenv.bots.heuristics import StylePlayer, make_formula, style
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, UPCARD
from ginenv.engine.melds import deadwood
from ginenv.errors import GinError
from tests.support.level_scenes import write_small_level
from tests.support.refusals import refuses

FULL = LevelSettings(title="all").behaviour[0]  # type: ignore[call-arg]


@pytest.fixture(scope="module")
def level(tmp_path_factory: pytest.TempPathFactory) -> Level:
    path = tmp_path_factory.mktemp("level") / "small"
    write_small_level(path)
    return load_level(str(path))


def positions() -> np.ndarray:
    """Views of decisions in hands between bots: ``VIEW[n]``."""
    seen: list[np.ndarray] = []

    class Watcher(StylePlayer):
        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            seen.append(views[views["phase"] <= PHASE_DISCARD].copy())
            return super().act(views, slots)

    play_series(Watcher(style("camper")), make_formula(1), series=30, hands=1, seed=8)
    return np.concatenate(seen)


def biased(views: np.ndarray, logit_bias: np.ndarray) -> np.ndarray:
    logits = np.zeros((len(views), NUM_ACTIONS), np.float32)
    add_logit_bias(views, FULL, np.ascontiguousarray(views["legal"]), logit_bias, np.zeros(1, SPACE), logits)
    return logits


def test_knock_bias_moves_only_knocks_that_are_not_gin() -> None:
    views = positions()
    logit_bias = np.zeros((len(views), NUM_WEIGHTS))
    logit_bias[:, FEATURES.index("any knock")] = 2
    logits = biased(views, logit_bias)
    seen = 0
    for view, row in zip(views, logits, strict=True):
        for action in np.flatnonzero(row):
            left = deadwood(int(view["hand"]) & ~(1 << (int(action) - KNOCK)))
            assert view["phase"] == PHASE_DISCARD and action >= KNOCK and left > 0
            assert row[action] == 2
            seen += 1
        knocks = int(view["legal"][1])
        could = [c for c in range(52) if knocks >> c & 1 and deadwood(int(view["hand"]) & ~(1 << c)) > 0]
        assert len(np.flatnonzero(row)) == (len(could) if view["phase"] == PHASE_DISCARD else 0)
    assert seen > 10


def test_upcard_bias_moves_only_the_upcard() -> None:
    views = positions()
    logit_bias = np.zeros((len(views), NUM_WEIGHTS))
    logit_bias[:, FEATURES.index("any upcard")] = -1.5
    logits = biased(views, logit_bias)
    may = (views["legal"][:, 2] >> 1 & 1) == 1
    assert may.any() and (~may).any()
    assert (logits[may, UPCARD] == -1.5).all() and not logits[~may].any()
    assert not np.delete(logits, UPCARD, 1).any()


def test_features_of_discards_are_of_the_card_that_goes() -> None:
    for view in positions():
        if view["phase"] != PHASE_DISCARD:
            continue
        legal = np.array(view["legal"])[None]
        features = np.full((NUM_ACTIONS, NUM_WEIGHTS), np.nan)
        features_of(view, 32, EVERYTHING, legal, 0, np.zeros(1, SPACE)[0], features)
        cards = [card for card in range(52) if int(legal[0, 0]) >> card & 1]
        left = {card: int(deadwood(int(view["hand"]) & ~(1 << card))) for card in cards}
        for card in cards:
            row = dict(zip(FEATURES, features[card], strict=True))
            excess = row["points of deadwood more than the best discard leaves / 10"]
            assert excess == pytest.approx((left[card] - min(left.values())) / 10)
            assert row["king or queen"] == (card % 13 >= 11) and not features[card, FIRST_KNOCK:].any()
        assert np.isnan(features[UPCARD]).all()


def test_responses_are_linear_with_a_general_part(level: Level) -> None:
    responses = level.responses
    assert responses is not None
    contexts = np.random.default_rng(1).normal(size=(5, CONTEXT_WIDTH)).astype(np.float32)
    contexts[0] = 0
    none, all_of_it = np.zeros(5), np.ones(5)
    found = responses.logit_bias(contexts, none, all_of_it)
    assert found.shape == (5, NUM_WEIGHTS) and not found[0].any() and found[1:].any()
    np.testing.assert_allclose(responses.logit_bias(2 * contexts, none, all_of_it), 2 * found)
    np.testing.assert_allclose(responses.logit_bias(contexts, none, all_of_it / 2), found / 2)
    # Certainties are not read: what is uncertain is near other people's already.
    contexts[:, len(INPUTS) :] = 1
    np.testing.assert_array_equal(responses.logit_bias(contexts, none, all_of_it), found)
    general = responses.logit_bias(contexts, all_of_it / 2, none)
    np.testing.assert_allclose(general, np.repeat(responses.matrix[:1] / 2, 5, 0))
    np.testing.assert_allclose(responses.logit_bias(contexts, all_of_it / 2, all_of_it), general + found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"columns": ["something else"]}, "features"), ({"matrix": [[0.0]]}, "features"),
        ({"format": 9}, 9), ({"matrix": [["x"]]}, "matrix.0.0"),
    ],
)  # fmt: skip
def test_responses_of_wrong_shape_are_refused(level: Level, tmp_path: Path, change: dict, words: str) -> None:
    values = json.loads((level.directory / RESPONSES).read_text())
    path = tmp_path / RESPONSES
    path.write_text(json.dumps(values | change))
    with refuses(GinError, words):
        read_responses(path, "level x")
    path.write_text("[")
    with refuses(GinError, RESPONSES):
        read_responses(path, "level x")


def test_what_escapes_a_level_escapes_its_responses() -> None:
    views = positions()
    dull = LevelSettings(title="dull", remembered_discards=3, noticed_actions=0).behaviour[0]  # type: ignore[call-arg]
    logit_bias = np.random.default_rng(1).normal(size=(len(views), NUM_WEIGHTS))
    hidden = views.copy()
    hidden["known_cards"][:, 1] = hidden["refused"][:, 1] = hidden["thrown"][:, 1] = 0
    logits = []
    for behaviour in (dull, FULL):
        for seen in (views, hidden):
            logits.append(np.zeros((len(views), NUM_ACTIONS), np.float32))
            add_logit_bias(
                seen, behaviour, np.ascontiguousarray(seen["legal"]), logit_bias, np.zeros(1, SPACE), logits[-1]
            )
    assert (logits[0] == logits[1]).all() and (logits[2] != logits[3]).any()


def test_gradients_are_those_of_the_log_probability(level: Level) -> None:
    """The chance of what is chosen, from many draws with biases a little to either side, grows as the gradient says."""
    view = next(view for view in positions() if view["phase"] == PHASE_DISCARD and not view["legal"][1])
    tries, step = 40_000, 0.1
    views = np.repeat(view[None], tries)
    views["luck"] = np.random.default_rng(2).integers(0, 2**64, tries, np.uint64)
    plain = level.with_settings(hand_taste=0.0, max_extra_deadwood=100.0, max_logit_gap=60.0)
    rows = np.arange(tries)
    player = fit_module._GradientPlayer(plain, 1, np.zeros((tries, NUM_WEIGHTS)))
    actions = player.act(views, rows)
    for feature in ("points / 10", "leaves the least deadwood"):
        column = FEATURES.index(feature)
        shares = []
        for sign in (-1, 1):
            moves = np.zeros((tries, NUM_WEIGHTS))
            moves[:, column] = sign * step
            shares.append(
                np.bincount(fit_module._GradientPlayer(plain, 1, moves).act(views, rows), minlength=52)[:52] / tries
            )
        for card in np.argsort(-shares[0])[:3]:
            gradient = player.scores[actions == card, column].mean()
            slope = (np.log(shares[1][card]) - np.log(shares[0][card])) / (2 * step)
            assert slope == pytest.approx(gradient, abs=0.12)


def test_max_logit_gap_is_halved_where_choices_are_uniform(level: Level) -> None:
    """Its choices would say nothing of what it leans to, and steps as long as its temperature would leave its reach."""
    views = positions()
    rows, moves = np.arange(len(views)), np.zeros((len(views), NUM_WEIGHTS))

    def tried(temperature: float) -> np.ndarray:
        return fit_module._GradientPlayer(
            level.with_settings(temperature=temperature, max_logit_gap=4.0), 1, moves
        ).act(views, rows)

    assert (tried(20.0) == tried(2.0)).all() and (tried(20.0) != tried(1.0)).any()


@pytest.mark.parametrize("likes", [1.0, 0.5, 0.25, 0.0])
def test_fitting_keeps_what_wins_points_of_whom(level: Level, monkeypatch: pytest.MonkeyPatch, likes: float) -> None:
    """Points are replaced: who takes many upcards is to be answered by taking many, who takes few by taking none.

    The validation favours all of that, half of it, a quarter of it, or only what is the same against everybody.
    """
    column, read = FEATURES.index("any upcard"), INPUTS.index("any upcard")
    inputs: list[np.ndarray] = []

    def rewarded(one: Level, opponents: object, moves: np.ndarray, contexts: None, *rest: int) -> object:
        points, gradients = play(one, opponents, moves, contexts, *rest)  # type: ignore[arg-type]
        return 10 * sides()[np.arange(len(points)) % config.opponents, None] * gradients[..., column], gradients

    def inputs_after_hands(*args: object) -> np.ndarray:
        inputs.append(posteriors_of(*args))  # type: ignore[arg-type]
        return inputs[0]

    def sides() -> np.ndarray:
        """1 for who takes more upcards than most, -1 for the others."""
        found = inputs[0][-1, :, read]
        return np.where(found > np.median(found), 1.0, -1.0)

    def validated(one: Level, opponents: object, moves: np.ndarray, contexts: None, config: FitConfig) -> np.ndarray:
        seeds.append(config.seed)
        by_opponent = np.stack([moves[k :: config.opponents, column].mean() for k in range(config.opponents)])
        if not likes:
            return abs(by_opponent.mean()) - 10 * np.abs(by_opponent - by_opponent.mean())
        differ = float(((by_opponent - by_opponent.mean()) * sides()).mean())
        complete.append(differ)
        if differ < 1e-9:
            # Far worse than any difference, so that nothing is kept of the part that is the same against everybody.
            return np.full(config.opponents, -100.0)
        # All of the difference is validated first, so that is the largest.
        return np.full(config.opponents, -abs(differ - likes * max(complete)))

    play, posteriors_of = fit_module._play, fit_module._inputs_after_hands
    monkeypatch.setattr(fit_module, "_play", rewarded)
    monkeypatch.setattr(fit_module, "_points", validated)
    monkeypatch.setattr(fit_module, "_inputs_after_hands", inputs_after_hands)
    monkeypatch.setattr(fit_module, "HISTORIES", (20, 40))
    config = FitConfig(styles=24, strong=0.25, rounds=2, series=240, hands=4, rate=0.4, seed=3)  # type: ignore[call-arg]
    message: list[str] = []
    seeds: list[int] = []
    complete: list[float] = []
    responses = fit_responses(level, config, message.append)
    logit_bias = (inputs[0][-1] @ responses.matrix)[:, column]
    differ = logit_bias[sides() > 0].mean() - logit_bias[sides() < 0].mean()
    if likes:
        fitted_bias = (inputs[0].mean(0) @ responses.matrix)[:, column]
        remaining = ((fitted_bias - fitted_bias.mean()) * sides()).mean()
        assert differ > 0.1 and remaining == pytest.approx(likes * max(complete))
    else:
        assert (responses.matrix[1:] == 0).all() and responses.matrix[0, column] != 0
    validation = responses.about["validated"]["what depends on the opponent"]
    assert validation["accepted"] == (likes > 0) and validation["share"] == likes and config.seed not in seeds
    assert message[-1].endswith("accepted" if likes else "left out") and len(message) == 4
    assert hands_to_play(level, config) == 2 * 30 * 40 + (2 * 2 + 5 * 4) * 240 * 4
    assert responses.about["points_per_hand"] and responses.about["config"]["rounds"] == 2


def test_without_findings_nothing_is_validated(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that depend on no choice say nothing of any; the hands of the validation count as played."""

    def alike(*args: object) -> object:
        points, gradients = play(*args)  # type: ignore[arg-type]
        return np.ones_like(points), gradients

    play = fit_module._play
    monkeypatch.setattr(fit_module, "_play", alike)
    monkeypatch.setattr(fit_module, "HISTORIES", (2, 4))
    config = FitConfig(styles=8, strong=0.5, rounds=2, series=36, hands=2, seed=3)  # type: ignore[call-arg]
    message: list[str] = []
    done: list[int] = []
    with counting_hands(done.append):
        responses = fit_responses(level, config, message.append)
    assert not responses.matrix.any() and not responses.depends_on_opponent
    assert all(line.endswith("nothing was found, so there is nothing to validate") for line in message[-2:])
    assert [won["accepted"] for won in responses.about["validated"].values()] == [False, False]
    assert done[-1] == hands_to_play(level, config)


@pytest.mark.parametrize(
    ("specific", "words"), [(0.5, "now responds to what it knows"), (0.0, "plays everybody alike")]
)
def test_the_command_says_whether_what_was_found_depends_on_whom(tmp_path, capsys, monkeypatch, specific, words):
    write_small_level(tmp_path / "mine")
    matrix = np.zeros((len(INPUTS), NUM_WEIGHTS))
    matrix[:2, 0] = 1.0, specific
    monkeypatch.setattr(levels_module, "fit_responses", lambda *_: Responses(matrix, {"command": "a test"}))
    for earlier in (True, False):
        levels_module.levels(["fit", str(tmp_path / "mine")])
        assert words in (message := capsys.readouterr().out) and ("are gone" in message) == earlier
        (tmp_path / "mine" / RESPONSES).unlink()


def test_validation_plays_with_the_biases_of_its_series(level: Level) -> None:
    """Where nobody is knocked against but the third opponent, nothing changes for the others."""
    config = FitConfig(styles=8, strong=0.25, rounds=2, series=30, hands=2, seed=3)  # type: ignore[call-arg]
    opponents = fit_module._Opponents(level, config)
    moves = np.zeros((config.series, NUM_WEIGHTS))
    before = fit_module._points(level, opponents, moves, None, config)
    moves[2 :: config.opponents, FEATURES.index("any knock")] = -50
    changed = fit_module._points(level, opponents, moves, None, config) != before
    assert before.shape == (10,) and changed.tolist() == [k == 2 for k in range(10)]


def test_a_fit_that_would_not_meet_everybody_is_refused() -> None:
    with refuses(ConfigError, "series", 36):
        FitConfig(styles=8, strong=0.5, series=30)  # type: ignore[call-arg]
