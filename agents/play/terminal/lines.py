"""Cards, hands and the table as lines for a terminal of 80 columns; everything can be read without colours too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from agents.play.hand_order import in_suits, meld_names, melds_of_cards
from agents.play.moves import Turn
from ginenv.engine.cards import card_name, cards_of, mask_of, parse_card
from ginenv.engine.engine import NO_CARD
from ginenv.engine.melds import points_of
from ginenv.pictures.sheet import ScoreSheet

SET_STYLE, RUN_STYLE, LAID_STYLE, HINT_STYLE = "bright_blue", "bright_magenta", "bright_red", "bright_yellow"
LABEL = 12
_COLUMN = 5
LAID = "off"
_WIDEST = 16
_WIDTH = 80
_CARD = re.compile(r"\b[A2-9TJQK][SCDH]\b")


class Face:
    """How cards look on this terminal.

    Args:
        symbols: whether suits are shown as symbols; otherwise they are letters.
    """

    def __init__(self, symbols: bool) -> None:
        self.symbols = symbols
        # The separator between the parts of a line, and the character that a line across the screen is made of.
        self.bar, self.rule = (" │ ", "─") if symbols else (" | ", "-")

    def name(self, card: int) -> str:
        """A card's name."""
        return card_name(card, self.symbols)

    def names(self, cards: Sequence[int] | int) -> str:
        """Names of cards in their order; those of a mask in the order of a hand sorted by suit."""
        return " ".join(self.name(card) for card in (in_suits(cards) if isinstance(cards, int) else cards))

    def text(self, text: str) -> str:
        """A sentence with cards written in letters (7C), rewritten with the cards as they look here."""
        return _CARD.sub(lambda match: self.name(parse_card(match[0])), text) if self.symbols else text

    def card(self, card: int) -> Text:
        """A card in its colour."""
        return Text(self.name(card), "bold red" if card // 13 >= 2 else "bold")

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
        cards, marks, numbers = Text(f"{label:<{LABEL}.{LABEL - 1}}"), Text(" " * LABEL), Text(" " * LABEL)
        for place, card in enumerate(order, 1):
            kind = kinds.get(card, "")
            style = {"s": SET_STYLE, "r": RUN_STYLE, "o": LAID_STYLE}.get(kind[:1], "")
            cards.append(self.card(card)).append(f"{'*' if card == fresh else '':<{_COLUMN - 2}}")
            marks.append(f"{kind:<{_COLUMN}}", style)
            arrow, dimmed = ("<", HINT_STYLE) if card == hinted else ("", "dim")
            numbers.append(f"{f'{place}{arrow}':<{_COLUMN}}", dimmed)
        rows = [cards] + ([marks] if kinds else []) + ([numbers] if numbered else [])
        for row in rows:
            row.rstrip()
        return rows

    def melds(self, melds: list[int], order: Sequence[int], label: str = "") -> Text:
        """The melds of a hand in words, and the cards outside them as they lie, with their points."""
        line = Text(f"{label:<{LABEL}}")
        for meld, name in zip(melds, meld_names(melds), strict=True):
            line.append(f"{name} ", SET_STYLE if name.startswith("set") else RUN_STYLE)
            line.append(f"{self.names(meld)}{self.bar}")
        loose = [card for card in order if not any(meld >> card & 1 for meld in melds)]
        points = int(points_of(mask_of(loose)))
        return line.append(f"deadwood {points}: {self.names(loose)}" if loose else "gin: no deadwood")

    def status(self, turn: Turn, last_taken: str) -> Text:
        """The status line: whose turn, what is possible, the last card taken, the limit."""
        view, limit = turn.view, int(turn.view["limit"])
        parts = [f"Your turn: {self.text(turn.possible())}", f"last taken: {self.text(last_taken) or 'nothing'}"]
        if view["rules"]["first_discard_limit"] and not view["num_history"]:
            parts.append("limit: what you discard now")
        else:
            parts.append(f"limit {limit}" if limit else "limit 0: gin only")
        if view["doubled"]:
            parts.append("counts double")
        if turn.to_gin:
            parts.append("playing to gin")
        line = self.bar.join(parts)
        # Where it is too long for one line, it breaks between its parts.
        return Text(line if len(line) <= _WIDTH else f"{parts[0]}\n{self.bar.join(parts[1:])}", "reverse")

    def ended(self, view: Any, names: tuple[str, str]) -> list[Text]:
        """Both hands at the end of a knocked hand, the knocker's first; for a drawn hand nothing is shown.

        Args:
            view: the final view of a seat, ``VIEW``.
            names: names of the seat that looks and of its opponent.
        """
        knocker = int(view["knocker"])
        if knocker not in (0, 1):
            return []
        laid = int(view["laid"])
        rows: list[Text] = []
        for side in (knocker, 1 - knocker):
            cards = (int(view["hand"]), int(view["shown"]))[side] & ~laid
            spread = [int(meld) & ~laid for meld in view["spread"] if meld]
            melds, off = (spread, []) if side == knocker else (melds_of_cards(cards), in_suits(laid))
            melded = [card for meld in melds for card in in_suits(meld)]
            loose = in_suits(cards & ~mask_of(melded))
            rows += self.hand(names[side], melded + loose + off, melds, laid=mask_of(off))
            rows.append(self.melds(melds, loose))
            if off:
                rows[-1].append(f"{self.bar}laid off {self.names(off)}", LAID_STYLE)
        return rows

    def sheet(self, sheet: ScoreSheet, names: tuple[str, str]) -> list[Text]:
        """The score sheet; the total of each hand's winner is underlined."""
        lines = [Text(self.text(line)) for line in sheet.to_text((names[0][:_WIDEST], names[1][:_WIDEST])).splitlines()]
        for line, (outcome, running) in zip(lines[1:], sheet.rows, strict=False):
            if outcome.winner is not None:
                bar = line.plain.index("|")
                total = str(running[outcome.winner])
                start = line.plain.index(total, bar) if outcome.winner else line.plain.rindex(total, 0, bar)
                line.stylize("underline", start, start + len(total))
        return lines


def sheet_column(sheet: ScoreSheet, names: tuple[str, str]) -> int:
    """The column of a score sheet at which its notes begin."""
    return 15 + 2 * min(max(8, *map(len, names)), _WIDEST)
