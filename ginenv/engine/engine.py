"""One hand of gin rummy as a state machine over a record of plain numbers.

A hand in play is one ``STATE`` record, which holds everything, including the order of the stock. Cloning, saving and sending
therefore copy bytes. The record also holds the rules, so hands under different rules share a batch. Only this module (with
``state`` for the deal, ``melds`` for the arithmetic and ``game`` for the score sheet) knows the rules. Players never see a state,
only a view. This module also exports the names of ``state`` that are needed to play a hand.

Kernels trust their input: callers first check an action against ``legal``.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import (
    KNOCK,
    PASS,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_OVER,
    PHASE_SPREAD,
    PHASE_UPCARD,
    PHASE_WALL,
    STOCK,
    UPCARD,
)
from ginenv.engine.bits import nth_bit
from ginenv.engine.cards import ALL_CARDS
from ginenv.engine.jit import below, ctz, kernel, next_word, popcount  # noqa: F401
from ginenv.engine.melds import (
    MAX_ARRANGEMENTS,
    best_layoff,
    best_spread,
    deadwood,
    deadwood_layoff,
    far_from_knocking,
    fits,
    is_run,
    knock_discards,
    nth_arrangement,
    points_of,
)
from ginenv.engine.state import (  # noqa: F401  (also exported from here)
    MAX_HISTORY,
    MAX_PILE,
    NO_CARD,
    NOBODY,
    STATE,
    End,
    deal,
    is_gin,
    oklahoma_limit,
    shuffle,
    turn_first,
)

# The stock counts as used up when two cards are left, under every source's rules.
STOCK_LEFT = 2
# Values of the rules stock_end and layoff (positions in rules.CHOICES).
END_VOID, END_LAST_UPCARD, END_WALL = range(3)
LAYOFF_BEST, LAYOFF_DEADWOOD_ONLY, LAYOFF_BY_HAND = range(3)

_GIN, _KNOCK, _UNDERCUT, _TIE, _STOCK, _UPCARDS, _REPEATED, _BIG_GIN = (int(end) for end in End if end)


@kernel
def stock_count(s):
    """Cards left in the stock."""
    return np.int64(s.rules.ranks) * s.rules.suits - s.position


@kernel
def is_first_discard(s):
    """Whether the seat to move begins an eleven/ten deal."""
    return s.num_history == 0 and s.rules.eleven_ten != 0


@kernel
def limit_with(s, card):
    """The limit for a knock that discards ``card``; only the first discard of an Oklahoma eleven/ten deal sets its own limit."""
    if s.rules.first_discard_limit and s.num_history == 0:
        return oklahoma_limit(s, card)
    return np.int64(s.limit)


@kernel
def _first_knocks(s, cards):
    """Cards that the starter of an eleven/ten deal may discard to knock at once."""
    knocks = np.int64(0)
    if s.rules.first_turn_knock:
        rest = knock_discards(cards, np.int64(s.rules.knock_limit))
        while rest:
            card = ctz(rest)
            rest &= rest - 1
            if deadwood(cards & ~(np.int64(1) << card)) <= limit_with(s, card):
                knocks |= np.int64(1) << card
    return knocks


@kernel
def _without_gin(cards, knocks):
    """The cards of a hand whose discard does not leave gin."""
    allowed = cards
    while knocks:
        bit = knocks & -knocks
        knocks ^= bit
        if deadwood(cards & ~bit) == 0:
            allowed &= ~bit
    return allowed


@kernel
def layable(s, cards):
    """Cards of a mask that can be laid off on one of the knocker's melds."""
    found = np.int64(0)
    while cards:
        card = ctz(cards)
        bit = cards & -cards
        cards ^= bit
        if fits(s.spread[0], card) or fits(s.spread[1], card) or fits(s.spread[2], card):
            found |= bit
    return found


@kernel
def _legal_discards(s):
    cards = s.hands[s.turn]
    allowed = cards
    if s.taken != NO_CARD and not s.rules.discard_taken_upcard:
        allowed &= ~(np.int64(1) << s.taken)
    if is_first_discard(s):
        knocks = _first_knocks(s, cards)
    else:
        knocks = np.int64(0) if s.far else knock_discards(cards, np.int64(s.limit)) & allowed
        if s.rules.stock_end == END_WALL and stock_count(s) <= STOCK_LEFT and s.drawn == NO_CARD:
            # At the wall the upcard may be taken only to knock.
            return np.int64(0), knocks
    if s.rules.auto_gin and knocks:
        allowed &= _without_gin(cards, knocks)
    return allowed, knocks


