"""Playing for gin only, to which a seat binds itself when it declines to knock: the knocks that are left to it."""

from __future__ import annotations

import numpy as np

from ginenv.jit import kernel
from ginenv.melds import deadwood


@kernel
def gin_knocks(hand, knocks):
    """Those of some knocks that are gin."""
    gin = np.int64(0)
    while knocks:
        bit = knocks & -knocks
        knocks ^= bit
        if deadwood(hand & ~bit) == 0:
            gin |= bit
    return gin


@kernel
def bind_to_gin(hand, discards, knocks):
    """The knocks left to a seat that plays for gin only; one that has nothing but knocks keeps them."""
    if discards == 0:
        return knocks
    return gin_knocks(hand, knocks)
