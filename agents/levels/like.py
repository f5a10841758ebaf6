"""``like:``, a sparring partner that plays like somebody whose hands are on record."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from agents.datasets.rows import Hands
from agents.datasets.source import RecordedGames
from agents.levels.profile import most_shown
from agents.opponent_model.imitation import Imitation, full_weights
from agents.opponent_model.posterior import Posteriors, shipped_prior
from agents.player_names import canonical_name
from ginenv.engine.actions import PHASE_OVER
from ginenv.errors import GinError, quoted, unknown_name
from ginenv.view.view import make_views


def make_like(
    seed: int = 0, profile: str | None = None, opponent: str | None = None, record: str | None = None
) -> Imitation:
    """A player that chooses as somebody does.

    Args:
        seed: of its choices.
        profile: directory in which levels keep what they learn; the level that has seen most of the opponent's hands is read.
        opponent: whom it plays like: a name in the profile, or of a player of the record (when left out, its first).
        record: file of a hand or game, or of many: a table that ``gin games`` wrote (``.parquet``).

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
        raise GinError(f"like: {quoted(record or profile)} shows no hand of {quoted(opponent or 'its first player')}")
    return Imitation(full_weights(records, shipped_prior()), seed)


def _of_record(path: str, name: str | None) -> np.ndarray:
    """What a record or a table of games shows of one of its players, ``POSTERIOR[1]``."""
    posteriors, names = Posteriors(1), set()
    for group in _groups(path):
        names.update(*group.players)
        if name is None and group.players:
            name = group.players[0][0]
        seats = np.array([_seat_of(name, pair) for pair in group.players], np.int64)
        chosen = (seats >= 0) & (group.states["phase"] == PHASE_OVER)
        views = make_views(group.states[chosen], 1 - seats[chosen])
        posteriors.learn(views, np.zeros(len(views), np.int64))
    if canonical_name(name or "", names) not in names:
        raise GinError(f"like: {unknown_name('player', str(name), sorted(names))}")
    return posteriors.records


def _seat_of(name: str | None, pair: tuple[str, str]) -> int:
    """The seat of a player whose name is written in any way; -1 for another's game."""
    written = canonical_name(name or "", pair)
    return pair.index(written) if written in pair else -1


def _groups(path: str) -> Iterable[Hands]:
    """The hands of a record, or of a table that ``gin games`` wrote."""
    if Path(path).suffix != ".parquet":
        return RecordedGames([Path(path)])
    from agents.datasets.store import read_hands  # needs pyarrow

    return read_hands(path)
