"""A level's answers: leanings that follow from what is known, and how they are found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer, make_formula, style
from agents.levels import fit_answers as fit_module
from agents.levels.answers import ANSWERS, READS, SPACE, features_of, lean, read_answers
from agents.levels.fit_answers import FitConfig, fit_answers, hands_to_play
from agents.levels.level import Level, load_level
from agents.opponent_model.features import FEATURES, FIRST_KNOCK, NUM_WEIGHTS
from agents.opponent_model.posterior import CONTEXT_WIDTH
from ginenv.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, UPCARD
from ginenv.errors import GinError
from ginenv.melds import deadwood
from tests.support.level_scenes import write_small_level


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


def leaned(views: np.ndarray, leanings: np.ndarray) -> np.ndarray:
    logits = np.zeros((len(views), NUM_ACTIONS), np.float32)
    lean(views, np.ascontiguousarray(views["legal"]), leanings, np.zeros(1, SPACE), logits)
    return logits


def test_a_leaning_to_knock_moves_knocks_that_are_not_gin_and_nothing_else() -> None:
    views = positions()
    leanings = np.zeros((len(views), NUM_WEIGHTS))
    leanings[:, FEATURES.index("any knock")] = 2
    logits = leaned(views, leanings)
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


def test_a_leaning_to_take_moves_the_upcard_alone_where_it_may_be_taken() -> None:
    views = positions()
    leanings = np.zeros((len(views), NUM_WEIGHTS))
    leanings[:, FEATURES.index("any upcard")] = -1.5
    logits = leaned(views, leanings)
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
        features_of(view, legal, 0, np.zeros(1, SPACE)[0], features)
        cards = [card for card in range(52) if int(legal[0, 0]) >> card & 1]
        left = {card: int(deadwood(int(view["hand"]) & ~(1 << card))) for card in cards}
        for card in cards:
            row = dict(zip(FEATURES, features[card], strict=True))
            excess = row["points of deadwood more than the best discard leaves / 10"]
            assert excess == pytest.approx((left[card] - min(left.values())) / 10)
            assert row["king or queen"] == (card % 13 >= 11) and not features[card, FIRST_KNOCK:].any()
        assert np.isnan(features[UPCARD]).all()


def test_answers_are_linear_in_what_is_known_and_nothing_against_a_stranger(level: Level) -> None:
    answers = level.answers
    assert answers is not None
    contexts = np.random.default_rng(1).normal(size=(5, CONTEXT_WIDTH)).astype(np.float32)
    contexts[0] = 0
    found = answers.leanings(contexts)
    assert found.shape == (5, NUM_WEIGHTS) and not found[0].any() and found[1:].any()
    np.testing.assert_allclose(answers.leanings(2 * contexts), 2 * found)
    # Certainties are not read: what is uncertain is near other people's already.
    contexts[:, len(READS) :] = 1
    np.testing.assert_array_equal(answers.leanings(contexts), found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"leans": ["something else"]}, "other features"),
        ({"matrix": [[0.0]]}, "other features"),
        ({"format": 9}, "format"),
        ({"matrix": [["x"]]}, "matrix"),
    ],
)
def test_answers_that_do_not_fit_are_refused(level: Level, tmp_path: Path, change: dict, words: str) -> None:
    values = json.loads((level.directory / ANSWERS).read_text())
    path = tmp_path / ANSWERS
    path.write_text(json.dumps(values | change))
    with pytest.raises(GinError, match=words):
        read_answers(path, "level x")
    path.write_text("[")
    with pytest.raises(GinError, match="does not hold JSON"):
        read_answers(path, "level x")


def test_fitting_finds_what_wins_points(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are replaced by how often a hand's choices leaned one way: the answers must lean there."""
    wanted = FEATURES.index("any upcard")

    def rewarded(*args: object) -> tuple[np.ndarray, np.ndarray]:
        points, gradients = play(*args)  # type: ignore[arg-type]
        return 10 * gradients[..., wanted] + 0 * points, gradients

    play = fit_module._play
    monkeypatch.setattr(fit_module, "_play", rewarded)
    config = FitConfig(styles=8, strong=0.5, rounds=2, series=64, hands=3, rate=0.4, seed=3)  # type: ignore[call-arg]
    monkeypatch.setattr(fit_module, "HISTORIES", (2, 4))
    said: list[str] = []
    answers = fit_answers(level, config, said.append)
    assert answers.matrix[0, wanted] > 0.1 and len(said) == 2
    assert hands_to_play(config) == 12 * 4 + 2 * 2 * 64 * 3
    assert answers.about["points_a_hand"] and answers.about["config"]["rounds"] == 2
