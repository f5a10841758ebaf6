"""The compiled player behind every built-in bot; each bot is a record of parameters.

``decide`` turns a view and a ``STYLE`` record into an action; ``act_batch`` does so for a batch, with a style for each view. Legal actions
come from the view. Randomness is a function of the view's ``luck`` word and a seed, so results do not depend on batching.
"""

from __future__ import annotations

import numpy as np

from ginenv.bots.hand_kernels import (
    beside,
    choose_lay_off,
    choose_spread,
    dangers_of,
    deadwood_ahead,
    has_neighbour,
    live_ways,
    near_in_suit,
    remembered,
    repeated,
    turn_of,
)
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, PHASE_WALL, STOCK, UPCARD
from ginenv.engine.bits import nth_bit
from ginenv.engine.engine import NO_CARD
from ginenv.engine.jit import below, ctz, kernel, mix, popcount, unit
from ginenv.engine.melds import (
    RANK_COLUMN,
    card_points,
    deadwood,
    highest_cards,
    joins_meld,
    least_deadwood,
    melded_cards,
)
from ginenv.view.sampling import uniform_action

# The upcards that a style takes: those that make a meld (the challenge's baseline); those that lower its deadwood by a meld, let it
# knock, or save ``bar`` points; all; none.
DRAW_RULES = ("meld", "gain", "always", "never")
# The card that it discards: a random one of those that leave the least deadwood; the largest unused one; the one of least cost.
DISCARD_RULES = ("least", "largest", "cost")
# What a style that weighs danger may ignore: nothing; that a discard makes a run; that it makes a set.
FEARS = ("all", "no-runs", "no-sets")
_NO_RUNS, _NO_SETS = 1, 2
_DRAW_MELD, _DRAW_GAIN, _DRAW_ALWAYS, _DRAW_NEVER = range(len(DRAW_RULES))
_LEAST, _LARGEST, _COST = range(len(DISCARD_RULES))

STYLE = np.dtype(
    [
        ("draw", np.uint8),  # position in DRAW_RULES
        ("discard", np.uint8),  # position in DISCARD_RULES
        ("knock", np.uint8),  # most deadwood to knock with in the first ``turns`` turns (gin is always declared)
        ("turns", np.uint8),  # turns of its own for which ``knock`` holds
        ("late", np.uint8),  # most deadwood to knock with after them
        ("memory", np.uint8),  # number of the last cards of the pile that it remembers
        ("infer", np.uint8),  # 1 if it notices what the opponent took, refused and discarded
        ("bar", np.float64),  # "gain": points by which an upcard outside melds must lower the deadwood to be taken
        ("ahead", np.float64),  # "cost": weight of the expected deadwood one draw later
        ("gin", np.float64),  # "cost": points for a draw to gin in ``ahead``, beside the deadwood saved
        ("decay", np.float64),  # "cost": factor on ``ahead`` for each turn played
        ("danger", np.float64),  # "cost": points for a card that the opponent certainly wants
        ("ways", np.float64),  # "cost": points for each unseen card that would make a meld with the card
        ("pairs", np.float64),  # "cost": points for a card with another of its rank in the hand
        ("runs", np.float64),  # "cost": points for a card with a neighbour in the hand
        ("high", np.float64),  # "cost": points for each point of the card: below 0 sheds high cards, above 0 keeps them
        ("noise", np.float64),  # "cost": a random error of up to this many points for each card
        ("blunder", np.float64),  # probability of a uniformly random legal action
        # Leanings that can be punished; 0 is none.
        ("pair_bait", np.float64),  # probability of taking an upcard that makes no meld but a pair
        (
            "run_bait",
            np.float64,
        ),  # probability of taking one that makes no meld but is one or two ranks from a card of its suit
        ("low_bait", np.uint8),  # takes upcards of this many points or less, if the hand has a loose card of more
        ("overlook", np.float64),  # probability of overlooking an upcard that it wants
        ("follow", np.float64),  # "cost": points by which a card near the opponent's discards seems safer
        ("kings", np.float64),  # "cost": points for a king or queen
        ("shed", np.float64),  # "cost": added to ``high`` for every turn played
        ("clings", np.float64),  # "cost": points for a card that it took from the pile
        ("unafraid", np.uint8),  # "cost": position in FEARS of what ``danger`` leaves out
        (
            "nerve",
            np.uint8,
        ),  # knocks as soon as it may once the opponent has taken this many upcards (0: never for that)
        ("patience", np.float64),  # probability of not knocking in a turn in which it would
    ],
    align=True,
)

OUTLOOK = 105
_QUEEN = 11
# These keep the random words of different leanings apart.
_PATIENCE, _OVERLOOK, _BAIT = (
    np.uint64(0x452821E638D01377),
    np.uint64(0xBE5466CF34E90C6C),
    np.uint64(0xC0AC29B7C97C50DD),
)
# Discards this much worse in deadwood than the best one are skipped.
_MARGIN = 12.0
_MAX_CARDS = 11


