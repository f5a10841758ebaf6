"""The line protocol for players in other processes: its messages as plain values (docs/protocol.md is the specification).

Everything is derived from views, so a program sees exactly what any player may see: each new entry of the history becomes an
event, and an own draw from the stock carries its card.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ginenv.actions import KNOCK, PHASE_DISCARD, PHASE_LAYOFF, PHASE_NAMES, PHASE_OVER, PHASE_SPREAD, STOCK, action_name
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
    Move,
    move_arrays,
)
from ginenv.melds import MAX_ARRANGEMENTS, nth_arrangement
from ginenv.rules import Rules
from ginenv.view import VIEW

VERSION = 1

_CARDS = [card_name(card) for card in range(NUM_CARDS)]
_DISCARDS = [action_name(card) for card in range(NUM_CARDS)]
_KNOCKS = [action_name(KNOCK + card) for card in range(NUM_CARDS)]
_LAY_OFFS = [action_name(card, PHASE_LAYOFF) for card in range(NUM_CARDS)]
_END_NAMES = {end.value: end.name.lower().replace("_", " ") for end in End} | {End.NOT_OVER.value: "forfeit"}
_WHO = ("you", "opponent")


def card_names(mask: int) -> list[str]:
    """Names of the cards of a mask, in ascending order."""
    return [_CARDS[card] for card in cards_of(mask)]


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


class Reader:
    """Reads the fields of a batch of views as plain integers, which is much faster than one by one."""

    _FIELDS = (
        *("hand", "known", "spread", "shown", "laid", "legal", "score", "points", "hand_no", "boxes", "deadwood"),
        *("drawn_hands", "phase", "seat", "started", "limit", "doubled", "stock", "upcard", "drawn", "end", "winner"),
        *("knocker", "num_history", "first_upcard"),
    )

    def __init__(self, views: np.ndarray):
        assert views.dtype == VIEW
        self.columns = {name: views[name].tolist() for name in self._FIELDS}
        self.histories = views["history"]
        self.moves, counts = move_arrays(views)
        self.counts = counts.tolist()
        self.rules = views["rules"]

    def view(self, i: int) -> dict[str, Any]:
        """One view."""
        view = {name: column[i] for name, column in self.columns.items()}
        view["history"] = self.histories[i].tobytes()[: view["num_history"]]
        view["moves"] = self.moves[i, : self.counts[i]]
        view["rules"] = self.rules[i]
        return view


class Teller:
    """Turns the views of one seat in one hand into events, each sent once.

    Attributes:
        events: all events of the hand so far.
        told: how many of them have been sent.
    """

    def __init__(self, view: dict[str, Any]):
        self.hand_no: int = view["hand_no"]
        self.events: list[dict[str, Any]] = []
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
        self.events.append(
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
        thrown = sum({1 << action % NUM_CARDS for action in history[len(self.history) :] if action < STOCK})
        return not self.hand & ~(_own_cards(view) | thrown)

    def update(self, view: dict[str, Any]) -> None:
        """Adds what has happened since the last view of this hand."""
        moves = view["moves"]
        for number, move in enumerate(moves[self.moves_told :].tolist(), self.moves_told + 1):
            self._tell(Move(*move), number == len(moves), view)
        self.moves_told = len(moves)
        self.history = view["history"]
        self.hand = _own_cards(view)
        if view["phase"] == PHASE_OVER:
            self._finish(view)
        elif view["phase"] == PHASE_LAYOFF:
            self._tell_spread(view)

    def _say(self, event: str, who: int, **values: Any) -> None:
        self.events.append({"event": event, "who": _WHO[who], **values})

    def _tell(self, move: Move, last: bool, view: dict[str, Any]) -> None:
        """Adds one move. A draw that reaches a limit ends the hand before a card moves."""
        who, kind = move.seat, move.kind
        if kind == M_TAKE:
            if not (last and view["end"] == End.UPCARD_LIMIT):
                self._say("take", who, card=_CARDS[move.card])
        elif kind == M_DRAW or kind == M_FORCED_DRAW:
            if last and who == 0 and view["drawn"] != NO_CARD:
                self._say("draw", 0, card=_CARDS[view["drawn"]])
            elif not (last and view["end"] == End.STOCK):
                self._say("draw", who)
        elif kind == M_PASS:
            self._say("pass", who)
        elif kind == M_DISCARD or kind == M_KNOCK:
            self._say("knock" if kind == M_KNOCK else "discard", who, card=_CARDS[move.card])
        else:
            self._tell_spread(view)
            if kind == M_DONE:
                self._say("done", who)
            elif kind == M_LAY_OFF:
                self._say("lay off", who, cards=[_CARDS[move.card]])
                self.by_hand |= 1 << move.card

    def _tell_spread(self, view: dict[str, Any]) -> None:
        if self.spread_told:
            return
        self.spread_told = True
        knocker = view["knocker"]
        melds = [meld & ~view["laid"] for meld in view["spread"] if meld]
        loose = view["hand"] if knocker == 0 else view["shown"]
        for meld in melds:
            loose &= ~meld
        self._say("spread", knocker, melds=[card_names(meld) for meld in melds], deadwood=card_names(loose))

    def _finish(self, view: dict[str, Any]) -> None:
        if view["knocker"] != NOBODY:
            self._tell_spread(view)
            laid = view["laid"] & ~self.by_hand
            if laid:
                self._say("lay off", 1 - view["knocker"], cards=card_names(laid))
            self._say("shown", 1, cards=card_names(view["shown"]), deadwood=view["deadwood"][1])
            self._say("shown", 0, cards=card_names(view["hand"]), deadwood=view["deadwood"][0])
        points = view["points"]
        score = [view["score"][0] + max(points, 0), view["score"][1] + max(-points, 0)]
        rules = view["rules"]
        drawn_out = view["winner"] == NOBODY and view["drawn_hands"] + 1 >= rules["max_drawn_hands"]
        self.events.append(
            {
                "event": "hand over",
                "end": _END_NAMES[view["end"]],
                "winner": "nobody" if view["winner"] == NOBODY else _WHO[view["winner"]],
                "points": abs(points),
                "score": score,
                "target_reached": bool(drawn_out or (view["winner"] != NOBODY and max(score) >= rules["target"])),
            }
        )

    def news(self) -> list[dict[str, Any]]:
        """Returns the events that have not been sent yet, and counts them as sent."""
        events = self.events[self.told :]
        self.told = len(self.events)
        return events


def _own_cards(view: dict[str, Any]) -> int:
    """A seat's cards, those that it has laid off included."""
    return view["hand"] | (view["laid"] if view["knocker"] == 1 else 0)


