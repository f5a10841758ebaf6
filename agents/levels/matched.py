"""``matched``: a level that plays as strongly as whom it plays.

It estimates how strong the opponent is from the points of every hand, less its own luck, and sets its dial (``agents.levels.dial``) so
that the next hand is even.
"""

from __future__ import annotations

import numpy as np

from agents.levels.level import MATCHED, Level, load_level
from agents.levels.own_luck import OwnLuck
from agents.levels.player import LevelPlayer, open_profile
from agents.levels.profile import Profile
from agents.network.inputs import HeuristicFeatures
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, must_be
from ginenv.view.view import VIEW

# How many of the discard pile's cards can be remembered, and how much of the opponent's choices can be noticed.
_MEMORIES, _ATTENTIONS = 33, 3


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
        assert level.dial is not None
        self.dial, self.place, self.luck = level.dial, place, OwnLuck()
        bounds = [(memory, attention) for memory in range(_MEMORIES) for attention in range(_ATTENTIONS)]
        self.features = HeuristicFeatures(bounds)

    @property
    def shares_choices(self) -> bool:
        """No: it plays each opponent in its own way."""
        return False

    def places(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        """Where on the dial it meets each opponent, ``float64[n]``."""
        if self.place is not None:
            return np.full(n, self.place)
        rows = self.rows_of(slots if self.learns else None, n)
        return self.dial.even_places(self.opponents.strengths[rows])

    def act_with_policy(self, views: np.ndarray, slots: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Actions, and the probabilities of all (``ginenv.tables.players.KnownPolicy``)."""
        views = as_batch(views, VIEW, "VIEW")
        policy = np.zeros((len(views), NUM_ACTIONS), np.float32)
        behaviours = self.dial.behaviours(self.places(slots, len(views)))
        remembered, noticed = (behaviours[name].astype(np.int64) for name in ("remembered_discards", "noticed_actions"))
        self.features.kinds = _ATTENTIONS * remembered + noticed
        if slots is not None and self.learns and len(views):
            self.luck.add(views, np.asarray(slots))
        return self.choose(views, None, policy, behaviours), policy

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands; a profile is written before this returns."""
        if not self.learns or slots is None:
            return
        views, slots = as_batch(views, VIEW, "VIEW"), np.asarray(slots)
        results = self.places(slots, len(views)), views["points"] - self.luck.take(views, slots)
        if self.profile is None:
            self.opponents.rate(self.dial, self.rows_of(slots, len(views)), *results)
        else:
            self.learn_into_profile(views, results)


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
    level = load_level(MATCHED, numpy=numpy)
    assert level.dial is not None
    ratings, place = level.dial.ratings, None
    if rating is not None:
        if not ratings[0] <= rating <= ratings[-1]:
            raise GinError(must_be("rating", f"from {ratings[0]:.0f} to {ratings[-1]:.0f}", rating))
        if profile is not None:
            raise GinError("with a rating it plays everybody alike, and a profile has no use; leave one of them out")
        place = float(np.interp(rating, ratings, np.arange(len(ratings))))
    stored_profile = open_profile(level, profile, opponent, adapt, "adapt")
    return MatchedPlayer(level, seed, adapt and rating is None, stored_profile, place)
