"""Replays a hand from what one seat knows of it: this checks the text of a view and turns it back into a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ginenv.engine.actions import KNOCK, PASS, PHASE_DISCARD, PHASE_OVER, PHASE_SPREAD, PHASE_WALL, STOCK, UPCARD
from ginenv.engine.cards import card_name, mask_of
from ginenv.engine.engine import NO_CARD, NOBODY, STATE, apply, deal, is_legal
from ginenv.engine.jit import kernel
from ginenv.engine.rules import Rules
from ginenv.errors import TextError
from ginenv.view.view import make_views


@dataclass
class SeatCards:
    """What a seat knows besides the public actions; cards are masks.

    Attributes:
        seat: the seat.
        mine: its cards when the actions are over, with those that it has laid off.
        shown: the other seat's, likewise, where they are shown.
        drawn: the card that it drew in this turn, or ``NO_CARD``.
        current: its cards at this point of the actions, where that is known; only then is it known which knocks it declined.
    """

    seat: int
    mine: int
    shown: int
    drawn: int
    current: int = 0


@kernel
def _is_legal(states, action):
    return is_legal(states[0], action)


@kernel
def _apply(states, action):
    apply(states[0], action)


@kernel
def _deal(states, starter):
    deal(states[0], starter)


class Replay:
    """Public actions played on a state whose hidden cards are made up as needed.

    What a seat sees does not depend on what is hidden from it, so any hidden cards will do. The cards that matter (its own, and
    the opponent's once they are shown) are put in before the knock is checked.
    """

    def __init__(self, rules: Rules, starter: int, upcard: int, seat_cards: SeatCards) -> None:
        self.seat_cards = seat_cards
        deck = [13 * suit + rank for suit in range(rules.suits) for rank in range(rules.ranks)]
        if upcard != NO_CARD:
            place = 2 * rules.hand_size
            if upcard not in deck:
                raise TextError(f"{card_name(upcard)} is not in this deck")
            where = deck.index(upcard)
            deck[where], deck[place] = deck[place], deck[where]
        self.states = np.zeros(1, STATE)
        self.states["rules"] = rules.block
        self.states["deck"][0, : len(deck)] = deck
        self.state: Any = self.states[0]
        self.in_play = mask_of(deck)
        _deal(self.states, starter)

    @property
    def phase(self) -> int:
        """The phase of the hand."""
        return int(self.state["phase"])

    def push(self, action: int, token: str) -> None:
        """Plays an action, which errors quote as ``token``."""
        seat, phase, state = int(self.state["turn"]), self.phase, self.state
        legal = bool(_is_legal(self.states, action))
        if phase == PHASE_DISCARD:
            legal = self._may_discard(action, seat)
        elif phase == PHASE_WALL:
            # Taking the upcard there requires a knock, which is checked when it comes.
            legal = action in (UPCARD, PASS)
        elif phase == PHASE_OVER:
            legal = False
        if not legal:
            raise TextError(f"{token!r} cannot be played at that point")
        _apply(self.states, action)
        if state["warned"]:
            raise TextError(f"{token!r} knocks above the limit")

    def _may_discard(self, action: int, seat: int) -> bool:
        state = self.state
        if action >= STOCK:
            return False
        card = action % KNOCK
        bit = 1 << card
        seen = int(state["pile_cards"]) | int(state["known_cards"][1 - seat])
        if not self.in_play & bit or seen & bit:
            return False
        if card == state["taken"] and not state["rules"]["discard_taken_upcard"]:
            return False
        own_cards = self.seat_cards.current if seat == self.seat_cards.seat else 0
        if own_cards:
            self._put(seat, own_cards)
        if action < KNOCK:
            # Hidden cards are interchangeable, and only the one discarded is needed.
            state["hands"][seat] = own_cards or bit
            return not own_cards or bool(_is_legal(self.states, action))
        self._open(seat, bit)
        return bool(_is_legal(self.states, action))

    def _open(self, knocker: int, thrown: int) -> None:
        """Puts in the cards that both seats hold at a knock, as far as the view knows them."""
        seat_cards = self.seat_cards
        cards = {seat_cards.seat: seat_cards.mine, 1 - seat_cards.seat: seat_cards.shown}
        hand_cards = cards[knocker] & ~thrown
        if hand_cards.bit_count() != int(self.state["rules"]["hand_size"]):
            raise TextError("the knocker's cards do not lie open")
        self._put(knocker, hand_cards | thrown)
        self.state["hands"][1 - knocker] = cards[1 - knocker]

    def _put(self, seat: int, cards: int) -> None:
        """Puts in a seat's cards, and forgets what was found out about those that were made up."""
        self.state["hands"][seat] = cards
        self.state["far"] = 0

    def view(self) -> np.ndarray:
        """What the seat sees now."""
        state, seat_cards = self.state, self.seat_cards
        seat, other = seat_cards.seat, 1 - seat_cards.seat
        if self.phase != PHASE_OVER and state["turn"] != seat:
            raise TextError(f"seat {seat} is not to move")
        size = int(state["rules"]["hand_size"])
        if state["knocker"] == NOBODY:
            holds = size + (self.phase == PHASE_DISCARD)
            if seat_cards.shown:
                raise TextError("cards are shown although nobody knocked")
            if seat_cards.mine.bit_count() != holds:
                raise TextError(f"a seat holds {holds} cards there, not {seat_cards.mine.bit_count()}")
            self._put(seat, seat_cards.mine)
            state["hands"][other] = 0
        elif self.phase != PHASE_SPREAD and seat_cards.shown.bit_count() != size:
            raise TextError(f"the other seat shows {size} cards, not {seat_cards.shown.bit_count()}")
        drew = self.phase == PHASE_DISCARD and state["drawn"] != NO_CARD
        if drew != (seat_cards.drawn != NO_CARD) or (drew and not seat_cards.mine >> seat_cards.drawn & 1):
            raise TextError("the card drawn is named exactly in the turn in which it was drawn, and is in the hand")
        state["drawn"] = seat_cards.drawn
        mine = int(state["hands"][seat])
        public = int(state["pile_cards"]) | int(state["known_cards"][other]) | int(state["hands"][other])
        if mine & public or mine & ~self.in_play or int(state["known_cards"][seat]) & ~mine:
            raise TextError("the cards of the hand are not those that the actions leave")
        return make_views(self.states, seat)
