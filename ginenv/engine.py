"""One hand of gin rummy as a state machine over a record of plain numbers.

A hand in play is one record of ``STATE``: everything, the whole stock order included, so that cloning, saving and sending
are copies of bytes. Rules stand in the record too, so hands under different rules share a batch. Only this module (with
``melds`` for the arithmetic and ``game`` for the score sheet) knows the rules; players never see a state but a view.

Kernels trust their input: callers check an action against ``legal`` first.
"""

from __future__ import annotations

import enum

import numpy as np

from ginenv.actions import (
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
from ginenv.cards import ALL_CARDS
from ginenv.jit import below, ctz, kernel, mix, nth_bit, popcount
from ginenv.melds import (
    MAX_ARRANGEMENTS,
    best_layoff,
    best_spread,
    card_points,
    deadwood,
    deadwood_layoff,
    fits,
    is_run,
    knock_discards,
    nth_arrangement,
    points_of,
)
from ginenv.rules import (
    NUM_RULES,
    R_ACE_ONE,
    R_AUTO_GIN,
    R_CHOOSE_SPREAD,
    R_DISCARD_TAKEN,
    R_ELEVEN_TEN,
    R_FIRST_DISCARD_LIMIT,
    R_FIRST_TURN_KNOCK,
    R_GIN_BONUS,
    R_HAND_SIZE,
    R_LAYOFF,
    R_LENIENT_KNOCK,
    R_LIMIT,
    R_MAX_UPCARDS,
    R_OFFER,
    R_OKLAHOMA,
    R_RANKS,
    R_REPEAT_DRAW,
    R_SPADE_DOUBLES,
    R_STOCK_END,
    R_SUITS,
    R_TIE_UNDERCUTS,
    R_UNDERCUT_BONUS,
)

MAX_HISTORY = 192
MAX_PILE = 32
NO_CARD = 255
NOBODY = 2
# Two cards are left in the stock when it counts as used up, under every source's rules.
STOCK_LEFT = 2
# Values of R_STOCK_END and R_LAYOFF (positions in rules.STOCK_END and rules.LAYOFF).
END_VOID, END_LAST_UPCARD, END_WALL = range(3)
LAYOFF_BEST, LAYOFF_DEADWOOD_ONLY, LAYOFF_BY_HAND = range(3)


class End(enum.IntEnum):
    """Why a hand ended."""

    NOT_OVER = 0
    GIN = 1
    KNOCK = 2
    UNDERCUT = 3
    TIE = 4
    STOCK = 5
    UPCARD_LIMIT = 6
    REPEATED_UPCARD = 7


_GIN, _KNOCK, _UNDERCUT, _TIE, _STOCK, _UPCARDS, _REPEATED = (int(end) for end in End if end)

STATE = np.dtype(
    [
        ("hands", np.int64, (2,)),  # cards that each seat holds; what the defender lays off leaves its hand
        ("known", np.int64, (2,)),  # cards that a seat took from the pile and still holds
        ("thrown", np.int64, (2,)),  # every card that a seat has discarded in this hand
        ("refused", np.int64, (2,)),  # upcards that a seat could have taken and did not
        ("spread", np.int64, (4,)),  # the knocker's melds, with what is laid off on them
        ("pile_cards", np.int64),  # the discard pile as a mask
        ("laid", np.int64),  # cards laid off
        ("key", np.uint64),  # the deck of hand n follows from key and n
        ("luck", np.uint64, (2,)),  # private randomness of each seat's player; independent of key
        ("score", np.int32, (2,)),  # points of hands so far in the game
        ("total", np.int32, (2,)),  # final totals, bonuses included, once the game is over
        ("points", np.int32),  # points of this hand to its winner
        ("hand_no", np.int32),  # hands dealt before this one in the game
        ("boxes", np.uint8, (2,)),  # hands won in the game
        (
            "declined",
            np.uint8,
            (2,),
        ),  # turns (but an eleven/ten deal's first) in which a seat could have knocked and did not
        ("deadwood", np.uint8, (2,)),  # final deadwood, lay-offs counted, once the hand is over
        ("drawn_hands", np.uint8),  # hands drawn in a row
        ("game_over", np.uint8),
        ("game_winner", np.uint8),  # seat, or NOBODY
        ("phase", np.uint8),
        ("turn", np.uint8),  # seat to move
        ("starter", np.uint8),  # seat that began the hand (the non-dealer)
        ("limit", np.uint8),  # most deadwood to knock with in this hand
        ("doubled", np.uint8),  # 1 when the points of this hand count twice
        ("position", np.uint8),  # next card of the stock in the deck
        ("num_pile", np.uint8),
        ("taken", np.uint8),  # upcard taken in this turn, else NO_CARD
        ("drawn", np.uint8),  # card drawn from the stock in this turn, else NO_CARD
        ("upcards", np.uint8),  # upcards taken in the draw phase
        ("echoed", np.uint8),  # 1 when the last turn took the upcard and discarded it again
        ("end", np.uint8),  # End
        ("winner", np.uint8),  # seat that scores this hand, or NOBODY
        ("knocker", np.uint8),  # seat, or NOBODY
        ("warned", np.uint8),  # 1 when the last action was a knock above the limit, played as a discard
        ("num_history", np.uint8),
        ("deck", np.uint8, (52,)),  # starter's cards, the other's, upcard (or 11th card), stock
        # The rest stands in a view just so, and is copied in one go.
        ("rules", np.int16, (NUM_RULES,)),
        ("pile", np.uint8, (MAX_PILE,)),  # the discard pile from the bottom
        ("history", np.uint8, (MAX_HISTORY,)),  # every action of the hand in order
    ],
    align=True,
)


@kernel
def shuffle(s):
    """The deck of hand ``hand_no`` under ``key``, into the record: the same on every machine and at every batch size."""
    ranks = np.int64(s.rules[R_RANKS])
    count = ranks * s.rules[R_SUITS]
    for i in range(count):
        s.deck[i] = 13 * (i // ranks) + i % ranks
    seed = mix(s.key ^ mix(np.uint64(s.hand_no)))
    for i in range(count - 1, 0, -1):
        seed = seed + np.uint64(0x9E3779B97F4A7C15)
        word = (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        j = np.int64(((word >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        s.deck[i], s.deck[j] = s.deck[j], s.deck[i]


@kernel
def _set_limit(s, upcard):
    """The knock limit that an Oklahoma upcard sets, and whether it doubles the hand."""
    value = np.int64(card_points(upcard))
    if value == 1 and not s.rules[R_ACE_ONE]:
        value = 0
    s.limit = min(value, np.int64(s.rules[R_LIMIT]))
    s.doubled = 1 if s.rules[R_SPADE_DOUBLES] and upcard < 13 else 0


@kernel
def deal(s, starter):
    """Begins a hand from the deck in the record; scores and rules stay as they are."""
    size = np.int64(s.rules[R_HAND_SIZE])
    hand0 = np.int64(0)
    hand1 = np.int64(0)
    for i in range(size):
        hand0 |= np.int64(1) << s.deck[i]
        hand1 |= np.int64(1) << s.deck[size + i]
    upcard = s.deck[2 * size]
    for seat in range(2):
        s.known[seat] = 0
        s.thrown[seat] = 0
        s.refused[seat] = 0
        s.deadwood[seat] = 0
        s.declined[seat] = 0
    for k in range(4):
        s.spread[k] = 0
    s.laid = 0
    s.points = 0
    s.starter = starter
    s.turn = starter
    s.position = 2 * size + 1
    s.drawn = NO_CARD
    s.taken = NO_CARD
    s.upcards = 0
    s.echoed = 0
    s.end = 0
    s.winner = NOBODY
    s.knocker = NOBODY
    s.warned = 0
    s.num_history = 0
    s.limit = s.rules[R_LIMIT]
    s.doubled = 0
    if s.rules[R_ELEVEN_TEN]:
        hand0 |= np.int64(1) << upcard
        s.pile_cards = 0
        s.num_pile = 0
        s.phase = PHASE_DISCARD
    else:
        s.pile_cards = np.int64(1) << upcard
        s.pile[0] = upcard
        s.num_pile = 1
        s.phase = PHASE_UPCARD if s.rules[R_OFFER] else PHASE_DRAW
        if s.rules[R_OKLAHOMA]:
            _set_limit(s, upcard)
    s.hands[starter] = hand0
    s.hands[1 - starter] = hand1


@kernel
def stock_count(s):
    """Cards left in the stock."""
    return np.int64(s.rules[R_RANKS]) * s.rules[R_SUITS] - s.position


@kernel
def is_first_discard(s):
    """Whether the seat to move begins an eleven/ten deal."""
    return s.num_history == 0 and s.rules[R_ELEVEN_TEN] != 0


@kernel
def limit_with(s, card):
    """The limit for a knock that discards a card; only an Oklahoma eleven/ten deal's first discard sets its own."""
    if s.rules[R_FIRST_DISCARD_LIMIT] and s.num_history == 0:
        value = np.int64(card_points(card))
        if value == 1 and not s.rules[R_ACE_ONE]:
            value = 0
        return min(value, np.int64(s.rules[R_LIMIT]))
    return np.int64(s.limit)


@kernel
def _first_knocks(s, cards):
    """Cards that the starter of an eleven/ten deal may knock with at once."""
    knocks = np.int64(0)
    if s.rules[R_FIRST_TURN_KNOCK]:
        rest = knock_discards(cards, np.int64(s.rules[R_LIMIT]))
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
    """Cards of a mask that fit one of the melds spread out."""
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
    if s.taken != NO_CARD and not s.rules[R_DISCARD_TAKEN]:
        allowed &= ~(np.int64(1) << s.taken)
    if is_first_discard(s):
        knocks = _first_knocks(s, cards)
    else:
        knocks = knock_discards(cards, np.int64(s.limit)) & allowed
        if s.rules[R_STOCK_END] == END_WALL and stock_count(s) <= STOCK_LEFT and s.drawn == NO_CARD:
            # Whoever takes the upcard at the wall takes it to knock.
            return np.int64(0), knocks
    if s.rules[R_AUTO_GIN] and knocks:
        allowed &= _without_gin(cards, knocks)
    return allowed, knocks


@kernel
def _legal_rare(s):
    """``legal`` in the phases that come at most a few times in a hand."""
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
        if not s.rules[R_DISCARD_TAKEN]:
            knocks &= ~bit
        return none, none, np.int64(6) if knocks else np.int64(4)
    return none, none, none


@kernel
def legal(s):
    """What the seat to move may do, as three masks: cards for ids 0-51, for ids 52-103, and bits for 104, 105, 106."""
    if s.phase == PHASE_DISCARD:
        discards, knocks = _legal_discards(s)
        return discards, knocks, np.int64(0)
    if s.phase == PHASE_DRAW:
        return np.int64(0), np.int64(0), np.int64(3) if s.num_pile else np.int64(1)
    return _legal_rare(s)


@kernel
def is_legal(s, action):
    """Whether the seat to move may play an action (a lenient knock above the limit included)."""
    discards, knocks, others = legal(s)
    if action < 0 or action > PASS:
        return False
    if action < KNOCK:
        return (discards >> action) & 1 == 1
    if action < STOCK:
        card = action - KNOCK
        if s.rules[R_LENIENT_KNOCK] and (discards >> card) & 1:
            return True
        return (knocks >> card) & 1 == 1
    return (others >> (action - STOCK)) & 1 == 1


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
    s.hands[seat] |= np.int64(1) << card
    s.drawn = card
    s.taken = NO_CARD
    s.phase = PHASE_DISCARD


@kernel
def _take_upcard(s, seat):
    s.num_pile -= 1
    card = s.pile[s.num_pile]
    bit = np.int64(1) << card
    s.pile_cards &= ~bit
    s.hands[seat] |= bit
    s.known[seat] |= bit
    s.taken = card
    s.drawn = NO_CARD
    s.phase = PHASE_DISCARD


@kernel
def _score(s):
    """Scores a knock once the spread lies out and the defender has laid off what it will."""
    knocker = s.knocker
    other = 1 - knocker
    mine = np.int64(s.deadwood[knocker])
    if mine == 0:
        theirs = deadwood(s.hands[other])
        s.deadwood[other] = theirs
        _finish(s, _GIN, knocker, theirs + s.rules[R_GIN_BONUS])
        return
    theirs = np.int64(s.deadwood[other])
    if theirs > mine:
        _finish(s, _KNOCK, knocker, theirs - mine)
    elif theirs < mine or s.rules[R_TIE_UNDERCUTS]:
        _finish(s, _UNDERCUT, other, mine - theirs + s.rules[R_UNDERCUT_BONUS])
    else:
        _finish(s, _TIE, NOBODY, 0)


@kernel
def _lay_off(s, seat, card):
    """Puts a card of the defender's on the spread; on a run rather than on a set, since a run can go on."""
    bit = np.int64(1) << card
    target = -1
    for k in range(3):
        if fits(s.spread[k], card) and (target < 0 or is_run(s.spread[k])):
            target = k
    s.spread[target] |= bit
    s.hands[seat] &= ~bit
    s.known[seat] &= ~bit
    s.laid |= bit


@kernel
def _defend(s):
    """After the spread: gin scores at once; else the defender lays off, by itself or by hand."""
    knocker = s.knocker
    other = 1 - knocker
    melded = s.spread[0] | s.spread[1] | s.spread[2] | s.spread[3]
    s.deadwood[knocker] = points_of(s.hands[knocker] & ~melded)
    if s.deadwood[knocker] == 0:
        _score(s)
        return
    cards = s.hands[other]
    if s.rules[R_LAYOFF] == LAYOFF_BY_HAND:
        if layable(s, cards):
            s.turn = other
            s.phase = PHASE_LAYOFF
            return
        s.deadwood[other] = deadwood(cards)
    else:
        if s.rules[R_LAYOFF] == LAYOFF_BEST:
            laid, left = best_layoff(cards, s.spread[0], s.spread[1], s.spread[2])
        else:
            laid, left = deadwood_layoff(cards, s.spread[0], s.spread[1], s.spread[2])
        while laid:
            # A run takes its cards one after the other, so what fits now goes first.
            card = ctz(layable(s, laid))
            _lay_off(s, other, card)
            laid &= ~(np.int64(1) << card)
        s.deadwood[other] = left
    _score(s)


@kernel
def unseen_by(s, seat):
    """Cards that a seat cannot place: neither in its hand nor in the pile nor spread out nor known to be the opponent's."""
    in_play = np.int64(ALL_CARDS)
    if s.rules[R_RANKS] < 13 or s.rules[R_SUITS] < 4:
        column = (np.int64(1) << s.rules[R_RANKS]) - 1
        in_play = np.int64(0)
        for suit in range(s.rules[R_SUITS]):
            in_play |= column << (13 * suit)
    laid_out = s.spread[0] | s.spread[1] | s.spread[2]
    return in_play & ~(s.hands[seat] | s.pile_cards | s.known[1 - seat] | laid_out)


@kernel
def _knock(s, seat):
    s.knocker = seat
    cards = s.hands[seat]
    if s.rules[R_CHOOSE_SPREAD]:
        count, a, b, c, d = nth_arrangement(cards, np.int64(s.limit), 0)
        if count > 1:
            s.phase = PHASE_SPREAD
            return
    else:
        known = s.known[1 - seat]
        hidden = np.int64(s.rules[R_HAND_SIZE]) - popcount(known)
        a, b, c, d = best_spread(cards, unseen_by(s, seat), known, hidden)
    s.spread[0], s.spread[1], s.spread[2], s.spread[3] = a, b, c, d
    _defend(s)


@kernel
def _end_turn(s, seat):
    """After a plain discard: the other moves, unless the stock is used up."""
    s.turn = 1 - seat
    s.phase = PHASE_DRAW
    if stock_count(s) <= STOCK_LEFT:
        if s.rules[R_STOCK_END] == END_VOID:
            _finish(s, _STOCK, NOBODY, 0)
        elif s.rules[R_STOCK_END] == END_WALL:
            s.phase = PHASE_WALL


@kernel
def _may_knock(s, seat, card, first):
    """Whether a knock that was asked for stands; otherwise (under lenient rules) it is played as a discard, with a warning."""
    left = deadwood(s.hands[seat] & ~(np.int64(1) << card))
    if left <= np.int64(s.limit) and (not first or s.rules[R_FIRST_TURN_KNOCK]):
        return True
    s.warned = 1
    s.history[s.num_history - 1] = card
    return False


@kernel
def _could_knock(s, seat):
    """Whether a knock was among the legal actions of this turn."""
    knocks = knock_discards(s.hands[seat], np.int64(s.limit))
    if s.taken != NO_CARD and not s.rules[R_DISCARD_TAKEN]:
        knocks &= ~(np.int64(1) << s.taken)
    return knocks != 0


@kernel
def _discard(s, seat, card, knocks):
    bit = np.int64(1) << card
    # This action is in the history already.
    first = s.num_history == 1 and s.rules[R_ELEVEN_TEN] != 0
    if first and s.rules[R_FIRST_DISCARD_LIMIT]:
        _set_limit(s, card)
    if knocks:
        knocks = _may_knock(s, seat, card, first)
    elif not first and _could_knock(s, seat):
        s.declined[seat] += 1
    s.hands[seat] &= ~bit
    s.known[seat] &= ~bit
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
    if echo and s.echoed and s.rules[R_REPEAT_DRAW]:
        _finish(s, _REPEATED, NOBODY, 0)
        return
    s.echoed = 1 if echo else 0
    _end_turn(s, seat)


@kernel
def _apply_rare(s, seat, action):
    """``apply`` in the phases that come at most a few times in a hand."""
    phase = s.phase
    if phase == PHASE_UPCARD:
        if action == UPCARD:
            _take_upcard(s, seat)
            return
        s.refused[seat] |= np.int64(1) << s.pile[s.num_pile - 1]
        s.turn = 1 - seat
        if seat != s.starter:
            # Both have passed: the starter has no choice but the stock.
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
            if s.upcards >= s.rules[R_MAX_UPCARDS]:
                _finish(s, _UPCARDS, NOBODY, 0)
                return
            _take_upcard(s, seat)
            return
        if s.num_pile:
            s.refused[seat] |= np.int64(1) << s.pile[s.num_pile - 1]
        if stock_count(s) <= STOCK_LEFT:
            # Only where the last upcard may still be taken is there a turn here; drawing the stock ends the hand.
            _finish(s, _STOCK, NOBODY, 0)
            return
        _draw_stock(s, seat)
    else:
        _apply_rare(s, seat, action)


@kernel
def random_action(s, word):
    """A legal action chosen evenly by a random 64-bit word."""
    discards, knocks, others = legal(s)
    if others and not discards:
        # The bits of 104 to 106 are always neighbours.
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


@kernel
def next_word(seed):
    """The next random word of a stream: adds a constant, then mixes lightly (for playouts, not for decks)."""
    seed = seed + np.uint64(0x9E3779B97F4A7C15)
    return seed, (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
