"""Two opponents of kinds that nothing here is trained on: they reason differently from any style.

``DrawSampler`` draws its next cards at random, many times for each discard, and keeps what does best on average. It never considers what
its discards give the opponent, and knocks when it believes itself ahead. ``MeldWatcher`` values each card by the melds that it may still be
part of, one by one, and discards the least wanted card; it has superstitions of its own. Neither has a parameter of ``STYLE``.
"""

from __future__ import annotations

import numpy as np

from ginenv.bots.hand_kernels import choose_lay_off, choose_spread, repeated, turn_of
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, PHASE_WALL, STOCK, UPCARD
from ginenv.engine.bits import nth_bit
from ginenv.engine.engine import next_word
from ginenv.engine.jit import below, ctz, kernel, mix, popcount
from ginenv.engine.melds import RANK_COLUMN, card_points, least_deadwood
from ginenv.tables.players import BasePlayer

# Imagined futures for each choice, and cards drawn in each.
_FUTURES, _DRAWS = 12, 3
# The sampler's estimate of a stranger's deadwood: at first, and how much less for each turn and each upcard taken.
_STRANGER, _EACH_TURN, _EACH_TAKEN = 34.0, 3.5, 4.0
# What a meld that a card is part of is worth to the watcher, by how many of the meld's three cards it holds; nothing if it knows
# one of the others to be gone.
_HAND_CARDS = (0.0, 0.5, 6.0, 60.0)
# It is in no hurry to discard aces and twos before the first of these turns, and before the second knocks only with gin.
_KEEPS_LOW_UNTIL, _FIRST_KNOCK = 6, 3


@kernel
def _future(cards, unseen, word):
    """The mean deadwood left when cards are drawn at random; gin counts as 10 points less."""
    total = 0.0
    stream = word
    for _ in range(_FUTURES):
        hand_cards = cards
        rest = unseen
        left = np.int64(0)
        for _ in range(min(_DRAWS, popcount(unseen))):
            stream, drawn = next_word(stream)
            bit = np.int64(1) << nth_bit(rest, below(drawn, popcount(rest)))
            rest ^= bit
            hand_cards |= bit
            worst, left = least_deadwood(hand_cards, hand_cards)
            hand_cards ^= worst & -worst
        total += left if left else -10.0
    return total / _FUTURES


@kernel
def _sampled_discard(cards, allowed, unseen, word):
    """The best of the allowed discards from eleven cards, and the mean deadwood after it."""
    best, discard = 1e9, np.int64(ctz(allowed))
    rest = allowed
    while rest:
        bit = rest & -rest
        rest ^= bit
        # The same futures for every discard.
        cost = _future(cards & ~bit, unseen, word)
        if cost < best:
            best, discard = cost, ctz(bit)
    return discard, best


@kernel
def _meld_worth(cards, gone, meld):
    """What one meld of three cards is worth to a player who holds ``cards`` and knows which are ``gone``."""
    if meld & gone & ~cards:
        return 0.0
    return _HAND_CARDS[popcount(meld & cards)]


@kernel
def _card_worth(cards, gone, card):
    """What all three-card melds that a card can be part of are worth."""
    bit = np.int64(1) << card
    total = 0.0
    column = (RANK_COLUMN << (card % 13)) & ~bit
    for k in range(4):
        left_out = np.int64(1) << (13 * k + card % 13)
        if left_out & column:
            total += _meld_worth(cards | bit, gone, bit | (column & ~left_out))
    for start in range(max(0, card % 13 - 2), min(10, card % 13) + 1):
        total += _meld_worth(cards | bit, gone, np.int64(7) << (card - card % 13 + start))
    return total


@kernel
def _worst_discard(v, cards, allowed):
    """The card that the watcher discards, and what it is worth to it."""
    gone = v.pile_cards | v.known_cards[1]
    worst, chosen = 1e9, np.int64(ctz(allowed))
    rest = allowed
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        worth = _card_worth(cards, gone, card) - 0.6 * card_points(card)
        if card % 13 < 2 and turn_of(v) < _KEEPS_LOW_UNTIL:
            worth += 8.0
        if worth < worst:
            worst, chosen = worth, card
    return chosen, worst


@kernel
def _may_discard(v):
    """Cards that may be discarded, without the upcard just taken and those that would go in circles."""
    allowed = v.legal[0] & ~repeated(v)
    if v.taken < 52 and allowed & ~(np.int64(1) << v.taken):
        allowed &= ~(np.int64(1) << v.taken)
    return allowed if allowed else v.legal[0]


@kernel
def _sampler(v, word):
    if v.phase == PHASE_DISCARD:
        if v.legal[1]:
            cards, left = least_deadwood(v.hand, v.legal[1])
            other = _STRANGER - _EACH_TURN * turn_of(v) - _EACH_TAKEN * popcount(v.known_cards[1])
            if left == 0 or v.legal[0] == 0 or left + 3 < other:
                return KNOCK + ctz(cards)
        return _sampled_discard(v.hand, _may_discard(v), v.unseen, word)[0]
    if v.legal[2] & 2 and v.phase != PHASE_WALL:
        # The random futures of the present hand stand for a draw from the stock.
        bit = np.int64(1) << v.upcard
        with_it = _sampled_discard(v.hand | bit, v.hand, v.unseen, word)[1]
        if with_it + 2.0 < _future(v.hand, v.unseen, word):
            return UPCARD
    return STOCK + ctz(v.legal[2] & 5)


@kernel
def _watcher(v, word):
    if v.phase == PHASE_DISCARD:
        if v.legal[1]:
            cards, left = least_deadwood(v.hand, v.legal[1])
            bar = 9 - 3 * popcount(v.known_cards[1])
            if left == 0 or v.legal[0] == 0 or (turn_of(v) >= _FIRST_KNOCK and left <= bar):
                return KNOCK + ctz(cards)
        return _worst_discard(v, v.hand, _may_discard(v))[0]
    if v.legal[2] & 2 and v.phase != PHASE_WALL:
        # It takes a card that it wants clearly more than the worst one it holds.
        card = np.int64(v.upcard)
        worth = _card_worth(v.hand, v.pile_cards | v.known_cards[1], card) - 0.6 * card_points(card)
        if worth > max(16.0, _worst_discard(v, v.hand, v.hand)[1] + 12.0):
            return UPCARD
    return STOCK + ctz(v.legal[2] & 5)


@kernel
def _act(views, watches, seed, actions):
    for i in range(views.shape[0]):
        v = views[i]
        word = mix(v.luck ^ seed)
        if v.phase == PHASE_SPREAD:
            actions[i] = choose_spread(v)
        elif v.phase == PHASE_LAYOFF:
            actions[i] = choose_lay_off(v)
        elif watches:
            actions[i] = _watcher(v, word)
        else:
            actions[i] = _sampler(v, word)


class _Kind(BasePlayer):
    watches = False

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        views = np.atleast_1d(views)
        actions = np.empty(len(views), np.int64)
        _act(views, self.watches, np.uint64(self.seed % 2**64), actions)
        return actions


class DrawSampler(_Kind):
    """Plays what does best on average over imagined draws."""

    name = "draw-sampler"


class MeldWatcher(_Kind):
    """Keeps the cards that most melds still want."""

    name = "meld-watcher"
    watches = True
