"""The score sheet of a game: running totals hand by hand, then bonus, shut-out, boxes, totals and the net score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ginenv.engine.cards import format_cards
from ginenv.engine.engine import NOBODY, STATE
from ginenv.engine.game import score_hand, settle
from ginenv.engine.outcome import Outcome
from ginenv.engine.rules import Rules
from ginenv.errors import GinError

Pair = tuple[int, int]
# What the end of a game adds, in the order of the sheet; the shut-out stands where it doubles what is above it.
_BONUS, _BOXES, _SHUTOUT = ("bonus", "game_bonus"), ("boxes", "box_bonus"), ("shut-out", "shutout")
_CLOSING = {
    "double-hands": (_SHUTOUT, _BONUS, _BOXES),
    "double-before-boxes": (_BONUS, _SHUTOUT, _BOXES),
}


class SheetLine(NamedTuple):
    """A line of a score sheet as it is shown: the hand's number or what is added, both seats' cells, how the hand ended."""

    label: str
    cells: tuple[str, str]
    outcome: Outcome | None = None


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
        boxes: boxes won by both seats.
    """

    rows: tuple[tuple[Outcome, Pair], ...]
    closing: tuple[tuple[str, Pair], ...]
    totals: Pair
    winner: int | None
    net: int | None
    is_over: bool
    boxes: Pair

    def lines(self) -> list[SheetLine]:
        """The lines to show: hands, what the end of the game adds, and totals. Boxes have their number (and points)."""
        lines = [
            SheetLine(str(number), (str(first), str(second)), outcome)
            for number, (outcome, (first, second)) in enumerate(self.rows, 1)
        ]
        for label, (first, second) in self.closing:
            boxes = f"{self.boxes[0]} ({first})", f"{self.boxes[1]} ({second})"
            lines.append(SheetLine(label, boxes if label == "boxes" else (f"{first:+}", f"{second:+}")))
        if self.is_over:
            lines.append(SheetLine("total", (str(self.totals[0]), str(self.totals[1]))))
        return lines

    def verdict(self, names: tuple[str, str]) -> str:
        """Who won the game, and by how much; empty while it is in play."""
        if not self.is_over:
            return ""
        winner = "won by nobody" if self.winner is None else f"won by {names[self.winner]}"
        return winner + (f", net {self.net}" if self.net is not None else "")

    def to_text(self, names: tuple[str, str] = ("seat 0", "seat 1")) -> str:
        """The sheet as a table, boxes as their number (and points), followed by the list of cards laid off."""
        width = max(8, *map(len, names))

        def row(label: str, cells: Sequence[str], note: str = "") -> str:
            return f"{label:>8}  {cells[0]:>{width}} | {cells[1]:>{width}}  {note}".rstrip()

        lines = [row("hand", names, "how")]
        for line in self.lines():
            lines.append(row(line.label, line.cells, "" if line.outcome is None else line.outcome.describe(names)))
        if self.is_over:
            lines.append(self.verdict(names))
        for number, (outcome, _) in enumerate(self.rows, 1):
            if outcome.laid_off:
                lines.append(f"laid off in hand {number}: {format_cards(outcome.laid_off)}")
        return "\n".join(lines)


def pair_of(field: np.ndarray) -> Pair:
    """The pair in a field of one record."""
    return int(field[0, 0]), int(field[0, 1])


def score_sheet(rules: Rules, outcomes: Sequence[Outcome]) -> ScoreSheet:
    """The sheet of a game so far.

    Raises:
        GinError: if there are more hands than the game lasted.
    """
    states = np.zeros(1, STATE)
    states["rules"] = rules.block
    states["game_winner"] = NOBODY
    running: list[Pair] = []
    for number, outcome in enumerate(outcomes, 1):
        if states["game_over"][0]:
            raise GinError(f"hand {number} cannot be booked: the game was over after hand {number - 1}")
        states["winner"] = NOBODY if outcome.winner is None else outcome.winner
        states["points"], states["end"], states["doubled"] = outcome.points, outcome.end, outcome.doubled
        score_hand(states[0])
        running.append(pair_of(states["score"]))
    rows, boxes = tuple(zip(outcomes, running, strict=True)), pair_of(states["boxes"])
    totals = running[-1] if running else (0, 0)
    if not states["game_over"][0]:
        return ScoreSheet(rows, (), totals, None, None, False, boxes)
    # The closing lines are differences: the engine settles the game with and without each bonus, and alone holds the scoring rules.
    closing: list[tuple[str, Pair]] = []
    steps = _CLOSING.get(rules.shutout, (_BONUS, _BOXES, _SHUTOUT))
    for k, (label, _) in enumerate(steps):
        states["rules"] = rules.block
        for _, name in steps[k + 1 :]:
            states["rules"][name] = 0
        settle(states[0], int(states["winner"][0]))
        after = pair_of(states["total"])
        if after != totals:
            closing.append((label, (after[0] - totals[0], after[1] - totals[1])))
        totals = after
    winner = None if states["game_winner"][0] == NOBODY else int(states["game_winner"][0])
    net = totals[winner] - totals[1 - winner] if rules.net_score and winner is not None else None
    return ScoreSheet(rows, tuple(closing), totals, winner, net, True, boxes)
