"""The line protocol for players in other processes: its messages as plain values (docs/protocol.md is the specification).

Everything is derived from views, so a program sees exactly what any player may see: each new entry of the history becomes an
event, and an own draw from the stock carries its card.

Events and questions are made as JSON text at once: they are the same few texts over and over, which are kept, and to encode them anew for
every decision would take longer than all else that is done for a program.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from ginenv.actions import (
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
from ginenv.cards import NUM_CARDS, card_name, cards_of
from ginenv.engine import NO_CARD, NOBODY, End, among
from ginenv.history import (
    M_DISCARD,
    M_DONE,
    M_DRAW,
    M_FORCED_DRAW,
    M_KNOCK,
    M_LAY_OFF,
    M_PASS,
    M_TAKE,
    move_arrays,
)
from ginenv.melds import MAX_ARRANGEMENTS, nth_arrangement
from ginenv.rules import Rules
from ginenv.view import VIEW

VERSION = 1

_CARDS = [card_name(card) for card in range(NUM_CARDS)]
# The words before a card in the actions that have one.
_DISCARD, _KNOCK, _LAY_OFF = (
    action_name(action, phase).removesuffix(_CARDS[0])
    for action, phase in ((0, PHASE_DISCARD), (KNOCK, PHASE_DISCARD), (0, PHASE_LAYOFF))
)
_SUIT = (1 << 13) - 1
# The actions without a card, of a mask of three bits, and whether it is the lay-off phase.
_FIXED = {
    (mask, phase == PHASE_LAYOFF): [action_name(STOCK + k, phase) for k in range(3) if mask >> k & 1]
    for mask in range(8)
    for phase in (PHASE_DRAW, PHASE_LAYOFF)
}
_END_NAMES = {end.value: end.name.lower().replace("_", " ") for end in End} | {End.NOT_OVER.value: "forfeit"}
_WHO = ("you", "opponent")


encode = json.JSONEncoder(separators=(",", ":")).encode
_FIXED_TEXTS = {key: encode(names)[1:-1] for key, names in _FIXED.items()}


def card_names(mask: int, before: str = "") -> list[str]:
    """Names of the cards of a mask, in ascending order, each with the same words before it."""
    return [before + _CARDS[card] for card in cards_of(mask)]


class _SuitTexts(dict[int, str]):
    """What names of cards of one suit are as JSON texts with a comma after each, by the mask of their ranks."""

    def __init__(self, suit: int, before: str):
        self.suit, self.before = suit, before

    def __missing__(self, ranks: int) -> str:
        self[ranks] = text = "".join(f'"{name}",' for name in card_names(ranks << 13 * self.suit, self.before))
        return text


class _Texts:
    """What ``card_names`` gives for certain words, as JSON texts with a comma after each."""

    def __init__(self, before: str = ""):
        self.suits = [_SuitTexts(suit, before) for suit in range(4)]

    def __call__(self, mask: int) -> str:
        spades, clubs, diamonds, hearts = self.suits
        return spades[mask & _SUIT] + clubs[mask >> 13 & _SUIT] + diamonds[mask >> 26 & _SUIT] + hearts[mask >> 39]


_hand_texts, _discard_texts, _knock_texts = _Texts(), _Texts(_DISCARD), _Texts(_KNOCK)


@functools.cache
def _event(event: str, who: int, card: int = NO_CARD) -> str:
    """An event of at most one card."""
    return encode({"event": event, "who": _WHO[who]} | ({} if card == NO_CARD else {"card": _CARDS[card]}))


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


class _View(dict[str, Any]):
    """A view's fields by name. Those that few questions need are read, for the whole batch, when one is asked for."""

    def __init__(self, fields: Iterable[tuple[str, Any]], reader: Reader, i: int):
        super().__init__(fields)
        self._place = (reader, i)

    def __missing__(self, name: str) -> Any:
        reader, i = self._place
        return reader.column(name)[i]


class Reader:
    """Reads the fields of a batch of views as plain integers, which is much faster than one by one."""

    _FIELDS = (
        *("hand", "laid", "legal", "hand_no", "phase", "seat", "started", "stock", "upcard", "drawn", "end", "knocker"),
        *("num_history", "first_upcard"),
    )

    def __init__(self, views: np.ndarray):
        assert views.dtype == VIEW
        self.rows = list(zip(*(views[name].tolist() for name in self._FIELDS), strict=True))
        self.histories, self.longest = views["history"].tobytes(), views["history"].shape[1]
        self.moves, counts = move_arrays(views)
        self.counts = counts.tolist()
        self.views = views
        self._columns: dict[str, Any] = {}

    def column(self, name: str) -> Any:
        """A field of all views, as plain values but for the rules."""
        if name not in self._columns:
            values = self.views[name]
            self._columns[name] = values if name == "rules" else values.tolist()
        return self._columns[name]

    def view(self, i: int) -> dict[str, Any]:
        """One view."""
        view = _View(zip(self._FIELDS, self.rows[i], strict=True), self, i)
        start = i * self.longest
        view["history"] = self.histories[start : start + view["num_history"]]
        view["moves"], view["num_moves"] = self.moves[i], self.counts[i]
        return view


