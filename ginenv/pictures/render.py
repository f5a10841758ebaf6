"""The table as a person sees it from one seat: text for a terminal, or a picture as pixels or as SVG.

Both are drawn from a view alone, so a card that the seat may not see cannot be shown unless the caller gives it (``opened``).
Runs are marked green, sets blue.
"""

from __future__ import annotations

import re
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
from ginenv.view.wording import Holding, hand_words, my_holding, opponent_holding, status_words, taken_words

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


def _hand_words(view: np.void) -> str:
    return hand_words(int(view["hand_no"]) + 1, int(view["rules"]["target"]))


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
        f"{_BOLD}Gin rummy{_PLAIN}  {_hand_words(view)}  {score}  {_limit(view)}",
        f"  {opponent:<{width}}  {_holding(theirs)}",
        f"  {'pile':<{width}}  {' '.join(shown) if shown else 'empty'}",
        f"  {'stock':<{width}}  {int(view['stock'])} cards",
        f"  {'you':<{width}}  {_holding(mine)}  {_DIM}deadwood {mine.deadwood}{_PLAIN}",
        f"  {_DIM}{taken_words(view, opponent)}{_PLAIN}".rstrip(),
        f"  {_BOLD}{status_words(view, opponent)}{_PLAIN}",
    ]
    return "\n".join(lines) + "\n"


def draw(view: np.void, opponent: str, mode: str | None) -> Any:
    """The table as text (``ansi``), as a picture (``rgb_array``), or printed (``human``); without a mode None, and a warning."""
    if mode is None:
        gym.logger.warn('render is called without a render mode; make the environment with render_mode="ansi"')
        return None
    if mode == "human":
        return print(to_text(view, opponent), flush=True)
    return to_image(view, opponent) if mode == "rgb_array" else to_text(view, opponent)


# --- picture ---------------------------------------------------------------------------------------------------------

# Wide enough for ten cards, and narrow enough for the screen of a phone, where a card is some 50 pixels wide.
WIDTH, HEIGHT = 480, 544
_CARD_W = 68
_CARD_H = 1.4 * _CARD_W
_STEP, _GAP, _MARGIN = 50, 8, 12
_FELT, _FELT_DARK, _LINE = "#265c42", "#1c4833", "#568c70"
_TEXT, _FAINT, _GOLD, _ROSE = "#f0f4ee", "#accab8", "#f0c860", "#fa8282"
_PAPER, _EDGE, _BLACK_INK, _RED_INK = "#fdfbf4", "#8d8a80", "#20222a", "#b8242f"
_KIND_RGB = {"run": "#70d682", "set": "#6eb0fa"}
# Names are cut to the first length, sentences wrapped at the second.
_NAME_LENGTH, _LINE_LENGTH = 16, 52
_SCALE = 2  # pixels are drawn larger and scaled down, for smooth edges

# Suits around (0, 0), extending about one in each direction. M moves, L draws a line, C a curve by three points.
_SUIT_CURVES = (
    "M0 -1 C.25 -.62 .95 -.2 .95 .3 C.95 .62 .7 .78 .48 .78 C.3 .78 .15 .68 .06 .52 C.1 .75 .2 .9 .36 1 L-.36 1 "
    "C-.2 .9 -.1 .75 -.06 .52 C-.15 .68 -.3 .78 -.48 .78 C-.7 .78 -.95 .62 -.95 .3 C-.95 -.2 -.25 -.62 0 -1",
    "M0 -.98 C.25 -.98 .45 -.78 .45 -.53 C.45 -.36 .36 -.22 .22 -.13 C.3 -.19 .4 -.22 .5 -.22 C.76 -.22 .96 -.02 .96 .23 "
    "C.96 .48 .76 .68 .5 .68 C.3 .68 .14 .58 .06 .42 C.1 .7 .2 .88 .36 1 L-.36 1 C-.2 .88 -.1 .7 -.06 .42 "
    "C-.14 .58 -.3 .68 -.5 .68 C-.76 .68 -.96 .48 -.96 .23 C-.96 -.02 -.76 -.22 -.5 -.22 C-.4 -.22 -.3 -.19 -.22 -.13 "
    "C-.36 -.22 -.45 -.36 -.45 -.53 C-.45 -.78 -.25 -.98 0 -.98",
    "M0 -1.05 C.2 -.65 .45 -.3 .75 0 C.45 .3 .2 .65 0 1.05 C-.2 .65 -.45 .3 -.75 0 C-.45 -.3 -.2 -.65 0 -1.05",
    "M0 1 C-.25 .62 -1 .12 -1 -.4 C-1 -.78 -.72 -.98 -.48 -.98 C-.25 -.98 -.07 -.85 0 -.6 C.07 -.85 .25 -.98 .48 -.98 "
    "C.72 -.98 1 -.78 1 -.4 C1 .12 .25 .62 0 1",
)


@cache
def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size * _SCALE)


