"""The line protocol for players in other processes: its messages as plain values (docs/protocol.md is the specification).

Everything is derived from views, so a program sees exactly what any player may see. Each new entry of the history becomes an event;
only the program's own draws from the stock carry their card.

Events and questions are built directly as JSON text. The same few texts occur over and over and are cached: encoding them again for every
decision would take longer than everything else that is done for a program.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from typing import Any

from agents.programs.views import MOVE_BYTES, Seen
from ginenv.engine.actions import (
    KNOCK,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_NAMES,
    PHASE_OVER,
    PHASE_SPREAD,
    STOCK,
    action_name,
)
from ginenv.engine.cards import NUM_CARDS, card_name, cards_of
from ginenv.engine.engine import NO_CARD, NOBODY, End, among
from ginenv.engine.melds import MAX_ARRANGEMENTS, nth_arrangement
from ginenv.engine.rules import Rules
from ginenv.view.history import (
    M_DISCARD,
    M_DONE,
    M_DRAW,
    M_FORCED_DRAW,
    M_KNOCK,
    M_LAY_OFF,
    M_PASS,
    M_TAKE,
)

VERSION = 1

_CARDS = [card_name(card) for card in range(NUM_CARDS)]
# The words before the card in the names of actions that have one.
_DISCARD, _KNOCK, _LAY_OFF = (
    action_name(action, phase).removesuffix(_CARDS[0])
    for action, phase in ((0, PHASE_DISCARD), (KNOCK, PHASE_DISCARD), (0, PHASE_LAYOFF))
)
_SUIT = (1 << 13) - 1
# Names of the actions without a card, by their mask of three bits and by whether it is the lay-off phase.
_FIXED = {
    (mask, phase == PHASE_LAYOFF): [action_name(STOCK + k, phase) for k in range(3) if mask >> k & 1]
    for mask in range(8)
    for phase in (PHASE_DRAW, PHASE_LAYOFF)
}
_UPCARD_LIMIT, _STOCK_END = End.UPCARD_LIMIT.value, End.STOCK.value
_END_NAMES = {end.value: end.name.lower().replace("_", " ") for end in End} | {End.NOT_OVER.value: "forfeit"}
_SIDES = ("you", "opponent")


encode = json.JSONEncoder(separators=(",", ":")).encode
_FIXED_TEXTS = {key: encode(names)[1:-1] for key, names in _FIXED.items()}


def _card_names(mask: int, before: str = "") -> list[str]:
    """Names of the cards of a mask, in ascending order, each with the same words before it."""
    return [before + _CARDS[card] for card in cards_of(mask)]


class _SuitTexts(dict[int, str]):
    """Names of cards of one suit as JSON texts, with a comma after each, by the mask of their ranks."""

    def __init__(self, suit: int, before: str):
        self.suit, self.before = suit, before

    def __missing__(self, ranks: int) -> str:
        self[ranks] = text = "".join(f'"{name}",' for name in _card_names(ranks << 13 * self.suit, self.before))
        return text


def _texts(before: str = "") -> Callable[[int], str]:
    """A function like ``_card_names`` with these words before each card; it returns JSON texts with commas between them."""
    spades, clubs, diamonds, hearts = (_SuitTexts(suit, before) for suit in range(4))

    def texts(mask: int) -> str:
        all_suits = spades[mask & _SUIT] + clubs[mask >> 13 & _SUIT] + diamonds[mask >> 26 & _SUIT] + hearts[mask >> 39]
        return all_suits[:-1]

    return texts


_card_texts, _discard_texts, _knock_texts = _texts(), _texts(_DISCARD), _texts(_KNOCK)
_QUOTED = [f'"{name}"' for name in _CARDS]


def _card(card: int) -> str:
    return "null" if card == NO_CARD else f'"{_CARDS[card]}"'


def _truth(value: bool | int) -> str:
    return "true" if value else "false"


@functools.cache
def _event(event: str, who: int, card: int = NO_CARD) -> str:
    """An event with at most one card."""
    return encode({"event": event, "who": _SIDES[who]} | ({} if card == NO_CARD else {"card": _CARDS[card]}))


def hello(rules: Rules, seed: int, seconds: float, decisions: int) -> dict[str, Any]:
    """The first message to a program: version, rules, its seed, its time, and how many games may come in one line."""
    return {
        "type": "hello",
        "protocol": VERSION,
        "rules": dataclasses.asdict(rules),
        "seed": seed,
        "seconds": seconds,
        "max_batch": decisions,
    }


class EventEncoder:
    """Turns the views of one seat in one hand into events, each sent once.

    Attributes:
        events: all events of the hand so far, as JSON.
        num_sent: how many of them have been sent.
    """

    def __init__(self, view: Seen):
        self.hand_no = view.hand_no
        self.events: list[str] = []
        self.num_sent = 0
        self.history = b""
        self.seat = (view.seat, view.started)
        self.hand = _own_cards(view)
        self.first_upcard = view.first_upcard
        self.num_sent_moves = 0
        self.spread_sent = False
        self.by_hand = 0
        self._deal(view)

    def _deal(self, view: Seen) -> None:
        # Index 0 is the seat that gets the events.
        starts = _SIDES[0 if view.started else 1]
        self.events.append(
            f'{{"event":"deal","hand":{self.hand_no + 1},"seat":{view.seat},"starts":"{starts}","cards":[{_card_texts(self.hand)}],'
            f'"upcard":{_card(self.first_upcard)},"limit":{view.limit},"doubled":{_truth(view.doubled)},'
            f'"score":[{view.score},{view.other_score}],"boxes":[{view.boxes},{view.other_boxes}],'
            f'"drawn_hands":{view.drawn_hands}}}'
        )

    def continues(self, view: Seen) -> bool:
        """Whether a view can be of this hand; after a hand was broken off, another one follows with the same number."""
        history = view.history[: view.num_history]
        if view.hand_no != self.hand_no or self.seat != (view.seat, view.started):
            return False
        if not history.startswith(self.history) or view.first_upcard != self.first_upcard:
            return False
        gone = self.hand & ~_own_cards(view)
        if gone:
            for action in history[len(self.history) :]:
                if action < STOCK:
                    gone &= ~(1 << action % NUM_CARDS)
        return not gone

    def update(self, view: Seen) -> None:
        """Adds what has happened since the last view of this hand."""
        count = len(view.moves)
        if count > self.num_sent_moves:
            for place in range(self.num_sent_moves, count, MOVE_BYTES):
                self._add(view.moves[place : place + MOVE_BYTES], place + MOVE_BYTES == count, view)
            self.num_sent_moves = count
        self.history = view.history[: view.num_history]
        self.hand = _own_cards(view)
        if view.phase == PHASE_OVER:
            self._finish(view)
        elif view.phase == PHASE_LAYOFF:
            self._add_spread(view)

    def _add(self, move: bytes, last: bool, view: Seen) -> None:
        """Adds one move (the fields of ``Move``). A draw that reaches a limit ends the hand before a card moves."""
        who, kind, card, _ = move
        if kind == M_TAKE:
            if not (last and view.end == _UPCARD_LIMIT):
                self.events.append(_event("take", who, card))
        elif kind == M_DRAW or kind == M_FORCED_DRAW:
            if last and who == 0 and view.drawn != NO_CARD:
                self.events.append(_event("draw", 0, view.drawn))
            elif not (last and view.end == _STOCK_END):
                self.events.append(_event("draw", who))
        elif kind == M_PASS:
            self.events.append(_event("pass", who))
        elif kind == M_DISCARD or kind == M_KNOCK:
            self.events.append(_event("knock" if kind == M_KNOCK else "discard", who, card))
        else:
            self._add_spread(view)
            if kind == M_DONE:
                self.events.append(_event("done", who))
            elif kind == M_LAY_OFF:
                self._add_lay_offs(who, 1 << card)
                self.by_hand |= 1 << card

    def _add_lay_offs(self, who: int, cards: int) -> None:
        self.events.append(f'{{"event":"lay off","who":"{_SIDES[who]}","cards":[{_card_texts(cards)}]}}')

    def _add_spread(self, view: Seen) -> None:
        if self.spread_sent:
            return
        self.spread_sent = True
        self.events.append(f'{{"event":"spread","who":"{_SIDES[view.knocker]}",{_spread_texts(view, view.laid)}}}')

    def _finish(self, view: Seen) -> None:
        if view.knocker != NOBODY:
            self._add_spread(view)
            laid = view.laid & ~self.by_hand
            if laid:
                self._add_lay_offs(1 - view.knocker, laid)
            for who, cards, deadwood in ((1, view.shown, view.other_deadwood), (0, view.hand, view.deadwood)):
                self.events.append(
                    f'{{"event":"shown","who":"{_SIDES[who]}","cards":[{_card_texts(cards)}],"deadwood":{deadwood}}}'
                )
        score = (view.score + max(view.points, 0), view.other_score + max(-view.points, 0))
        if view.winner == NOBODY:
            winner, reached = "nobody", view.drawn_hands + 1 >= view.max_drawn_hands
        else:
            winner, reached = _SIDES[view.winner], max(score) >= view.target
        self.events.append(
            f'{{"event":"hand over","end":"{_END_NAMES[view.end]}","winner":"{winner}","points":{abs(view.points)},'
            f'"score":[{score[0]},{score[1]}],"target_reached":{_truth(reached)},"luck":"{view.luck:016x}"}}'
        )

    def events_message(self) -> str:
        """Returns the events that have not been sent yet, as a JSON array, and counts them as sent."""
        events = self.events[self.num_sent :]
        self.num_sent += len(events)
        return "[" + ",".join(events) + "]"


def _own_cards(view: Seen) -> int:
    """A seat's own cards, including those that it has laid off."""
    return view.hand | view.laid if view.knocker == 1 else view.hand


