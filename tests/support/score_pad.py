"""A score pad kept by hand: what the hands of a game add up to, written from the rules alone, without the engine."""

from __future__ import annotations

from dataclasses import dataclass

from ginenv.engine.engine import End
from ginenv.engine.outcome import Outcome
from ginenv.engine.rules import Rules


@dataclass(frozen=True)
class PadResult:
    """A finished game's hands, its points and boxes by seat, the totals, the winner and the net score."""

    hands: int
    points: tuple[int, int]
    boxes: tuple[int, int]
    totals: tuple[int, int]
    winner: int | None
    net: int | None


def keep_score(rules: Rules, hands: list[Outcome]) -> PadResult | None:
    """The game that some hands make; None if they do not end it."""
    points: tuple[list[int], list[int]] = ([], [])
    boxes, drawn = [0, 0], 0
    extra = {End.GIN: rules.gin_boxes, End.BIG_GIN: rules.big_gin_boxes, End.UNDERCUT: rules.undercut_boxes}
    for number, hand in enumerate(hands, 1):
        seat = hand.winner
        drawn = drawn + 1 if seat is None else 0
        if seat is not None:
            points[seat].append(hand.points)
            boxes[seat] += extra.get(hand.end, 0) * (2 if hand.doubled else 1) + 1
            if sum(points[seat]) >= rules.target:
                return _closed(rules, number, points, boxes, seat)
        elif drawn == rules.max_drawn_hands:
            return _closed(rules, number, points, boxes, None)
    return None


def _closed(
    rules: Rules, hands: int, points: tuple[list[int], list[int]], boxes: list[int], ender: int | None
) -> PadResult:
    totals = [sum(points[0]), sum(points[1])]
    if ender is not None:
        whitewash = not points[1 - ender]
        if whitewash and rules.shutout == "double-hands":
            totals[ender] += totals[ender]
        totals[ender] += rules.game_bonus
        if whitewash and rules.shutout == "double-before-boxes":
            totals[ender] += totals[ender]
        totals[0] += rules.box_bonus * boxes[0]
        totals[1] += rules.box_bonus * boxes[1]
        if whitewash and rules.shutout == "double-after-boxes":
            totals[ender] += totals[ender]
        if whitewash and rules.shutout == "bonus":
            totals[ender] += rules.shutout_bonus
    winner = ender
    if ender is None or rules.winner == "total":
        winner = None if totals[0] == totals[1] else int(totals[1] > totals[0])
    net = totals[winner] - totals[1 - winner] if rules.net_score and winner is not None else None
    pairs = (sum(points[0]), sum(points[1])), (boxes[0], boxes[1]), (totals[0], totals[1])
    return PadResult(hands, *pairs, winner, net)
