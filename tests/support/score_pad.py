"""A score pad kept by hand: what the hands of a game add up to, written from the rules alone, without the engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from ginenv.engine.engine import End
from ginenv.engine.outcome import Outcome
from ginenv.engine.rules import Rules


@dataclass
class Column:
    """One game on the pad: the points of each hand entered, and the boxes, by seat."""

    points: list[list[int]] = field(default_factory=lambda: [[], []])
    boxes: list[int] = field(default_factory=lambda: [0, 0])
    first_to_target: int | None = None

    def sums(self) -> tuple[int, int]:
        return sum(self.points[0]), sum(self.points[1])

    def final(self, rules: Rules) -> tuple[tuple[int, int], int | None]:
        """Final totals and the winner of the game."""
        totals = list(self.sums())
        ender = self.first_to_target
        if ender is not None:
            totals[ender] += rules.game_bonus
            whitewash = not self.points[1 - ender]
            if whitewash and rules.shutout == "double-before-boxes":
                totals[ender] += totals[ender]
            totals[0] += rules.box_bonus * self.boxes[0]
            totals[1] += rules.box_bonus * self.boxes[1]
            if whitewash and rules.shutout == "double-after-boxes":
                totals[ender] += totals[ender]
            if whitewash and rules.shutout == "bonus":
                totals[ender] += rules.shutout_bonus
        winner = ender
        if ender is None or rules.winner == "total":
            winner = None if totals[0] == totals[1] else int(totals[1] > totals[0])
        return (totals[0], totals[1]), winner


@dataclass(frozen=True)
class PadResult:
    """Each game's points, boxes and final totals, and the totals, winner and net score of the whole."""

    hands: int
    points: list[tuple[int, int]]
    boxes: list[tuple[int, int]]
    finals: list[tuple[int, int]]
    totals: tuple[int, int]
    winner: int | None
    net: int | None


def keep_score(rules: Rules, hands: list[Outcome]) -> PadResult | None:
    """The game that some hands make; None if they do not end it."""
    columns = [Column() for _ in range(3 if rules.hollywood else 1)]
    drawn = 0
    for number, hand in enumerate(hands, 1):
        drawn = drawn + 1 if hand.winner is None else 0
        if hand.winner is not None:
            _enter(rules, columns, hand, hand.winner)
        if drawn == rules.max_drawn_hands or all(column.first_to_target is not None for column in columns):
            return _closed(rules, columns, number)
    return None


def _enter(rules: Rules, columns: list[Column], hand: Outcome, winner: int) -> None:
    extra = {End.GIN: rules.gin_boxes, End.BIG_GIN: rules.big_gin_boxes, End.UNDERCUT: rules.undercut_boxes}
    boxes = extra.get(hand.end, 0) * (2 if hand.doubled else 1) + 1
    in_play = [column for column in columns if column.first_to_target is None]
    # Every game in play where the winner has an entry, and one more.
    begun = [column for column in in_play if column.points[winner]]
    for column in [*begun, *[column for column in in_play if not column.points[winner]][:1]]:
        column.points[winner].append(hand.points)
        column.boxes[winner] += boxes
        if sum(column.points[winner]) >= rules.target:
            column.first_to_target = winner


def _closed(rules: Rules, columns: list[Column], hands: int) -> PadResult:
    finals = [column.final(rules) for column in columns]
    totals = sum(final[0][0] for final in finals), sum(final[0][1] for final in finals)
    winner = finals[0][1]
    if rules.hollywood:
        lead = totals[0] - totals[1]
        if rules.winner == "target":
            winners = [final[1] for final in finals]
            lead = winners.count(0) - winners.count(1)
        winner = None if lead == 0 else int(lead < 0)
    net = totals[winner] - totals[1 - winner] if rules.net_score and winner is not None else None
    return PadResult(
        hands,
        [column.sums() for column in columns],
        [(column.boxes[0], column.boxes[1]) for column in columns],
        [final[0] for final in finals],
        totals,
        winner,
        net,
    )
