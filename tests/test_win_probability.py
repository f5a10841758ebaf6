"""The chance to win a game from a score."""

import numpy as np
import pytest

from agents.win_probability import chance_to_win, equity_bank, equity_table, point_frequencies
from ginenv.engine.engine import STATE
from ginenv.engine.game import score_hand
from ginenv.engine.rules import get_rules


def test_sides_are_equal_and_points_are_worth_having() -> None:
    chances = equity_table(get_rules("eaai"))[:, :, 0, 0]
    assert chances + chances.T == pytest.approx(np.ones_like(chances), abs=1e-5)
    assert (np.diff(chances, axis=0) >= -1e-6).all()
    assert chances[99, 0] > 0.95 and chances[0, 0] == pytest.approx(0.5)


BOXES = get_rules("dg-standard").replace(shutout="double-after-boxes", target=40)


@pytest.mark.parametrize(
    "rules",
    [
        get_rules("eaai"),
        BOXES,
        get_rules("dg-standard").replace(shutout="bonus", game_bonus=0, box_bonus=60, target=60),
    ],
)
def test_a_chance_is_the_mean_of_what_the_next_hand_leads_to(rules) -> None:
    table = equity_table(rules)
    points, weights = point_frequencies(rules)
    tops, rng = table.shape[2], np.random.default_rng(3)
    for case in range(20):
        # Every other score lies where the next hand may end the game.
        score = rng.integers(rules.target // 2 if case % 2 else 0, rules.target, 2)
        boxes = rng.integers(0, tops, 2) if case % 4 < 2 else np.array([0, tops - 1])
        mean = 0.0
        for won, weight in zip(points, weights, strict=True):
            for winner in range(2):
                s = np.zeros(1, STATE)
                s["rules"], s["score"], s["boxes"], s["winner"], s["points"] = rules.block, score, boxes, winner, won
                score_hand(s[0])
                (mine, theirs), (first, second) = s["score"][0], np.minimum(s["boxes"][0], tops - 1)
                ended = {0: 1.0, 1: 0.0}.get(int(s["game_winner"][0]), 0.5)
                mean += weight / 2 * (ended if s["game_over"][0] else table[mine, theirs, first, second])
        assert table[score[0], score[1], boxes[0], boxes[1]] == pytest.approx(mean, abs=1e-6)


def test_a_bank_gives_what_its_tables_say() -> None:
    rules = [get_rules("eaai"), BOXES]
    bank, s = equity_bank(rules), np.zeros(1, STATE)
    # Hands won count only where the rules count them.
    assert [equity_table(each).shape for each in rules] == [(100, 100, 1, 1), (40, 40, 10, 10)]
    s["score"], s["boxes"] = (33, 17), (2, 3)
    for index, each in enumerate(rules):
        table = equity_table(each)
        first, second = min(2, table.shape[2] - 1), min(3, table.shape[3] - 1)
        assert chance_to_win(bank, index, s[0], 0) == pytest.approx(table[33, 17, first, second])
        assert chance_to_win(bank, index, s[0], 1) == pytest.approx(table[17, 33, second, first])
