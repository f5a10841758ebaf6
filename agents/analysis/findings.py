"""What an analysis finds, as plain values: pages, ``gin analyse`` and notebooks all show these.

A value is the deciding seat's chance to win the game or, where a single hand is played (``target=0``), its expected points.
``HandAnalysis.unit`` says which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from pydantic import TypeAdapter

from agents.analysis.marks import MARKS

GAME, POINTS = "chance to win the game", "points"
# What decisions cost whose losses add up to less than 0, which is the estimates' error.
NO_LOSS = "nothing that could be told from chance"


@dataclass(frozen=True)
class Candidate:
    """An action that could have been chosen.

    Attributes:
        action: in words, such as ``discard 7C``.
        value: the action's value, or None where there was nothing to choose.
        error: standard error of the value.
        difference: value less that of the best action, in the same worlds.
        difference_error: standard error of the difference, smaller than that of the values.
        policy: the action's probability among the candidates under the network without search; None for a lay-off.
        deadwood: for a discard, the deadwood that is left.
        taken: for a discard, the probability that the opponent takes it, in the hands that it may hold.
        knock: for a discard, the probability that the opponent takes it and may then knock or go gin at once.
    """

    action: str
    value: float | None
    error: float | None
    difference: float
    difference_error: float
    policy: float | None = None
    deadwood: int | None = None
    taken: float | None = None
    knock: float | None = None

    @property
    def risk(self) -> str:
        """What the opponent may make of a discard, in words; empty where that is not known."""
        if self.taken is None or self.knock is None:
            return ""
        share, knock = 100 * self.taken, 100 * self.knock
        return f"taken in {share:.0f} % of the opponent's possible hands, for a knock or gin in {knock:.0f} %"


@dataclass(frozen=True)
class Decision:
    """A decision of one seat, from what that seat could see.

    Attributes:
        move: number of the action in the hand, from 1; ``hand.after(move - 1)`` is the position.
        seat: who decided.
        phase: upcard, draw, discard, spread, layoff or wall.
        hand: the seat's cards, as in ``7C 8C``.
        deadwood: the deadwood of these cards.
        played: the action that was chosen, in words; None where nothing has been played yet.
        best: the expert's choice, in words.
        reason: why that is better than the action played, or than the next best, in sentences (``ginenv.bots.reasons``).
        loss: value of the best action less that of the one played; 0 where there was nothing to choose, None where nothing was played.
            It may be slightly below 0, because the expert weighs the policy as well as its worlds.
        error: standard error of the loss.
        mark: ``doubtful``, ``error`` or ``blunder``; ``unclear`` for a loss within its error (too close to tell); otherwise empty.
        kind: what kind of decision a mark is about, one of ``marks.KINDS``; empty where there is no mark.
        worlds: number of worlds in which the candidates were valued; 0 where there was nothing to choose; 1 where nothing hidden mattered.
        candidates: the candidates, the best first.
        belief: the probability that the opponent holds each card, ``4 x 13``: suits (``ginenv.engine.cards.SUITS``) by ranks from the ace.
        opponent: the opponent's true hand at that time, as in ``7C 8C``; None while the hand is in play.
    """

    move: int
    seat: int
    phase: str
    hand: str
    deadwood: int
    played: str | None
    best: str
    reason: str
    loss: float | None
    error: float
    mark: str
    kind: str
    worlds: int
    candidates: tuple[Candidate, ...]
    belief: tuple[tuple[float, ...], ...]
    opponent: str | None = None


@dataclass(frozen=True)
class Mistake:
    """A mistake, which a seat may have made several times in the hand.

    Attributes:
        decision: the costliest of the decisions that are marked for it.
        moves: numbers of the actions in the hand with which it was made, in order.
    """

    decision: Decision
    moves: tuple[int, ...]


def mistakes_of(decisions: Iterable[Decision]) -> list[Mistake]:
    """The mistakes among decisions of one hand, the costliest first.

    Decisions make the same mistake if the same seat should have done the same: let go of the same card, say, or knock.
    """
    groups: dict[tuple[int, str, str], list[Decision]] = {}
    for each in decisions:
        if each.kind:
            better = "" if each.kind.startswith("knock") else each.best
            groups.setdefault((each.seat, each.kind, better), []).append(each)
    found = [
        Mistake(max(group, key=lambda each: each.loss or 0.0), tuple(each.move for each in group))
        for group in groups.values()
    ]
    return sorted(found, key=lambda mistake: -(mistake.decision.loss or 0.0))


@dataclass(frozen=True)
class Draw:
    """The luck of a draw from the stock: what the card was worth, less the mean of all cards that could have come.

    Attributes:
        move: number of the action that drew the card, from 1.
        seat: who drew.
        card: the card, as in ``7C``.
        points: luck in points of the hand, for the seat that drew.
        luck: the same luck in the unit of the analysis.
    """

    move: int
    seat: int
    card: str
    points: float
    luck: float


@dataclass(frozen=True)
class Side:
    """What a seat's decisions and draws add up to.

    Attributes:
        decisions: number of decisions, including those without a choice.
        loss: sum of their losses.
        marks: number of mistakes with each mark, and of decisions that are too close to tell.
        luck: sum over the seat's draws, in the unit of the analysis; None while the hand is in play.
    """

    decisions: int
    loss: float
    marks: dict[str, int]
    luck: float | None

    @property
    def marks_text(self) -> str:
        """How many mistakes there are with each mark, the worst first, in words."""
        return ", ".join(f"{self.marks[mark]} {mark}" for mark in MARKS[::-1] if self.marks[mark]) or "no mistake"

    def loss_text(self, unit: str, of_all: str = "") -> str:
        """What the decisions cost, in percent of the game or in points, followed by ``of_all``; in words if the sum is below 0."""
        loss = 100 * self.loss if unit == GAME else self.loss
        return NO_LOSS if loss < 0 else f"{loss:.1f}{of_all}"


@dataclass(frozen=True)
class HandAnalysis:
    """The analysis of a hand.

    Attributes:
        number: number of the hand in its game, from 1.
        rules: the rules, such as ``eaai,target=150``.
        score: the game score before the hand, by seat.
        result: how the hand ended, in words; None while it is in play.
        points: the points that seats 0 and 1 scored in the hand.
        unit: unit of values and losses: ``chance to win the game`` or ``points``.
        analyst: the search, its settings, its seed and its network.
        decisions: the decisions in order; only one seat's while the hand is in play.
        draws: the draws in order; empty while the hand is in play.
        sides: the totals of seats 0 and 1.
    """

    number: int
    rules: str
    score: tuple[int, int]
    result: str | None
    points: tuple[int, int]
    unit: str
    analyst: str
    decisions: tuple[Decision, ...]
    draws: tuple[Draw, ...]
    sides: tuple[Side, Side]

    def to_json(self) -> dict[str, Any]:
        """The analysis as values that ``json`` can write."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The analysis that ``to_json`` wrote.

        Raises:
            pydantic.ValidationError: for anything else.
        """
        return TypeAdapter(cls).validate_python(values)

    def mistakes(self, seat: int | None = None) -> list[Mistake]:
        """The mistakes of one seat, or of both, the costliest first."""
        return mistakes_of(each for each in self.decisions if seat in (None, each.seat))
