"""Worlds: complete states consistent with a view, sampled from the view alone.

A *particle* is an opponent hand drawn from the network's belief and weighted by the hand model. Each world takes the hand of a particle,
drawn by weight, and a random stock of the other unseen cards.
"""

from __future__ import annotations

import math

import numpy as np

from ginenv.engine.actions import PHASE_LAYOFF, PHASE_SPREAD
from ginenv.engine.engine import LAYOFF_BEST, LAYOFF_BY_HAND, NO_CARD, NOBODY, STATE, next_word
from ginenv.engine.jit import below, ctz, kernel, mix, popcount, record_copy, unit
from ginenv.view.history import M_DISCARD, M_TAKE, moves
from ginenv.view.view import VIEW

_copy_tail = record_copy(STATE, "rules", VIEW, "rules", "history")


@kernel
def draw_hands(v, belief, hands, stream):
    """Draws opponent hands card by card, without replacement, by the logits of the cards (Gumbel top-k).

    Args:
        v: the view.
        belief: ``float32[52]``, logits that the opponent holds each card.
        hands: ``int64[P]``, written.
        stream: state of the random stream (uint64).

    Returns:
        The stream's new state.
    """
    hidden = np.int64(v.rules.hand_size) - popcount(v.known_cards[1])
    keys = np.empty(52)
    for i in range(hands.shape[0]):
        cards = v.known_cards[1]
        rest = v.unseen
        while rest:
            card = ctz(rest)
            rest &= rest - 1
            stream, word = next_word(stream)
            keys[card] = belief[card] - np.log(-np.log(unit(mix(word)) + 1e-18) + 1e-18)
        for _ in range(hidden):
            best = np.int64(-1)
            rest = v.unseen & ~cards
            while rest:
                card = ctz(rest)
                rest &= rest - 1
                if best < 0 or keys[card] > keys[best]:
                    best = card
            cards |= np.int64(1) << best
        hands[i] = cards
    return stream


@kernel
def base_world(v, s):
    """Writes what a view shows into a state of zeros (or one that held another world); ``fill_world`` adds the rest.

    Spreads and lay-offs by hand become automatic.
    """
    me = np.int64(v.seat)
    other = 1 - me
    _copy_tail(s, v)
    if v.phase != PHASE_SPREAD:
        s.rules.choose_spread = 0
    if s.rules.layoff == LAYOFF_BY_HAND and v.phase != PHASE_LAYOFF:
        s.rules.layoff = LAYOFF_BEST
    s.hands[me] = v.hand
    s.hands[other] = v.known_cards[1]
    for side in range(2):
        seat = me if side == 0 else other
        s.known_cards[seat] = v.known_cards[side]
        s.thrown[seat] = v.thrown[side]
        s.refused[seat] = v.refused[side]
        s.score[seat] = v.score[side]
        s.boxes[seat] = v.boxes[side]
        s.declined[seat] = v.declined if side == 0 else 0
    for k in range(4):
        s.spread[k] = v.spread[k]
    s.pile_cards = v.pile_cards
    s.laid = v.laid
    s.hand_no = v.hand_no
    s.drawn_hands = v.drawn_hands
    s.game_winner = NOBODY
    s.phase = v.phase
    s.turn = me
    s.starter = me if v.started else other
    s.limit = v.limit
    s.doubled = v.doubled
    s.position = v.rules.ranks * v.rules.suits - v.stock
    s.num_pile = v.num_pile
    s.taken = v.taken
    s.drawn = v.drawn
    s.upcards = v.upcards
    s.echoed = _echoed(v)
    s.winner = NOBODY
    s.knocker = NOBODY if v.knocker == NOBODY else (me if v.knocker == 0 else other)
    s.num_history = v.num_history


@kernel
def _echoed(v):
    """Whether the opponent took an upcard in its last turn and discarded it again; only under rules where repeating that draws the hand."""
    taken = np.int64(NO_CARD)
    echoed = 0
    if not v.rules.repeated_upcard_draw:
        return echoed
    for move in moves(v):
        if move.kind == M_TAKE:
            taken = move.card
        elif move.kind == M_DISCARD:
            echoed = 1 if move.card == taken else 0
            taken = np.int64(NO_CARD)
    return echoed


@kernel
def fill_world(s, v, cards, stream):
    """Writes the opponent's hand and a shuffled stock of the other unseen cards into a world; returns the stream's new state."""
    s.hands[1 - v.seat] = cards
    rest = v.unseen & ~cards
    first = np.int64(s.position)
    n = 0
    while rest:
        # Inside-out shuffle: each card trades places with a random earlier one.
        stream, word = next_word(stream)
        j = below(word, n + 1)
        s.deck[first + n] = s.deck[first + j]
        s.deck[first + j] = ctz(rest)
        rest &= rest - 1
        n += 1
    return stream


@kernel
def draw_worlds(v, hands, weights, worlds, stream):
    """Draws worlds from particles by weight, in random order, each with its own stock.

    Args:
        v: the view.
        hands: ``int64[N]``.
        weights: ``float64[N]``, summing to 1.
        worlds: ``STATE[W]`` of zeros or of other worlds, written.
        stream: state of the random stream (uint64).

    Returns:
        The stream's new state.
    """
    count = worlds.shape[0]
    # Stratified: one draw from each 1/W of the total weight; a coprime stride scatters the strata.
    stride = max(1, int(0.618 * count)) | 1
    while math.gcd(stride, count) != 1:
        stride += 2
    cumulative = 0.0
    particle = -1
    place = 0
    for k in range(count):
        stream, word = next_word(stream)
        wanted = (k + unit(mix(word))) / count
        while particle < hands.shape[0] - 1 and (particle < 0 or cumulative <= wanted):
            particle += 1
            cumulative += weights[particle]
        s = worlds[place]
        base_world(v, s)
        stream = fill_world(s, v, hands[particle], stream)
        place = (place + stride) % count
    return stream
