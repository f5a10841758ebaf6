"""``like:``, a sparring partner that plays like somebody whose hands are on record."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.levels.profile import most_shown
from agents.opponent_model.imitation import Imitation, full_weights
from agents.opponent_model.posterior import Posteriors, shipped_prior
from ginenv.errors import GinError, quoted, unknown_name
from ginenv.hands.records import read_record


def make_like(
    seed: int = 0, profile: str | None = None, opponent: str | None = None, record: str | None = None
) -> Imitation:
    """A player that chooses as somebody does.

    Args:
        seed: of its choices.
        profile: directory in which levels keep what they learn; the level that has seen most of the opponent's hands is read.
        opponent: whom it plays like: a name in the profile, or of a player of the record (when left out, the record's first).
        record: file of a hand or game.

    Raises:
        GinError: if neither or both are given, nothing can be read, or no hand of the opponent was shown.
    """
    if (profile is None) == (record is None):
        raise GinError("like needs either profile=DIRECTORY,opponent=NAME or record=FILE")
    if record is not None:
        records = _of_record(record, opponent)
    elif opponent is None:
        raise GinError("like: profile needs opponent, the name of whom it plays like")
    else:
        records = most_shown(Path(str(profile)), opponent)
    if not records["hands"][0]:
        source = record if record is not None else profile
        raise GinError(f"like: {quoted(source)} shows no hand of {quoted(opponent or 'its first player')}")
    return Imitation(full_weights(records, shipped_prior()), seed)


def _of_record(path: str, name: str | None) -> np.ndarray:
    """What a record shows of one of its players, ``POSTERIOR[1]``."""
    found = read_record(path)
    if name is not None and name not in found.players:
        raise GinError(f"like: {unknown_name('player', name, [one for one in found.players if one])}")
    seat = 0 if name is None else found.players.index(name)
    views = [hand.view(1 - seat) for hand in found.hands if hand.is_over]
    posteriors = Posteriors(1)
    if views:
        posteriors.learn(np.array(views).reshape(-1), np.zeros(len(views), np.int64))
    return posteriors.records
