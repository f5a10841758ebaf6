"""``matched``: a level that plays as strongly as whom it plays, and the ratings that it gives people.

It estimates how strong the opponent is from the points of every hand, less its own luck, and goes to the place of the dial
(``agents.levels.dial``) where the next hand is even.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.estimates import Estimate
from agents.levels.dial import LEVELS, NUM_PLACES, manners_at, shipped_dial
from agents.levels.level import MATCHED, Level, load_level
from agents.levels.own_luck import own_luck
from agents.levels.player import LevelPlayer, open_profile
from agents.levels.profile import Profile, read_strength
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, must_be
from ginenv.view.view import VIEW

# An interval that is wider than this says too little for a number.
_WIDE = 150.0


class MatchedPlayer(LevelPlayer):
    """Plays everybody as an equal: each slot's opponent, or with a profile one person.

    Args:
        level: whose network and dial it has.
        seed: of its choices.
        learn: whether it follows the opponent's strength.
        profile: where it keeps what it learns.
        place: where on the dial it stays; it plays at the opponent's strength when left out.
    """

    def __init__(
        self,
        level: Level,
        seed: int = 0,
        learn: bool = True,
        profile: Profile | None = None,
        place: float | None = None,
    ) -> None:
        super().__init__(level, seed, learn, profile)
        self.dial, self.place = shipped_dial(), place

    def places(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        """Where on the dial it meets each opponent, ``float64[n]``."""
        if self.place is not None:
            return np.full(n, self.place)
        rows = self.rows_of(slots if self.learns else None, n)
        return self.dial.even_places(self.memory.strengths[rows])

    def manner(self, slots: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
        """How it plays against each opponent (as ``LevelPlayer.manner``): by the place alone."""
        return manners_at(self.places(slots, n))

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands; a profile is written before this returns."""
        if not self.learns or slots is None:
            return
        views, slots = as_batch(views, VIEW, "VIEW"), np.asarray(slots)
        margins = self.margins(views, slots)
        places = self.places(slots, len(views))
        if self.profile is not None:
            self.learn_into_profile(views, results=(places, margins))
            return
        strengths = self.memory.strengths
        for row, place, margin in zip(self.rows_of(slots, len(views)), places, margins, strict=True):
            strengths[row] = self.dial.updated(strengths[row][None], np.array([place]), np.array([margin]))[0]

    def margins(self, views: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The points of finished hands, own luck subtracted: ``VIEW[n]`` and ``int64[n]`` to ``float64[n]``."""
        decisions, _, hands = self._in_play.take(views, slots)
        return views["points"] - own_luck(decisions, hands, len(views))


def make_matched(
    seed: int = 0,
    adapt: bool = True,
    rating: float | None = None,
    profile: str | None = None,
    opponent: str | None = None,
    numpy: bool = False,
) -> MatchedPlayer:
    """The opponent who is an equal.

    Args:
        seed: of its choices.
        adapt: ``False`` to play everybody as a stranger, or at ``rating``.
        rating: of an opponent at whose strength it always plays.
        profile: directory in which it keeps what it learns.
        opponent: the opponent's name in the profile: 1 to 20 printable characters.
        numpy: whether its network computes in NumPy, without torch.

    Raises:
        GinError: if its profile or the opponent's name cannot be used, or options contradict each other.
    """
    level, ratings, place = load_level(MATCHED, numpy=numpy), shipped_dial().ratings, None
    if rating is not None:
        if not ratings[0] <= rating <= ratings[-1]:
            raise GinError(must_be("rating", f"from {ratings[0]:.0f} to {ratings[-1]:.0f}", rating))
        if profile is not None:
            raise GinError("with a rating it plays everybody alike, and a profile has no use; leave one of them out")
        place = float(np.interp(rating, ratings, np.arange(len(ratings))))
    stored_profile = open_profile(level, profile, opponent, adapt, "adapt")
    return MatchedPlayer(level, seed, adapt and rating is None, stored_profile, place)


@dataclass(frozen=True)
class PersonRating:
    """A person's rating, on the scale of the ladder (``agents.rating``).

    Attributes:
        rating: the present one.
        hands: hands that it rests on.
        past: the rating after each of the last hands.
    """

    rating: Estimate
    hands: int
    past: list[int]

    def __str__(self) -> str:
        rating, low, high = (
            f"{x:+.0f}".replace("-", "\N{MINUS SIGN}") for x in (self.rating.mean, self.rating.low, self.rating.high)
        )
        if self.rating.high - self.rating.low <= _WIDE:
            return f"rating {rating} ({low} to {high})"
        # Its place between the levels.
        ratings = np.interp([one.place for one in LEVELS.values()], np.arange(NUM_PLACES), shipped_dial().ratings)
        names, above = list(LEVELS), int(np.searchsorted(ratings, self.rating.mean))
        if 0 < above < len(names):
            return f"rating between {names[above - 1]} and {names[above]}, not sure yet"
        return f"rating {f'above {names[-1]}' if above else f'below {names[0]}'}, not sure yet"

    def sentence(self, whose: str) -> str:
        """All of it in words that begin with whose it is, such as ``Your``."""
        return f"{whose} {self} after {self.hands} hand{'s' * (self.hands != 1)} against {MATCHED}."


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
    return PersonRating(shipped_dial().rating(np.array(strength.posterior)), strength.hands, strength.ratings)
