"""A view in a person's terms: melds by kind, who took what, what is to be done. Text and pictures are drawn from this."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ginenv.actions import (
    KNOCK,
    PASS,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_OVER,
    PHASE_SPREAD,
    PHASE_UPCARD,
    PHASE_WALL,
    STOCK,
    UPCARD,
)
from ginenv.cards import card_name, cards_of
from ginenv.engine import NO_CARD, NOBODY, End
from ginenv.melds import best_spread, is_run
from ginenv.rules import R_ELEVEN_TEN


@dataclass(frozen=True)
class Holding:
    """Cards in front of a seat.

    Attributes:
        melds: pairs of a kind (``"run"`` or ``"set"``) and its cards.
        loose: cards in no meld.
        hidden: how many cards lie face down.
        laid_off: cards laid off on the knocker's melds, by whoever lies across.
    """

    melds: tuple[tuple[str, tuple[int, ...]], ...] = ()
    loose: tuple[int, ...] = ()
    hidden: int = 0
    laid_off: tuple[int, ...] = ()

    @property
    def deadwood(self) -> int:
        """Points of the cards in no meld."""
        return sum(min(10, card % 13 + 1) for card in self.loose)


def _by_rank(cards: list[int]) -> tuple[int, ...]:
    return tuple(sorted(cards, key=lambda card: (card % 13, card)))


def _arranged(cards: int, melds: tuple[int, ...], hidden: int = 0) -> Holding:
    named = []
    for meld in melds:
        if meld:
            named.append(("run" if is_run(np.int64(meld)) else "set", tuple(cards_of(meld))))
            cards &= ~meld
    return Holding(tuple(named), _by_rank(cards_of(cards)), hidden)


def hidden_cards(view: np.void) -> int:
    """How many of the opponent's cards the seat cannot know."""
    return int(view["unseen"]).bit_count() - int(view["stock"])


def my_holding(view: np.void) -> Holding:
    """My cards in an arrangement of least deadwood; a knocker's as they lie spread out."""
    cards = int(view["hand"])
    if view["knocker"] == 0:
        return _spread_out(view, cards)
    words = [np.int64(view[field]) for field in ("hand", "unseen")]
    melds = best_spread(*words, np.int64(view["known"][1]), np.int64(max(hidden_cards(view), 0)))
    laid = int(view["laid"])
    holding = _arranged(cards & ~laid, tuple(int(meld) & ~laid for meld in melds))
    if view["knocker"] == 1 and laid:
        words[0] = np.int64(cards & ~laid)
        melds = best_spread(words[0], words[1], np.int64(0), np.int64(0))
        holding = _arranged(cards & ~laid, tuple(int(meld) for meld in melds))
        holding = Holding(holding.melds, holding.loose, 0, tuple(cards_of(laid)))
    return holding


def opponent_holding(view: np.void) -> Holding:
    """What I know of the opponent's cards: those it took and holds, or all where its hand lies open."""
    shown = int(view["shown"])
    if not shown:
        return Holding((), _by_rank(cards_of(int(view["known"][1]))), max(hidden_cards(view), 0))
    if view["knocker"] == 1:
        return _spread_out(view, shown)
    laid = int(view["laid"])
    melds = best_spread(np.int64(shown & ~laid), np.int64(0), np.int64(0), np.int64(0))
    holding = _arranged(shown & ~laid, tuple(int(meld) for meld in melds))
    return Holding(holding.melds, holding.loose, 0, tuple(cards_of(laid)))


def _spread_out(view: np.void, cards: int) -> Holding:
    """A knocker's cards; the melds with what was laid off on them."""
    melds = tuple(int(meld) for meld in view["spread"])
    if not any(melds):
        # The knocker has yet to choose its spread.
        return Holding((), _by_rank(cards_of(cards)))
    return _arranged(cards, melds)


def last_taken(view: np.void) -> tuple[int, int | None] | None:
    """Who took a card last (0 me, 1 the opponent) and which: a card of the pile, or None for the stock.

    Returns:
        None where nobody has taken a card. A card of the pile that cannot be told any more is ``NO_CARD``.
    """
    mover = 0 if view["started"] else 1
    first = NO_CARD
    pile: list[int] = [] if view["rules"][R_ELEVEN_TEN] else [first]
    passes = 0
    taken: tuple[int, int | None] | None = None
    for action in view["history"][: int(view["num_history"])].tolist():
        if action == STOCK:
            taken = (mover, None)
        elif action == UPCARD:
            taken = (mover, pile.pop() if pile else NO_CARD)
        elif action == PASS:
            mover = 1 - mover
            passes += 1
            if passes == 2:
                taken = (mover, None)
        else:
            if action >= KNOCK:
                break
            pile.append(action)
            mover = 1 - mover
    if taken is not None and taken[1] == NO_CARD:
        # The first upcard: its taker holds it, and may hold others that it took since; then it is not the last one.
        held = cards_of(int(view["known"][taken[0]]))
        taken = (taken[0], held[0] if len(held) == 1 else NO_CARD)
    return taken


def taken_words(view: np.void, opponent: str) -> str:
    """The last card taken: ``you took 7♣``, ``simple drew from the stock``, or nothing."""
    last = last_taken(view)
    if last is None:
        return ""
    who = ("you", opponent)[last[0]]
    if last[1] is None:
        return f"{who} drew from the stock"
    return f"{who} took {'the upcard' if last[1] == NO_CARD else card_name(last[1], symbols=True)}"


def status_words(view: np.void, opponent: str) -> str:
    """Whose turn it is and what is possible, or how the hand ended."""
    phase = int(view["phase"])
    if phase == PHASE_OVER:
        return ending_words(view, opponent)
    if not view["to_move"]:
        return f"{opponent} is to move"
    upcard = card_name(int(view["upcard"]), symbols=True) if view["upcard"] != NO_CARD else ""
    if phase == PHASE_UPCARD:
        return f"your turn: take {upcard} or pass"
    if phase == PHASE_DRAW:
        return f"your turn: take {upcard} or draw from the stock" if upcard else "your turn: draw from the stock"
    if phase == PHASE_DISCARD:
        return "your turn: discard, or knock" if view["legal"][1] else "your turn: discard"
    return {
        PHASE_SPREAD: "your turn: choose how to spread your melds",
        PHASE_LAYOFF: "your turn: lay off, or done",
        PHASE_WALL: f"two cards are left: take {upcard} and knock, or pass",
    }[phase]


def ending_words(view: np.void, opponent: str) -> str:
    """How the hand ended, and what it brought."""
    end = End(int(view["end"]))
    knocker = "" if view["knocker"] == NOBODY else ("you", opponent)[int(view["knocker"])]
    points = int(view["points"])
    counts = f"{int(view['deadwood'][0])} against {int(view['deadwood'][1])}"
    words = {
        End.GIN: f"gin by {knocker}",
        End.KNOCK: f"{knocker} knocked, deadwood {counts}",
        End.UNDERCUT: f"{knocker} knocked and was undercut, deadwood {counts}",
        End.TIE: f"equal deadwood, {counts}: nobody scores",
        End.STOCK: "drawn: the stock is used up",
        End.UPCARD_LIMIT: "drawn: too many upcards taken",
        End.REPEATED_UPCARD: "drawn: the same upcard went back and forth",
    }.get(end, "the hand is over")
    if points:
        words += f": {abs(points)} points to {'you' if points > 0 else opponent}"
    return words
