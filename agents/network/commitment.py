"""The commitment to gin of a seat that declined to knock: which knocks it may still make."""

from __future__ import annotations

import numpy as np

from ginenv.engine.jit import kernel
from ginenv.engine.melds import deadwood


@kernel
def _gin_knocks(hand, knocks):
    """The knocks of a mask that are gin."""
    gin = np.int64(0)
    while knocks:
        bit = knocks & -knocks
        knocks ^= bit
        if deadwood(hand & ~bit) == 0:
            gin |= bit
    return gin


@kernel
def bind_to_gin(hand, discards, knocks):
    """The knocks of a seat that is committed to gin; all of them if it has no other discard."""
    if discards == 0:
        return knocks
    return _gin_knocks(hand, knocks)