@kernel
def _knock_bar(v, st):
    """The most deadwood with which the style knocks in this turn."""
    if st.nerve > 0 and popcount(v.known_cards[1]) >= st.nerve:
        return np.int64(v.limit)
    return np.int64(st.knock) if turn_of(v) <= st.turns else np.int64(st.late)


@kernel
def _outlook(v, st):
    """What the costs of all discards share.

    Returns:
        Live, known and cold cards, those near the opponent's discards, those taken from the pile, the chance that a live card is held, the
        weight ahead, and the points for each point of a card.
    """
    known_cards = v.known_cards[1] if st.infer else np.int64(0)
    # Forgotten cards count as live.
    live = (v.unseen | v.pile_cards | v.known_cards[1]) & ~(remembered(v, st.memory) | known_cards)
    cold = v.thrown[1] | v.refused[1] if st.infer else np.int64(0)
    chance = (v.rules.hand_size - popcount(known_cards)) / max(1, popcount(live))
    ahead = st.ahead * st.decay ** (turn_of(v) - 1)
    near = beside(v.thrown[1] & remembered(v, st.memory)) if st.follow > 0 else np.int64(0)
    high = st.high + st.shed * (turn_of(v) - 1)
    return live, known_cards, cold, near, v.known_cards[0], chance, ahead, high


@kernel
def _cost(hand, st, card, left, outlook):
    """The cost of a discard that leaves ``left`` points of deadwood."""
    live, known_cards, cold, near, taken, chance, ahead, high = outlook
    bit = np.int64(1) << card
    cost = left + high * card_points(card)
    if ahead > 0:
        cost += ahead * deadwood_ahead(hand & ~bit, live, left, st.gin)
    if st.danger > 0:
        sets, runs, factor = dangers_of(card, live, known_cards, cold, chance)
        feared = (0.0 if st.unafraid == _NO_SETS else sets) + (0.0 if st.unafraid == _NO_RUNS else runs)
        cost += st.danger * min(1.0, feared * factor)
    if st.ways > 0:
        cost += st.ways * live_ways(card, hand, live)
    if st.pairs > 0 and hand & ~bit & (RANK_COLUMN << (card % 13)):
        cost += st.pairs
    if st.runs > 0 and has_neighbour(card, hand):
        cost += st.runs
    if st.kings > 0 and card % 13 >= _QUEEN:
        cost += st.kings
    if near & bit:
        cost -= st.follow
    if taken & bit:
        cost += st.clings
    return cost


@kernel
def _cheapest(v, st, allowed, word):
    """The discard of least cost."""
    hand = v.hand
    outlook = _outlook(v, st)
    cards, least = least_deadwood(hand, allowed)
    best = 1e9
    chosen = np.int64(ctz(allowed))
    # If nothing makes a discard cheaper than the deadwood that it leaves, one that leaves more than ``most`` cannot be the cheapest. (None
    # of the other numbers is below 0; ``heuristics.style`` ensures that.)
    most = least + _MARGIN
    if st.ahead <= 0 and outlook[7] >= 0 and outlook[3] == 0:
        dearest = st.noise if st.noise > 0 else 0.0
        most = min(most, _cost(hand, st, np.int64(ctz(cards)), least, outlook) + dearest)
    rest = allowed
    while rest:
        card = ctz(rest)
        bit = rest & -rest
        rest ^= bit
        left = deadwood(hand & ~bit)
        if left > most:
            continue
        cost = _cost(hand, st, card, left, outlook)
        if st.noise > 0:
            cost += st.noise * unit(mix(word + np.uint64(card)))
        if cost < best:
            best = cost
            chosen = card
    return chosen


@kernel
def outlook_rows(v, st, out, row):
    """Writes a style's evaluation of a view to ``out[row]``, ``OUTLOOK`` bytes: the heuristic features of networks.

    Bytes 0 to 51, by card: 64 for the discard of least cost, less 4 for each further point of cost. Bytes 52 to 103: the same, but halved
    for each further 0.7 points. Byte 104: 64 if the style would take the upcard.
    """
    for k in range(OUTLOOK):
        out[row, k] = 0
    if v.phase == PHASE_DISCARD:
        hand = v.hand
        allowed = v.legal[0] | v.legal[1]
        if allowed == 0:
            return
        outlook = _outlook(v, st)
        best = 1e9
        costs = np.empty(_MAX_CARDS)
        n = 0
        rest = allowed
        while rest:
            card = ctz(rest)
            bit = rest & -rest
            rest ^= bit
            costs[n] = _cost(hand, st, card, deadwood(hand & ~bit), outlook)
            best = min(best, costs[n])
            n += 1
        n = 0
        rest = allowed
        while rest:
            card = ctz(rest)
            rest &= rest - 1
            out[row, card] = max(0.0, 64 - 4 * (costs[n] - best))
            out[row, 52 + card] = 64 * np.exp(best - costs[n])
            n += 1
    elif v.legal[2] & 2 and _needs(v, st):
        out[row, 104] = 64


