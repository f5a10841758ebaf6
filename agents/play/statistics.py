"""What a player's hands and games add up to, by variation and opponent, for both sides."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from ginenv.errors import GinError
from ginenv.hand import Match
from ginenv.outcome import Outcome


@dataclass
class Tally:
    """One variation against one opponent; of a pair the player's number comes first.

    Attributes:
        hands: hands played, drawn ones included.
        points: points of hands won by each side.
        won: games won by each side; a game that nobody wins or that is left counts for nobody.
        best: the highest final total with which each side won a game.
    """

    hands: int = 0
    points: list[int] = field(default_factory=lambda: [0, 0])
    won: list[int] = field(default_factory=lambda: [0, 0])
    best: list[int] = field(default_factory=lambda: [0, 0])

    def add_hand(self, outcome: Outcome, seat: int) -> None:
        """Books a hand; ``seat`` is the player's."""
        self.hands += 1
        if outcome.winner is not None:
            self.points[outcome.winner != seat] += outcome.points

    def add_game(self, match: Match, seat: int) -> None:
        """Books a game that is over."""
        if match.winner is not None:
            side = int(match.winner != seat)
            self.won[side] += 1
            self.best[side] = max(self.best[side], match.totals[match.winner])

    @property
    def average(self) -> tuple[float, float]:
        """Points a hand of both sides."""
        hands = max(1, self.hands)
        return self.points[0] / hands, self.points[1] / hands


class Statistics:
    """A tally for each variation and opponent."""

    def __init__(self) -> None:
        self.tallies: dict[tuple[str, str], Tally] = {}

    def tally(self, variation: str, opponent: str) -> Tally:
        """The tally of a variation and an opponent, made when it is the first time."""
        return self.tallies.setdefault((variation, opponent), Tally())

    def reset(self, name: str = "") -> int:
        """Sets tallies back to nothing.

        Args:
            name: a variation or an opponent; all of them when left out.

        Returns:
            How many there were.
        """
        gone = [key for key in self.tallies if not name or name in key]
        for key in gone:
            del self.tallies[key]
        return len(gone)

    def to_json(self) -> list[dict[str, Any]]:
        """The tallies as plain values."""
        return [
            {"variation": variation, "opponent": opponent} | dataclasses.asdict(tally)
            for (variation, opponent), tally in sorted(self.tallies.items())
        ]

    @classmethod
    def from_json(cls, values: Any) -> Statistics:
        """Statistics of a file.

        Raises:
            GinError: if they are none.
        """
        statistics = cls()
        for entry in values if isinstance(values, list) else [values]:
            if not isinstance(entry, dict) or set(entry) != {"variation", "opponent", *Tally.__dataclass_fields__}:
                raise GinError("statistics are a list of tallies with a variation and an opponent each")
            entry = dict(entry)
            key = (entry.pop("variation"), entry.pop("opponent"))
            if not all(isinstance(name, str) for name in key) or not _is_tally(entry):
                raise GinError(f"the tally of {key[0]!r} against {key[1]!r} is no tally")
            statistics.tallies[key] = Tally(**entry)
        return statistics

    def to_table(self, player: str) -> Table:
        """A table for the terminal."""
        table = Table(title=f"Statistics of {player}", caption="of a pair, yours comes first", title_justify="left")
        table.add_column("variation", overflow="fold")
        table.add_column("opponent", overflow="fold")
        for name in ("hands", "points", "a hand", "games won", "best game"):
            table.add_column(name, justify="right", no_wrap=True)
        for (variation, opponent), tally in sorted(self.tallies.items()):
            mine, theirs = tally.average
            pairs = [f"{a} | {b}" for a, b in (tally.points, tally.won, tally.best)]
            pairs.insert(1, f"{mine:.1f} | {theirs:.1f}")
            table.add_row(variation, opponent, str(tally.hands), *pairs)
        return table


def _is_tally(entry: dict[str, Any]) -> bool:
    def count(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0

    pairs = [entry[name] for name in ("points", "won", "best")]
    return count(entry["hands"]) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(count, pair)) for pair in pairs
    )
