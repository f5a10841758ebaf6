"""The luck of one seat, measured from what it sees: its half of every deal, and the cards that it draws.

The opponent's cards are not known, so that the value of a hand (``agents.arena.hand_value``) is that of sampled hands of the opponent. Luck
so measured is zero on average to the extent that unseen cards lie at random, and nothing hidden goes into it.
"""

from __future__ import annotations

import numpy as np

from agents.arena.hand_value import shipped_value
from agents.search.worlds import base_world, draw_hands, fill_world
from ginenv.engine.actions import PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD
from ginenv.engine.engine import NO_CARD, STATE
from ginenv.engine.jit import ctz, kernel, mix

# Hands of the opponent that are sampled for each deal and draw.
_WORLDS = 4
_DEAL = np.uint64(0x452821E638D01377)


@kernel
def _sample(views, states):
    """Writes worlds of each view: ``STATE[n * W]``, row after row."""
    count = states.shape[0] // max(1, views.shape[0])
    belief, hands = np.zeros(52, np.float32), np.zeros(count, np.int64)
    for i in range(views.shape[0]):
        stream = draw_hands(views[i], belief, hands, mix(views[i].luck))
        for k in range(count):
            s = states[count * i + k]
            base_world(views[i], s)
            stream = fill_world(s, views[i], hands[k], stream)


@kernel
def _rewind(views):
    """Turns views of a seat's first decision into views of the deal."""
    for i in range(views.shape[0]):
        v = views[i]
        v.luck = v.hand_luck ^ _DEAL
        for side in range(2):
            v.known_cards[side] = v.thrown[side] = v.refused[side] = 0
        v.phase = PHASE_UPCARD if v.first_upcard != NO_CARD else PHASE_DRAW
        v.num_history = v.num_pile = v.pile_cards = v.upcards = v.declined = 0
        v.upcard = v.first_upcard
        if v.first_upcard != NO_CARD:
            v.pile[0] = v.first_upcard
            v.num_pile = 1
            v.pile_cards = np.int64(1) << v.first_upcard
        v.taken = v.drawn = NO_CARD
        cards = np.int64(v.rules.ranks) * v.rules.suits
        v.unseen = ((np.int64(1) << cards) - 1) & ~v.hand & ~v.pile_cards
        v.stock = cards - 2 * v.rules.hand_size - v.num_pile


@kernel
def _order_deck(states):
    """Puts both hands where ``HandValue.deals`` expects them, and the starter to move."""
    for i in range(states.shape[0]):
        s = states[i]
        s.turn = s.starter
        at = 0
        for side in range(2):
            rest = s.hands[s.starter if side == 0 else 1 - s.starter]
            while rest:
                s.deck[at] = ctz(rest)
                rest &= rest - 1
                at += 1


def own_luck(views: np.ndarray, hands: np.ndarray, count: int) -> np.ndarray:
    """One player's luck in finished hands, in points, by the value function that ships.

    Args:
        views: the player's decisions in them, in their order: ``VIEW[n]``.
        hands: which hand each is of, ``int64[n]``.
        count: number of hands.

    Returns:
        ``float64[count]``.
    """
    luck = np.zeros(count)
    # The luck of a deal is not known any more for a hand that was begun elsewhere.
    first = np.diff(hands, prepend=-1) > 0
    is_deal = first & (views["phase"] <= PHASE_DRAW) & (views["thrown"][:, 0] == 0)
    drew = (views["phase"] == PHASE_DISCARD) & (views["drawn"] != NO_CARD)
    for chosen, measure in ((is_deal, _deals), (drew, _draws)):
        if chosen.any():
            np.add.at(luck, hands[chosen], measure(views[chosen]))
    return luck


def _states(views: np.ndarray) -> np.ndarray:
    states = np.zeros(_WORLDS * len(views), STATE)
    _sample(views, states)
    return states


def _mean(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, _WORLDS).mean(axis=1)


def _deals(views: np.ndarray) -> np.ndarray:
    views = views.copy()
    _rewind(views)
    states = _states(views)
    _order_deck(states)
    sign = np.where(views["started"] == 1, 1.0, -1.0)
    return sign * _mean(shipped_value().deals(states)[:, 0])


def _draws(views: np.ndarray) -> np.ndarray:
    values = shipped_value().draws(_states(views))[:, :, 0]
    return _mean(values[:, 0] - values[:, 1])
