"""Features of a whole hand that the opponent may hold, with which ``agents.search.belief`` weights drawn hands.

The network's belief gives the probability of each card alone, so hands drawn from it are too scattered. A true hand has pairs and runs,
and after eight turns half the deadwood of a drawn hand.

One feature is how well the opponent's choices fit a hand. One random history of the hand is traced back through the opponent's turns:
the card of each stock draw is drawn uniformly from those that can have come from the stock. The fit is the product of the likelihoods
of the choices along that history, under a simple model of the opponent.
"""

from __future__ import annotations

import numpy as np

from ginenv.bots.hand_kernels import beside, paired
from ginenv.engine.engine import next_word
from ginenv.engine.jit import below, ctz, kernel, popcount
from ginenv.engine.melds import RANK_COLUMN, card_points, deadwood, joins_meld, melded_cards, points_of
from ginenv.view.turns import read_turns

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
# The opponent's discards are counted up to this number.
MAX_DISCARDS = 11

# The model of the opponent's choices. Hand models were trained with these numbers.
_REFUSES_MELD = 0.1  # probability of refusing an upcard that would lower its deadwood by a meld
_TAKES_OTHER = 0.05  # probability of taking one that makes no meld
_PAIR = 4.0  # points that keeping a card with a partner (a pair, or two cards of a run) is worth
_HEAT = 2.5  # points of discard cost that make a choice e times less likely
_BREAKS_MELD = 0.03  # probability of discarding from a meld
_FLOOR = 0.15  # fraction of the discards that follows no model
_DECLINES = 0.3  # probability of not knocking when it could


@kernel
def _discard_chance(cards, card, taken, limit):
    """Probability that the opponent discards this card from eleven and does not knock."""
    bit = np.int64(1) << card
    loose = cards & ~melded_cards(cards)
    if not loose & bit:
        return _BREAKS_MELD if loose & ~taken else 1.0
    partnered = paired(cards)
    free = loose & ~taken
    weights = 0.0
    own = 1.0
    count = 0
    while free:
        one = free & -free
        cost = _PAIR if partnered & one else 0.0
        weight = np.exp((card_points(ctz(one)) - cost) / _HEAT)
        weights += weight
        if one == bit:
            own = weight
        count += 1
        free ^= one
    chance = _FLOOR / max(1, count) + (1 - _FLOOR) * own / max(weights, own)
    if points_of(loose) - card_points(card) <= limit:
        chance *= _DECLINES
    return chance


@kernel
def _draw_chance(cards, t):
    """Probability of what the opponent, holding ten cards, did with the upcard of a turn: took or refused it."""
    if t.top < 0:
        return 1.0
    card = np.int64(t.top)
    fits = joins_meld(cards, card)
    if fits:
        # A card that only rearranges melds is refused as often as not.
        with_it = cards | np.int64(1) << card
        fits = not ((with_it & ~melded_cards(with_it)) >> card) & 1
    if t.took:
        return 1.0 - _REFUSES_MELD if fits else _TAKES_OTHER
    return _REFUSES_MELD if fits else 1.0 - _TAKES_OTHER


@kernel
def _fit(cards, v, turns, count, stream):
    """Returns the likelihood of the opponent's choices along one random history that leads to a hand, and the stream's new state."""
    chance = 1.0
    for k in range(count - 1, -1, -1):
        t = turns[k]
        if t.discarded >= 0:
            eleven = cards | np.int64(1) << t.discarded
            taken = np.int64(1) << t.top if t.took and t.top >= 0 else np.int64(0)
            barred = np.int64(0) if v.rules.discard_taken_upcard else taken
            chance *= _discard_chance(eleven, np.int64(t.discarded), barred, v.limit)
            if taken:
                cards = eleven & ~taken
            else:
                from_stock = eleven & ~t.before
                stream, word = next_word(stream)
                n = below(word, popcount(from_stock))
                for _ in range(n):
                    from_stock &= from_stock - 1
                cards = eleven & ~(from_stock & -from_stock)
        chance *= _draw_chance(cards, t)
    return chance, stream


@kernel
def _write_features(cards, v, belief, fit, out):
    points = deadwood(cards)
    melded = melded_cards(cards)
    loose = cards & ~melded
    total = 0.0
    rest = cards & ~v.known_cards[1]
    while rest:
        total += belief[ctz(rest)]
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
    out[10] = popcount(v.known_cards[1] & melded)
    out[11] = np.log(fit + 1e-12) / 4


@kernel
def write_features(v, belief, turns, hands, features, stream):
    """Writes the features of hands.

    Args:
        v: the view.
        belief: ``float32[52]``, logits that the opponent holds each card.
        turns: ``TURN[MAX_TURNS]``, overwritten.
        hands: ``int64[P]``.
        features: ``float32[P, NUM_FEATURES]``, written.
        stream: state of the random stream (uint64).

    Returns:
        The stream's new state.
    """
    count = read_turns(v, turns)
    for i in range(hands.shape[0]):
        fit, stream = _fit(hands[i], v, turns, count, stream)
        _write_features(hands[i], v, belief, fit, features[i])
    return stream


@kernel
def num_discards(v):
    """The number of the opponent's discards, at most ``MAX_DISCARDS``."""
    return min(popcount(v.thrown[1]), MAX_DISCARDS)
