"""What a person is told of the moves of both sides, in sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

from agents.play.moves import count
from ginenv.engine.actions import KNOCK, PASS, PHASE_SPREAD, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine.cards import card_name, format_cards
from ginenv.engine.engine import NO_CARD, End
from ginenv.engine.melds import deadwood
from ginenv.engine.outcome import Outcome
from ginenv.hands.hand import Hand
from ginenv.view.history import M_DISCARD, M_DRAW, M_FORCED_DRAW, M_PASS, M_TAKE, read_moves
from ginenv.view.wording import what_it_does

# What a player says who has not knocked and against whom nobody has.
_DRAWN = {
    End.STOCK: "The stock was used up before one of us knocked.",
    End.UPCARD_LIMIT: "We took too many upcards, so nobody scores.",
    End.REPEATED_UPCARD: "We both threw the same card back, so nobody scores.",
}
_TURN_WORDS = {
    M_PASS: ("pass", "passes"),
    M_TAKE: ("take the {}", "takes the {}"),
    M_DRAW: ("draw", "draws"),
    M_FORCED_DRAW: ("draw", "draws"),
    M_DISCARD: ("discard the {}", "discards the {}"),
}


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
        words, kind = f"{what_it_does(action, before)}.", "take" if action == UPCARD else "opponent"
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


def last_turns(view: Any, theirs: str, most: int = 4) -> list[str]:
    """The last turns of a hand in play, the oldest first, such as ``Pip draws, discards the QD``.

    Args:
        view: what the person sees, one record of ``VIEW``.
        theirs: the opponent's name.
        most: how many there are at most.
    """
    turns: list[tuple[int, str]] = []
    for move in read_moves(view)[0]:
        if move.kind in _TURN_WORDS:
            words = _TURN_WORDS[move.kind][move.seat].format("" if move.card == NO_CARD else card_name(move.card))
            if turns and turns[-1][0] == move.seat and move.kind == M_DISCARD:
                words = f"{turns.pop()[1]}, {words}"
            else:
                words = f"{('You', theirs)[move.seat]} {words}"
            turns.append((move.seat, words))
    return [words for _, words in turns[-most:]]


def remark(outcome: Outcome, seat: int) -> str:
    """What the opponent of a seat says of a hand that has ended: a sentence of facts, with cards written in letters (7C)."""
    if outcome.knocker is None:
        return _DRAWN[outcome.end]
    who, other = ("You", "I") if outcome.knocker == seat else ("I", "you")
    mine, theirs = outcome.deadwood[outcome.knocker], outcome.deadwood[1 - outcome.knocker]
    if outcome.laid_off:
        other += f" laid off the {format_cards(outcome.laid_off, separator=' and the ')} and"
    gin = {End.GIN: f"{who} went gin", End.BIG_GIN: f"{who} went big gin"}
    begins = gin.get(outcome.end, f"{who} knocked with {mine}")
    if outcome.end in (End.UNDERCUT, End.TIE):
        return f"{begins}, but {other} had {f'only {theirs}' if theirs < mine else f'{theirs} too'}."
    return f"{begins}; {other} still had {theirs}."
