"""Cards, hands and the table as lines for a terminal of 80 columns; everything can be read without colours too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from agents.play.arrange import meld_names, melds_of_cards
from ginenv.actions import (
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_SPREAD,
    PHASE_UPCARD,
    PHASE_WALL,
    STOCK,
    UPCARD,
)
from ginenv.cards import card_name, cards_of, mask_of, parse_card
from ginenv.engine import NO_CARD
from ginenv.melds import deadwood, points_of
from ginenv.rules import R_FIRST_DISCARD_LIMIT

SET_STYLE, RUN_STYLE, LAID_STYLE, HINT_STYLE = "bright_blue", "bright_magenta", "bright_red", "bright_yellow"
LABEL = 12
_COLUMN = 5
LAID = "off"
_CARD = re.compile(r"\b[A2-9TJQK][SCDH]\b")


class Face:
    """How cards look on this terminal.

    Args:
        symbols: suits as symbols; as letters otherwise.
    """

    def __init__(self, symbols: bool) -> None:
        self.symbols = symbols

    def name(self, card: int) -> str:
        """A card's name."""
        return card_name(card, self.symbols)

    def names(self, cards: Sequence[int] | int, separator: str = " ") -> str:
        """Names of cards, or of a mask."""
        cards = cards_of(cards) if isinstance(cards, int) else cards
        return separator.join(self.name(card) for card in cards)

    def text(self, text: str) -> str:
        """A sentence in which cards stand by letters (7C), with cards as they look here."""
        return _CARD.sub(lambda match: self.name(parse_card(match[0])), text) if self.symbols else text

    def card(self, card: int) -> Text:
        """A card in its colour."""
        return Text(self.name(card), "bold red" if card // 13 >= 2 else "bold")

    @property
    def bar(self) -> str:
        """What stands between the parts of a line."""
        return " │ " if self.symbols else " | "

    @property
    def rule(self) -> str:
        """What a line across the screen is made of."""
        return "─" if self.symbols else "-"

    def hand(
        self,
        label: str,
        order: Sequence[int],
        melds: list[int],
        *,
        laid: int = 0,
        fresh: int = NO_CARD,
        numbered: bool = False,
        hinted: int = NO_CARD,
    ) -> list[Text]:
        """Rows of a hand: the cards, the kind of meld under each, and their numbers.

        Args:
            label: what stands before the cards.
            order: the cards, left to right.
            melds: masks of the melds.
            laid: mask of cards that are laid off.
            fresh: the card that came in this turn; shown with a star.
            numbered: whether the numbers are shown.
            hinted: the card that a hint names; shown with an arrow.
        """
        kinds = {card: name for meld, name in zip(melds, meld_names(melds), strict=True) for card in cards_of(meld)}
        kinds |= dict.fromkeys(cards_of(laid), LAID)
        cards, marks, numbers = Text(f"{label:<{LABEL}.{LABEL}}"), Text(" " * LABEL), Text(" " * LABEL)
        for place, card in enumerate(order, 1):
            kind = kinds.get(card, "")
            style = {"s": SET_STYLE, "r": RUN_STYLE, "o": LAID_STYLE}.get(kind[:1], "")
            shown = self.card(card)
            if card == fresh:
                shown.append("*")
            cards.append(shown).append(" " * (_COLUMN - len(shown)))
            marks.append(f"{kind:<{_COLUMN}}", style)
            numbers.append(
                f"{str(place) + ('<' if card == hinted else ''):<{_COLUMN}}", HINT_STYLE if card == hinted else "dim"
            )
        rows = [cards] + ([marks] if kinds else []) + ([numbers] if numbered else [])
        for row in rows:
            row.rstrip()
        return rows

    def melds(self, melds: list[int], loose: int) -> Text:
        """The melds in words, and the cards beside them with their points."""
        line = Text()
        for meld, name in zip(melds, meld_names(melds), strict=True):
            line.append(f"{name} ", SET_STYLE if name.startswith("set") else RUN_STYLE)
            line.append(f"{self.names(meld)}{self.bar}")
        points = int(points_of(loose))
        line.append("gin: no deadwood" if not loose else f"deadwood {points}: {self.names(loose)}")
        return line

    def status(self, view: Any, last_taken: str, play_to_gin: bool) -> Text:
        """The status line: whose turn, what is possible, the last card taken, the limit."""
        parts = [f"Your turn: {self.possible(view, play_to_gin)}", f"last taken: {last_taken or 'nothing'}"]
        limit = int(view["limit"])
        if view["rules"][R_FIRST_DISCARD_LIMIT] and not view["num_history"]:
            parts.append("limit: what you discard now")
        else:
            parts.append(f"limit {limit}" if limit else "limit 0: gin only")
        if view["doubled"]:
            parts.append("counts double")
        if play_to_gin:
            parts.append("playing to gin")
        return Text(self.bar.join(parts), "reverse")

    def possible(self, view: Any, play_to_gin: bool) -> str:
        """What the seat to move can do, in words."""
        phase = int(view["phase"])
        legal = [int(mask) for mask in view["legal"]]
        top = self.name(int(view["upcard"])) if view["upcard"] != NO_CARD else ""
        may_take = legal[2] >> (UPCARD - STOCK) & 1
        if phase == PHASE_UPCARD:
            return f"take the {top} or pass"
        if phase == PHASE_DRAW:
            return f"take the {top} or the stock" if may_take else "take the stock"
        if phase == PHASE_WALL:
            drawn = "pass, which draws the hand"
            return f"take the {top} and knock, or {drawn}" if may_take else drawn
        if phase == PHASE_SPREAD:
            return "choose how to spread your melds"
        if phase == PHASE_LAYOFF:
            return f"lay off {self.names(legal[0], ' or ')}, or done"
        assert phase == PHASE_DISCARD
        hand = int(view["hand"])
        gin = [card for card in cards_of(legal[1]) if deadwood(hand & ~(1 << card)) == 0]
        if gin:
            return f"gin with the {self.names(gin, ' or ')}" + (", or discard" if legal[0] & ~mask_of(gin) else "")
        if legal[1] and not play_to_gin:
            knock = f"knock with the {self.names(legal[1], ' or ')}"
            return f"discard, or {knock}" if legal[0] else knock
        return "discard a card"

    def ended(self, view: Any, names: tuple[str, str]) -> list[Text]:
        """Both hands at the end of a knocked hand, the knocker's first; of a drawn hand nothing is shown.

        Args:
            view: the final view of a seat, ``VIEW``.
            names: who looks, and the opponent.
        """
        knocker = int(view["knocker"])
        if knocker not in (0, 1):
            return []
        hands = (int(view["hand"]), int(view["shown"]))
        laid = int(view["laid"])
        spread = [int(meld) & ~laid for meld in view["spread"] if meld]
        rows: list[Text] = []
        for side in (knocker, 1 - knocker):
            cards = hands[side] & ~laid
            melds = spread if side == knocker else melds_of_cards(cards)
            melded = [card for meld in melds for card in cards_of(meld)]
            off = laid if side != knocker else 0
            order = melded + [card for card in cards_of(cards) if card not in melded] + cards_of(off)
            rows += self.hand(names[side], order, melds, laid=off)
            words = self.melds(melds, cards & ~mask_of(melded))
            if off:
                words.append(f"{self.bar}laid off {self.names(off)}", LAID_STYLE)
            rows.append(Text(" " * LABEL).append(words))
        return rows
