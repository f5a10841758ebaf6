"""How networks read their inputs: which numbers belong to which suit, and their scales. Without torch, for those who compute in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ginenv.view.encoding import PLANES

NUM_CONDITIONS = 1
FEATURES_SCALE = 1 / 64
NUM_SUITS, NUM_RANKS = 4, 13
_CARDS = NUM_SUITS * NUM_RANKS


def suit_columns(features: int | None, hidden: int | None, single: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The columns, by suit, of inputs that begin with an observation: of each suit ``int64[4, S]``, and of none ``int64[K]``.

    Args:
        features: first column of the heuristic features, if there are any.
        hidden: first column of the opponent's hand, if it is read.
        single: further columns that belong to no suit, in the order in which they are read.
    """
    decks = [*range(0, len(PLANES) * _CARDS, _CARDS)]
    facts = len(PLANES) * _CARDS
    shared = [*range(facts, facts + _CARDS)]
    if features is not None:
        decks += [features, features + _CARDS]
        shared.append(features + 2 * _CARDS)
    if hidden is not None:
        decks.append(hidden)
    first = np.array([deck + rank for deck in decks for rank in range(NUM_RANKS)])
    suits = np.stack([first + NUM_RANKS * suit for suit in range(NUM_SUITS)])
    return suits, np.array([*shared, *single])
