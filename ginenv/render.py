"""The table as a person sees it from one seat: text for a terminal, or a picture.

Both are drawn from a view alone, so a card that the seat may not see cannot be shown. Runs are marked green, sets blue.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ginenv.actions import PHASE_OVER
from ginenv.cards import RANKS, SUIT_SYMBOLS, card_name
from ginenv.engine import NO_CARD
from ginenv.wording import Holding, my_holding, opponent_holding, status_words, taken_words

# --- text ------------------------------------------------------------------------------------------------------------

_RED, _GREEN, _BLUE, _DIM, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[34m", "\x1b[2m", "\x1b[1m", "\x1b[0m"
_KIND_COLOURS = {"run": _GREEN, "set": _BLUE}
_PILE_SHOWN = 12


def _card(card: int) -> str:
    name = card_name(card, symbols=True)
    return f"{_RED}{name}{_PLAIN}" if card // 13 >= 2 else name


def _holding(holding: Holding) -> str:
    parts = []
    for kind, cards in holding.melds:
        colour = _KIND_COLOURS[kind]
        parts.append(f"{colour}[{_PLAIN}{' '.join(_card(card) for card in cards)} {colour}{kind}]{_PLAIN}")
    parts.extend(_card(card) for card in holding.loose)
    parts.extend([f"{_DIM}▒▒{_PLAIN}"] * holding.hidden)
    if holding.laid_off:
        parts.append(f" laid off: {' '.join(_card(card) for card in holding.laid_off)}")
    return " ".join(parts)


def _limit(view: np.void) -> str:
    limit = int(view["limit"])
    return ("gin only" if limit == 0 else f"knock at {limit}") + (", doubled" if view["doubled"] else "")


def to_text(view: np.void, opponent: str = "opponent") -> str:
    """The table in a few lines with colours for a terminal.

    Args:
        view: a ``VIEW`` record.
        opponent: the opponent's name.
    """
    mine, theirs = my_holding(view), opponent_holding(view)
    width = max(len(opponent), 5)
    count = int(view["num_pile"])
    pile = [int(card) for card in view["pile"][:count]]
    shown = [_card(card) for card in pile[-_PILE_SHOWN:]]
    if shown:
        shown[-1] = f"{_BOLD}[{_PLAIN}{shown[-1]}{_BOLD}]{_PLAIN}"
    if count > _PILE_SHOWN:
        shown.insert(0, "…")
    score = f"score {int(view['score'][0])} : {int(view['score'][1])}"
    lines = [
        f"{_BOLD}Gin rummy{_PLAIN}  hand {int(view['hand_no']) + 1}  {score}  {_limit(view)}",
        f"  {opponent:<{width}}  {_holding(theirs)}",
        f"  {'pile':<{width}}  {' '.join(shown) if shown else 'empty'}",
        f"  {'stock':<{width}}  {int(view['stock'])} cards",
        f"  {'you':<{width}}  {_holding(mine)}  {_DIM}deadwood {mine.deadwood}{_PLAIN}",
        f"  {_DIM}{taken_words(view, opponent)}{_PLAIN}".rstrip(),
        f"  {_BOLD}{status_words(view, opponent)}{_PLAIN}",
    ]
    return "\n".join(lines) + "\n"


def show(view: np.void, opponent: str = "opponent") -> None:
    """Prints the table to the terminal."""
    sys.stdout.write(to_text(view, opponent) + "\n")
    sys.stdout.flush()


def draw(view: np.void, opponent: str, mode: str | None) -> Any:
    """The table in a render mode: text (``ansi``), a picture (``rgb_array``), or printed (``human``); None, with a warning, without one."""
    if mode is None:
        gym.logger.warn('render is called without a render mode; make the environment with render_mode="ansi"')
        return None
    return {"ansi": to_text, "rgb_array": to_image, "human": show}[mode](view, opponent)


# --- picture ---------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 960, 600
_CARD_W, _CARD_H = 68, 96
_STEP, _GAP = 50, 18
_FELT, _FELT_DARK, _LINE = (38, 92, 66), (28, 72, 51), (86, 140, 112)
_PAPER, _INK, _HEART = (250, 248, 240), (32, 34, 40), (190, 36, 44)
_TEXT, _FAINT, _GOLD = (240, 244, 238), (172, 202, 184), (240, 200, 96)
_BACK, _BACK_LINE = (52, 78, 134), (134, 158, 206)
_KIND_RGB = {"run": (112, 214, 130), "set": (110, 176, 250)}
# The shapes of spades, clubs, diamonds and hearts: discs (centre and radius) and polygons.
_STEM = ((-0.4, 1.05), (0.4, 1.05), (0, 0.1))
_SHAPES = (
    (((-0.43, 0.2, 0.47), (0.43, 0.2, 0.47)), (((-0.88, 0.05), (0.88, 0.05), (0, -1.05)), _STEM)),
    (((0, -0.5, 0.46), (-0.5, 0.25, 0.46), (0.5, 0.25, 0.46)), (((-0.4, 1.05), (0.4, 1.05), (0, -0.1)),)),
    ((), (((0, -1.1), (0.8, 0), (0, 1.1), (-0.8, 0)),)),
    (((-0.45, -0.35, 0.5), (0.45, -0.35, 0.5)), (((-0.92, -0.15), (0.92, -0.15), (0, 1.05)),)),
)
_SCALE = 2  # drawn larger and scaled down, for smooth edges


@cache
def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size * _SCALE)


class _Canvas:
    """A picture of which positions are given in final pixels."""

    def __init__(self) -> None:
        self.image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), _FELT)
        self.draw = ImageDraw.Draw(self.image)

    def text(self, x: float, y: float, words: str, size: int = 16, fill: tuple = _TEXT, anchor: str = "lm") -> float:
        """Writes words, with a drawn shape for each suit symbol; returns where they end."""
        font = _font(size)
        pieces = [piece for piece in re.split(f"([{SUIT_SYMBOLS}])", words) if piece]
        widths = [size * 0.95 if piece in SUIT_SYMBOLS else font.getlength(piece) / _SCALE for piece in pieces]
        if anchor[0] == "m":
            x -= sum(widths) / 2
        elif anchor[0] == "r":
            x -= sum(widths)
        for piece, width in zip(pieces, widths, strict=True):
            if piece in SUIT_SYMBOLS:
                suit = SUIT_SYMBOLS.index(piece)
                self.suit(x + width / 2, y, size * 0.42, suit, (250, 130, 130) if suit >= 2 else fill)
            else:
                self.draw.text((x * _SCALE, y * _SCALE), piece, fill, font, "lm")
            x += width
        return x

    def box(
        self, x: float, y: float, w: float, h: float, fill: tuple, outline: tuple | None = None, r: float = 7
    ) -> None:
        """A rectangle with round corners."""
        corners = [(x * _SCALE, y * _SCALE), ((x + w) * _SCALE, (y + h) * _SCALE)]
        self.draw.rounded_rectangle(corners, r * _SCALE, fill, outline, _SCALE)

    def suit(self, x: float, y: float, r: float, suit: int, fill: tuple) -> None:
        """A suit symbol around a point, drawn because common fonts lack it."""
        x, y, r = x * _SCALE, y * _SCALE, r * _SCALE
        discs, polygons = _SHAPES[suit]
        for dx, dy, radius in discs:
            left, top = x + (dx - radius) * r, y + (dy - radius) * r
            self.draw.ellipse([left, top, left + 2 * radius * r, top + 2 * radius * r], fill)
        for points in polygons:
            self.draw.polygon([(x + dx * r, y + dy * r) for dx, dy in points], fill)

    def card(self, x: float, y: float, card: int, outline: tuple = (150, 150, 150)) -> None:
        """A card face up."""
        self.box(x, y, _CARD_W, _CARD_H, _PAPER, outline)
        ink = _HEART if card // 13 >= 2 else _INK
        rank = RANKS[card % 13].replace("T", "10")
        self.draw.text(((x + 8) * _SCALE, (y + 16) * _SCALE), rank, ink, _font(22), "lm")
        self.suit(x + 16, y + 38, 8, card // 13, ink)
        self.suit(x + _CARD_W - 23, y + _CARD_H - 27, 15, card // 13, ink)

    def back(self, x: float, y: float) -> None:
        """A card face down."""
        self.box(x, y, _CARD_W, _CARD_H, _BACK, (30, 44, 80))
        self.box(x + 6, y + 6, _CARD_W - 12, _CARD_H - 12, _BACK, _BACK_LINE, 4)
        for k in range(1, 6):
            at = y + 6 + k * (_CARD_H - 12) / 6
            line = [((x + 10) * _SCALE, at * _SCALE), ((x + _CARD_W - 10) * _SCALE, at * _SCALE)]
            self.draw.line(line, _BACK_LINE, _SCALE)


def _draw_holding(canvas: _Canvas, y: float, holding: Holding) -> None:
    groups: list[tuple[str, tuple[int, ...]]] = [*holding.melds]
    if holding.loose:
        groups.append(("", holding.loose))
    if holding.laid_off:
        groups.append(("laid off", holding.laid_off))
    if holding.hidden:
        groups.append(("hidden", (NO_CARD,) * holding.hidden))
    step = float(_STEP)
    while step > 24 and _width(groups, step) > WIDTH - 60:
        step -= 2
    x = (WIDTH - _width(groups, step)) / 2
    for kind, cards in groups:
        for k, card in enumerate(cards):
            if card == NO_CARD:
                canvas.back(x + k * step, y)
            else:
                canvas.card(x + k * step, y, card)
        end = x + (len(cards) - 1) * step + _CARD_W
        if kind in _KIND_RGB:
            canvas.box(x, y + _CARD_H + 6, end - x, 5, _KIND_RGB[kind], None, 2)
            canvas.text((x + end) / 2, y + _CARD_H + 22, kind, 14, _KIND_RGB[kind], "mm")
        elif kind == "laid off":
            canvas.text((x + end) / 2, y + _CARD_H + 22, kind, 14, _GOLD, "mm")
        x = end + _GAP


def _width(groups: list[tuple[str, tuple[int, ...]]], step: float) -> float:
    return sum((len(cards) - 1) * step + _CARD_W for _, cards in groups) + _GAP * (len(groups) - 1)


def _draw_middle(canvas: _Canvas, view: np.void, opponent: str) -> None:
    top = 232
    stock = int(view["stock"])
    for k in range(min(3, (stock + 9) // 10)):
        canvas.back(300 - 3 * k, top - 3 * k)
    canvas.text(300 + _CARD_W / 2, top + _CARD_H + 16, f"stock {stock}", 15, _FAINT, "mm")
    count = int(view["num_pile"])
    if count:
        cards = [int(card) for card in view["pile"][:count]]
        first = max(0, count - 8)
        for k, card in enumerate(cards[first:]):
            canvas.card(400 + 30 * k, top, card, _GOLD if k == count - first - 1 else (150, 150, 150))
    else:
        canvas.box(400, top, _CARD_W, _CARD_H, _FELT_DARK, _LINE)
    canvas.text(400, top + _CARD_H + 16, f"pile {count}", 15, _FAINT)
    canvas.text(WIDTH - 40, top + 24, _limit(view), 20, _GOLD, "rm")
    canvas.text(WIDTH - 40, top + 54, taken_words(view, opponent), 16, _TEXT, "rm")
    if view["taken"] == NO_CARD and view["drawn"] != NO_CARD:
        canvas.text(WIDTH - 40, top + 80, f"you drew {card_name(int(view['drawn']), symbols=True)}", 16, _TEXT, "rm")


def to_image(view: np.void, opponent: str = "opponent") -> np.ndarray:
    """The table as a picture, ``uint8[600, 960, 3]``.

    Args:
        view: a ``VIEW`` record.
        opponent: the opponent's name.
    """
    canvas = _Canvas()
    mine, theirs = my_holding(view), opponent_holding(view)
    canvas.box(16, 190, WIDTH - 32, 180, _FELT_DARK, _LINE, 14)
    name = opponent if len(opponent) <= 40 else opponent[:39] + "…"
    canvas.text(30, 26, name, 20)
    game = f"hand {int(view['hand_no']) + 1}   score {int(view['score'][0])} : {int(view['score'][1])}"
    canvas.text(WIDTH - 30, 26, game, 20, _TEXT, "rm")
    _draw_holding(canvas, 52, theirs)
    if view["phase"] == PHASE_OVER and view["shown"]:
        canvas.text(WIDTH - 30, 52, f"deadwood {int(view['deadwood'][1])}", 16, _FAINT, "rm")
    _draw_middle(canvas, view, name)
    _draw_holding(canvas, 402, mine)
    canvas.text(30, HEIGHT - 30, status_words(view, name), 20, _GOLD)
    canvas.text(WIDTH - 30, HEIGHT - 30, f"your deadwood {mine.deadwood}", 18, _TEXT, "rm")
    return np.asarray(canvas.image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))
