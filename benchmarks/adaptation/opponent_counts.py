"""Predicts choices from counted habits, shrunk towards the population's: the baseline for the choice model.

A habit is a kind of card thrown, of upcard taken, or of knock. The number of times it was seen is compared with how often a stranger
would have done so. The ratio of the two, each with some imagined cases added, corrects the probabilities of a stranger.
"""

from __future__ import annotations

import numpy as np

from agents.opponent_model.fit import Choices, true_choices
from agents.opponent_model.posterior import ModelPrior
from benchmarks.adaptation.opponent_hands import Hands

# Imagined cases added for every habit, chosen on styles of the third seed.
_IMAGINED = 5.0


def _kinds_of_cards(choices: Choices) -> np.ndarray:
    """Which habits each card, if thrown, would count for: ``bool[n, cards, habits]``."""
    rows = choices.records["rows"]
    points, ways, danger = rows[:, :, 6], rows[:, :, 2], rows[:, :, 9] + rows[:, :, 10]
    turn = np.where(points > 0, rows[:, :, 7] / np.maximum(points, 1e-6), 0)
    found = [rows[:, :, k] > 0 for k in (1, 3, 4, 5, 8, 11, 12)]
    found += [points >= 1, (points >= 1) & (turn <= 0.3), points <= 0.3, ways >= 0.5, danger >= 0.2]
    return np.stack(found, 2)


def _cells(choices: Choices) -> np.ndarray:
    """The number of the habit that a draw or a knock would count for: ``int64[n]``; 0 for discards."""
    rows = choices.records["rows"][:, 0]
    draw = np.select(
        [rows[:, 1] > 0, rows[:, 6] > 0, rows[:, 3] > 0, rows[:, 4] > 0, rows[:, 5] > 0], [1, 2, 3, 4, 5], 6
    )
    left, turn = np.digitize(rows[:, 1] * 10, (3.5, 7.5)), np.digitize(rows[:, 2] * 10, (3.5, 6.5))
    return np.select([choices.records["kind"] == 1, choices.records["kind"] == 2], [draw, 7 + 3 * left + turn], 0)


class Counts:
    """The counted habits of every style.

    Args:
        prior: the prior, whose mean stands for a stranger.
        history: hands of every style.
    """

    def __init__(self, prior: ModelPrior, history: Hands) -> None:
        self.prior, count = prior, len(history.views)
        flat = history.flat()
        choices = true_choices(flat.views, flat.decks, flat.positions)
        style, records = history.rows[choices.hand], choices.records
        many, yes = self._stranger(choices)
        discards = np.flatnonzero(records["kind"] == 0)
        habits = _kinds_of_cards(choices)[discards]
        seen = habits[np.arange(len(discards)), records["chosen"][discards]]
        expected = (habits * many[discards][:, :, None]).sum(1)
        self.seen, self.expected = np.zeros((2, count, habits.shape[2]))
        np.add.at(self.seen, style[discards], seen)
        np.add.at(self.expected, style[discards], expected)
        others = np.flatnonzero(records["kind"] > 0)
        cells = _cells(choices)[others]
        self.did, self.would, self.cases = np.zeros((3, count, 16))
        np.add.at(self.did, (style[others], cells), records["chosen"][others])
        np.add.at(self.would, (style[others], cells), yes[others])
        np.add.at(self.cases, (style[others], cells), 1.0)

    def _stranger(self, choices: Choices) -> tuple[np.ndarray, np.ndarray]:
        return choices.chances(np.broadcast_to(self.prior.mean, (len(choices.hand), len(self.prior.mean))))

    def gains(self, fresh: Hands) -> np.ndarray:
        """By how many nats a hand fresh hands are predicted better than with a stranger's weights: ``float64[styles]``."""
        flat = fresh.flat()
        choices = true_choices(flat.views, flat.decks, flat.positions)
        style = fresh.rows[choices.hand]
        many, yes = self._stranger(choices)
        base = choices.losses_of(many, yes)
        log_ratio = np.log((_IMAGINED + self.seen) / (_IMAGINED + self.expected))
        scaled = many * np.exp(np.einsum("nch,nh->nc", _kinds_of_cards(choices).astype(float), log_ratio[style]))
        scaled /= scaled.sum(1, keepdims=True)
        cells = _cells(choices)
        did, would, cases = (array[style, cells] for array in (self.did, self.would, self.cases))
        odds = yes / (1 - yes) * (_IMAGINED / 2 + did) / (_IMAGINED / 2 + would)
        odds *= (_IMAGINED / 2 + cases - would) / (_IMAGINED / 2 + cases - did)
        gain = base - choices.losses_of(scaled, odds / (1 + odds))
        return np.bincount(style, gain, len(fresh.views)) / fresh.views.shape[1]
