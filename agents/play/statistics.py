"""Totals of a player's hands and games, by variation and opponent, for both sides."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, RootModel

from agents.config import Config
from ginenv.engine.outcome import Outcome
from ginenv.hands.hand import Match

_Pair = Annotated[list[int], Field(min_length=2, max_length=2)]


class Tally(Config):
    """One variation against one opponent; in a pair the player's number comes first.

    Attributes:
        variation: the rules, as ``options.variation`` names them.
        opponent: the opponent's name.
        hands: hands played, drawn ones included.
        points: points of hands won by each side.
        won: games won by each side; a game that nobody wins, or that is abandoned, counts for neither.
        best: the highest final total with which each side won a game.
    """

    model_config = ConfigDict(frozen=False)

    variation: str
    opponent: str
    hands: int = 0
    points: _Pair = Field(default_factory=lambda: [0, 0])
    won: _Pair = Field(default_factory=lambda: [0, 0])
    best: _Pair = Field(default_factory=lambda: [0, 0])

    def add_hand(self, outcome: Outcome, seat: int) -> None:
        """Adds a hand; ``seat`` is the player's."""
        self.hands += 1
        if outcome.winner is not None:
            self.points[outcome.winner != seat] += outcome.points

    def add_game(self, match: Match, seat: int) -> None:
        """Adds a game that is over."""
        if match.winner is not None:
            side = int(match.winner != seat)
            self.won[side] += 1
            self.best[side] = max(self.best[side], match.totals[match.winner])

    @property
    def average(self) -> tuple[float, float]:
        """Points per hand of both sides."""
        hands = max(1, self.hands)
        return self.points[0] / hands, self.points[1] / hands


class Tallies(RootModel[list[Tally]]):
    """A tally for each variation and opponent, sorted by these."""

    root: list[Tally] = Field(default_factory=list)

    def tally(self, variation: str, opponent: str) -> Tally:
        """The tally of a variation and an opponent; made at the first call."""
        for tally in self.root:
            if (tally.variation, tally.opponent) == (variation, opponent):
                return tally
        self.root.append(Tally(variation=variation, opponent=opponent))
        self.root.sort(key=lambda tally: (tally.variation, tally.opponent))
        return self.tally(variation, opponent)

    def reset(self, name: str = "") -> int:
        """Removes the tallies of a variation or an opponent, or all of them; returns how many there were."""
        stay = [tally for tally in self.root if name and name not in (tally.variation, tally.opponent)]
        gone = len(self.root) - len(stay)
        self.root[:] = stay
        return gone
