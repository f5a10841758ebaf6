"""A view in a person's terms: melds by kind, who took what, what is to be done. Text and pictures are drawn from this."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ginenv.actions import (
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_OVER,
    PHASE_SPREAD,
    PHASE_UPCARD,
    PHASE_WALL,
)
from ginenv.cards import card_name, card_value, cards_of
from ginenv.engine import NO_CARD, NOBODY, End
from ginenv.history import M_DRAW, M_FORCED_DRAW, M_TAKE, read_moves
from ginenv.melds import best_spread, is_run


@dataclass(frozen=True)
class Holding:
    """Cards in front of a seat.

    Attributes:
        melds: pairs of a kind (``"run"`` or ``"set"``) and its cards.
        loose: cards in no meld.
        hidden: how many cards lie face down.
        laid_off: cards laid off on the knocker's melds.
    """

    melds: tuple[tuple[str, tuple[int, ...]], ...] = ()
    loose: tuple[int, ...] = ()
    hidden: int = 0
    laid_off: tuple[int, ...] = ()

    @property
    def deadwood(self) -> int:
        """Points of the cards in no meld."""
        return sum(map(card_value, self.loose))


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


def last_draw(view: np.void) -> tuple[int, int] | None:
    """Who drew last (0 me, 1 the opponent) and the upcard it took, ``NO_CARD`` for the stock; None where nobody has drawn."""
    for move in reversed(read_moves(view)[0]):
        if move.kind in (M_TAKE, M_DRAW, M_FORCED_DRAW):
            return move.seat, move.card
    return None


def taken_words(view: np.void, opponent: str) -> str:
    """The last card taken: ``you took 7♣``, ``simple drew from the stock``, or nothing."""
    last = last_draw(view)
    if last is None:
        return ""
    what = "drew from the stock" if last[1] == NO_CARD else f"took {card_name(last[1], symbols=True)}"
    return f"{('you', opponent)[last[0]]} {what}"


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
