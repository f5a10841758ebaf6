"""A belief over a hand as a map of four suits by thirteen ranks, beside the true hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from ginenv.engine.cards import RANKS, card_name
from ginenv.pictures.card_art import suit_svg

# The drawing is as wide as the column of a phone 390 pixels wide, where its units are pixels.
_CELL_W, _CELL_H, _LEFT, _TOP = 25, 24, 19, 17


def belief_map(view: Any, chances: np.ndarray, hand: int | None = None) -> Markup:
    """The map as an SVG element: the chance in per cent in the cell of every card that it may hold, darker where it is likelier.

    Args:
        view: a ``VIEW`` record of the seat that believes.
        chances: the chance that the opponent holds each card, ``[52]``.
        hand: the opponent's true hand, whose cells are framed; None where it may not be shown.
    """
    unseen, known_cards = int(view["unseen"]), int(view["known_cards"][1]) | int(view["shown"])
    parts = []
    for rank, name in enumerate(RANKS):
        x = _LEFT + (rank + 0.5) * _CELL_W
        parts.append(f'<text x="{x}" y="12" class="axis">{name.replace("T", "10")}</text>')
    for suit in range(4):
        y = _TOP + (suit + 0.5) * _CELL_H
        parts.append(suit_svg(suit, 9, y, 6, "#d9606a" if suit >= 2 else "currentColor"))
    for card in range(52):
        x, y = _LEFT + card % 13 * _CELL_W, _TOP + card // 13 * _CELL_H
        framed = hand is not None and hand >> card & 1
        chance = 1.0 if known_cards >> card & 1 else float(chances[card]) if unseen >> card & 1 else None
        words = "seen" if chance is None else f"{100 * chance:.0f} %"
        title = f"{card_name(card, symbols=True)}: {words}{', hand' if framed else ''}"
        frame = ' class="in-hand"' if framed else ""
        inside = ""
        if chance is not None:
            percent = f"{100 * chance:.0f}"
            narrow = ' textLength="17" lengthAdjust="spacingAndGlyphs"' if len(percent) > 2 else ""
            inside = (
                f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL_W - 2}" height="{_CELL_H - 2}" rx="3" class="chance" '
                f'fill-opacity="{0.12 + 0.75 * chance:.2f}"/><text x="{x + _CELL_W / 2}" y="{y + 16.5}" '
                f'class="{"deep" if chance > 0.55 else "pale"}"{narrow}>{percent}</text>'
            )
        parts.append(
            f'<g><title>{title}</title><rect x="{x + 1}" y="{y + 1}" width="{_CELL_W - 2}" height="{_CELL_H - 2}" rx="3" fill="none"/>'
            f'{inside}<rect x="{x + 1.5}" y="{y + 1.5}" width="{_CELL_W - 3}" height="{_CELL_H - 3}" rx="3" fill="none"{frame}/></g>'
        )
    size = f"0 0 {_LEFT + 13 * _CELL_W} {_TOP + 4 * _CELL_H}"
    return Markup(
        f'<svg class="belief" viewBox="{size}" role="img" aria-label="A belief, card by card">{"".join(parts)}</svg>'
    )
