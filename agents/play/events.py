"""What a person is told of the moves of both sides, in sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

from agents.play.moves import action_words, count
from ginenv.engine.actions import KNOCK, PASS, PHASE_SPREAD, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine.cards import card_name
from ginenv.engine.melds import deadwood
from ginenv.hands.hand import Hand


class Event(NamedTuple):
    """A sentence for the person, with cards written in letters (7C).

    Attributes:
        words: the sentence.
        kind: ``opponent`` for what the opponent did, ``take`` where it took the upcard, ``warning``, or ``plain``.
    """

    words: str
    kind: str = "plain"


def tell(events: list[Event], before: Any, action: int, hand: Hand, seat: int, theirs: str) -> None:
    """Adds what a person is told of a move; the opponent's moves of a turn form one sentence.

    Args:
        events: what the person has not been told yet.
        before: what the seat that has moved saw before, one record of ``VIEW``.
        action: its action.
        hand: the hand after it.
        seat: the person's seat.
        theirs: the opponent's name.
    """
    if before["seat"] != seat:
        if before["phase"] == PHASE_SPREAD:
            return
        # A knock that the rules turn into a discard is the other's own affair.
        action = action % KNOCK if hand.warned else action
        words, kind = f"{action_words(action, before)}.", "take" if action == UPCARD else "opponent"
        if events and events[-1].kind in ("take", "opponent"):
            start, kind = events.pop()
            events.append(Event(f"{start[:-1]} and {words}", kind))
        else:
            events.append(Event(f"{theirs} {words}", kind))
    elif hand.warned:
        card = action - KNOCK
        left = count(int(deadwood(int(before["hand"]) & ~(1 << card))))
        words = (
            f"That was not a knock: it leaves {left}, and the limit is {int(before['limit'])}. "
            f"The {card_name(card)} is a plain discard, and play goes on."
        )
        events.append(Event(words, "warning"))
    elif action == STOCK and not hand.is_over:
        events.append(Event(f"You draw the {card_name(int(hand.view(seat)['drawn'][0]))}."))
    if before["phase"] == PHASE_UPCARD and action == PASS and hand.phase == "discard":
        who = "you draw" if hand.turn == seat else f"{theirs} draws"
        events.append(Event(f"Both have passed: {who} from the stock."))
