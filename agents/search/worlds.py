"""Worlds: whole states that a seat cannot tell from the true one, sampled from what its view says and from nothing else.

The opponent's hand is unknown; its choices are not. The record of the hand is read once into the opponent's turns (what it refused,
took and threw). A *particle* is a hand drawn evenly from the unseen cards and a history to it: going back turn by turn, the card
that a stock draw brought is drawn evenly among those that can have come from the stock. With a shuffled deck all these histories are
equally likely beforehand, so the product of the likelihoods of the choices under a model of the opponent is the particle's
weight by Bayes' rule, and the worlds are drawn from the particles by weight.
"""

from __future__ import annotations

import numpy as np

from agents.bots.style_kernels import joins_meld, unit
from agents.search.hand_features import hand_features
from ginenv.actions import PHASE_LAYOFF, PHASE_SPREAD
from ginenv.engine import LAYOFF_BEST, LAYOFF_BY_HAND, NO_CARD, NOBODY, STATE, next_word
from ginenv.history import M_DISCARD, M_DRAW, M_FORCED_DRAW, M_PASS, M_TAKE, moves
from ginenv.jit import below, ctz, kernel, mix, popcount, record_copy
from ginenv.melds import RANK_COLUMN, SUIT_BITS, card_points, melded_cards, points_of
from ginenv.rules import (
    R_CHOOSE_SPREAD,
    R_DISCARD_TAKEN,
    R_HAND_SIZE,
    R_LAYOFF,
    R_RANKS,
    R_REPEAT_DRAW,
    R_SUITS,
)
from ginenv.view import VIEW

# How the opponent is believed to choose, for weighing hands.
MODEL = np.dtype(
    [
        ("refuse", np.float64),  # probability to refuse an upcard that would lower its deadwood by a meld
        ("take", np.float64),  # probability to take one that makes no meld
        ("pair", np.float64),  # points that a card with a partner (a pair, or two of a run) is kept for
        ("heat", np.float64),  # points of discard cost that make a choice e times less likely
        ("melded", np.float64),  # probability to break a meld
        ("floor", np.float64),  # part of the discards that follows no model
        ("declines", np.float64),  # probability not to knock when it could
    ],
    align=True,
)

# The opponent's turns in this hand; a turn without a discard is a refusal of the offered upcard.
TURN = np.dtype(
    [
        ("before", np.int64),  # cards it was known to hold before its draw
        ("top", np.int16),  # upcard that it refused or took, -1 where there was none
        ("took", np.uint8),
        ("thrown", np.int16),  # its discard, -1 for a refusal of the offered upcard
    ],
    align=True,
)
MAX_TURNS = 64
_copy_tail = record_copy(STATE, "rules", VIEW, "rules", "history")


@kernel
def read_turns(v, turns):
    """The opponent's turns in a view's record of the hand.

    Args:
        v: a view.
        turns: ``TURN[MAX_TURNS]``, written.

    Returns:
        How many there were.
    """
    count = 0
    known = np.int64(0)
    t = turns[0]
    t.before, t.top, t.took, t.thrown = 0, -1, 0, -1
    for move in moves(v):
        if count >= MAX_TURNS - 1:
            break
        if move.seat == 0:
            continue
        if move.kind == M_PASS or move.kind == M_TAKE or move.kind == M_DRAW:
            t.before = known
            t.top = move.upcard if move.upcard != NO_CARD else -1
            if move.kind == M_TAKE:
                t.took = 1
                known |= np.int64(1) << move.card
        elif move.kind == M_FORCED_DRAW:
            # After two passes the starter draws from the stock without a choice.
            t.before = known
        elif move.kind == M_DISCARD:
            t.thrown = move.card
            known &= ~(np.int64(1) << move.card)
        if move.kind == M_DISCARD or move.kind == M_PASS:
            count += 1
            t = turns[count]
            t.top, t.took, t.thrown = -1, 0, -1
    return count


