"""Pages made from the templates beside this file, and the cards in them."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup, escape

from agents.display_names import display_day, display_opponent, display_rules
from agents.play.moves import count
from agents.reports.pages import environment
from ginenv.engine.cards import RANKS, SUIT_SYMBOLS, card_name, parse_card
from ginenv.pictures.render import to_svg
from ginenv.view.wording import hand_words

_CARD = re.compile(r"\b[A2-9TJQK][SCDH]\b")
_RANK_WORDS = {"A": "ace", "T": "ten", "J": "jack", "Q": "queen", "K": "king"}
_SUIT_WORDS = ("spades", "clubs", "diamonds", "hearts")
STATIC = {
    "htmx.min.js": "text/javascript",
    "table.js": "text/javascript",
    "busy.js": "text/javascript",
    "motion.js": "text/javascript",
    "table.css": "text/css",
    "cards.svg": "image/svg+xml",
}
# Face-down cards, as cards.svg names them.
BACKS = ("lattice", "waves")


@cache
def static_file(name: str) -> bytes:
    """One of the files of ``STATIC``."""
    return (files("agents.web") / "static" / name).read_bytes()


@cache
def _static_link(name: str) -> str:
    """The address of such a file; it changes with the file's content."""
    return f"/static/{name}?{hashlib.sha256(static_file(name)).hexdigest()[:12]}"


def card_words(card: int) -> str:
    """A card in words, such as ``7 of clubs``."""
    rank = RANKS[card % 13]
    return f"{_RANK_WORDS.get(rank, rank)} of {_SUIT_WORDS[card // 13]}"


def card_image(card: int | str, label: str = "", extra: str = "") -> Markup:
    """A card, by number, or a back, by name, as a picture; without a label it is hidden from screen readers.

    The class ``movable`` has it move over the table by its name (see ``motion.js``).
    """
    name = card if isinstance(card, str) else card_name(card)
    accessible_name = Markup('role="img" aria-label="{}"').format(label) if label else Markup('aria-hidden="true"')
    return Markup('<svg class="face {}" data-name="{}" viewBox="0 0 100 140" {}><use href="{}#{}"/></svg>').format(
        extra, name, accessible_name, _static_link("cards.svg"), name
    )


def table_picture(view: Any, opponent: str, opened: Any, me: str) -> Markup:
    """A position, drawn for the width of a phone."""
    return Markup('<div class="pictures">{}</div>').format(Markup(to_svg(view, opponent, opened, me)))


def belief_map(view: Any, chances: np.ndarray, hand: int | None = None) -> Markup:
    """A belief over the opponent's hand: the chance in per cent in the cell of every card that it may hold, darker where it is likelier.

    Args:
        view: a ``VIEW`` record of the seat that believes.
        chances: the chance that the opponent holds each card, ``[52]``.
        hand: the opponent's true hand, whose cells are framed; None where it may not be shown.
    """
    unseen, known = int(view["unseen"]), int(view["known_cards"][1]) | int(view["shown"])
    cells = [
        (1.0 if known >> card & 1 else float(chances[card]) if unseen >> card & 1 else None, (hand or 0) >> card & 1)
        for card in range(52)
    ]
    return Markup(page("belief.html", cells=cells, ranks=RANKS, suits=SUIT_SYMBOLS))


def with_symbols(text: str) -> Markup:
    """A sentence with its cards, written in letters (7C), replaced by symbols, red ones in red."""

    def symbol(match: re.Match[str]) -> str:
        card = parse_card(match[0])
        colour = "red" if card // 13 >= 2 else "black"
        return f'<span class="pip {colour} {_SUIT_WORDS[card // 13]}">{card_name(card, symbols=True).replace("T", "10")}\ufe0e</span>'

    return Markup(_CARD.sub(symbol, str(escape(text))))


def figure(value: float | None, points: bool, sign: bool = False) -> str:
    """A loss or a value: points, or else per cent of the game, with one decimal."""
    if value is None:
        return "–"
    number = value if points else 100 * value
    return (f"{number:+.1f}" if sign else f"{number:.1f}").replace("-", "\N{MINUS SIGN}")


@cache
def _templates() -> Environment:
    found = environment("agents.web")
    found.filters.update(symbols=with_symbols, opponent=display_opponent, rules=display_rules)
    found.globals.update(
        count=count,
        link=_static_link,
        card_image=card_image,
        card_name=card_name,
        card_words=card_words,
        display_day=display_day,
        figure=figure,
        hand_words=hand_words,
    )
    return found


def page(template: str, **values: Any) -> str:
    """A page made from a template; values are escaped unless they are marked as markup."""
    return _templates().get_template(template).render(**values)
