"""The table as a person sees it from one seat: text for a terminal, or a picture as pixels or as SVG.

All are drawn from a view alone, so a card that the seat may not see cannot be shown unless the caller gives it (``opened``).
Runs are marked green, sets blue.
"""

from __future__ import annotations

import re
import sys
import textwrap
from functools import cache
from html import escape
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.cards import RANKS, SUIT_SYMBOLS, card_name
from ginenv.engine.engine import NO_CARD
from ginenv.pictures.card_art import CARD_HEIGHT, CARD_WIDTH, PAPER, SUIT_CURVES, back_svg, face_svg, ink_of
from ginenv.view.wording import Holding, my_holding, opponent_holding, status_words, taken_words

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
    """The table as text (``ansi``), as a picture (``rgb_array``), or printed (``human``); without a mode None, and a warning."""
    if mode is None:
        gym.logger.warn('render is called without a render mode; make the environment with render_mode="ansi"')
        return None
    return {"ansi": to_text, "rgb_array": to_image, "human": show}[mode](view, opponent)


# --- picture ---------------------------------------------------------------------------------------------------------

# Wide enough for ten cards, and narrow enough for the screen of a phone, where a card is some 50 pixels wide.
WIDTH, HEIGHT = 480, 544
_CARD_W = 68
_CARD_H = _CARD_W * CARD_HEIGHT / CARD_WIDTH
_STEP, _GAP, _MARGIN = 50, 8, 12
_FELT, _FELT_DARK, _LINE = "#265c42", "#1c4833", "#568c70"
_TEXT, _FAINT, _GOLD, _ROSE = "#f0f4ee", "#accab8", "#f0c860", "#fa8282"
_EDGE = "#8d8a80"
_KIND_RGB = {"run": "#70d682", "set": "#6eb0fa"}
# Names are cut to the first length, sentences wrapped at the second.
_NAME_LENGTH, _LINE_LENGTH = 16, 52
_SCALE = 2  # pixels are drawn larger and scaled down, for smooth edges


@cache
def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size * _SCALE)


@cache
def _outline(suit: int) -> list[complex]:
    """The polygon of a suit, x + y i: its curves, each in eight steps."""
    points: list[complex] = []
    t = np.arange(1, 9) / 8
    for command, numbers in re.findall(r"([MLC])([^MLC]*)", SUIT_CURVES[suit]):
        given = np.array(numbers.split(), float).view(complex)
        if command == "C":
            b, c, d = given
            given = (1 - t) ** 3 * points[-1] + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
        points.extend(given)
    return points