class Teller:
    """Turns the views of one seat in one hand into events, each sent once.

    Attributes:
        events: all events of the hand so far, as JSON.
        told: how many of them have been sent.
    """

    def __init__(self, view: dict[str, Any]):
        self.hand_no: int = view["hand_no"]
        self.events: list[str] = []
        self.told = 0
        self.history = b""
        self.seat = (view["seat"], view["started"])
        self.hand = _own_cards(view)
        self.first_upcard: int = view["first_upcard"]
        self.moves_told = 0
        self.spread_told = False
        self.by_hand = 0
        self._deal(view)

    def _deal(self, view: dict[str, Any]) -> None:
        self._say(
            {
                "event": "deal",
                "hand": self.hand_no + 1,
                "seat": view["seat"],
                # Index 0 is the seat that is told.
                "starts": _WHO[0 if view["started"] else 1],
                "cards": card_names(self.hand),
                "upcard": None if self.first_upcard == NO_CARD else _CARDS[self.first_upcard],
                "limit": view["limit"],
                "doubled": bool(view["doubled"]),
                "score": view["score"],
                "boxes": view["boxes"],
            }
        )

    def continues(self, view: dict[str, Any]) -> bool:
        """Whether a view can be of this hand; one that was broken off is followed by another with the same number."""
        history = view["history"]
        if view["hand_no"] != self.hand_no or self.seat != (view["seat"], view["started"]):
            return False
        if not history.startswith(self.history) or view["first_upcard"] != self.first_upcard:
            return False
        gone = self.hand & ~_own_cards(view)
        thrown = {1 << action % NUM_CARDS for action in history[len(self.history) :] if action < STOCK} if gone else ()
        return not gone & ~sum(thrown)

    def update(self, view: dict[str, Any]) -> None:
        """Adds what has happened since the last view of this hand."""
        count = view["num_moves"]
        if count > self.moves_told:
            for number, move in enumerate(view["moves"][self.moves_told : count].tolist(), self.moves_told + 1):
                self._tell(move, number == count, view)
            self.moves_told = count
        self.history = view["history"]
        self.hand = _own_cards(view)
        if view["phase"] == PHASE_OVER:
            self._finish(view)
        elif view["phase"] == PHASE_LAYOFF:
            self._tell_spread(view)

    def _say(self, event: dict[str, Any]) -> None:
        self.events.append(encode(event))

    def _tell(self, move: list[int], last: bool, view: dict[str, Any]) -> None:
        """Adds one move (the fields of ``Move``). A draw that reaches a limit ends the hand before a card moves."""
        who, kind, card, _ = move
        if kind == M_TAKE:
            if not (last and view["end"] == End.UPCARD_LIMIT):
                self.events.append(_event("take", who, card))
        elif kind == M_DRAW or kind == M_FORCED_DRAW:
            if last and who == 0 and view["drawn"] != NO_CARD:
                self.events.append(_event("draw", 0, view["drawn"]))
            elif not (last and view["end"] == End.STOCK):
                self.events.append(_event("draw", who))
        elif kind == M_PASS:
            self.events.append(_event("pass", who))
        elif kind == M_DISCARD or kind == M_KNOCK:
            self.events.append(_event("knock" if kind == M_KNOCK else "discard", who, card))
        else:
            self._tell_spread(view)
            if kind == M_DONE:
                self.events.append(_event("done", who))
            elif kind == M_LAY_OFF:
                self._say({"event": "lay off", "who": _WHO[who], "cards": [_CARDS[card]]})
                self.by_hand |= 1 << card

    def _tell_spread(self, view: dict[str, Any]) -> None:
        if self.spread_told:
            return
        self.spread_told = True
        knocker = view["knocker"]
        melds = [meld & ~view["laid"] for meld in view["spread"] if meld]
        loose = view["hand"] if knocker == 0 else view["shown"]
        for meld in melds:
            loose &= ~meld
        laid_out = {"melds": [card_names(meld) for meld in melds], "deadwood": card_names(loose)}
        self._say({"event": "spread", "who": _WHO[knocker], **laid_out})

    def _finish(self, view: dict[str, Any]) -> None:
        if view["knocker"] != NOBODY:
            self._tell_spread(view)
            laid = view["laid"] & ~self.by_hand
            if laid:
                self._say({"event": "lay off", "who": _WHO[1 - view["knocker"]], "cards": card_names(laid)})
            for who, cards in ((1, view["shown"]), (0, view["hand"])):
                shown = {"cards": card_names(cards), "deadwood": view["deadwood"][who]}
                self._say({"event": "shown", "who": _WHO[who], **shown})
        points = view["points"]
        score = [view["score"][0] + max(points, 0), view["score"][1] + max(-points, 0)]
        rules = view["rules"]
        drawn_out = view["winner"] == NOBODY and view["drawn_hands"] + 1 >= rules["max_drawn_hands"]
        self._say(
            {
                "event": "hand over",
                "end": _END_NAMES[view["end"]],
                "winner": "nobody" if view["winner"] == NOBODY else _WHO[view["winner"]],
                "points": abs(points),
                "score": score,
                "target_reached": bool(drawn_out or (view["winner"] != NOBODY and max(score) >= rules["target"])),
            }
        )

    def news(self) -> str:
        """Returns the events that have not been sent yet, as a JSON array, and counts them as sent."""
        events = self.events[self.told :]
        self.told = len(self.events)
        return "[" + ",".join(events) + "]"


