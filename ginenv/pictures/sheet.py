"""The score sheet of a game: running totals hand by hand, then bonus, shut-out, boxes, totals and the net score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ginenv.engine.cards import format_cards
from ginenv.engine.engine import NOBODY, STATE
from ginenv.engine.game import score_hand
from ginenv.engine.outcome import Outcome
from ginenv.engine.rules import Rules
from ginenv.errors import GinError

Pair = tuple[int, int]


@dataclass(frozen=True)
class ScoreSheet:
    """What a game's outcomes add up to under its rules.

    Attributes:
        rows: an outcome and the running totals after it, for every hand.
        closing: what the end of the game adds, as (label, points of both seats); empty while the game is in play.
        totals: final totals of both seats, before the net score; the running totals while the game is in play.
        winner: seat that won the game, or None.
        net: the winner's lead if the rules ask for the net score and the game was won, else None.
        is_over: whether the game is over.
    """

    rows: tuple[tuple[Outcome, Pair], ...]
    closing: tuple[tuple[str, Pair], ...]
    totals: Pair
    winner: int | None
    net: int | None
    is_over: bool

    @property
    def laid_off(self) -> list[tuple[int, tuple[int, ...]]]:
        """Number of the hand (from 1) and cards, for every hand in which cards were laid off."""
        return [(number, row[0].laid_off) for number, row in enumerate(self.rows, 1) if row[0].laid_off]

    def to_text(self, names: Pair | tuple[str, str] = ("seat 0", "seat 1")) -> str:
        """The sheet as a table, boxes as their number (and points), followed by the list of cards laid off."""
        first, second = (str(name) for name in names)
        width = max(8, len(first), len(second))
        lines = [f"{'hand':>8}  {first:>{width}} | {second:>{width}}  how"]

        def row(label: str, cells: Iterable[object], note: str = "") -> None:
            left, right = cells
            lines.append(f"{label:>8}  {left:>{width}} | {right:>{width}}  {note}".rstrip())

        for number, (outcome, running) in enumerate(self.rows, 1):
            row(str(number), running, outcome.describe((first, second)))
        for label, added in self.closing:
            won = [sum(outcome.winner == seat for outcome, _ in self.rows) for seat in (0, 1)]
            boxes = label == "boxes"
            row(label, [f"{n} ({x})" if boxes else f"{x:+}" for n, x in zip(won, added, strict=True)])
        if self.is_over:
            row("total", self.totals)
            winner = "won by nobody" if self.winner is None else f"won by {(first, second)[self.winner]}"
            lines.append(winner + (f", net {self.net}" if self.net is not None else ""))
        for number, cards in self.laid_off:
            lines.append(f"laid off in hand {number}: {format_cards(cards)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def _scored(rules: Rules, outcomes: Sequence[Outcome], without: Sequence[str]) -> tuple[np.ndarray, list[Pair]]:
    """A state in which outcomes were booked under the rules without some bonuses, and the running totals."""
    states = np.zeros(1, STATE)
    states["rules"] = rules.block
    for name in without:
        states["rules"][name] = 0
    states["game_winner"] = NOBODY
    running = []
    for number, outcome in enumerate(outcomes, 1):
        if states["game_over"][0]:
            raise GinError(f"hand {number} cannot be booked: the game was over after hand {number - 1}")
        states["winner"] = NOBODY if outcome.winner is None else outcome.winner
        states["points"] = outcome.points
        score_hand(states[0])
        running.append(pair_of(states["score"]))
    return states, running


def pair_of(field: np.ndarray) -> Pair:
    """The pair in a field of one record."""
    return int(field[0, 0]), int(field[0, 1])


def score_sheet(rules: Rules, outcomes: Sequence[Outcome]) -> ScoreSheet:
    """The sheet of a game so far.

    The closing lines are differences: the engine settles the game with and without each bonus. So only the engine holds the
    scoring rules.

    Raises:
        GinError: if there are more hands than the game lasted.
    """
    states, running = _scored(rules, outcomes, ())
    winner = None if states["game_winner"][0] == NOBODY else int(states["game_winner"][0])
    rows = tuple(zip(outcomes, running, strict=True))
    if not states["game_over"][0]:
        return ScoreSheet(rows, (), running[-1] if running else (0, 0), None, None, False)
    closing: list[tuple[str, Pair]] = []
    before = running[-1]
    # The order of the sheet: the shut-out comes after the boxes unless it doubles before them.
    steps = [("bonus", "game_bonus"), ("boxes", "box_bonus"), ("shut-out", "shutout")]
    if rules.shutout == "double-before-boxes":
        steps[1], steps[2] = steps[2], steps[1]
    for k, (label, _) in enumerate(steps):
        later = [name for _, name in steps[k + 1 :]]
        after = pair_of(_scored(rules, outcomes, ["net_score", *later])[0]["total"])
        if after != before:
            closing.append((label, (after[0] - before[0], after[1] - before[1])))
        before = after
    net = before[winner] - before[1 - winner] if rules.net_score and winner is not None else None
    return ScoreSheet(rows, tuple(closing), before, winner, net, True)