def _spread_texts(view: Seen, without: int = 0) -> str:
    """The knocker's melds, without some cards, and its cards outside of them, as two keys of JSON."""
    melds = [meld for meld in (view.spread_0, view.spread_1, view.spread_2, view.spread_3) if meld]
    loose = view.hand if view.knocker == 0 else view.shown
    for meld in melds:
        loose &= ~meld
    laid_out = ",".join(f"[{_card_texts(meld & ~without)}]" for meld in melds)
    return f'"melds":[{laid_out}],"deadwood":[{_card_texts(loose)}]'


def legal_texts(view: Seen) -> list[str]:
    """Names of the legal actions."""
    discards, knocks, others = view.discards, view.knocks, view.others
    phase = view.phase
    if phase == PHASE_DISCARD:
        return _card_names(discards, _DISCARD) + _card_names(knocks, _KNOCK)
    if phase == PHASE_SPREAD:
        return [f"spread {k}" for k in cards_of(discards)]
    return _card_names(discards, _LAY_OFF) + _FIXED[others, phase == PHASE_LAYOFF]


def may_play(view: Seen, action: int) -> bool:
    """Whether an action is legal in a view (including a knock above the limit where that counts as a discard)."""
    discards, knocks, others = view.discards, view.knocks, view.others
    if action >= KNOCK and view.phase == PHASE_DISCARD and view.lenient_knock:
        knocks |= discards
    return bool(among(action, discards, knocks, others))