def legal_texts(view: dict[str, Any]) -> list[str]:
    """Names of the legal actions."""
    discards, knocks, others = view["legal"]
    phase = view["phase"]
    if phase == PHASE_DISCARD:
        return [_DISCARDS[card] for card in cards_of(discards)] + [_KNOCKS[card] for card in cards_of(knocks)]
    if phase == PHASE_SPREAD:
        return [f"spread {k}" for k in cards_of(discards)]
    return [_LAY_OFFS[card] for card in cards_of(discards)] + [
        action_name(STOCK + k, phase) for k in range(3) if others >> k & 1
    ]


def may_play(view: dict[str, Any], action: int) -> bool:
    """Whether an action is legal in a view (a knock above the limit included where that counts as a discard)."""
    discards, knocks, others = view["legal"]
    if view["rules"]["lenient_knock"] and view["phase"] == PHASE_DISCARD:
        knocks |= discards
    return bool(among(action, discards, knocks, others))


def arrangements(view: dict[str, Any]) -> list[list[list[str]]]:
    """The arrangements that the knocker may choose among, in the order of ``spread 0``, ``spread 1``, ..."""
    cards, limit = view["hand"], view["limit"]
    count = min(int(nth_arrangement(cards, limit, 0)[0]), MAX_ARRANGEMENTS)
    return [[card_names(int(meld)) for meld in nth_arrangement(cards, limit, k)[1:] if meld] for k in range(count)]


def question(slot: int, events: list[dict[str, Any]], view: dict[str, Any]) -> dict[str, Any]:
    """One game's part of an ``act`` message."""
    asked = {
        "slot": slot,
        "events": events,
        "phase": PHASE_NAMES[view["phase"]],
        "hand": card_names(view["hand"]),
        "upcard": None if view["upcard"] == NO_CARD else _CARDS[view["upcard"]],
        "stock": view["stock"],
        "legal": legal_texts(view),
    }
    if view["phase"] == PHASE_SPREAD:
        asked["arrangements"] = arrangements(view)
    return asked
