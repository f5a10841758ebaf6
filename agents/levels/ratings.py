"""The rating that ``matched`` gives a person: with its interval, and how it has moved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.levels.dial import shipped_dial
from agents.levels.level import MATCHED
from agents.levels.profile import read_strength

# Hands by which a rating is compared with an earlier one.
_BACK = 50


@dataclass(frozen=True)
class PersonRating:
    """A person's rating, on the scale of the ladder (``agents.rating``).

    Attributes:
        rating: the present one.
        low: lower end of its 95 % interval.
        high: its upper end.
        hands: hands that it rests on.
        past: the rating after each of the last hands.
    """

    rating: float
    low: float
    high: float
    hands: int
    past: list[int]

    def __str__(self) -> str:
        return f"rating {_signed(self.rating)} ({_signed(self.low)} to {_signed(self.high)})"

    @property
    def moved(self) -> str:
        """How it has moved, in words; empty in the first hands."""
        if len(self.past) < 2:
            return ""
        back = min(_BACK, len(self.past) - 1)
        hands = f"{back} hand{'s' * (back > 1)}"
        return f"{hands} earlier it was {_signed(self.past[-1 - back])}"

    def sentence(self, whose: str) -> str:
        """All of it in words that begin with whose it is, such as ``Your``."""
        hands = f"{self.hands} hand{'s' * (self.hands != 1)}"
        return f"{whose} {self} after {hands} against {MATCHED}{'; ' * bool(self.moved)}{self.moved}."


def _signed(rating: float) -> str:
    return f"{rating:+.0f}".replace("-", "\N{MINUS SIGN}")


def person_rating(home: Path, person: str) -> PersonRating | None:
    """A person's rating; ``None`` where ``matched`` has not played the person.

    Args:
        home: directory with what levels have learned.
        person: the name.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    strength = read_strength(home, person)
    if strength is None:
        return None
    rating, low, high = shipped_dial().rating(np.array(strength.posterior))
    return PersonRating(rating, low, high, strength.hands, strength.ratings)
