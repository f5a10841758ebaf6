"""The score sheet of a game: running totals hand by hand, then bonus, shut-out, boxes, totals and the net score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ginenv.engine.cards import format_cards
from ginenv.engine.engine import NOBODY, STATE
from ginenv.engine.game import column_ended, score_hand, settle
from ginenv.engine.outcome import Outcome
from ginenv.engine.rules import Rules
from ginenv.engine.state import NUM_COLUMNS
from ginenv.errors import GinError

Pair = tuple[int, int]


# Width of a cell of the text where three games stand beside each other.
_NARROW = 8


@dataclass(frozen=True)
class SheetLine:
    """A line of a score sheet as it is shown.

    Attributes:
        label: number of the hand, or what the line adds.
        cells: two for each game, that of seat 0 first; empty where the line says nothing of the game.
        outcome: how the hand ended, on the lines of hands.
    """

    label: str
    cells: tuple[str, ...]
    outcome: Outcome | None = None


@dataclass(frozen=True)
class ScoreSheet:
    """What a game's outcomes add up to under its rules.

    Attributes:
        rows: an outcome and the running totals after it, for every hand; of three games at once, the totals of the first that is
            not over.
        closing: what the end of the game adds, as (label, points of both seats); empty while the game is in play. Of three games at
            once, the total of each.
        totals: final totals of both seats, before the net score; the running totals while the game is in play.
        winner: seat that won the game, or None.
        net: the winner's lead if the rules ask for the net score and the game was won, else None.
        is_over: whether the game is over.
        boxes: boxes won by both seats (in the game of the running totals).
        games: the sheets of the games that Hollywood scoring plays at once, each with a row for every hand; else empty.
    """

    rows: tuple[tuple[Outcome, Pair], ...]
    closing: tuple[tuple[str, Pair], ...]
    totals: Pair
    winner: int | None
    net: int | None
    is_over: bool
    boxes: Pair
    games: tuple[ScoreSheet, ...] = ()

    @property
    def laid_off(self) -> list[tuple[int, tuple[int, ...]]]:
        """Number of the hand (from 1) and cards, for every hand in which cards were laid off."""
        return [(number, row[0].laid_off) for number, row in enumerate(self.rows, 1) if row[0].laid_off]

    def lines(self) -> list[SheetLine]:
        """The lines to show: hands, what the end of each game adds, and totals. Boxes have their number (and points)."""
        games = self.games or (self,)
        lines = []
        for number, (outcome, _) in enumerate(self.rows):
            cells: list[str] = []
            for game in games:
                running = game.rows[number][1]
                changed = running != (game.rows[number - 1][1] if number else (0, 0))
                cells += [str(points) if changed or not self.games else "" for points in running]
            lines.append(SheetLine(str(number + 1), tuple(cells), outcome))
        labels = [label for game in sorted(games, key=lambda game: -len(game.closing)) for label, _ in game.closing]
        for label in dict.fromkeys(labels):
            lines.append(SheetLine(label, tuple(cell for game in games for cell in game._closing_cells(label))))
        if any(game.is_over for game in games):
            totals = [str(points) if game.is_over else "" for game in games for points in game.totals]
            lines.append(SheetLine("total", tuple(totals)))
        return lines

    def _closing_cells(self, label: str) -> tuple[str, str]:
        added = dict(self.closing).get(label)
        if added is None:
            return "", ""
        first, second = (f"{n} ({x})" if label == "boxes" else f"{x:+}" for n, x in zip(self.boxes, added, strict=True))
        return first, second

    def verdict(self, names: tuple[str, str]) -> str:
        """Who won the game, and by how much; empty while it is in play."""
        if not self.is_over:
            return ""
        winner = "won by nobody" if self.winner is None else f"won by {names[self.winner]}"
        sums = f", {self.totals[0]} | {self.totals[1]} in all games" if self.games else ""
        return winner + sums + (f", net {self.net}" if self.net is not None else "")

    def to_text(self, names: Pair | tuple[str, str] = ("seat 0", "seat 1")) -> str:
        """The sheet as a table, boxes as their number (and points), followed by the list of cards laid off."""
        first, second = (str(name) for name in names)
        width = _NARROW if self.games else max(8, len(first), len(second))

        def row(label: str, cells: Sequence[str], note: str = "") -> str:
            pairs = [f"{a:>{width}} | {b:>{width}}" for a, b in zip(cells[::2], cells[1::2], strict=True)]
            return "  ".join([f"{label:>8}", *pairs, note]).rstrip()

        heads = [name[:width] for name in (first, second)] * max(1, len(self.games))
        lines = [row("hand", heads, "" if self.games else "how")]
        if self.games:
            lines.insert(0, row("", [cell for k in range(len(self.games)) for cell in (f"game {k + 1}", "")]))
        for line in self.lines():
            note = "" if line.outcome is None else line.outcome.describe((first, second))
            lines.append(row(line.label, line.cells, "" if self.games else note))
            if note and self.games:
                lines.append(f"{'':10}{note}")
        if self.is_over:
            lines.append(self.verdict((first, second)))
        for number, cards in self.laid_off:
            lines.append(f"laid off in hand {number}: {format_cards(cards)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


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
    columns: list[list[Pair]] = [[] for _ in range(NUM_COLUMNS)]
    for number, outcome in enumerate(outcomes, 1):
        if states["game_over"][0]:
            raise GinError(f"hand {number} cannot be booked: the game was over after hand {number - 1}")
        states["winner"] = NOBODY if outcome.winner is None else outcome.winner
        states["points"], states["end"], states["doubled"] = outcome.points, outcome.end, outcome.doubled
        score_hand(states[0])
        running.append(pair_of(states["score"]))
        for k, column in enumerate(columns):
            column.append(pair_of(states["column_score"][:, k]))
    over = bool(states["game_over"][0])
    if not rules.hollywood:
        ended = int(states["winner"][0]) if over else NOBODY
        return _sheet(rules, outcomes, running, pair_of(states["boxes"]), ended, over)
    games = []
    for k, column in enumerate(columns):
        ended = int(column_ended(states[0], k))
        boxes = pair_of(states["column_boxes"][:, k])
        games.append(_sheet(rules, outcomes, column, boxes, ended, over or ended != NOBODY))
    return _sum_of_games(states, outcomes, running, tuple(games))


def _sum_of_games(
    states: np.ndarray, outcomes: Sequence[Outcome], running: list[Pair], games: tuple[ScoreSheet, ...]
) -> ScoreSheet:
    rows, boxes = tuple(zip(outcomes, running, strict=True)), pair_of(states["boxes"])
    if not states["game_over"][0]:
        return ScoreSheet(rows, (), running[-1] if running else (0, 0), None, None, False, boxes, games)
    winner = None if states["game_winner"][0] == NOBODY else int(states["game_winner"][0])
    totals = sum(game.totals[0] for game in games), sum(game.totals[1] for game in games)
    net = totals[winner] - totals[1 - winner] if states["rules"]["net_score"][0] and winner is not None else None
    closing = tuple((f"game {k}", game.totals) for k, game in enumerate(games, 1))
    return ScoreSheet(rows, closing, totals, winner, net, True, boxes, games)


def _sheet(
    rules: Rules, outcomes: Sequence[Outcome], running: list[Pair], boxes: Pair, ended: int, over: bool
) -> ScoreSheet:
    """The sheet of one game, which ``ended`` has won or ended (or ``NOBODY``).

    The closing lines are differences: the engine settles the game with and without each bonus. So only the engine holds the
    scoring rules.
    """
    rows = tuple(zip(outcomes, running, strict=True))
    before = running[-1] if running else (0, 0)
    if not over:
        return ScoreSheet(rows, (), before, None, None, False, boxes)
    closing: list[tuple[str, Pair]] = []
    # The order of the sheet: the shut-out comes after the boxes unless it doubles before them.
    steps = [("bonus", "game_bonus"), ("boxes", "box_bonus"), ("shut-out", "shutout")]
    if rules.shutout == "double-before-boxes":
        steps[1], steps[2] = steps[2], steps[1]
    winner = None
    for k, (label, _) in enumerate(steps):
        after, winner = _settled(rules, running[-1], boxes, ended, [name for _, name in steps[k + 1 :]])
        if after != before:
            closing.append((label, (after[0] - before[0], after[1] - before[1])))
        before = after
    net = before[winner] - before[1 - winner] if rules.net_score and winner is not None else None
    return ScoreSheet(rows, tuple(closing), before, winner, net, True, boxes)


def _settled(rules: Rules, score: Pair, boxes: Pair, ended: int, without: Sequence[str]) -> tuple[Pair, int | None]:
    """Totals and winner of a game, settled by the engine under rules without some bonuses."""
    states = np.zeros(1, STATE)
    states["rules"] = rules.block
    for name in without:
        states["rules"][name] = 0
    states["score"], states["boxes"] = score, boxes
    settle(states[0], ended)
    winner = int(states["game_winner"][0])
    return pair_of(states["total"]), None if winner == NOBODY else winner