@cache
def _outline(suit: int) -> list[complex]:
    """The polygon of a suit, x + y i: its curves, each in eight steps."""
    points: list[complex] = []
    t = np.arange(1, 9) / 8
    for command, numbers in re.findall(r"([MLC])([^MLC]*)", _SUIT_CURVES[suit]):
        given = np.array(numbers.split(), float).view(complex)
        if command == "C":
            b, c, d = given
            given = (1 - t) ** 3 * points[-1] + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
        points.extend(given)
    return points


class _Picture:
    """Rectangles, suits and texts in units of ``WIDTH`` × ``HEIGHT``, which become an SVG or pixels."""

    def __init__(self) -> None:
        self._shapes: list[tuple[str, tuple[Any, ...]]] = []

    def text(self, x: float, y: float, words: str, size: int = 16, fill: str = _TEXT, anchor: str = "start") -> None:
        """Writes words centred on the height ``y``, red suits in red; ``x`` is at their start, middle or end (``anchor``)."""
        self._shapes.append(("text", (x, y, words, size, fill, anchor)))

    def box(
        self, x: float, y: float, w: float, h: float, fill: str, outline: str = "", r: float = 7, name: str = ""
    ) -> None:
        """A rectangle with round corners; an SVG tells the name of what it shows."""
        self._shapes.append(("box", (x, y, w, h, fill, outline, r, name)))

    def card(self, x: float, y: float, card: int, outline: str = _EDGE) -> None:
        """A card with its corner and one large suit, face down if it is ``NO_CARD``; an outline marks it."""
        if card == NO_CARD:
            self.box(x, y, _CARD_W, _CARD_H, "#31508f", "#1d3263")
            self.box(x + 6, y + 6, _CARD_W - 12, _CARD_H - 12, "#31508f", "#9db4e0", 4)
            return
        suit, ink = card // 13, _RED_INK if card // 13 >= 2 else _BLACK_INK
        self.box(x, y, _CARD_W, _CARD_H, _PAPER, outline, name=card_name(card, symbols=True))
        self.text(x + 16, y + 16, RANKS[card % 13].replace("T", "10"), 22, ink, "middle")
        self._shapes.append(("suit", (x + 16, y + 38, 8, suit, ink)))
        self._shapes.append(("suit", (x + _CARD_W - 23, y + _CARD_H - 27, 15, suit, ink)))

    def svg(self, label: str) -> str:
        """A self-contained SVG element."""
        draw = {"text": _svg_text, "box": _svg_box, "suit": _svg_suit}
        shapes = "".join(draw[kind](*given) for kind, given in self._shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" style="max-width:{WIDTH}px" role="img" '
            f'aria-label="{escape(label)}" font-family="system-ui, sans-serif">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="{_FELT}"/>{shapes}</svg>'
        )

    def pixels(self) -> np.ndarray:
        """``uint8[HEIGHT, WIDTH, 3]``."""
        image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), _FELT)
        on, draw = ImageDraw.Draw(image), {"text": _pixel_text, "box": _pixel_box, "suit": _pixel_suit}
        for kind, given in self._shapes:
            draw[kind](on, *given)
        return np.asarray(image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))


def _svg_text(x: float, y: float, words: str, size: int, fill: str, anchor: str) -> str:
    # A variation selector keeps suits from being shown as emoji.
    coloured = re.sub("[♦♥]", rf'<tspan fill="{_ROSE}">\g<0></tspan>', escape(words))
    coloured = re.sub(f"[{SUIT_SYMBOLS}]", "\\g<0>\ufe0e", coloured)
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'dominant-baseline="central">{coloured}</text>'
    )


def _svg_box(x: float, y: float, w: float, h: float, fill: str, outline: str, r: float, name: str) -> str:
    edge, title = f' stroke="{outline}"' if outline else "", f"<title>{name}</title>" if name else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{r:g}" fill="{fill}"{edge}>{title}</rect>'


def _svg_suit(x: float, y: float, r: float, suit: int, fill: str) -> str:
    return f'<path transform="translate({x:g} {y:g}) scale({r:g})" d="{_SUIT_CURVES[suit]}" fill="{fill}"/>'


def _pixel_text(on: ImageDraw.ImageDraw, x: float, y: float, words: str, size: int, fill: str, anchor: str) -> None:
    font = _font(size)
    pieces = [piece for piece in re.split(f"([{SUIT_SYMBOLS}])", words) if piece]
    widths = [size * 0.95 if piece in SUIT_SYMBOLS else font.getlength(piece) / _SCALE for piece in pieces]
    x -= sum(widths) * {"start": 0, "middle": 0.5, "end": 1}[anchor]
    for piece, width in zip(pieces, widths, strict=True):
        if piece in SUIT_SYMBOLS:
            suit = SUIT_SYMBOLS.index(piece)
            _pixel_suit(on, x + width / 2, y, size * 0.42, suit, _ROSE if suit >= 2 else fill)
        else:
            on.text((x * _SCALE, y * _SCALE), piece, fill, font, "lm")
        x += width


