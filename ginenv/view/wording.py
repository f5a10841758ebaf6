"""A view in words for people: melds by kind, the last card taken, whose turn it is. Text and pictures are drawn from this."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ginenv.engine.actions import (
    KNOCK,
    PASS,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_NAMES,
    PHASE_OVER,
    PHASE_SPREAD,
    PHASE_UPCARD,
    PHASE_WALL,
    STOCK,
    UPCARD,
)
from ginenv.engine.cards import card_name, card_value, cards_of
from ginenv.engine.engine import NO_CARD, NOBODY, End
from ginenv.engine.melds import best_spread, deadwood, is_run
from ginenv.engine.outcome import END_WORDS
from ginenv.view.history import M_DRAW, M_FORCED_DRAW, M_TAKE, read_moves

# Verbs whose third person is not made with an s alone.
_DOES = {"be": "is", "go": "goes", "pass": "passes"}


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


def _by_rank(cards: int) -> tuple[int, ...]:
    return tuple(sorted(cards_of(cards), key=lambda card: (card % 13, card)))


def _arranged(cards: int, melds: Iterable[int], laid: int = 0) -> Holding:
    named = []
    for meld in map(int, melds):
        if meld:
            named.append(("run" if is_run(np.int64(meld)) else "set", tuple(cards_of(meld))))
            cards &= ~meld
    return Holding(tuple(named), _by_rank(cards), laid_off=tuple(cards_of(laid)))


def _least_deadwood(cards: int, laid: int, unseen: int = 0, known_cards: int = 0, hidden: int = 0) -> Holding:
    """The cards that were not laid off, in an arrangement of least deadwood; the last three as for ``best_spread``."""
    cards &= ~laid
    return _arranged(cards, best_spread(*map(np.int64, (cards, unseen, known_cards, hidden))), laid)


def _hidden_cards(view: np.void) -> int:
    """How many of the opponent's cards the seat cannot know."""
    return int(view["unseen"]).bit_count() - int(view["stock"])


def my_holding(view: np.void) -> Holding:
    """My cards in an arrangement of least deadwood; if I knocked, in the melds that I spread."""
    cards = int(view["hand"])
    if view["knocker"] == 0:
        # A knocker that has yet to choose its spread has no melds.
        return _arranged(cards, view["spread"])
    if view["laid"]:
        return _least_deadwood(cards, int(view["laid"]))
    return _least_deadwood(cards, 0, view["unseen"], view["known_cards"][1], max(_hidden_cards(view), 0))


def opponent_holding(view: np.void) -> Holding:
    """What I know of the opponent's cards: those it took and holds, or all if its hand lies open."""
    shown = int(view["shown"])
    if not shown:
        return Holding((), _by_rank(int(view["known_cards"][1])), max(_hidden_cards(view), 0))
    if view["knocker"] == 1:
        return _arranged(shown, view["spread"])
    return _least_deadwood(shown, int(view["laid"]))


def hand_words(number: int, target: int) -> str:
    """Which hand it is: ``hand 3`` of a game to a target, or ``one hand`` where no game is played."""
    return f"hand {number}" if target else "one hand"


def last_draw(view: np.void) -> tuple[int, int] | None:
    """Who drew last (0 me, 1 the opponent) and the upcard taken, ``NO_CARD`` for the stock; None if nobody has drawn."""
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
    """How the hand ended, and the points it scored."""
    end = End(int(view["end"]))
    knocker = "" if view["knocker"] == NOBODY else ("you", opponent)[int(view["knocker"])]
    points = int(view["points"])
    counts = f"{int(view['deadwood'][0])} against {int(view['deadwood'][1])}"
    words = {
        End.GIN: f"gin by {knocker}",
        End.BIG_GIN: f"big gin by {knocker}",
        End.KNOCK: f"{knocker} knocked, deadwood {counts}",
        End.UNDERCUT: f"{knocker} knocked into an undercut, deadwood {counts}",
        End.TIE: f"equal deadwood, {counts}: nobody scores",
    }.get(end) or END_WORDS[end]
    if points:
        words += f": {abs(points)} points to {'you' if points > 0 else opponent}"
    return words


def gin_name(view: np.void) -> str:
    """What gin is called if the seat of a view goes gin in this turn: big gin where all its cards are melded."""
    return "big gin" if view["rules"]["big_gin_bonus"] and not deadwood(int(view["hand"])) else "gin"


def what_to_do(action: int, view: np.void) -> str:
    """An action by the seat of a view, as advice: ``discard the 7C``, ``take the 7C from the pile``."""
    phase = PHASE_NAMES[int(view["phase"])]
    if action == PASS:
        return "be done laying off" if phase == "layoff" else f"pass on the {card_name(int(view['upcard']))}"
    if action == UPCARD:
        return f"take the {card_name(int(view['upcard']))} from the pile"
    if action == STOCK:
        return "draw from the stock"
    if phase == "spread":
        return "choose how to spread"
    if phase == "layoff":
        return f"lay off the {card_name(action)}"
    card = action % KNOCK
    gin = not deadwood(int(view["hand"]) & ~(1 << card))
    verb = "discard" if action < KNOCK else f"go {gin_name(view)} with" if gin else "knock with"
    return f"{verb} the {card_name(card)}"


def what_it_does(action: int, view: np.void) -> str:
    """The same as a clause without a subject, such as ``discards the 7C``."""
    verb, space, rest = what_to_do(action, view).partition(" ")
    return f"{_DOES.get(verb, verb + 's')}{space}{rest}"
