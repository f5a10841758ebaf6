"""What an analysis finds, as plain values: pages, ``gin analyse`` and notebooks show the same.

A value is the chance to win the game of the seat that decides; where a single hand is played (``target=0``), the points that it may
expect. ``HandAnalysis.unit`` says which.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

GAME, POINTS = "chance to win the game", "points"


@dataclass(frozen=True)
class Candidate:
    """An action that could have been chosen.

    Attributes:
        action: in words, such as ``discard 7C``.
        value: its value, or None where there was nothing to choose.
        error: standard error of the value.
        difference: value less that of the best action, in the same worlds.
        difference_error: standard error of the difference, smaller than that of the values.
        policy: its probability among the candidates under the network without search; None for a lay-off.
        deadwood: of a discard: deadwood that is left.
        ways: of a discard: unseen cards that would fill what is left to a meld.
        lost_ways: of a discard: unseen cards that would have made a meld with the card.
        danger: of a discard: how probably the opponent can use the card, as the built-in bots estimate it.
    """

    action: str
    value: float | None
    error: float | None
    difference: float
    difference_error: float
    policy: float | None = None
    deadwood: int | None = None
    ways: int | None = None
    lost_ways: int | None = None
    danger: float | None = None


@dataclass(frozen=True)
class Decision:
    """A decision of one seat, from what that seat could see.

    Attributes:
        move: number of the action in the hand, from 1; ``hand.after(move - 1)`` is the position.
        seat: who decided.
        phase: upcard, draw, discard, spread, layoff or wall.
        hand: the seat's cards, as in ``7C 8C``.
        deadwood: theirs.
        played: the action that was chosen, in words; None where nothing has been played yet.
        best: the expert's choice, in words.
        loss: value of the best action less that of the one played; 0 where there was nothing to choose, None where nothing was played.
            It may be a little below 0, since the expert weighs the policy besides its worlds.
        error: standard error of the loss.
        mark: ``doubtful``, ``error`` or ``blunder``; ``unclear`` for a loss within its error (too close to tell); otherwise empty.
        kind: what kind of decision a mark is about, one of ``marks.KINDS``; empty where there is no mark.
        worlds: in how many worlds the candidates were valued; 0 where there was nothing to choose or nothing hidden mattered.
        candidates: the best first.
        belief: the probability that the opponent holds each card, ``4 x 13``: suits as in ``ginenv.cards.SUITS`` (spades, clubs, diamonds,
            hearts) by ranks from the ace.
        opponent: the opponent's true hand then, as in ``7C 8C``; None while the hand is in play.
    """

    move: int
    seat: int
    phase: str
    hand: str
    deadwood: int
    played: str | None
    best: str
    loss: float | None
    error: float
    mark: str
    kind: str
    worlds: int
    candidates: tuple[Candidate, ...]
    belief: tuple[tuple[float, ...], ...]
    opponent: str | None = None


@dataclass(frozen=True)
class Draw:
    """The luck of a draw from the stock: what the card was worth beside the mean of all that could have come.

    Attributes:
        move: number of the action that drew it, from 1.
        seat: who drew.
        card: as in ``7C``.
        points: luck in points of the hand, to the seat that drew.
        luck: the same in the unit of the analysis.
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
        decisions: how many there were, those without a choice included.
        loss: sum of their losses.
        marks: how many have each mark.
        luck: sum over the seat's draws, in the unit of the analysis; None while the hand is in play.
    """

    decisions: int
    loss: float
    marks: dict[str, int]
    luck: float | None


@dataclass(frozen=True)
class HandAnalysis:
    """The analysis of a hand.

    Attributes:
        number: the hand's in its game, from 1.
        rules: the rules, such as ``eaai,target=150``.
        score: of the game before the hand, by seat.
        result: how the hand ended, in words; None while it is in play.
        points: what it brought seats 0 and 1.
        unit: what values and losses are: ``chance to win the game`` or ``points``.
        analyst: the search, its settings, its seed and its network.
        decisions: in order; of a hand in play those of one seat.
        draws: in order, empty while the hand is in play.
        sides: of seats 0 and 1.
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
        """The analysis as values that ``json`` writes."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The analysis that ``to_json`` gave."""
        decisions = [
            Decision(
                **values
                | {
                    "candidates": tuple(Candidate(**each) for each in values["candidates"]),
                    "belief": tuple(map(tuple, values["belief"])),
                }
            )
            for values in values["decisions"]
        ]
        first, second = (Side(**side) for side in values["sides"])
        return cls(
            **values
            | {
                "score": tuple(values["score"]),
                "points": tuple(values["points"]),
                "decisions": tuple(decisions),
                "draws": tuple(Draw(**draw) for draw in values["draws"]),
                "sides": (first, second),
            }
        )

    def mistakes(self, seat: int | None = None) -> list[Decision]:
        """The decisions, of one seat or both, that are marked as doubtful, an error or a blunder."""
        return [each for each in self.decisions if each.kind and (seat is None or each.seat == seat)]
