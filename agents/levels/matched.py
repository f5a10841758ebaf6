"""``matched``: a level that plays as strongly as whom it plays, and the ratings that it gives people.

It estimates how strong the opponent is from the points of every hand, less its own luck, and goes to the place of the dial
(``agents.levels.dial``) where the next hand is even.

Its luck is measured from what its seat sees: its half of every deal, and the cards that it draws. The opponent's cards are not known, so
that the value of a hand (``agents.arena.hand_value``) is that of sampled hands of the opponent. Luck so measured is zero on average to the
extent that unseen cards lie at random, and nothing hidden goes into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.arena.hand_value import shipped_value
from agents.estimates import Estimate
from agents.levels.dial import LEVELS, NUM_PLACES, manners_at, shipped_dial
from agents.levels.level import MATCHED, Level, load_level
from agents.levels.memory import Profile, read_strength
from agents.levels.player import LevelPlayer, open_profile
from agents.search.worlds import base_world, draw_hands, fill_world
from ginenv.engine.actions import PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD
from ginenv.engine.engine import NO_CARD, STATE
from ginenv.engine.jit import ctz, kernel, mix
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, must_be
from ginenv.view.view import VIEW

# An interval that is wider than this says too little for a number.
_WIDE = 150.0
# Hands of the opponent that are sampled for each deal and draw.
_WORLDS = 4
_DEAL = np.uint64(0x452821E638D01377)


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


# --- luck of one seat ---------------------------------------------------------------------------------------------------


@kernel
def _sample(views, states):
    """Writes worlds of each view: ``STATE[n * W]``, row after row."""
    count = states.shape[0] // max(1, views.shape[0])
    belief, hands = np.zeros(52, np.float32), np.zeros(count, np.int64)
    for i in range(views.shape[0]):
        stream = draw_hands(views[i], belief, hands, mix(views[i].luck))
        for k in range(count):
            s = states[count * i + k]
            base_world(views[i], s)
            stream = fill_world(s, views[i], hands[k], stream)


@kernel
def _rewind(views):
    """Turns views of a seat's first decision into views of the deal."""
    for i in range(views.shape[0]):
        v = views[i]
        v.luck = v.hand_luck ^ _DEAL
        for side in range(2):
            v.known_cards[side] = v.thrown[side] = v.refused[side] = 0
        v.phase = PHASE_UPCARD if v.first_upcard != NO_CARD else PHASE_DRAW
        v.num_history = v.num_pile = v.pile_cards = v.upcards = v.declined = 0
        v.upcard = v.first_upcard
        if v.first_upcard != NO_CARD:
            v.pile[0] = v.first_upcard
            v.num_pile = 1
            v.pile_cards = np.int64(1) << v.first_upcard
        v.taken = v.drawn = NO_CARD
        cards = np.int64(v.rules.ranks) * v.rules.suits
        v.unseen = ((np.int64(1) << cards) - 1) & ~v.hand & ~v.pile_cards
        v.stock = cards - 2 * v.rules.hand_size - v.num_pile


@kernel
def _order_deck(states):
    """Puts both hands where ``HandValue.deals`` expects them, and the starter to move."""
    for i in range(states.shape[0]):
        s = states[i]
        s.turn = s.starter
        at = 0
        for side in range(2):
            rest = s.hands[s.starter if side == 0 else 1 - s.starter]
            while rest:
                s.deck[at] = ctz(rest)
                rest &= rest - 1
                at += 1


def own_luck(views: np.ndarray, hands: np.ndarray, count: int) -> np.ndarray:
    """One player's luck in finished hands, in points, by the value function that ships.

    Args:
        views: the player's decisions in them, in their order: ``VIEW[n]``.
        hands: which hand each is of, ``int64[n]``.
        count: number of hands.

    Returns:
        ``float64[count]``.
    """
    luck = np.zeros(count)
    # The luck of a deal is not known any more for a hand that was begun elsewhere.
    first = np.diff(hands, prepend=-1) > 0
    is_deal = first & (views["phase"] <= PHASE_DRAW) & (views["thrown"][:, 0] == 0)
    drew = (views["phase"] == PHASE_DISCARD) & (views["drawn"] != NO_CARD)
    for chosen, measure in ((is_deal, _deals), (drew, _draws)):
        if chosen.any():
            np.add.at(luck, hands[chosen], measure(views[chosen]))
    return luck


def _states(views: np.ndarray) -> np.ndarray:
    states = np.zeros(_WORLDS * len(views), STATE)
    _sample(views, states)
    return states


def _mean(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, _WORLDS).mean(axis=1)


def _deals(views: np.ndarray) -> np.ndarray:
    views = views.copy()
    _rewind(views)
    states = _states(views)
    _order_deck(states)
    sign = np.where(views["started"] == 1, 1.0, -1.0)
    return sign * _mean(shipped_value().deals(states)[:, 0])


def _draws(views: np.ndarray) -> np.ndarray:
    values = shipped_value().draws(_states(views))[:, :, 0]
    return _mean(values[:, 0] - values[:, 1])