@kernel
def _legal_rare(s):
    """``legal`` in the phases that occur at most a few times in a hand."""
    none = np.int64(0)
    cards = s.hands[s.turn]
    phase = s.phase
    if phase == PHASE_UPCARD:
        return none, none, np.int64(6)
    if phase == PHASE_SPREAD:
        count = nth_arrangement(cards, np.int64(s.limit), 0)[0]
        return (np.int64(1) << min(count, MAX_ARRANGEMENTS)) - 1, none, none
    if phase == PHASE_LAYOFF:
        return layable(s, cards), none, np.int64(4)
    if phase == PHASE_WALL:
        top = s.pile[s.num_pile - 1]
        bit = np.int64(1) << top
        knocks = knock_discards(cards | bit, np.int64(s.limit))
        if not s.rules.discard_taken_upcard:
            knocks &= ~bit
        return none, none, np.int64(6) if knocks else np.int64(4)
    return none, none, none


@kernel
def legal(s):
    """The legal actions of the seat to move as three masks: cards for ids 0-51, cards for ids 52-103, bits for 104, 105, 106."""
    if s.phase == PHASE_DISCARD:
        discards, knocks = _legal_discards(s)
        return discards, knocks, np.int64(0)
    if s.phase == PHASE_DRAW:
        return np.int64(0), np.int64(0), np.int64(3) if s.num_pile else np.int64(1)
    return _legal_rare(s)


@kernel
def among(action, discards, knocks, others):
    """Whether an action is in three masks such as those of ``legal`` and of views."""
    if action < 0:
        return False
    if action < KNOCK:
        return (discards >> action) & 1 == 1
    if action < STOCK:
        return (knocks >> (action - KNOCK)) & 1 == 1
    return action <= PASS and (others >> (action - STOCK)) & 1 == 1


@kernel
def is_legal(s, action):
    """Whether the seat to move may play an action (a lenient knock above the limit included)."""
    discards, knocks, others = legal(s)
    if s.rules.lenient_knock and s.phase == PHASE_DISCARD:
        knocks |= discards
    return among(action, discards, knocks, others)


@kernel
def _finish(s, end, winner, points):
    s.phase = PHASE_OVER
    s.end = end
    s.winner = winner
    s.points = points * (2 if s.doubled else 1)


@kernel
def _draw_stock(s, seat):
    card = s.deck[s.position]
    s.position += 1
    cards = s.hands[seat] | np.int64(1) << card
    s.hands[seat] = cards
    s.far = far_from_knocking(cards, np.int64(s.limit))
    s.drawn = card
    s.taken = NO_CARD
    s.phase = PHASE_DISCARD


@kernel
def _take_upcard(s, seat):
    s.num_pile -= 1
    card = s.pile[s.num_pile]
    bit = np.int64(1) << card
    s.pile_cards &= ~bit
    cards = s.hands[seat] | bit
    s.hands[seat] = cards
    s.far = far_from_knocking(cards, np.int64(s.limit))
    s.known_cards[seat] |= bit
    s.taken = card
    s.drawn = NO_CARD
    s.phase = PHASE_DISCARD


@kernel
def _score(s):
    """Scores a knock after the spread and the lay-offs."""
    knocker = s.knocker
    other = 1 - knocker
    mine = np.int64(s.deadwood[knocker])
    if mine == 0:
        theirs = deadwood(s.hands[other])
        s.deadwood[other] = theirs
        thrown = np.int64(1) << s.pile[s.num_pile - 1]
        if s.rules.big_gin_bonus and deadwood(s.hands[knocker] | thrown) == 0:
            _finish(s, _BIG_GIN, knocker, theirs + s.rules.big_gin_bonus)
        else:
            _finish(s, _GIN, knocker, theirs + s.rules.gin_bonus)
        return
    theirs = np.int64(s.deadwood[other])
    if theirs > mine:
        _finish(s, _KNOCK, knocker, theirs - mine + s.rules.knock_bonus)
    elif theirs < mine or s.rules.undercut_on_tie:
        _finish(s, _UNDERCUT, other, mine - theirs + s.rules.undercut_bonus)
    else:
        _finish(s, _TIE, NOBODY, 0)


