"""Numbers about a whole hand that an opponent may hold: what the chances of single cards leave out.

A network's head says how likely each card is, one by one. Hands drawn from that are too scattered: whoever keeps a six keeps it beside
other sixes or in a run, and after eight turns a true hand has half the deadwood of a drawn one. ``agents.search.hand_model`` weighs
drawn hands by these numbers.
"""

from __future__ import annotations

import numpy as np

from agents.search.playout import beside
from ginenv.jit import ctz, kernel, popcount
from ginenv.melds import RANK_COLUMN, deadwood, melded_cards

FEATURES = (
    "logits of the cards",
    "deadwood",
    "deadwood, squared",
    "ten points or less",
    "none",
    "melded cards",
    "loose cards of one rank",
    "loose cards beside each other",
    "five points or less",
    "twenty points or less",
    "known cards in melds",
    "how well the opponent's choices fit",
)
NUM_FEATURES = len(FEATURES)
# Cards that the opponent has thrown, this many or more.
MOST_TURNS = 11


@kernel
def hand_features(cards, v, logits, row, fit, out):
    """The numbers about a hand that decide how plausible it is: ``float64[NUM_FEATURES]``, written.

    Args:
        cards: the hand, a mask.
        v: the view it is imagined from.
        logits: ``float32[n, 52]`` that the opponent holds each card.
        row: of this view.
        fit: likelihood of the opponent's choices with this hand.
        out: written.
    """
    points = deadwood(cards)
    melded = melded_cards(cards)
    loose = cards & ~melded
    total = 0.0
    rest = cards & ~v.known[1]
    while rest:
        total += logits[row, ctz(rest)]
        rest &= rest - 1
    same = 0
    near = 0
    rest = loose
    while rest:
        column = RANK_COLUMN << (ctz(rest) % 13)
        bit = rest & -rest
        rest ^= bit
        if cards & column & ~bit:
            same += 1
        if cards & beside(bit) & ~column:
            near += 1
    out[0] = total / 4
    out[1] = points / 10
    out[2] = points * points / 500
    out[3] = 1.0 if points <= 10 else 0.0
    out[4] = 1.0 if points == 0 else 0.0
    out[5] = popcount(melded) / 3
    out[6] = same / 2
    out[7] = near / 2
    out[8] = 1.0 if points <= 5 else 0.0
    out[9] = 1.0 if points <= 20 else 0.0
    out[10] = popcount(v.known[1] & melded)
    out[11] = np.log(fit + 1e-12) / 4


@kernel
def turns_of(v):
    """How many turns the opponent has had, ``MOST_TURNS`` at most."""
    return min(popcount(v.thrown[1]), MOST_TURNS)