def _pixel_box(
    on: ImageDraw.ImageDraw, x: float, y: float, w: float, h: float, fill: str, outline: str, r: float, _: str
) -> None:
    corners = [(x * _SCALE, y * _SCALE), ((x + w) * _SCALE, (y + h) * _SCALE)]
    on.rounded_rectangle(corners, r * _SCALE, fill, outline or None, _SCALE)


def _pixel_suit(on: ImageDraw.ImageDraw, x: float, y: float, r: float, suit: int, fill: str) -> None:
    # Drawn as a shape because common fonts lack suits.
    on.polygon([((x + at.real * r) * _SCALE, (y + at.imag * r) * _SCALE) for at in _outline(suit)], fill)


def _draw_holding(picture: _Picture, y: float, holding: Holding) -> None:
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
            picture.card(x + k * step, y, card)
        end = x + (len(cards) - 1) * step + _CARD_W
        if kind in _KIND_RGB:
            picture.box(x, y + _CARD_H + 6, end - x, 5, _KIND_RGB[kind], "", 2)
            picture.text((x + end) / 2, y + _CARD_H + 22, kind, 14, _KIND_RGB[kind], "middle")
        elif kind == "laid off":
            picture.text((x + end) / 2, y + _CARD_H + 22, kind, 14, _GOLD, "middle")
        x = end + _GAP


def _by_name(words: str, me: str) -> str:
    """Words addressed to the observing seat, with its name instead of "you"."""
    return words if me == "you" else re.sub(r"\byou\b", lambda _: me, words.replace("your turn", f"{me}'s turn"))


def _table(view: np.void, opponent: str, opened: np.void | None = None, me: str = "you") -> _Picture:
    """The picture; if the opponent's view is given (``opened``), its hand lies open."""
    picture = _Picture()
    mine, theirs = my_holding(view), opponent_holding(view) if opened is None else my_holding(opened)
    opponent, me = (name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…" for name in (opponent, me))
    left, right = _MARGIN, WIDTH - _MARGIN
    over = f", deadwood {int(view['deadwood'][1])}" if view["phase"] == PHASE_OVER and view["shown"] else ""
    picture.text(left, 20, opponent + over, 17)
    picture.text(right, 20, f"score {int(view['score'][0])} : {int(view['score'][1])}", 17, _TEXT, "end")
    _draw_holding(picture, 38, theirs)
    top, step = 176, 30
    picture.box(6, top - 10, WIDTH - 12, 174, _FELT_DARK, _LINE, 14)
    for k in range(min(3, (int(view["stock"]) + 9) // 10)):
        picture.card(left + 8 - 3 * k, top - 3 * k + 6, NO_CARD)
    picture.text(left + 6, top + _CARD_H + 18, f"stock {int(view['stock'])}", 15, _FAINT)
    cards = [int(card) for card in view["pile"][: view["num_pile"]]][-4:]
    for k, card in enumerate(cards):
        picture.card(left + 110 + step * k, top + 6, card, _GOLD if k == len(cards) - 1 else _EDGE)
    if not cards:
        picture.box(left + 110, top + 6, _CARD_W, _CARD_H, _FELT_DARK, _LINE)
    picture.text(left + 110, top + _CARD_H + 18, f"pile {int(view['num_pile'])}", 15, _FAINT)
    picture.text(right - 4, top + 22, _hand_words(view), 17, _TEXT, "end")
    picture.text(right - 4, top + 50, _limit(view), 17, _GOLD, "end")
    last = _by_name(taken_words(view, opponent), me)
    if view["taken"] == NO_CARD and view["drawn"] != NO_CARD:
        last = f"{me} drew {card_name(int(view['drawn']), symbols=True)}"
    picture.text(left + 6, top + 146, last, 15)
    _draw_holding(picture, 354, mine)
    words = f"{'your' if me == 'you' else me + ':'} deadwood {mine.deadwood}"
    picture.text(right, HEIGHT - 54, words, 15, _TEXT, "end")
    for k, line in enumerate(textwrap.wrap(_by_name(status_words(view, opponent), me), _LINE_LENGTH)[:2]):
        picture.text(left, HEIGHT - 54 + 18 * (k + 1), line, 15, _GOLD)
    return picture


def to_image(view: np.void, opponent: str = "opponent") -> np.ndarray:
    """The table as a picture, ``uint8[544, 480, 3]``.

    Args:
        view: a ``VIEW`` record.
        opponent: the opponent's name.
    """
    return _table(view, opponent).pixels()


def to_svg(view: np.void, opponent: str = "opponent", opened: np.void | None = None, me: str = "you") -> str:
    """The table as a self-contained SVG element, 480 × 544.

    Args:
        view: a ``VIEW`` record.
        opponent: the opponent's name.
        opened: the opponent's view, if its hand is to lie open.
        me: the name of the observing seat.
    """
    return _table(view, opponent, opened, me).svg(f"The table: {_by_name(status_words(view, opponent), me)}")
