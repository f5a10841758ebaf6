"""What a seat sees, as the line protocol tells it: events and questions as plain values (docs/protocol.md is the specification).

Everything is derived from views, so a program sees exactly what any player may see. Each new move of a hand becomes an event; only the
program's own draws from the stock carry their card.
"""

from __future__ import annotations

import functools
from typing import Any

from agents.programs.views import MOVE_BYTES, Seen
from ginenv.engine.actions import (
    KNOCK,
    PHASE_DISCARD,
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
from ginenv.view.history import M_DISCARD, M_DONE, M_DRAW, M_FORCED_DRAW, M_KNOCK, M_LAY_OFF, M_PASS, M_SPREAD, M_TAKE

VERSION = 2
Event = dict[str, Any]

END_NAMES = {end.value: end.name.lower().replace("_", " ") for end in End} | {End.NOT_OVER.value: "forfeit"}
SIDES = ("you", "opponent", "nobody")
_CARDS = [card_name(card) for card in range(NUM_CARDS)]
_VERBS = {
    **{M_PASS: "pass", M_TAKE: "take", M_DRAW: "draw", M_FORCED_DRAW: "draw"},
    **{M_DISCARD: "discard", M_KNOCK: "knock", M_DONE: "done"},
}


class _SuitNames(dict[int, list[str]]):
    """Names of some cards of a suit, each after the same words, by the suit's place times 8,192 plus a mask of ranks."""

    def __init__(self, before: str) -> None:
        super().__init__()
        self.before = before

    def __missing__(self, key: int) -> list[str]:
        suit, ranks = divmod(key, 1 << 13)
        self[key] = names = [self.before + _CARDS[card] for card in cards_of(ranks << 13 * suit)]
        return names


_NAMES = {before: _SuitNames(before) for before in ("", "discard ", "knock ")}


def card_names(mask: int, before: str = "") -> list[str]:
    """Names of the cards of a mask, in ascending order, each after the same words: none, ``discard`` or ``knock``."""
    if not mask:
        return []
    names, ranks = _NAMES[before], (1 << 13) - 1
    return (
        names[mask & ranks]
        + names[1 << 13 | mask >> 13 & ranks]
        + names[2 << 13 | mask >> 26 & ranks]
        + names[3 << 13 | mask >> 39]
    )


def _card(card: int) -> str | None:
    return None if card == NO_CARD else _CARDS[card]


@functools.cache
def _move(kind: int, who: int, card: int = NO_CARD) -> Event:
    """A move as an event with at most one card. It is shared: nobody may change it."""
    return {"event": _VERBS[kind], "who": SIDES[who]} | ({} if card == NO_CARD else {"card": _CARDS[card]})


class HandEvents:
    """The events of one hand as one seat sees them, which grow with its views.

    Attributes:
        events: all events of the hand so far.
        num_sent: how many of them ``unsent`` has returned.
    """

    def __init__(self, view: Seen):
        self.num_sent = 0
        self._hand, self._moves = _own_cards(view), b""
        self._deal = (view.hand_no, view.seat, view.started, view.first_upcard)
        self._has_spread, self._laid_off = False, 0
        deal = {
            "event": "deal",
            "hand": view.hand_no + 1,
            "seat": view.seat,
            "starts": SIDES[1 - view.started],
            "cards": card_names(self._hand),
            "upcard": _card(view.first_upcard),
            **_standing(view),
        }
        self.events = [deal]

    def continues(self, view: Seen) -> bool:
        """Whether a view can be of this hand; after a hand was broken off, another one follows with the same number."""
        deal = (view.hand_no, view.seat, view.started, view.first_upcard)
        if deal != self._deal or not view.moves.startswith(self._moves):
            return False
        gone = self._hand & ~_own_cards(view)
        for _, kind, card, _ in self._new_moves(view) if gone else ():
            if kind in (M_DISCARD, M_KNOCK):
                gone &= ~(1 << card)
        return not gone

    def _new_moves(self, view: Seen) -> list[bytes]:
        starts = range(len(self._moves), len(view.moves), MOVE_BYTES)
        return [view.moves[start : start + MOVE_BYTES] for start in starts]

    def update(self, view: Seen) -> None:
        """Adds what has happened since the last view of this hand."""
        moves = self._new_moves(view)
        for number, move in enumerate(moves, 1):
            self._add(move, number == len(moves), view)
        self._hand, self._moves = _own_cards(view), view.moves
        if view.phase == PHASE_LAYOFF:
            self._add_spread(view)
        elif view.phase == PHASE_OVER:
            self._finish(view)

    def _add(self, move: bytes, last: bool, view: Seen) -> None:
        """Adds one move. A draw that reaches a limit ends the hand before a card moves, and is no event."""
        who, kind, card, _ = move
        if kind in (M_DRAW, M_FORCED_DRAW):
            card = view.drawn if last and who == 0 else NO_CARD
            if not (last and view.end == End.STOCK):
                self.events.append(_move(kind, who, card))
        elif kind == M_TAKE and last and view.end == End.UPCARD_LIMIT:
            return
        elif kind in (M_SPREAD, M_LAY_OFF, M_DONE):
            self._add_spread(view)
            if kind == M_DONE:
                self.events.append(_move(kind, who))
            elif kind == M_LAY_OFF:
                self._lay_off(who, 1 << card)
        else:
            self.events.append(_move(kind, who, card))

    def _lay_off(self, who: int, cards: int) -> None:
        self._laid_off |= cards
        self.events.append({"event": "lay off", "who": SIDES[who], "cards": card_names(cards)})

    def _add_spread(self, view: Seen) -> None:
        if not self._has_spread:
            self._has_spread = True
            self.events.append({"event": "spread", "who": SIDES[view.knocker], **_spread(view, view.laid)})

    def _finish(self, view: Seen) -> None:
        if view.knocker != NOBODY:
            self._add_spread(view)
            if view.laid & ~self._laid_off:
                self._lay_off(1 - view.knocker, view.laid & ~self._laid_off)
            for who, cards, points in ((1, view.shown, view.other_deadwood), (0, view.hand, view.deadwood)):
                shown = {"cards": card_names(cards), "deadwood": points}
                self.events.append({"event": "shown", "who": SIDES[who], **shown})
        score = [view.score + max(view.points, 0), view.other_score + max(-view.points, 0)]
        nobody = view.winner == NOBODY
        reached = view.drawn_hands + 1 >= view.max_drawn_hands if nobody else max(score) >= view.target
        over = {
            "event": "hand over",
            "end": END_NAMES[view.end],
            "winner": SIDES[2 if nobody else view.winner],
            "points": abs(view.points),
            "score": score,
            "target_reached": reached,
            "luck": f"{view.luck:016x}",
        }
        self.events.append(over)

    def unsent(self) -> list[Event]:
        """Returns the events that have not been sent yet, and counts them as sent."""
        events = self.events[self.num_sent :]
        self.num_sent += len(events)
        return events


def _own_cards(view: Seen) -> int:
    """A seat's own cards, including those that it has laid off."""
    return view.hand | view.laid if view.knocker == 1 else view.hand


def _standing(view: Seen) -> dict[str, Any]:
    """The limit of the hand, and where the game stands."""
    return {
        "limit": view.limit,
        "doubled": view.doubled == 1,
        "score": [view.score, view.other_score],
        "boxes": [view.boxes, view.other_boxes],
        "drawn_hands": view.drawn_hands,
    }


def _spread(view: Seen, without: int = 0) -> dict[str, Any]:
    """The knocker's melds, without some cards, and its cards outside of them."""
    melds = [meld for meld in (view.spread_0, view.spread_1, view.spread_2, view.spread_3) if meld]
    deadwood = view.hand if view.knocker == 0 else view.shown
    for meld in melds:
        deadwood &= ~meld
    return {"melds": [card_names(meld & ~without) for meld in melds], "deadwood": card_names(deadwood)}


@functools.cache
def _fixed_texts(others: int, phase: int) -> list[str]:
    """Names of the actions without a card, by their mask of three bits."""
    return [action_name(STOCK + k, phase) for k in range(3) if others >> k & 1]


def legal_texts(view: Seen) -> list[str]:
    """Names of the legal actions."""
    if view.phase == PHASE_DISCARD:
        return card_names(view.discards, "discard ") + card_names(view.knocks, "knock ")
    cards = [action_name(card, view.phase) for card in cards_of(view.discards)] if view.discards else []
    return cards + _fixed_texts(view.others, view.phase)


def may_play(view: Seen, action: int) -> bool:
    """Whether an action is legal in a view (including a knock above the limit where that counts as a discard)."""
    knocks = view.knocks
    if action >= KNOCK and view.phase == PHASE_DISCARD and view.lenient_knock:
        knocks |= view.discards
    return bool(among(action, view.discards, knocks, view.others))


def _arrangements(view: Seen) -> list[list[list[str]]]:
    """The arrangements that the knocker may choose among, in the order of ``spread 0``, ``spread 1``, ..."""
    count = min(int(nth_arrangement(view.hand, view.limit, 0)[0]), MAX_ARRANGEMENTS)
    return [
        [card_names(int(meld)) for meld in nth_arrangement(view.hand, view.limit, k)[1:] if meld] for k in range(count)
    ]


def _taken(moves: bytes) -> tuple[list[str], list[str]]:
    """The upcards that a seat and its opponent took, in order."""
    taken: tuple[list[str], list[str]] = ([], [])
    if M_TAKE in moves[1::MOVE_BYTES]:
        for who, kind, card in zip(moves[::MOVE_BYTES], moves[1::MOVE_BYTES], moves[2::MOVE_BYTES], strict=True):
            if kind == M_TAKE:
                taken[who].append(_CARDS[card])
    return taken


def question(view: Seen) -> dict[str, Any]:
    """What a seat is asked: everything that a program without a memory needs."""
    more = {}
    if view.phase == PHASE_SPREAD:
        more = {"arrangements": _arrangements(view)}
    elif view.phase == PHASE_LAYOFF:
        more = _spread(view)
    took, other_took = _taken(view.moves)
    return {
        "phase": PHASE_NAMES[view.phase],
        "hand": card_names(view.hand),
        "upcard": _card(view.upcard),
        "pile": [_CARDS[card] for card in view.pile[: view.num_pile]],
        "stock": view.stock,
        "legal": legal_texts(view),
        **more,
        "opponent": {
            "holds": card_names(view.other_known_cards),
            "took": other_took,
            "refused": card_names(view.other_refused),
            "discarded": card_names(view.other_thrown),
        },
        "you": {
            "holds": card_names(view.known_cards),
            "took": took,
            "refused": card_names(view.refused),
            "discarded": card_names(view.thrown),
        },
        **_standing(view),
        "luck": f"{view.luck:016x}",
        "hand_luck": f"{view.hand_luck:016x}",
    }
