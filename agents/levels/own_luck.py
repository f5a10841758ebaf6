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
# Hands in play at once; of more, the oldest lose their luck.
_MAX_HANDS = 10_000
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


class OwnLuck:
    """Adds up one player's luck in the hands that it has in play, by the value function that ships."""

    def __init__(self) -> None:
        self.value = shipped_value()
        # By slot and the hand's own random word: its luck in points, and up to where the record has been read.
        self._hands: dict[tuple[int, int], tuple[float, int]] = {}

    def add(self, views: np.ndarray, slots: np.ndarray) -> None:
        """Adds the luck of the deals and draws that led to the decisions ``VIEW[n]`` in some slots, ``int64[n]``."""
        keys = list(zip(slots.tolist(), views["hand_luck"].tolist(), strict=True))
        seen = np.array([self._hands.get(key, (0.0, -1)) for key in keys])
        luck, fresh = seen[:, 0], seen[:, 1] < views["num_history"]
        # The luck of a deal is not known any more for a hand that was begun elsewhere.
        is_first = (seen[:, 1] < 0) & (views["phase"] <= PHASE_DRAW) & (views["thrown"][:, 0] == 0)
        drew = fresh & (views["phase"] == PHASE_DISCARD) & (views["drawn"] != NO_CARD)
        if is_first.any():
            luck[is_first] += self._deals(views[is_first])
        if drew.any():
            luck[drew] += self._draws(views[drew])
        for key, points, read in zip(keys, luck.tolist(), views["num_history"].tolist(), strict=True):
            self._hands[key] = points, read
        while len(self._hands) > _MAX_HANDS:
            del self._hands[next(iter(self._hands))]

    def take(self, views: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The luck of finished hands, ``VIEW[n]`` and ``int64[n]`` to ``float64[n]``; it is forgotten then."""
        keys = zip(slots.tolist(), views["hand_luck"].tolist(), strict=True)
        return np.array([self._hands.pop(key, (0.0, 0))[0] for key in keys])

    def _states(self, views: np.ndarray) -> np.ndarray:
        states = np.zeros(_WORLDS * len(views), STATE)
        _sample(views, states)
        return states

    def _mean(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(-1, _WORLDS).mean(axis=1)

    def _deals(self, views: np.ndarray) -> np.ndarray:
        views = views.copy()
        _rewind(views)
        states = self._states(views)
        _order_deck(states)
        sign = np.where(views["started"] == 1, 1.0, -1.0)
        return sign * self._mean(self.value.deals(states)[:, 0])

    def _draws(self, views: np.ndarray) -> np.ndarray:
        values = self.value.draws(self._states(views))[:, :, 0]
        return self._mean(values[:, 0] - values[:, 1])
