"""A level's responses: biases that follow from what is known, and how they are found."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arena.series import counting_hands
from agents.cli import levels as levels_module
from agents.config import parse_config
from agents.levels import fit_responses as fit_module
from agents.levels.fit_responses import FitConfig, fit_responses, hands_to_play
from agents.levels.level import Level, LevelSettings
from agents.levels.responses import RESPONSES, SPACE, Responses, add_logit_bias, features_of, read_responses
from agents.network.bounds import EVERYTHING
from agents.opponent_model.features import FEATURES, FIRST_KNOCK, NUM_WEIGHTS
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, UPCARD
from ginenv.engine.melds import deadwood
from ginenv.errors import GinError
from tests.support.level_scenes import decisions, write_small_level
from tests.support.refusals import refuses

FULL = LevelSettings(title="all").behaviour[0]  # type: ignore[call-arg]


def biased(views: np.ndarray, logit_bias: np.ndarray) -> np.ndarray:
    logits = np.zeros((len(views), NUM_ACTIONS), np.float32)
    add_logit_bias(views, FULL, np.ascontiguousarray(views["legal"]), logit_bias, np.zeros(1, SPACE), logits)
    return logits


def test_knock_bias_moves_only_knocks_that_are_not_gin() -> None:
    views = decisions()
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
    views = decisions()
    logit_bias = np.zeros((len(views), NUM_WEIGHTS))
    logit_bias[:, FEATURES.index("any upcard")] = -1.5
    logits = biased(views, logit_bias)
    may = (views["legal"][:, 2] >> 1 & 1) == 1
    assert may.any() and (~may).any()
    assert (logits[may, UPCARD] == -1.5).all() and not logits[~may].any()
    assert not np.delete(logits, UPCARD, 1).any()


def test_features_of_discards_are_of_the_card_that_goes() -> None:
    for view in decisions():
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


def test_responses_are_linear_within_bounds_and_have_a_general_part(level: Level) -> None:
    responses = level.responses
    assert responses is not None
    distances = np.random.default_rng(1).normal(size=(5, NUM_WEIGHTS)).astype(np.float32) / 4
    distances[0], nothing = 0, np.zeros(5)
    found = responses.logit_bias(distances, nothing)
    assert found.shape == (5, NUM_WEIGHTS) and not found[0].any() and found[1:].any()
    np.testing.assert_allclose(responses.logit_bias(distances / 2, nothing), found / 2, rtol=1e-6)
    # Who is unlike anybody is answered like the most unlike that the fit may meet.
    np.testing.assert_array_equal(
        responses.logit_bias(1e6 * distances, nothing), responses.logit_bias(9e6 * distances, nothing)
    )
    # 2 points are a quarter of the general part, 3.5 are halfway to all of it, which is the most there is.
    for points, share in ((1.0, 0.125), (2.0, 0.25), (3.5, 0.625), (5.0, 1.0), (99.0, 1.0)):
        general = responses.logit_bias(distances, np.full(5, points)) - found
        np.testing.assert_allclose(general, np.repeat(share * responses.general[None], 5, 0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": ["something else"]}, "features"), ({"general": [0.0]}, "features"), ({"specific": [["x"]]}, "specific.0.0"),
        ({"gains": [[0, 0], [1, 0]]}, "gains"),
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
    views = decisions()
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
    view = next(view for view in decisions() if view["phase"] == PHASE_DISCARD and not view["legal"][1])
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
    views = decisions()
    rows, moves = np.arange(len(views)), np.zeros((len(views), NUM_WEIGHTS))

    def tried(temperature: float) -> np.ndarray:
        return fit_module._GradientPlayer(
            level.with_settings(temperature=temperature, max_logit_gap=4.0), 1, moves
        ).act(views, rows)

    assert (tried(20.0) == tried(2.0)).all() and (tried(20.0) != tried(1.0)).any()


@pytest.mark.parametrize("against", ["whom", "everybody"])
def test_fitting_finds_what_wins_points(level: Level, monkeypatch: pytest.MonkeyPatch, against: str) -> None:
    """Points are replaced: upcards win, or only against whoever takes many, and against who takes few they lose."""
    column, general = FEATURES.index("any upcard"), against == "everybody"
    fits: list[Any] = []

    def rewarded(fit: Any, bias: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        fits.append(fit)
        _, gradients = play(fit, bias, seed)
        return 10 * (1.0 if general else sides(fit)[:, None]) * gradients[..., column], gradients

    def sides(fit: Any) -> np.ndarray:
        """1 for who takes more upcards than most, -1 for the others."""
        return np.where(fit.distances[:, column] > np.median(fit.distances[:, column]), 1.0, -1.0)

    play = fit_module._Fit._play
    monkeypatch.setattr(fit_module._Fit, "_play", rewarded)
    monkeypatch.setattr(fit_module, "HISTORIES", (8, 16))
    values = {
        "styles": 8,
        "strong": 0.5,
        "rounds": 1,
        "specific_rounds": 3,
        "series": 96,
        "hands": 6,
        "rate": 0.4,
        "seed": 3,
    }
    config = parse_config(values | {"caution": 0.0 if general else 1.0}, FitConfig)
    level, done = level.with_settings(growth=float(general)), []
    with counting_hands(done.append):
        found = fit_responses(level, config)
    assert done[-1] == hands_to_play(level, config) and found.about["config"]["rounds"] == 1
    assert found.gains[0].tolist() == [0, 0] and (np.diff(found.gains, axis=0) > 0).all()
    # A level that does not grow has no general part; one without trust in what was found has no specific one.
    assert found.general.any() == general and found.depends_on_opponent != general
    logit_bias, side = (fits[0].distances @ found.specific)[:, column], sides(fits[0])
    if general:
        assert found.general[column] > 0.1
    else:
        assert logit_bias[side > 0].mean() - logit_bias[side < 0].mean() > 0.1 and len(found.gains) == 1


def test_the_command_says_that_responses_are_replaced(tmp_path, capsys, monkeypatch):
    write_small_level(tmp_path / "mine")
    found = Responses(
        np.ones(NUM_WEIGHTS), np.zeros((1, 2)), np.full((NUM_WEIGHTS, NUM_WEIGHTS), 0.5), {"command": "a test"}
    )
    monkeypatch.setattr(levels_module, "fit_responses", lambda *_: found)
    for earlier in (True, False):
        levels_module.levels(["fit", str(tmp_path / "mine")])
        assert ("are gone" in capsys.readouterr().out) == earlier
        (tmp_path / "mine" / RESPONSES).unlink()
