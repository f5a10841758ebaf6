"""The chance to win a game from a score: what points are worth.

For each set of rules a table is solved once, by backward induction over scores (and hands won, where boxes or shut-outs count). The next
hand brings one side a number of points, with the frequencies of ``data/hand_points.json``, which
``python -m benchmarks.data.hand_points`` measures by play between the built-in styles under every preset. The sides are taken as
equally strong, and who starts a hand is not part of the state. Hands without a score change nothing and are left out.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ginenv.engine.engine import NOBODY, STATE
from ginenv.engine.game import score_hand
from ginenv.engine.jit import kernel
from ginenv.engine.rules import PRESETS, Rules
from ginenv.errors import GinError

DATA = Path(__file__).parent / "data" / "hand_points.json"
# Hands won beyond this number count as this many; games to 100 or 150 rarely last longer.
MAX_BOXES = 10
# Rules that decide how many points per hand brings.
_SCORING = "deals_eleven knock_limit oklahoma spade_doubles undercut_on_tie gin_bonus undercut_bonus gin".split()
_SOLVING = threading.Lock()


class EquityBank(NamedTuple):
    """Tables of several sets of rules in one array, for kernels whose games differ in their rules.

    Attributes:
        values: ``float32[...]`` all tables, one after the other.
        layout: ``int64[R, 3]`` offset, target and number of box states of each.
    """

    values: np.ndarray
    layout: np.ndarray


@kernel
def plays_for_points(s):
    """Whether points are all that a hand can win: single hands are played."""
    return s.rules.target == 0


@kernel
def chance_to_win(bank, index, s, seat):
    """A seat's chance to win the game of a state whose score is booked, under the ``index``-th rules of a bank."""
    if s.game_over:
        return 0.5 if s.game_winner == NOBODY else (1.0 if s.game_winner == seat else 0.0)
    other = 1 - seat
    offset, target, tops = bank.layout[index, 0], bank.layout[index, 1], bank.layout[index, 2]
    mine, theirs = min(np.int64(s.boxes[seat]), tops - 1), min(np.int64(s.boxes[other]), tops - 1)
    scores = np.int64(s.score[seat]) * target + s.score[other]
    return np.float64(bank.values[offset + (scores * tops + mine) * tops + theirs])


@kernel
def _after(scratch, score, boxes, points, winner, bank):
    """Side 0's chance after a hand that brings ``winner`` some points; the engine's own code does the scoring."""
    s = scratch[0]
    for side in range(2):
        s.score[side] = score[side]
        s.boxes[side] = boxes[side]
    s.winner = winner
    s.points = points
    s.game_over = 0
    s.drawn_hands = 0
    score_hand(s)
    return chance_to_win(bank, 0, s, 0)


@kernel
def _ending(scratch, score, boxes, points, weights, first, winner, bank):
    """What the hands from the ``first`` number of points on, all of which end the game, add to side 0's chance.

    More points are never worse for who wins them, so where the fewest and the most end alike, all between them do.
    """
    last = points.shape[0] - 1
    if first > last:
        return 0.0
    fewest = _after(scratch, score, boxes, points[first], winner, bank)
    most = _after(scratch, score, boxes, points[last], winner, bank)
    chance = weights[first] * fewest
    for k in range(first + 1, last + 1):
        chance += weights[k] * (most if fewest == most else _after(scratch, score, boxes, points[k], winner, bank))
    return chance


