"""How a hand ended: who scored what, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.cards import cards_of, format_cards
from ginenv.engine.engine import NOBODY, End

# How a hand ended. Knocks and gin are described with the players' names instead.
END_WORDS = {
    End.UNDERCUT: "undercut",
    End.TIE: "equal deadwood, nobody scores",
    End.STOCK: "drawn, the stock is used up",
    End.UPCARD_LIMIT: "drawn, too many upcards taken",
    End.REPEATED_UPCARD: "drawn, the same upcard taken and thrown by both",
}


@dataclass(frozen=True)
class Outcome:
    """The end of a hand.

    Attributes:
        end: why it ended.
        winner: seat that scores, or None.
        knocker: seat that knocked or went gin, or None.
        points: points to the winner, doubling and bonus included.
        deadwood: final deadwood of seats 0 and 1, after lay-offs; (0, 0) if nobody knocked.
        spread: the knocker's melds as tuples of cards, without the cards laid off on them.
        laid_off: cards that the defender laid off.
        doubled: whether the points counted twice (a spade was turned).
        starter: seat that began the hand.
    """

    end: End
    winner: int | None = None
    knocker: int | None = None
    points: int = 0
    deadwood: tuple[int, int] = (0, 0)
    spread: tuple[tuple[int, ...], ...] = ()
    laid_off: tuple[int, ...] = ()
    doubled: bool = False
    starter: int = 0

    def describe(self, names: tuple[str, str] = ("seat 0", "seat 1")) -> str:
        """One line: how it ended, the deadwood, who scores, what was laid off."""
        if self.knocker is None:
            return END_WORDS[self.end]
        mine, theirs = self.deadwood[self.knocker], self.deadwood[1 - self.knocker]
        what = {End.GIN: "gin", End.BIG_GIN: "big gin"}.get(self.end, "knock")
        parts = [f"{what} by {names[self.knocker]}, deadwood {mine} against {theirs}"]
        if self.end in (End.UNDERCUT, End.TIE):
            parts.append(END_WORDS[self.end])
        if self.winner is not None:
            parts.append(f"{self.points} to {names[self.winner]}{', doubled' if self.doubled else ''}")
        if self.laid_off:
            parts.append(f"laid off {format_cards(self.laid_off)}")
        return "; ".join(parts)

    def __str__(self) -> str:
        return self.describe()


def outcome_of(state: np.ndarray | np.void) -> Outcome | None:
    """The outcome of a state (one record), or None while its hand is in play."""
    if state["phase"] != PHASE_OVER:
        return None
    laid = int(state["laid"])
    melds = [cards_of(int(meld) & ~laid) for meld in state["spread"] if meld]
    return Outcome(
        end=End(int(state["end"])),
        winner=None if state["winner"] == NOBODY else int(state["winner"]),
        knocker=None if state["knocker"] == NOBODY else int(state["knocker"]),
        points=int(state["points"]),
        deadwood=(int(state["deadwood"][0]), int(state["deadwood"][1])),
        spread=tuple(tuple(meld) for meld in melds),
        laid_off=tuple(cards_of(laid)),
        doubled=bool(state["doubled"]),
        starter=int(state["starter"]),
    )