def spread_choices(view: Seen) -> list[list[list[str]]]:
    """The arrangements that the knocker may choose among, in the order of ``spread 0``, ``spread 1``, ..."""
    cards, limit = view.hand, view.limit
    count = min(int(nth_arrangement(cards, limit, 0)[0]), MAX_ARRANGEMENTS)
    return [[_card_names(int(meld)) for meld in nth_arrangement(cards, limit, k)[1:] if meld] for k in range(count)]


def _legal(view: Seen) -> str:
    """The legal actions of a question as JSON texts, with commas between them."""
    discards, knocks, others = view.discards, view.knocks, view.others
    phase = view.phase
    if phase == PHASE_DISCARD:
        if not knocks:
            return _discard_texts(discards)
        return f"{_discard_texts(discards)},{_knock_texts(knocks)}" if discards else _knock_texts(knocks)
    return encode(legal_texts(view))[1:-1] if discards else _FIXED_TEXTS[others, phase == PHASE_LAYOFF]


def question(slot: int, events: str, view: Seen) -> str:
    """One game's part of an ``act`` message, as JSON: everything that a program without a memory needs.

    Args:
        slot: the number by which the program knows the slot.
        events: the unsent events (``EventEncoder.events_message``).
        view: the view of the seat that is asked.
    """
    phase = view.phase
    more = ""
    if phase == PHASE_SPREAD:
        more = f',"arrangements":{encode(spread_choices(view))}'
    elif phase == PHASE_LAYOFF:
        more = f",{_spread_texts(view)}"
    pile = ",".join([_QUOTED[card] for card in view.pile[: view.num_pile]])
    took, other_took = _taken_texts(view.moves)
    return (
        f'{{"slot":{slot},"events":{events},"phase":"{PHASE_NAMES[phase]}","hand":[{_card_texts(view.hand)}],'
        f'"upcard":{_card(view.upcard)},"stock":{view.stock},"legal":[{_legal(view)}]{more},"pile":[{pile}],'
        f'"opponent":{{"holds":[{_card_texts(view.other_known_cards)}],"took":[{other_took}],'
        f'"refused":[{_card_texts(view.other_refused)}],"discarded":[{_card_texts(view.other_thrown)}]}},'
        f'"you":{{"holds":[{_card_texts(view.known_cards)}],"took":[{took}],'
        f'"refused":[{_card_texts(view.refused)}],"discarded":[{_card_texts(view.thrown)}]}},'
        f'"limit":{view.limit},"doubled":{_truth(view.doubled)},"score":[{view.score},{view.other_score}],'
        f'"boxes":[{view.boxes},{view.other_boxes}],"drawn_hands":{view.drawn_hands},'
        f'"luck":"{view.luck:016x}","hand_luck":"{view.hand_luck:016x}"}}'
    )


def _taken_texts(moves: bytes) -> tuple[str, str]:
    """The upcards that a seat and its opponent took, in order, as JSON texts with commas between them."""
    taken: tuple[list[str], list[str]] = ([], [])
    if M_TAKE in moves[1::MOVE_BYTES]:
        for who, kind, card in zip(moves[::MOVE_BYTES], moves[1::MOVE_BYTES], moves[2::MOVE_BYTES], strict=True):
            if kind == M_TAKE:
                taken[who].append(_QUOTED[card])
    return ",".join(taken[0]), ",".join(taken[1])


def events_message(slot: int, events: str) -> str:
    """One game's part of a message that asks for nothing, as JSON."""
    return f'{{"slot":{slot},"events":{events}}}'
