"""OpenSpiel's simple bot as a player, ``openspiel-simple`` (``make peers`` installs OpenSpiel).

It takes the upcard if that melds or lets it knock, knocks at once, and ignores its opponent. It decides from its hand and the upcard alone;
the rest of the position, which its program needs, is made up. If it discards the upcard that it has just taken and the rules forbid that,
the legal discard that leaves the least deadwood is played instead; of several, the most valuable card. That is its own rule's next choice.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np

from ginenv.engine.actions import KNOCK, PASS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, STOCK, UPCARD
from ginenv.engine.cards import card_value, cards_of
from ginenv.engine.engine import NO_CARD
from ginenv.engine.melds import deadwood
from ginenv.tables.players import BasePlayer


def _least_deadwood(view: Any) -> int:
    """The legal discard that leaves the least deadwood; of several, the most valuable card."""
    hand = int(view["hand"])
    allowed = cards_of(int(view["legal"][0])) or cards_of(int(view["legal"][1]))
    return min(allowed, key=lambda card: (deadwood(hand & ~(1 << card)), -card_value(card), card))


# Action numbers of OpenSpiel's gin rummy; cards have the same numbers as here.
_OS_UPCARD, _OS_STOCK, _OS_PASS, _OS_KNOCK = 52, 53, 54, 55
_OS_DEALT = 20


@cache
def _openspiel(limit: int) -> tuple[Any, Any]:
    """A fresh state to copy, and a bot, for a knock limit."""
    # Untyped, so that type checks do not depend on what is installed.
    pyspiel: Any = importlib.import_module("pyspiel")
    game = pyspiel.load_game("gin_rummy", {"knock_card": limit})
    return game.new_initial_state(), pyspiel.make_simple_gin_rummy_bot(game.get_parameters(), 0)


class OpenSpielSimple(BasePlayer):
    """OpenSpiel's simple bot.

    It gets a state in which it is the non-dealer with its own ten cards and is offered the upcard, or has just taken a card. The opponent's
    cards are arbitrary.
    """

    name = "openspiel-simple"

    def __init__(self, seed: int = 0):
        super().__init__(seed)
        _openspiel(10)

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view."""
        return np.array([self._choose(view) for view in views], np.int64)

    def _choose(self, view: Any) -> int:
        phase = int(view["phase"])
        # The original chooses no spread and never lays off.
        if phase == PHASE_SPREAD:
            return 0
        if phase == PHASE_LAYOFF:
            return PASS
        if phase == PHASE_DISCARD:
            card, knocks = self._discard(view)
            discards, knockable = int(view["legal"][0]), int(view["legal"][1])
            if knocks and knockable >> card & 1:
                return KNOCK + card
            if not discards >> card & 1:
                card = _least_deadwood(view)
            return card if discards >> card & 1 else KNOCK + card
        others = int(view["legal"][2])
        if others >> (UPCARD - STOCK) & 1 and self._takes(view):
            return UPCARD
        return PASS if others >> (PASS - STOCK) & 1 else STOCK

    def _state(self, view: Any, hand: int, upcard: int) -> tuple[Any, Any]:
        root, bot = _openspiel(int(view["limit"]))
        state = root.clone()
        mine = cards_of(hand)
        others = [card for card in range(52) if not (hand | 1 << upcard) >> card & 1]
        for card in [*mine, *others[: _OS_DEALT - len(mine)], upcard]:
            state.apply_action(card)
        bot.restart()
        return state, bot

    def _takes(self, view: Any) -> bool:
        state, bot = self._state(view, int(view["hand"]), int(view["upcard"]))
        return bot.step(state) == _OS_UPCARD

    def _discard(self, view: Any) -> tuple[int, bool]:
        """A card, and whether to knock with it."""
        hand, taken = int(view["hand"]), int(view["taken"])
        if taken != NO_CARD:
            state, bot = self._state(view, hand & ~(1 << taken), taken)
            state.apply_action(_OS_UPCARD)
        else:
            # Eleven cards were dealt, or one was drawn: any of them may serve as the last.
            drawn = int(view["drawn"]) if int(view["drawn"]) != NO_CARD else cards_of(hand)[-1]
            hidden = next(card for card in range(51, -1, -1) if not hand >> card & 1)
            state, bot = self._state(view, hand & ~(1 << drawn), hidden)
            for action in (_OS_PASS, _OS_PASS, _OS_STOCK, drawn):
                state.apply_action(action)
        action = bot.step(state)
        if action != _OS_KNOCK:
            return int(action), False
        state.apply_action(action)
        return int(bot.step(state)), True