@kernel
def _lay_off(s, seat, card):
    """Lays off a card of the defender; on a run rather than on a set, since a run can be continued."""
    bit = np.int64(1) << card
    target = -1
    for k in range(3):
        if fits(s.spread[k], card) and (target < 0 or is_run(s.spread[k])):
            target = k
    s.spread[target] |= bit
    s.hands[seat] &= ~bit
    s.known_cards[seat] &= ~bit
    s.laid |= bit


@kernel
def _defend(s):
    """After the spread: gin scores at once, if nothing is laid off on it; else the defender lays off, automatically or card by card."""
    knocker = s.knocker
    other = 1 - knocker
    melded = s.spread[0] | s.spread[1] | s.spread[2] | s.spread[3]
    s.deadwood[knocker] = points_of(s.hands[knocker] & ~melded)
    if s.deadwood[knocker] == 0 and not s.rules.layoff_on_gin:
        _score(s)
        return
    cards = s.hands[other]
    if s.rules.layoff == LAYOFF_BY_HAND:
        if layable(s, cards):
            s.turn = other
            s.phase = PHASE_LAYOFF
            return
        s.deadwood[other] = deadwood(cards)
    else:
        if s.rules.layoff == LAYOFF_BEST:
            laid, left = best_layoff(cards, s.spread[0], s.spread[1], s.spread[2])
        else:
            laid, left = deadwood_layoff(cards, s.spread[0], s.spread[1], s.spread[2])
        while laid:
            # A run takes its cards one after the other, so a card that fits now goes first.
            card = ctz(layable(s, laid))
            _lay_off(s, other, card)
            laid &= ~(np.int64(1) << card)
        s.deadwood[other] = left
    _score(s)


@kernel
def unseen_by(s, seat):
    """Cards that a seat cannot place: not in its hand, the pile or the spread, and not known to be in the opponent's hand."""
    in_play = np.int64(ALL_CARDS)
    if s.rules.ranks < 13 or s.rules.suits < 4:
        column = (np.int64(1) << s.rules.ranks) - 1
        in_play = np.int64(0)
        for suit in range(s.rules.suits):
            in_play |= column << (13 * suit)
    laid_out = s.spread[0] | s.spread[1] | s.spread[2]
    return in_play & ~(s.hands[seat] | s.pile_cards | s.known_cards[1 - seat] | laid_out)


@kernel
def _knock(s, seat):
    s.knocker = seat
    cards = s.hands[seat]
    if s.rules.choose_spread:
        count, a, b, c, d = nth_arrangement(cards, np.int64(s.limit), 0)
        if count > 1:
            s.phase = PHASE_SPREAD
            return
    else:
        known_cards = s.known_cards[1 - seat]
        hidden = np.int64(s.rules.hand_size) - popcount(known_cards)
        a, b, c, d = best_spread(cards, unseen_by(s, seat), known_cards, hidden)
    s.spread[0], s.spread[1], s.spread[2], s.spread[3] = a, b, c, d
    _defend(s)


@kernel
def _end_turn(s, seat):
    """After a plain discard: the other seat moves, unless the stock is used up."""
    s.turn = 1 - seat
    s.phase = PHASE_DRAW
    if stock_count(s) <= STOCK_LEFT:
        if s.rules.stock_end == END_VOID:
            _finish(s, _STOCK, NOBODY, 0)
        elif s.rules.stock_end == END_WALL:
            s.phase = PHASE_WALL


@kernel
def _may_knock(s, seat, card, first):
    """Whether a requested knock stands; otherwise (under lenient rules) it is played as a discard, with a warning."""
    left = deadwood(s.hands[seat] & ~(np.int64(1) << card))
    if left <= np.int64(s.limit) and (not first or s.rules.first_turn_knock):
        return True
    s.warned = 1
    s.history[s.num_history - 1] = card
    return False


