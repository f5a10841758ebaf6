"""Bounds on what a player notices and remembers; everything else is blanked in its network's observation.

A beginner remembers the last three discards and ignores what its opponent takes; the next level remembers more and notices what was
taken; the others have the whole record of the hand.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.jit import kernel, store_cards
from ginenv.view.encoding import FACTS, PLANES

# Which of the opponent's choices are noticed.
NOTHING, WHAT_IT_TOOK, EVERYTHING = range(3)

_PILE = 52 * PLANES.index("the discard pile, upcard included")
_TOOK = 52 * PLANES.index("cards the opponent took from the pile and still holds")
_THREW = 52 * PLANES.index("cards the opponent discarded in this hand")
_REFUSED = 52 * PLANES.index("upcards the opponent could have taken and did not")
_NAMES = [name for name, _ in FACTS]
_NUM_KNOWN_CARDS = 52 * len(PLANES) + _NAMES.index("cards I know of the opponent's hand")
_HAS_TAKEN = 52 * len(PLANES) + _NAMES.index("the opponent holds an upcard that it took in this hand")


@kernel
def blank(v, pile, noticed_actions, row):
    """Blanks what is not noticed in a view's observation ``row`` (``uint8[520]``), and all of the discard pile but what is remembered."""
    if pile != v.pile_cards:
        store_cards(row, _PILE, pile)
        store_cards(row, _THREW, pile & v.thrown[1])
    if noticed_actions == NOTHING:
        store_cards(row, _TOOK, np.int64(0))
        store_cards(row, _THREW, np.int64(0))
        row[_NUM_KNOWN_CARDS] = 0
        row[_HAS_TAKEN] = 0
    if noticed_actions < EVERYTHING:
        store_cards(row, _REFUSED, np.int64(0))