@kernel
def _paired(cards):
    """Cards of a mask with another of their rank, or one at most two ranks away in their suit."""
    a = cards & SUIT_BITS
    b = (cards >> 13) & SUIT_BITS
    c = (cards >> 26) & SUIT_BITS
    d = (cards >> 39) & SUIT_BITS
    found = ((a & b) | (c & d) | ((a | b) & (c | d))) * RANK_COLUMN
    for suit in range(4):
        held = (cards >> (13 * suit)) & SUIT_BITS
        found |= ((held << 1 | held << 2 | held >> 1 | held >> 2) & SUIT_BITS) << (13 * suit)
    return found & cards


@kernel
def _discard_chance(cards, card, taken, limit, m):
    """Probability that the opponent throws this card of eleven and does not knock."""
    bit = np.int64(1) << card
    loose = cards & ~melded_cards(cards)
    if not loose & bit:
        return m.melded if loose & ~taken else 1.0
    paired = _paired(cards)
    free = loose & ~taken
    weights = 0.0
    own = 1.0
    count = 0
    while free:
        one = free & -free
        cost = m.pair if paired & one else 0.0
        weight = np.exp((card_points(ctz(one)) - cost) / m.heat)
        weights += weight
        if one == bit:
            own = weight
        count += 1
        free ^= one
    chance = m.floor / max(1, count) + (1 - m.floor) * own / max(weights, own)
    if points_of(loose) - card_points(card) <= limit:
        chance *= m.declines
    return chance


@kernel
def _draw_chance(cards, t, m):
    """Probability that the opponent refuses, or takes, the upcard of a turn with ten cards."""
    if t.top < 0:
        return 1.0
    card = np.int64(t.top)
    fits = joins_meld(cards, card)
    if fits:
        # A card that only rearranges melds is refused as often as not.
        with_it = cards | np.int64(1) << card
        fits = not ((with_it & ~melded_cards(with_it)) >> card) & 1
    if t.took:
        return 1.0 - m.refuse if fits else m.take
    return m.refuse if fits else 1.0 - m.take


@kernel
def weigh(cards, v, turns, count, m, seed):
    """Likelihood of the opponent's choices if it ends up with a hand, along one random history to that hand.

    Args:
        cards: the opponent's hand now.
        v: the view.
        turns: ``TURN`` as ``read_turns`` filled it.
        count: how many of them.
        m: a ``MODEL`` record.
        seed: state of the random stream (uint64).

    Returns:
        The weight, and the stream's new state.
    """
    chance = 1.0
    for k in range(count - 1, -1, -1):
        t = turns[k]
        if t.thrown >= 0:
            eleven = cards | np.int64(1) << t.thrown
            taken = np.int64(1) << t.top if t.took and t.top >= 0 else np.int64(0)
            barred = np.int64(0) if v.rules[R_DISCARD_TAKEN] else taken
            chance *= _discard_chance(eleven, np.int64(t.thrown), barred, v.limit, m)
            if taken:
                cards = eleven & ~taken
            else:
                from_stock = eleven & ~t.before
                seed, word = next_word(seed)
                n = below(word, popcount(from_stock))
                for _ in range(n):
                    from_stock &= from_stock - 1
                cards = eleven & ~(from_stock & -from_stock)
        chance *= _draw_chance(cards, t, m)
    return chance, seed


@kernel
def sample_hand(unseen, known, hidden, seed):
    """The known cards and some of the unseen ones, drawn evenly; and the stream's new state."""
    cards = known
    left = popcount(unseen)
    # Each card is chosen with probability (still wanted) / (still to come).
    while hidden > 0:
        bit = unseen & -unseen
        unseen ^= bit
        seed, word = next_word(seed)
        if below(word, left) < hidden:
            cards |= bit
            hidden -= 1
        left -= 1
    return cards, seed


