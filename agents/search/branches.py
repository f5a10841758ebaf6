"""Worlds after the candidates of decisions, as a judge takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass
class Branches:
    """Worlds after candidates, and to whom they are worth what is asked.

    Attributes:
        states: ``STATE[n]``; a judge plays on in them.
        bounds: ``uint8[n, 2]``, who plays for gin.
        seats: ``int64[n]``, whose values are asked.
        tables: ``int64[n]``, which equity table prices each.
    """

    states: np.ndarray
    bounds: np.ndarray
    seats: np.ndarray
    tables: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Branches]) -> Branches:
        """All worlds of some branches."""
        return cls(
            np.concatenate([part.states for part in parts]),
            np.concatenate([part.bounds for part in parts]),
            np.concatenate([part.seats for part in parts]),
            np.concatenate([part.tables for part in parts]),
        )

    def only(self, index: np.ndarray) -> Branches:
        """Copies of some of the worlds."""
        return Branches(self.states[index], self.bounds[index], self.seats[index], self.tables[index])
