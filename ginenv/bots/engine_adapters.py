"""Adapters to players of other projects (``make peers`` installs them).

| name | from |
|---|---|
| ``openspiel-simple`` | OpenSpiel's simple bot: takes the upcard if that melds or lets it knock, knocks at once, ignores its opponent |
| ``rlcard-novice`` | RLCard's novice rule: gin, else knock, else discard what leaves least deadwood; draws at random |

Both decide from their hand and the upcard alone; where their programs need the rest of the position, it is made up. If they discard the
upcard that they have just taken and the rules forbid that, the legal discard that leaves the least deadwood is played instead; of several,
the most valuable card. That is their own rule's next choice.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from functools import cache
from typing import Any

import numpy as np

from ginenv.engine.actions import KNOCK, PASS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, STOCK, UPCARD
from ginenv.engine.cards import card_value, cards_of
from ginenv.engine.engine import NO_CARD
from ginenv.engine.jit import below, mix
from ginenv.engine.melds import deadwood
from ginenv.tables.players import BasePlayer


def _least_deadwood(view: Any) -> int:
    """The legal discard that leaves the least deadwood; of several, the most valuable card."""
    hand = int(view["hand"])
    allowed = cards_of(int(view["legal"][0])) or cards_of(int(view["legal"][1]))
    return min(allowed, key=lambda card: (deadwood(hand & ~(1 << card)), -card_value(card), card))


class _HandPlayer(BasePlayer):
    """A player that decides one view at a time, with choices for the phases that the original bot lacks."""

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view."""
        return np.array([self._choose(view) for view in views], np.int64)

    def _choose(self, view: Any) -> int:
        phase = int(view["phase"])
        if phase == PHASE_SPREAD:
            return 0
        if phase == PHASE_LAYOFF:
            # The simple bot never lays off; the novice's game has no lay-offs.
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

    def _takes(self, view: Any) -> bool:
        raise NotImplementedError

    def _discard(self, view: Any) -> tuple[int, bool]:
        """A card, and whether to knock with it."""
        raise NotImplementedError


# Action numbers of OpenSpiel's gin rummy; cards have the same numbers as here.
_OS_UPCARD, _OS_STOCK, _OS_PASS, _OS_KNOCK = 52, 53, 54, 55
_OS_DEALT = 20


def _engine(name: str) -> Any:
    """A module of an optional extra, untyped so that type checks do not depend on what is installed."""
    return importlib.import_module(name)


@cache
def _openspiel(limit: int) -> tuple[Any, Any]:
    """A fresh state to copy, and a bot, for a knock limit."""
    pyspiel = _engine("pyspiel")
    game = pyspiel.load_game("gin_rummy", {"knock_card": limit})
    return game.new_initial_state(), pyspiel.make_simple_gin_rummy_bot(game.get_parameters(), 0)


class OpenSpielSimple(_HandPlayer):
    """OpenSpiel's simple bot.

    It gets a state in which it is the non-dealer with its own ten cards and is offered the upcard, or has just taken a card. The opponent's
    cards are arbitrary.
    """

    name = "openspiel-simple"

    def __init__(self, seed: int = 0):
        super().__init__(seed)
        _openspiel(10)

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


class RlcardNovice(_HandPlayer):
    """RLCard's novice rule, with randomness from the view's luck instead of NumPy's global generator."""

    name = "rlcard-novice"

    def __init__(self, seed: int = 0):
        super().__init__(seed)
        action_event = _engine("rlcard.games.gin_rummy.utils.action_event")
        utils = _engine("rlcard.games.gin_rummy.utils.utils")
        models = _engine("rlcard.models.gin_rummy_rule_models")
        self._best_discards = models.GinRummyNoviceRuleAgent._get_best_discards
        self._event = action_event.DiscardAction
        # RLCard's suits are in the order spades, hearts, diamonds, clubs; ours are spades, clubs, diamonds, hearts.
        self._cards = [utils.get_card(13 * (0, 3, 2, 1)[card // 13] + card % 13) for card in range(52)]
        self._numbers = {utils.get_card_id(card): number for number, card in enumerate(self._cards)}
        self._card_id = utils.get_card_id

    def _word(self, view: Any) -> np.uint64:
        return np.uint64(mix(np.uint64(int(view["luck"]) ^ self.seed)))

    def _takes(self, view: Any) -> bool:
        return below(self._word(view), 2) == 1

    def _discard(self, view: Any) -> tuple[int, bool]:
        hand, knocks = int(view["hand"]), cards_of(int(view["legal"][1]))
        choices = [card for card in knocks if deadwood(hand & ~(1 << card)) == 0] or knocks
        if choices:
            return choices[below(self._word(view), len(choices))], True
        planes = np.zeros((1, 52), np.int64)
        for card in cards_of(hand):
            planes[0, self._card_id(self._cards[card])] = 1
        state = {"obs": planes, "legal_actions": OrderedDict()}
        events = [self._event(self._cards[card]) for card in cards_of(int(view["legal"][0]))]
        best = self._best_discards(events, state)
        return self._numbers[self._card_id(best[below(self._word(view), len(best))])], False