@kernel
def base_world(v, s):
    """All of a view that a state holds; the opponent's hand and the stock are left to ``fill_world``.

    Spreads and lay-offs by hand become automatic ones: what follows in a world is arithmetic.
    """
    me = np.int64(v.seat)
    other = 1 - me
    _copy_tail(s, v)
    if v.phase != PHASE_SPREAD:
        s.rules[R_CHOOSE_SPREAD] = 0
    if s.rules[R_LAYOFF] == LAYOFF_BY_HAND and v.phase != PHASE_LAYOFF:
        s.rules[R_LAYOFF] = LAYOFF_BEST
    s.hands[me] = v.hand
    s.hands[other] = v.known[1]
    s.known[me] = v.known[0]
    s.known[other] = v.known[1]
    s.thrown[me] = v.thrown[0]
    s.thrown[other] = v.thrown[1]
    s.refused[me] = v.refused[0]
    s.refused[other] = v.refused[1]
    for k in range(4):
        s.spread[k] = v.spread[k]
    s.pile_cards = v.pile_cards
    s.laid = v.laid
    s.key = 0
    s.luck[0] = 0
    s.luck[1] = 0
    s.score[me] = v.score[0]
    s.score[other] = v.score[1]
    s.boxes[me] = v.boxes[0]
    s.boxes[other] = v.boxes[1]
    s.declined[me] = v.declined
    s.declined[other] = 0
    s.deadwood[0] = 0
    s.deadwood[1] = 0
    s.points = 0
    s.hand_no = v.hand_no
    s.drawn_hands = v.drawn_hands
    s.game_over = 0
    s.game_winner = NOBODY
    s.phase = v.phase
    s.turn = me
    s.starter = me if v.started else other
    s.limit = v.limit
    s.doubled = v.doubled
    s.position = v.rules[R_RANKS] * v.rules[R_SUITS] - v.stock
    s.num_pile = v.num_pile
    s.taken = v.taken
    s.drawn = v.drawn
    s.upcards = v.upcards
    s.echoed = _echoed(v)
    s.end = 0
    s.winner = NOBODY
    s.knocker = NOBODY if v.knocker == NOBODY else (me if v.knocker == 0 else other)
    s.warned = 0
    s.num_history = v.num_history


@kernel
def _echoed(v):
    """Whether the opponent's last turn took an upcard and threw it again (only a rule that draws such hands asks)."""
    taken = np.int64(NO_CARD)
    echoed = 0
    if not v.rules[R_REPEAT_DRAW]:
        return echoed
    for move in moves(v):
        if move.kind == M_TAKE:
            taken = move.card
        elif move.kind == M_DISCARD:
            echoed = 1 if move.card == taken else 0
            taken = np.int64(NO_CARD)
    return echoed


@kernel
def fill_world(s, v, cards, seed):
    """Puts an opponent's hand into a world and the other unseen cards, shuffled, into its stock; returns the stream's new state."""
    s.hands[1 - v.seat] = cards
    rest = v.unseen & ~cards
    first = np.int64(s.position)
    n = 0
    while rest:
        # The shuffle from the inside out: each card trades places with a random earlier one.
        seed, word = next_word(seed)
        j = below(word, n + 1)
        s.deck[first + n] = s.deck[first + j]
        s.deck[first + j] = ctz(rest)
        rest &= rest - 1
        n += 1
    return seed


@kernel
def believe(v, m, turns, hands, weights, seed):
    """Particles of the opponent's hand with their weights.

    Args:
        v: the view.
        m: a ``MODEL`` record.
        turns: ``TURN[MAX_TURNS]`` scratch.
        hands: ``int64[N]``, written.
        weights: ``float64[N]``, written; they add up to 1.
        seed: state of the random stream (uint64).

    Returns:
        The stream's new state.
    """
    count = read_turns(v, turns)
    hidden = np.int64(v.rules[R_HAND_SIZE]) - popcount(v.known[1])
    total = 0.0
    for i in range(hands.shape[0]):
        hands[i], seed = sample_hand(v.unseen, v.known[1], hidden, seed)
        weights[i], seed = weigh(hands[i], v, turns, count, m, seed)
        total += weights[i]
    for i in range(hands.shape[0]):
        weights[i] = weights[i] / total if total > 0 else 1.0 / hands.shape[0]
    return seed