@kernel
def _could_knock(s, seat):
    """Whether a knock was among the legal actions of this turn."""
    if s.far:
        return False
    knocks = knock_discards(s.hands[seat], np.int64(s.limit))
    if s.taken != NO_CARD and not s.rules.discard_taken_upcard:
        knocks &= ~(np.int64(1) << s.taken)
    return knocks != 0


@kernel
def _discard(s, seat, card, knocks):
    bit = np.int64(1) << card
    # This action is in the history already.
    first = s.num_history == 1 and s.rules.eleven_ten != 0
    if first:
        turn_first(s, card)
    if knocks:
        knocks = _may_knock(s, seat, card, first)
    # The history holds a knock above the limit as a discard, so it counts as one.
    if not knocks and not first and _could_knock(s, seat):
        s.declined[seat] += 1
    s.hands[seat] &= ~bit
    s.known_cards[seat] &= ~bit
    s.thrown[seat] |= bit
    s.pile[s.num_pile] = card
    s.num_pile += 1
    s.pile_cards |= bit
    echo = card == s.taken
    s.taken = NO_CARD
    s.drawn = NO_CARD
    if knocks:
        _knock(s, seat)
        return
    if echo and s.echoed and s.rules.repeated_upcard_draw:
        _finish(s, _REPEATED, NOBODY, 0)
        return
    s.echoed = 1 if echo else 0
    _end_turn(s, seat)


@kernel
def _apply_rare(s, seat, action):
    """``apply`` in the phases that occur at most a few times in a hand."""
    phase = s.phase
    if phase == PHASE_UPCARD:
        if action == UPCARD:
            _take_upcard(s, seat)
            return
        s.refused[seat] |= np.int64(1) << s.pile[s.num_pile - 1]
        s.turn = 1 - seat
        if seat != s.starter:
            # Both have passed: the starter must draw from the stock.
            _draw_stock(s, np.int64(s.turn))
    elif phase == PHASE_SPREAD:
        _, a, b, c, d = nth_arrangement(s.hands[seat], np.int64(s.limit), action)
        s.spread[0], s.spread[1], s.spread[2], s.spread[3] = a, b, c, d
        _defend(s)
    elif phase == PHASE_LAYOFF:
        if action != PASS:
            _lay_off(s, seat, action)
            if layable(s, s.hands[seat]):
                return
        s.deadwood[seat] = deadwood(s.hands[seat])
        _score(s)
    elif phase == PHASE_WALL:
        if action == UPCARD:
            _take_upcard(s, seat)
        else:
            _finish(s, _STOCK, NOBODY, 0)


@kernel
def apply(s, action):
    """Plays a legal action of the seat to move."""
    seat = np.int64(s.turn)
    s.warned = 0
    s.history[s.num_history] = action
    s.num_history += 1
    if s.phase == PHASE_DISCARD:
        card = action - KNOCK if action >= KNOCK else action
        _discard(s, seat, card, action >= KNOCK)
    elif s.phase == PHASE_DRAW:
        if action == UPCARD:
            s.upcards += 1
            if s.upcards >= s.rules.max_upcards:
                _finish(s, _UPCARDS, NOBODY, 0)
                return
            _take_upcard(s, seat)
            return
        if s.num_pile:
            s.refused[seat] |= np.int64(1) << s.pile[s.num_pile - 1]
        if stock_count(s) <= STOCK_LEFT:
            # This turn exists only if the last upcard may still be taken; drawing from the stock ends the hand.
            _finish(s, _STOCK, NOBODY, 0)
            return
        _draw_stock(s, seat)
    else:
        _apply_rare(s, seat, action)


@kernel
def random_action(s, word):
    """A legal action, chosen uniformly by a random 64-bit word."""
    discards, knocks, others = legal(s)
    if others and not discards:
        # The set bits of 104 to 106 are always neighbours.
        return STOCK + ctz(others) + below(word, popcount(others))
    if knocks == 0 and others == 0:
        return nth_bit(discards, below(word, popcount(discards)))
    count = popcount(discards)
    total = count + popcount(knocks)
    n = below(word, total + popcount(others))
    if n < count:
        return nth_bit(discards, n)
    if n < total:
        return KNOCK + nth_bit(knocks, n - count)
    return STOCK + nth_bit(others, n - total)
