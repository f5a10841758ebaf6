"""What a person may do now, and why another move is refused: all from a view, with cards written in letters (7C)."""

from __future__ import annotations

from typing import Any

from agents.play.hand_order import in_suits
from agents.play.options import GR, preset_of, variation
from ginenv.engine.actions import KNOCK, PASS, PHASE_NAMES, STOCK, UPCARD, parse_action
from ginenv.engine.cards import card_name, cards_of, format_cards, mask_of
from ginenv.engine.engine import NO_CARD
from ginenv.engine.melds import MAX_ARRANGEMENTS, deadwood, nth_arrangement
from ginenv.engine.rules import Rules
from ginenv.errors import GinError
from ginenv.view.wording import gin_name, what_to_do

# What each command is called in a sentence.
_VERBS = {
    "take": "take the upcard",
    "stock": "draw from the stock",
    "pass": "pass",
    "done": "end the lay-offs",
    "lay off": "lay off that card",
    "spread": "spread your melds",
    "discard": "discard that card",
    "knock": "knock",
    "gin": "go gin",
}


def count(number: int, noun: str = "point") -> str:
    """``1 point``, ``2 points``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def in_words(action: str, view: Any) -> str:
    """An action of an analysis, such as ``take``, as advice that names the card: ``take the 7C from the pile``.

    Args:
        action: its name; a way to spread, which has a number alone, stays as it is.
        view: one record of ``VIEW``, of the seat that is to move.
    """
    return action if action.startswith("spread") else what_to_do(parse_action(action), view)


class Turn:
    """A person's turn.

    Args:
        view: one record of ``VIEW``, of a seat that is to move.
        rules: the rules of the game.
        to_gin: whether the person plays to gin; then other knocks are neither offered nor asked about.
    """

    def __init__(self, view: Any, rules: Rules, to_gin: bool = False) -> None:
        self.view = view
        self.rules = rules
        self.phase = PHASE_NAMES[int(view["phase"])]
        self.hand = int(view["hand"])
        self._cards, self._knocks, self._others = (int(mask) for mask in view["legal"])
        # A card that may be taken only to knock leaves nothing else to do.
        self.to_gin = to_gin and (self.phase != "discard" or self._cards != 0)

    def left(self, card: int) -> int:
        """The deadwood that is left after a card is discarded."""
        return int(deadwood(self.hand & ~(1 << card)))

    def returns_upcard(self, card: int) -> bool:
        """Whether discarding a card means giving back the upcard just taken, which undoes the draw.

        Tables allow this as a courtesy under the ``gr`` presets; the engine, and so actions and records, know nothing of it.
        """
        taken = self.phase == "discard" and card == self.view["taken"] and not self._cards >> card & 1
        return bool(taken) and preset_of(variation(self.rules)) in GR

    def possible(self) -> str:
        """What can be done, in words that follow "you can"."""
        top = "" if self.view["upcard"] == NO_CARD else card_name(int(self.view["upcard"]))
        may_take = self._others >> (UPCARD - STOCK) & 1
        if self.phase == "upcard":
            return f"take the {top} or pass"
        if self.phase == "draw":
            return f"take the {top} or the stock" if may_take else "draw from the stock"
        if self.phase == "wall":
            drawn = "pass, which draws the hand"
            return f"take the {top} and knock, or {drawn}" if may_take else drawn
        if self.phase == "spread":
            return "choose how to spread your melds"
        if self.phase == "layoff":
            return f"lay off the {_either(self._cards)}, or be done" if self._cards else "only be done"
        gin = mask_of(card for card in cards_of(self._knocks) if not self.left(card))
        ways = ["discard"] if self._cards & ~gin else []
        if gin:
            ways.insert(0, f"go {gin_name(self.view)} with the {_either(gin)}")
        elif self._knocks and not self.to_gin:
            ways.append(f"knock with the {_either(self._knocks)}")
        taken = int(self.view["taken"])
        if taken != NO_CARD and self.returns_upcard(taken):
            ways.append(f"give back the {card_name(taken)}")
        return ", or ".join(ways) if len(ways) > 1 else "discard a card" if ways == ["discard"] else ways[0]

    def spreads(self) -> list[list[int]]:
        """The melds, as masks, of each way to spread the hand."""
        hand, limit = self.hand, int(self.view["limit"])
        ways = range(min(int(nth_arrangement(hand, limit, 0)[0]), MAX_ARRANGEMENTS))
        return [[int(meld) for meld in nth_arrangement(hand, limit, n)[1:] if meld] for n in ways]

    def refusal(self, name: str) -> GinError:
        """The error for a command that is not possible now."""
        return GinError(f"you cannot {_VERBS[name]} now; you can {self.possible()}")

    def action(self, name: str, choice: int = 0) -> int:
        """The action of a command.

        Args:
            name: ``take``, ``stock``, ``pass``, ``done``, ``spread``, ``lay off``, ``discard``, ``knock`` or ``gin``.
            choice: the card, or the number of the spread (from 1).

        Returns:
            A legal action, or a knock above the limit where the rules turn it into a discard.

        Raises:
            GinError: if it is not possible now; the message says why.
        """
        if name in ("take", "stock", "pass", "done"):
            action = {"take": UPCARD, "stock": STOCK}.get(name, PASS)
            possible = self._others >> (action - STOCK) & 1 and (name == "done") <= (self.phase == "layoff")
            if not possible:
                raise self.refusal(name)
            return action
        phase = {"spread": "spread", "lay off": "layoff"}.get(name, "discard")
        if self.phase != phase:
            raise self.refusal(name)
        if name == "spread":
            if not 1 <= choice <= self._cards.bit_count():
                raise GinError(f"there is no spread {choice}; they are numbered 1 to {self._cards.bit_count()}")
            return choice - 1
        if name == "lay off":
            if not self._cards >> choice & 1:
                raise self.refusal(name)
            return choice
        return self._gin() if name == "gin" else self._discard(choice, name == "knock")

    def _discard(self, card: int, knocks: bool) -> int:
        if not self.hand >> card & 1:
            raise GinError(f"you do not hold the {card_name(card)}")
        may_discard, may_knock = self._cards >> card & 1, self._knocks >> card & 1
        # Where gin ends a hand by itself, a discard that leaves no deadwood goes gin.
        if may_knock and (knocks or not (may_discard or self.left(card))):
            return KNOCK + card
        if may_discard and not knocks:
            return card
        if may_discard and self.rules.illegal_knock == "discard":
            return KNOCK + card
        if card == self.view["taken"]:
            raise GinError(f"you took the {card_name(card)} from the pile this turn, so you cannot discard it now")
        limit = int(self.view["limit"])
        if knocks and self.left(card) > limit:
            raise GinError(
                f"you cannot knock with the {card_name(card)}: {count(self.left(card))} would be left, the limit is {limit}"
            )
        raise self.refusal("knock" if knocks else "discard")

    def _gin(self) -> int:
        best = self.best_knock()
        if best is None or self.left(best - KNOCK):
            least = min(self.left(card) for card in cards_of(self.hand))
            raise GinError(f"you cannot go gin: the best discard leaves {count(least)}")
        return best

    def best_knock(self) -> int | None:
        """The knock that leaves the least deadwood, of several the one with the highest card; None if there is none."""
        ways = cards_of(self._knocks)
        return KNOCK + min(ways, key=lambda card: (self.left(card), -(card % 13))) if ways else None

    def may_knock(self, card: int) -> bool:
        """Whether a knock that discards this card is legal."""
        return bool(self._knocks >> card & 1)

    def asks_to_knock(self, action: int) -> bool:
        """Whether a discard could be a knock instead, so that the person should be asked."""
        possible = self.phase == "discard" and action < KNOCK and self._knocks >> action & 1
        return bool(possible) and not (self.to_gin and self.left(action))

    @property
    def offers_knock(self) -> bool:
        """Whether a knock is possible that the person has not declined for this hand."""
        return any(not self.declines(KNOCK + card) for card in cards_of(self._knocks))

    def declines(self, action: int) -> bool:
        """Whether an action is a knock, not gin, that somebody who plays to gin does not want."""
        return self.to_gin and KNOCK <= action < STOCK and self.left(action - KNOCK) > 0


def _either(cards: int) -> str:
    return format_cards(in_suits(cards), separator=" or ")