@kernel
def believe_uniform(v, hands, weights, seed):
    """Hands drawn evenly, all of one weight (see ``believe``)."""
    hidden = np.int64(v.rules[R_HAND_SIZE]) - popcount(v.known[1])
    for i in range(hands.shape[0]):
        hands[i], seed = sample_hand(v.unseen, v.known[1], hidden, seed)
        weights[i] = 1.0 / hands.shape[0]
    return seed


@kernel
def believe_logits(v, logits, row, hands, weights, seed):
    """Hands drawn without replacement by logits of the cards (Gumbel's top k), all of one weight (see ``believe``).

    Args:
        v: the view.
        logits: ``float32[n, 52]`` that the opponent holds each card.
        row: of this view.
        hands: ``int64[N]``, written.
        weights: ``float64[N]``, written.
        seed: state of the random stream (uint64).
    """
    hidden = np.int64(v.rules[R_HAND_SIZE]) - popcount(v.known[1])
    keys = np.empty(52)
    for i in range(hands.shape[0]):
        cards = v.known[1]
        rest = v.unseen
        while rest:
            card = ctz(rest)
            rest &= rest - 1
            seed, word = next_word(seed)
            keys[card] = logits[row, card] - np.log(-np.log(unit(mix(word)) + 1e-18) + 1e-18)
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
        weights[i] = 1.0 / hands.shape[0]
    return seed


@kernel
def describe(v, m, turns, logits, row, hands, features, seed):
    """The numbers about drawn hands that a model of whole hands reads (``agents.search.hand_features``).

    Args:
        v: the view.
        m: a ``MODEL`` record, how the opponent is believed to choose.
        turns: ``TURN[MAX_TURNS]`` scratch.
        logits: ``float32[n, 52]`` that the hands were drawn from.
        row: of this view.
        hands: ``int64[N]``.
        features: ``float32[N, NUM_FEATURES]``, written.
        seed: state of the random stream (uint64).

    Returns:
        The stream's new state.
    """
    count = read_turns(v, turns)
    for i in range(hands.shape[0]):
        fit, seed = weigh(hands[i], v, turns, count, m, seed)
        hand_features(hands[i], v, logits, row, fit, features[i])
    return seed


@kernel
def draw_worlds(v, hands, weights, worlds, seed):
    """Worlds from particles by weight, in no order, each with a stock of its own.

    Args:
        v: the view.
        hands: ``int64[N]``.
        weights: ``float64[N]``, adding up to 1.
        worlds: ``STATE[W]``, written.
        seed: state of the random stream (uint64).

    Returns:
        The stream's new state.
    """
    count = worlds.shape[0]
    # Stratified: one draw in each W-th of the weights; a stride without common factor puts the strata out of order.
    stride = max(1, int(0.618 * count)) | 1
    while _common(stride, count) != 1:
        stride += 2
    cumulative = 0.0
    particle = -1
    place = 0
    for k in range(count):
        seed, word = next_word(seed)
        wanted = (k + unit(mix(word))) / count
        while particle < hands.shape[0] - 1 and (particle < 0 or cumulative <= wanted):
            particle += 1
            cumulative += weights[particle]
        s = worlds[place]
        base_world(v, s)
        seed = fill_world(s, v, hands[particle], seed)
        place = (place + stride) % count
    return seed


@kernel
def _common(a, b):
    while b:
        a, b = b, a % b
    return a


@kernel
def card_chances(hands, weights, out):
    """Probability that the opponent holds each card: ``float64[52]``, written."""
    for card in range(52):
        out[card] = 0.0
    for i in range(hands.shape[0]):
        rest = hands[i]
        while rest:
            out[ctz(rest)] += weights[i]
            rest &= rest - 1