def _own_cards(view: dict[str, Any]) -> int:
    """A seat's cards, those that it has laid off included."""
    return view["hand"] | (view["laid"] if view["knocker"] == 1 else 0)


def legal_texts(view: dict[str, Any]) -> list[str]:
    """Names of the legal actions."""
    discards, knocks, others = view["legal"]
    phase = view["phase"]
    if phase == PHASE_DISCARD:
        return card_names(discards, _DISCARD) + card_names(knocks, _KNOCK)
    if phase == PHASE_SPREAD:
        return [f"spread {k}" for k in cards_of(discards)]
    return card_names(discards, _LAY_OFF) + _FIXED[others, phase == PHASE_LAYOFF]


def may_play(view: dict[str, Any], action: int) -> bool:
    """Whether an action is legal in a view (a knock above the limit included where that counts as a discard)."""
    discards, knocks, others = view["legal"]
    if action >= KNOCK and view["phase"] == PHASE_DISCARD and view["rules"]["lenient_knock"]:
        knocks |= discards
    return bool(among(action, discards, knocks, others))


def arrangements(view: dict[str, Any]) -> list[list[list[str]]]:
    """The arrangements that the knocker may choose among, in the order of ``spread 0``, ``spread 1``, ..."""
    cards, limit = view["hand"], view["limit"]
    count = min(int(nth_arrangement(cards, limit, 0)[0]), MAX_ARRANGEMENTS)
    return [[card_names(int(meld)) for meld in nth_arrangement(cards, limit, k)[1:] if meld] for k in range(count)]


def _legal(view: dict[str, Any], split: bool) -> str:
    """The legal actions of a question as JSON texts, with commas between them."""
    discards, knocks, others = view["legal"]
    phase = view["phase"]
    if phase == PHASE_DISCARD:
        texts = _discard_texts(discards | knocks) if split else _discard_texts(discards) + _knock_texts(knocks)
        return texts[:-1]
    return encode(legal_texts(view))[1:-1] if discards else _FIXED_TEXTS[others, phase == PHASE_LAYOFF]


def question(slot: int, events: str, view: dict[str, Any], split: bool = False) -> str:
    """One game's part of an ``act`` message, as JSON.

    Args:
        slot: the program's number of the slot.
        events: what a ``Teller`` has to tell.
        view: of the seat that is asked.
        split: whether it is asked for a discard first, and about a knock after it.
    """
    phase = view["phase"]
    upcard = "null" if view["upcard"] == NO_CARD else f'"{_CARDS[view["upcard"]]}"'
    more = f',"arrangements":{encode(arrangements(view))}' if phase == PHASE_SPREAD else ""
    return (
        f'{{"slot":{slot},"events":{events},"phase":"{PHASE_NAMES[phase]}","hand":[{_hand_texts(view["hand"])[:-1]}],'
        f'"upcard":{upcard},"stock":{view["stock"]},"legal":[{_legal(view, split)}]{more}}}'
    )


def news(slot: int, events: str) -> str:
    """The part of an ``act`` message that asks for nothing, as JSON."""
    return f'{{"slot":{slot},"events":{events}}}'