@kernel
def _solve(scratch, points, weights, chances, bank):
    """Fills a bank's only table, ``chances``, downwards from the scores nearest the target. ``points`` rise, from one on.

    Almost all hands end no game: what they add to their winner's score and boxes is asked of the engine once for each score. The sides
    are equally strong, so one half of the table is the other, seen from the other side.
    """
    target, _, tops, _ = chances.shape
    after = np.empty((target, points.shape[0], 2), np.int64)
    # The first of the points, in their order, that end the game from a score.
    ends = np.zeros(target, np.int64)
    for score in range(target):
        for k in range(points.shape[0]):
            _after(scratch, (score, 0), (0, 0), points[k], 0, bank)
            s = scratch[0]
            if not s.game_over:
                after[score, k, 0] = s.score[0]
                after[score, k, 1] = min(s.boxes[0], tops - 1)
                ends[score] = k + 1
    for total in range(2 * target - 2, -1, -1):
        for a in range(max(0, total - target + 1), min(target, total // 2 + 1)):
            b = total - a
            chance = np.zeros((tops, tops))
            for k in range(ends[a]):
                score, more = after[a, k, 0], after[a, k, 1]
                for boxes_a in range(tops):
                    boxes = min(boxes_a + more, tops - 1)
                    for boxes_b in range(tops):
                        chance[boxes_a, boxes_b] += weights[k] * chances[score, b, boxes, boxes_b]
            for k in range(ends[b]):
                score, more = after[b, k, 0], after[b, k, 1]
                for boxes_a in range(tops):
                    for boxes_b in range(tops - more):
                        chance[boxes_a, boxes_b] += weights[k] * chances[a, score, boxes_a, boxes_b + more]
                    for boxes_b in range(tops - more, tops):
                        chance[boxes_a, boxes_b] += weights[k] * chances[a, score, boxes_a, tops - 1]
            for boxes_a in range(tops):
                for boxes_b in range(tops):
                    both = chance[boxes_a, boxes_b]
                    both += _ending(scratch, (a, b), (boxes_a, boxes_b), points, weights, ends[a], 0, bank)
                    both += _ending(scratch, (a, b), (boxes_a, boxes_b), points, weights, ends[b], 1, bank)
                    chances[a, b, boxes_a, boxes_b] = 0.5 * both
                    chances[b, a, boxes_b, boxes_a] = 1 - 0.5 * both


def point_frequencies(rules: Rules) -> tuple[np.ndarray, np.ndarray]:
    """Points of a scored hand, the fewest first, and their frequencies, under the preset whose scoring is most like these rules'."""
    try:
        measured = json.loads(DATA.read_text(encoding="utf-8"))["points"]
    except OSError as error:
        raise GinError(
            f"{DATA.name} cannot be read ({error.strerror}); python -m benchmarks.data.hand_points makes it"
        ) from None

    def differences(name: str) -> int:
        return sum(getattr(rules, field) != getattr(PRESETS[name], field) for field in _SCORING)

    counts = sorted((int(key), count) for key, count in measured[min(sorted(measured), key=differences)].items())
    points = np.array([key for key, _ in counts], np.int64)
    weights = np.array([count for _, count in counts], np.float64)
    return points, weights / weights.sum()


def equity_table(rules: Rules) -> np.ndarray:
    """The chances to win under some rules, solved on first use (a second or so, longer to a higher target) and cached.

    Returns:
        ``float32[T, T, H, H]`` by my score, the opponent's score, hands I won, hands the opponent won, before the next hand; T is the
        target, and H is 1 where hands won do not matter.
    """
    # A thread that needs a table which another one solves waits for it.
    with _SOLVING:
        return _solved_table(rules)


@lru_cache(maxsize=16)
def _solved_table(rules: Rules) -> np.ndarray:
    target = max(1, rules.target)
    boxes_count = rules.winner == "total" and (rules.box_bonus > 0 or rules.shutout != "none")
    tops = MAX_BOXES if boxes_count else 1
    chances = np.full((target, target, tops, tops), 0.5, np.float32)
    scratch = np.zeros(1, STATE)
    scratch["rules"] = rules.block
    points, weights = point_frequencies(rules)
    _solve(scratch, points, weights, chances, EquityBank(chances.ravel(), np.array([[0, target, tops]])))
    return chances


def equity_bank(rules: Sequence[Rules]) -> EquityBank:
    """The tables of some rules side by side, in their order."""
    tables = [equity_table(each) for each in rules]
    offsets = np.cumsum([0, *(table.size for table in tables)])[:-1]
    layout = [(offset, table.shape[0], table.shape[2]) for offset, table in zip(offsets, tables, strict=True)]
    return EquityBank(np.concatenate([table.ravel() for table in tables]), np.array(layout, np.int64))


@kernel
def _worths(states, scratch, points, weights, bank, out):
    """What a point, and winning the hand, are worth to each side at the score of each state, by least squares."""
    for i in range(states.shape[0]):
        s = states[i]
        total = mean = moment = square = 0.0
        factor = 2 if s.doubled else 1
        for k in range(points.shape[0]):
            worth = 0.5 * (
                _after(scratch, s.score, s.boxes, factor * points[k], 0, bank)
                - _after(scratch, s.score, s.boxes, factor * points[k], 1, bank)
            )
            total += weights[k] * worth
            mean += weights[k] * factor * points[k]
            moment += weights[k] * factor * points[k] * worth
            square += weights[k] * (factor * points[k]) ** 2
        spread = square - mean * mean
        slope = (moment - mean * total) / spread if spread > 1e-9 else 0.0
        out[i, 0], out[i, 1] = slope, total - slope * mean


class PointWorths:
    """What points are worth in games under some rules: the change of the chance to win the game, as a function of a hand's result.

    Args:
        block: the rules, as the ``RULES`` record of a state.
    """

    def __init__(self, block: np.ndarray | np.void) -> None:
        rules = Rules.from_block(block)
        self.bank, (self.points, self.weights) = equity_bank([rules]), point_frequencies(rules)
        self._scratch = np.zeros(1, STATE)
        self._scratch["rules"] = block

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """The worths at the scores of ``STATE[n]``: ``float64[n, 2]``, of a point, and of winning the hand besides its points.

        A hand that a seat wins by some points changes its chance by about ``points * first + second``, one that it loses by the
        opposite: the line is fitted to the points that hands bring.
        """
        worths = np.zeros((len(states), 2))
        _worths(states, self._scratch, self.points, self.weights, self.bank, worths)
        return worths