class _Pixels:
    """Draws with pillow; a card shows its corner and one large suit. Positions and sizes are in units of ``WIDTH`` × ``HEIGHT``."""

    def __init__(self) -> None:
        self.image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), _FELT)
        self.draw = ImageDraw.Draw(self.image)

    def text(self, x: float, y: float, words: str, size: int = 16, fill: str = _TEXT, anchor: str = "left") -> None:
        """Writes words centred on the height ``y``, red suits in red; their left, middle or right (``anchor``) is at ``x``."""
        font = _font(size)
        pieces = [piece for piece in re.split(f"([{SUIT_SYMBOLS}])", words) if piece]
        widths = [size * 0.95 if piece in SUIT_SYMBOLS else font.getlength(piece) / _SCALE for piece in pieces]
        x -= sum(widths) * {"left": 0, "middle": 0.5, "right": 1}[anchor]
        for piece, width in zip(pieces, widths, strict=True):
            if piece in SUIT_SYMBOLS:
                suit = SUIT_SYMBOLS.index(piece)
                self._suit(x + width / 2, y, size * 0.42, suit, _ROSE if suit >= 2 else fill)
            else:
                self.draw.text((x * _SCALE, y * _SCALE), piece, fill, font, "lm")
            x += width

    def box(self, x: float, y: float, w: float, h: float, fill: str, outline: str | None = None, r: float = 7) -> None:
        """A rectangle with round corners."""
        corners = [(x * _SCALE, y * _SCALE), ((x + w) * _SCALE, (y + h) * _SCALE)]
        self.draw.rounded_rectangle(corners, r * _SCALE, fill, outline, _SCALE)

    def _suit(self, x: float, y: float, r: float, suit: int, fill: str) -> None:
        # Drawn as a shape because common fonts lack suits.
        self.draw.polygon([((x + at.real * r) * _SCALE, (y + at.imag * r) * _SCALE) for at in _outline(suit)], fill)

    def card(self, x: float, y: float, card: int, outline: str | None = None) -> None:
        """A card, face down if it is ``NO_CARD``; an outline marks it."""
        if card == NO_CARD:
            self._back(x, y)
            return
        self.box(x, y, _CARD_W, _CARD_H, PAPER, outline or _EDGE)
        rank = RANKS[card % 13].replace("T", "10")
        self.draw.text(((x + 8) * _SCALE, (y + 16) * _SCALE), rank, ink_of(card), _font(22), "lm")
        self._suit(x + 16, y + 38, 8, card // 13, ink_of(card))
        self._suit(x + _CARD_W - 23, y + _CARD_H - 27, 15, card // 13, ink_of(card))

    def _back(self, x: float, y: float) -> None:
        self.box(x, y, _CARD_W, _CARD_H, "#31508f", "#1d3263")
        self.box(x + 6, y + 6, _CARD_W - 12, _CARD_H - 12, "#31508f", "#9db4e0", 4)
        for k in range(1, 6):
            at = y + 6 + k * (_CARD_H - 12) / 6
            line = [((x + 10) * _SCALE, at * _SCALE), ((x + _CARD_W - 10) * _SCALE, at * _SCALE)]
            self.draw.line(line, "#9db4e0", _SCALE)


class _Svg:
    """Draws the same as elements of an SVG, with the cards of ``card_art``."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(self, x: float, y: float, words: str, size: int = 16, fill: str = _TEXT, anchor: str = "left") -> None:
        """As ``_Pixels.text``."""
        place = {"left": "start", "middle": "middle", "right": "end"}[anchor]
        # A variation selector keeps suits from being shown as emoji.
        coloured = re.sub(
            f"[{SUIT_SYMBOLS}]",
            lambda suit: f'<tspan fill="{_ROSE if suit[0] in "♦♥" else fill}">{suit[0]}\ufe0e</tspan>',
            escape(words),
        )
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" text-anchor="{place}" '
            f'dominant-baseline="central">{coloured}</text>'
        )

    def box(self, x: float, y: float, w: float, h: float, fill: str, outline: str | None = None, r: float = 7) -> None:
        """As ``_Pixels.box``."""
        edge = f' stroke="{outline}"' if outline else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{r:g}" fill="{fill}"{edge}/>')

    def card(self, x: float, y: float, card: int, outline: str | None = None) -> None:
        """As ``_Pixels.card``."""
        drawn, name = (back_svg(), "card") if card == NO_CARD else (face_svg(card), card_name(card, symbols=True))
        mark = (
            f'<rect width="100" height="140" rx="9" fill="none" stroke="{outline}" stroke-width="4"/>'
            if outline
            else ""
        )
        scale = _CARD_W / CARD_WIDTH
        self.parts.append(
            f'<g transform="translate({x:g} {y:g}) scale({scale:g})"><title>{name}</title>{drawn}{mark}</g>'
        )

    def element(self, label: str) -> str:
        """The whole picture."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" style="max-width:{WIDTH}px" role="img" '
            f'aria-label="{escape(label)}" font-family="system-ui, sans-serif">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="{_FELT}"/>{"".join(self.parts)}</svg>'
        )


_Canvas = _Pixels | _Svg


def _draw_holding(canvas: _Canvas, y: float, holding: Holding) -> None:
    groups: list[tuple[str, tuple[int, ...]]] = [*holding.melds]
    if holding.loose:
        groups.append(("", holding.loose))
    if holding.laid_off:
        groups.append(("laid off", holding.laid_off))
    if holding.hidden:
        groups.append(("hidden", (NO_CARD,) * holding.hidden))
    # The distance between the cards of a group at which all groups fit.
    covered = sum(len(cards) - 1 for _, cards in groups)
    free = WIDTH - 2 * _MARGIN - len(groups) * _CARD_W - (len(groups) - 1) * _GAP
    step = min(float(_STEP), free / max(covered, 1))
    x = (WIDTH - covered * step - len(groups) * _CARD_W - (len(groups) - 1) * _GAP) / 2
    for kind, cards in groups:
        for k, card in enumerate(cards):
            canvas.card(x + k * step, y, card)
        end = x + (len(cards) - 1) * step + _CARD_W
        if kind in _KIND_RGB:
            canvas.box(x, y + _CARD_H + 6, end - x, 5, _KIND_RGB[kind], None, 2)
            canvas.text((x + end) / 2, y + _CARD_H + 22, kind, 14, _KIND_RGB[kind], "middle")
        elif kind == "laid off":
            canvas.text((x + end) / 2, y + _CARD_H + 22, kind, 14, _GOLD, "middle")
        x = end + _GAP


def _cut(name: str, length: int) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def _by_name(words: str, me: str) -> str:
    """Words addressed to the observing seat, with its name instead of "you"."""
    return words if me == "you" else re.sub(r"\byou\b", lambda _: me, words.replace("your turn", f"{me}'s turn"))


def _draw_table(canvas: _Canvas, view: np.void, opponent: str, opened: np.void | None = None, me: str = "you") -> None:
    """The one layout of pictures; if the opponent's view is given (``opened``), its hand lies open."""
    mine, theirs = my_holding(view), opponent_holding(view) if opened is None else my_holding(opened)
    opponent, me = _cut(opponent, _NAME_LENGTH), _cut(me, _NAME_LENGTH)
    left, right = _MARGIN, WIDTH - _MARGIN
    over = f", deadwood {int(view['deadwood'][1])}" if view["phase"] == PHASE_OVER and view["shown"] else ""
    canvas.text(left, 20, opponent + over, 17)
    canvas.text(right, 20, f"score {int(view['score'][0])} : {int(view['score'][1])}", 17, _TEXT, "right")
    _draw_holding(canvas, 38, theirs)
    top, step = 176, 30
    canvas.box(6, top - 10, WIDTH - 12, 174, _FELT_DARK, _LINE, 14)
    for k in range(min(3, (int(view["stock"]) + 9) // 10)):
        canvas.card(left + 8 - 3 * k, top - 3 * k + 6, NO_CARD)
    canvas.text(left + 6, top + _CARD_H + 18, f"stock {int(view['stock'])}", 15, _FAINT)
    cards = [int(card) for card in view["pile"][: view["num_pile"]]][-4:]
    for k, card in enumerate(cards):
        canvas.card(left + 110 + step * k, top + 6, card, _GOLD if k == len(cards) - 1 else None)
    if not cards:
        canvas.box(left + 110, top + 6, _CARD_W, _CARD_H, _FELT_DARK, _LINE)
    canvas.text(left + 110, top + _CARD_H + 18, f"pile {int(view['num_pile'])}", 15, _FAINT)
    canvas.text(right - 4, top + 22, f"hand {int(view['hand_no']) + 1}", 17, _TEXT, "right")
    canvas.text(right - 4, top + 50, _limit(view), 17, _GOLD, "right")
    last = _by_name(taken_words(view, opponent), me)
    if view["taken"] == NO_CARD and view["drawn"] != NO_CARD:
        last = f"{me} drew {card_name(int(view['drawn']), symbols=True)}"
    canvas.text(left + 6, top + 146, last, 15)
    _draw_holding(canvas, 354, mine)
    words = f"{'your' if me == 'you' else me + ':'} deadwood {mine.deadwood}"
    canvas.text(right, HEIGHT - 54, words, 15, _TEXT, "right")
    for k, line in enumerate(textwrap.wrap(_by_name(status_words(view, opponent), me), _LINE_LENGTH)[:2]):
        canvas.text(left, HEIGHT - 54 + 18 * (k + 1), line, 15, _GOLD)


def to_image(view: np.void, opponent: str = "opponent") -> np.ndarray:
    """The table as a picture, ``uint8[544, 480, 3]``.

    Args:
        view: a ``VIEW`` record.
        opponent: the opponent's name.
    """
    canvas = _Pixels()
    _draw_table(canvas, view, opponent)
    return np.asarray(canvas.image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))


def to_svg(view: np.void, opponent: str = "opponent", opened: np.void | None = None, me: str = "you") -> str:
    """The table as a self-contained SVG element, 480 × 544.

    Args:
        view: a ``VIEW`` record.
        opponent: the opponent's name.
        opened: the opponent's view, if its hand is to lie open.
        me: the name of the observing seat.
    """
    canvas = _Svg()
    _draw_table(canvas, view, opponent, opened, me)
    return canvas.element(f"The table: {_by_name(status_words(view, opponent), me)}")