@kernel
def _largest_unused(cards, allowed):
    """The highest-ranking allowed card outside melds, of several the one of the lowest suit; -1 for none."""
    rest = allowed & ~melded_cards(cards)
    chosen = np.int64(-1)
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        if chosen < 0 or card % 13 > chosen % 13:
            chosen = card
    return chosen


@kernel
def _discard(v, st, word):
    # It never discards the upcard that it just took if it has a choice.
    new = np.int64(0) if v.taken == NO_CARD else np.int64(1) << v.taken
    discards = v.legal[0]
    knocks = v.legal[1]
    if (discards | knocks) & ~new:
        discards &= ~new
        knocks &= ~new
    if knocks:
        cards, left = least_deadwood(v.hand, knocks)
        knocks_now = left <= _knock_bar(v, st) and not (st.patience > 0 and unit(mix(word ^ _PATIENCE)) < st.patience)
        if left == 0 or discards == 0 or knocks_now:
            return KNOCK + nth_bit(cards, below(word, popcount(cards)))
    allowed = discards & ~repeated(v)
    if allowed == 0:
        allowed = discards
    if st.discard == _COST:
        return _cheapest(v, st, allowed, word)
    if st.discard == _LARGEST:
        card = _largest_unused(v.hand, allowed)
        if card >= 0:
            return card
    cards, left = least_deadwood(v.hand, allowed)
    return nth_bit(cards, below(word, popcount(cards)))


@kernel
def _needs(v, st):
    """Whether the style takes the upcard by its rule."""
    if st.draw == _DRAW_ALWAYS:
        return True
    if st.draw == _DRAW_NEVER:
        return False
    if st.draw == _DRAW_MELD:
        return joins_meld(v.hand, np.int64(v.upcard))
    bit = np.int64(1) << v.upcard
    now = deadwood(v.hand)
    after = least_deadwood(v.hand | bit, v.hand)[1]
    if after >= now:
        return False
    if joins_meld(v.hand, np.int64(v.upcard)) or now - after >= st.bar:
        return True
    return after <= v.limit and after <= _knock_bar(v, st)


@kernel
def _draws_on_impulse(v, st, word):
    """Whether an upcard that the style does not need tempts it."""
    card = np.int64(v.upcard)
    if st.low_bait > 0 and card_points(card) <= st.low_bait:
        loose = v.hand & ~melded_cards(v.hand)
        if highest_cards(loose) > card_points(card):
            return True
    chance = 0.0
    if st.pair_bait > 0 and v.hand & (RANK_COLUMN << (card % 13)):
        chance = st.pair_bait
    if st.run_bait > chance and near_in_suit(card, v.hand):
        chance = st.run_bait
    return chance > 0 and unit(word) < chance


@kernel
def _wants(v, st, word):
    """Whether the style takes the upcard."""
    if _needs(v, st):
        return not (st.overlook > 0 and unit(mix(word ^ _OVERLOOK)) < st.overlook)
    return _draws_on_impulse(v, st, mix(word ^ _BAIT))


@kernel
def _draw(v, st, word):
    if v.legal[2] & 2:
        if v.phase == PHASE_WALL:
            # The last upcard may be taken only to knock.
            if least_deadwood(v.hand | np.int64(1) << v.upcard, v.hand)[1] <= min(v.limit, _knock_bar(v, st)):
                return UPCARD
        elif _wants(v, st, word):
            return UPCARD
    return STOCK + ctz(v.legal[2] & 5)


@kernel
def decide(v, st, seed):
    """The action of a ``STYLE`` record for a ``VIEW`` record; ``seed`` (uint64) is mixed with the view's ``luck``."""
    word = mix(v.luck ^ seed)
    if st.blunder > 0 and unit(word) < st.blunder:
        return np.int64(uniform_action(v.legal, mix(word)))
    if v.phase == PHASE_DISCARD:
        return _discard(v, st, word)
    if v.phase == PHASE_SPREAD:
        return np.int64(choose_spread(v))
    if v.phase == PHASE_LAYOFF:
        return np.int64(choose_lay_off(v))
    return np.int64(_draw(v, st, word))


@kernel
def act_batch(views, styles, index, seed, actions):
    """Plays a batch.

    Args:
        views: ``VIEW[n]``, each of a seat that is to move.
        styles: ``STYLE[m]``.
        index: ``int[n]``, the style of each view; a negative one leaves the action as it was.
        seed: uint64, the players' seed.
        actions: ``int64[n]``, written.
    """
    for i in range(views.shape[0]):
        if index[i] >= 0:
            actions[i] = decide(views[i], styles[index[i]], seed)
