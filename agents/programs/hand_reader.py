"""The other way round: a hand's events, as the line protocol tells them, become views again.

The engine plays the events on a state whose hidden cards are made up (``ginenv.view.replay``). So an event that the rules do not allow is
noticed, and our players get the same views from a host as in a match here.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from agents.programs.events import SIDES
from agents.programs.messages import CardEvent, Deal, Draw, HandOver, LayOff, Message, Pass, Shown, Spread
from ginenv.engine.actions import (
    KNOCK,
    PASS,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_NAMES,
    PHASE_OVER,
    PHASE_SPREAD,
    STOCK,
    UPCARD,
    action_name,
)
from ginenv.engine.cards import card_name, mask_of, parse_card
from ginenv.engine.engine import NO_CARD
from ginenv.engine.melds import MAX_ARRANGEMENTS, nth_arrangement
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, must_be, quoted
from ginenv.view.replay import Replay, SeatCards


def _cards_mask(names: Iterable[str]) -> int:
    """Some cards by their names as a mask; raises ``GinError`` if one comes twice."""
    cards = [parse_card(name) for name in names]
    if len(set(cards)) < len(cards):
        raise GinError(f"a card is named twice: {' '.join(map(card_name, cards))}")
    return mask_of(cards)


class HandReader:
    """One hand as one seat sees it, from its events.

    Args:
        rules: the rules.
        deal: the first event.

    Attributes:
        events: the events so far.

    Raises:
        GinError: if these rules do not deal so.
    """

    def __init__(self, rules: Rules, deal: Deal) -> None:
        self.rules, self.deal = rules, deal
        self.events: list[Message] = [deal]
        self.hand_luck: str | None = None  # the host's random word for the whole hand, once it has sent it
        self._cards, self._drawn, self._shown = _cards_mask(deal.cards), NO_CARD, 0
        # Public actions with the seat's own cards before each.
        self._actions: list[tuple[int, int]] = []
        self._knock: CardEvent | None = None
        self._after_knock: list[Message] = []
        size = rules.hand_size + (rules.deals_eleven and deal.starts == "you")
        if self._cards.bit_count() != size:
            raise GinError(must_be("deal: cards", f"{size} cards", f"{self._cards.bit_count()}"))
        if rules.deals_eleven != (deal.upcard is None):
            raise GinError(must_be("deal: upcard", "null" if rules.deals_eleven else "a card", quoted(deal.upcard)))
        self._replay = self._begin(0)
        if self._cards & (~self._replay.in_play | int(self._replay.state["pile_cards"])):
            raise GinError("deal: the cards and the upcard are not different cards of this deck")
        for name in ("limit", "doubled"):
            given, ours = getattr(deal, name), int(self._replay.state[name])
            if given is not None and given != ours:
                raise GinError(f"deal: {name} is {quoted(given)}, but under these rules it is {ours}")

    def _begin(self, shown: int) -> Replay:
        deal = self.deal
        upcard = NO_CARD if deal.upcard is None else parse_card(deal.upcard)
        starter = deal.seat if deal.starts == "you" else 1 - deal.seat
        cards = SeatCards(deal.seat, self._cards, shown, self._drawn)
        replay = Replay(self.rules, starter, upcard, cards)
        seats = [deal.seat, 1 - deal.seat]
        replay.state["score"][seats], replay.state["boxes"][seats] = deal.score, deal.boxes
        replay.state["hand_no"], replay.state["drawn_hands"] = deal.hand - 1, deal.drawn_hands
        return replay

    def push(self, event: Message) -> None:
        """Adds an event.

        Raises:
            GinError: if it cannot come next under the rules.
        """
        if self._knock is not None:
            self._after_knock.append(event)
        elif isinstance(event, Pass) and event.event == "pass":
            self._act(PASS, event.who)
        elif isinstance(event, Draw):
            self._draw(event)
        elif isinstance(event, CardEvent):
            self._move_card(event)
        elif not isinstance(event, HandOver):
            raise GinError("nobody has knocked")
        if isinstance(event, Spread) and event.who == "opponent":
            self._shown = _cards_mask([card for meld in event.melds for card in meld] + event.deadwood)
        elif isinstance(event, LayOff | Shown) and event.who == "opponent":
            self._shown |= _cards_mask(event.cards)
        self.events.append(event)

    def _act(self, action: int, who: str) -> None:
        replay, seat = self._replay, self.deal.seat if who == "you" else 1 - self.deal.seat
        if replay.phase != PHASE_OVER and replay.state["turn"] != seat:
            raise GinError(f"it is not the turn of {who!r}")
        replay.seat_cards.current = self._cards
        replay.push(action, action_name(action, replay.phase))
        self._actions.append((action, self._cards))

    def _draw(self, event: Draw) -> None:
        replay = self._replay
        # The draw that follows two passes is part of the second one.
        if replay.phase != PHASE_DISCARD or [action for action, _ in self._actions] != [PASS, PASS]:
            self._act(STOCK, event.who)
        if event.who == "you":
            if event.card is None:
                raise GinError("an own draw names its card")
            self._take(parse_card(event.card))
            self._drawn = parse_card(event.card)

    def _take(self, card: int) -> None:
        """Takes a card into the own hand."""
        if self._cards >> card & 1:
            raise GinError(f"{card_name(card)} is in the hand already")
        self._cards |= 1 << card

    def _move_card(self, event: CardEvent) -> None:
        card, own, state = parse_card(event.card), event.who == "you", self._replay.state
        if event.event == "take":
            upcard = int(state["pile"][state["num_pile"] - 1]) if state["num_pile"] else NO_CARD
            if card != upcard:
                top = "there is none" if upcard == NO_CARD else f"it is {card_name(upcard)}"
                raise GinError(f"{event.card} is not the upcard; {top}")
            self._act(UPCARD, event.who)
            if own:
                self._take(card)
            return
        if own and not self._cards >> card & 1:
            raise GinError(f"{event.card} is not in the hand")
        if event.event == "knock":
            # Played when it is known what both seats lay open.
            self._knock = event
        else:
            self._act(card, event.who)
        if own:
            self._cards &= ~(1 << card)
            self._drawn = NO_CARD

    def view(self) -> np.ndarray:
        """What the seat sees now, ``VIEW[1]``, without the random words.

        Raises:
            GinError: if it is not to move, or the events do not add up.
        """
        replay = self._replay if self._knock is None else self._opened()
        replay.seat_cards.mine, replay.seat_cards.drawn = self._cards, self._drawn
        return replay.view()

    def final_view(self, over: HandOver) -> np.ndarray:
        """What the seat sees at the end, ``VIEW[1]``.

        Raises:
            GinError: if the hand is not over under the rules, or has another result.
        """
        if self._knock is None:
            self._last_draw(over)
        view = self.view()
        record, phase = view[0], int(view[0]["phase"])
        if phase != PHASE_OVER:
            raise GinError(f"hand over: the hand goes on under these rules; its phase is {PHASE_NAMES[phase]!r}")
        winner, points = SIDES[min(int(record["winner"]), 2)], abs(int(record["points"]))
        if (over.winner, over.points) != (winner, points):
            raise GinError(
                f"hand over: {over.points} points to {over.winner}, but under these rules {points} to {winner}"
            )
        return view

    def _last_draw(self, over: HandOver) -> None:
        """Plays the draw that ends a hand before a card moves, which no event tells."""
        replay = self._replay
        action = {"upcard limit": UPCARD, "stock": STOCK}.get(over.end)
        if action is not None and replay.phase == PHASE_DRAW:
            self._act(action, "you" if replay.state["turn"] == self.deal.seat else "opponent")

    def _opened(self) -> Replay:
        """The whole hand, played with the cards that lie open after the knock."""
        knock = self._knock
        assert knock is not None
        replay = self._begin(self._shown)
        for action, own_cards in self._actions:
            replay.seat_cards.current = own_cards
            replay.push(action, action_name(action))
        action, own = KNOCK + parse_card(knock.card), knock.who == "you"
        if int(replay.state["turn"]) != (self.deal.seat if own else 1 - self.deal.seat):
            raise GinError(f"it is not the turn of {knock.who!r}")
        replay.seat_cards.current = self._cards | 1 << parse_card(knock.card) if own else 0
        replay.push(action, f"knock {knock.card}")
        for event in self._after_knock:
            if isinstance(event, Spread) and replay.phase == PHASE_SPREAD:
                number = _arrangement(self._cards if own else self._shown, int(replay.state["limit"]), event)
                replay.push(number, f"spread {number}")
            elif isinstance(event, LayOff):
                for card in event.cards if replay.phase == PHASE_LAYOFF else ():
                    replay.push(parse_card(card), f"lay off {card}")
            elif isinstance(event, Pass):
                replay.push(PASS, "done")
        return replay


def _arrangement(cards: int, limit: int, spread: Spread) -> int:
    """The number of the arrangement that was spread."""
    melds = {_cards_mask(meld) for meld in spread.melds}
    for number in range(min(int(nth_arrangement(cards, limit, 0)[0]), MAX_ARRANGEMENTS)):
        if {int(meld) for meld in nth_arrangement(cards, limit, number)[1:] if meld} == melds:
            return number
    raise GinError("spread: these melds are no arrangement with which the knocker may knock")
