"""Cards as drawings: suits as curves, faces and backs as SVG. A card is 100 wide and 140 high, its upper left corner at (0, 0)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ginenv.engine.cards import RANKS, SUITS, card_name

CARD_WIDTH, CARD_HEIGHT = 100, 140
PAPER, BLACK, RED = "#fdfbf4", "#20222a", "#b8242f"
_GOLD, _GOLD_LINE, _SKIN, _HAIR = "#e5b94e", "#8a6414", "#f6dfc4", "#7b5331"
_FONT = "Georgia, 'Times New Roman', 'DejaVu Serif', serif"

# Suits around (0, 0), extending about one in each direction. M moves, L draws a line, C a curve by three points.
SUIT_CURVES = (
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
# The positions of the pips of two to ten: columns, and rows from the top. Pips below the middle are upside down.
_LEFT, _MIDDLE, _RIGHT = 36, 50, 64
_ENDS, _THREE, _FOUR = (32, 108), (32, 70, 108), (32, 57.3, 82.7, 108)
_PIPS: dict[int, Sequence[tuple[float, float]]] = {
    2: [(_MIDDLE, y) for y in _ENDS],
    3: [(_MIDDLE, y) for y in _THREE],
    4: [(x, y) for x in (_LEFT, _RIGHT) for y in _ENDS],
    5: [(x, y) for x in (_LEFT, _RIGHT) for y in _ENDS] + [(_MIDDLE, 70)],
    6: [(x, y) for x in (_LEFT, _RIGHT) for y in _THREE],
    7: [(x, y) for x in (_LEFT, _RIGHT) for y in _THREE] + [(_MIDDLE, 51)],
    8: [(x, y) for x in (_LEFT, _RIGHT) for y in _THREE] + [(_MIDDLE, 51), (_MIDDLE, 89)],
    9: [(x, y) for x in (_LEFT, _RIGHT) for y in _FOUR] + [(_MIDDLE, 70)],
    10: [(x, y) for x in (_LEFT, _RIGHT) for y in _FOUR] + [(_MIDDLE, 44.6), (_MIDDLE, 95.4)],
}
_BODY = '<path d="M30 70 C30 60 38 56 50 56 C62 56 70 60 70 70Z" fill="{ink}"/>'
_HEAD = f'<circle cx="50" cy="45" r="9.5" fill="{_SKIN}" stroke="{_HAIR}" stroke-width=".8"/>'
_FACE = (
    '<path d="M46.5 44.5h.1M53.5 44.5h.1M47.6 49.2q2.4 1.5 4.8 0" stroke="#5a3a22" stroke-width="1.5" '
    'stroke-linecap="round" fill="none"/>'
)
_SASH = f'<path d="M44 56.5 L50 66 L56 56.5 L54 56 L50 61 L46 56Z" fill="{_GOLD}"/>'
_GILT = f'fill="{_GOLD}" stroke="{_GOLD_LINE}" stroke-width=".8" stroke-linejoin="round"'
# The upper half of a figure; the lower half is the same, turned.
_FIGURES = {
    "J": (
        f'<path d="M40 46 C38 56 41 57 42 56 L42 44Z M60 46 C62 56 59 57 58 56 L58 44Z" fill="{_HAIR}"/>'
        + _BODY
        + _HEAD
        + '<path d="M38.5 40 C37 31 44 27.5 50 28 C57 27.5 63 31 61.5 40 C54 36.5 46 36.5 38.5 40Z" fill="{ink}"/>'
        + f'<path d="M39 39.4 C46 36 54 36 61 39.4" fill="none" stroke="{_GOLD}" stroke-width="1.8"/>'
        + f'<path d="M58 34 C63 31 66 26 65.5 21.5 C60 23 56 28 56 33Z" {_GILT}/>'
        + _FACE
        + _SASH
    ),
    "Q": (
        f'<path d="M50 32 C36 32 38 48 35.5 57 C42 61 58 61 64.5 57 C62 48 64 32 50 32Z" fill="{_HAIR}"/>'
        + _BODY
        + _HEAD
        + f'<path d="M40.5 38 L40 29 L45 33.4 L50 27 L55 33.4 L60 29 L59.5 38 C53 35.6 47 35.6 40.5 38Z" {_GILT}/>'
        + '<g fill="#fff" stroke="#8a6414" stroke-width=".7"><circle cx="40" cy="28.5" r="1.7"/><circle cx="50" cy="26.3" r="1.9"/>'
        + '<circle cx="60" cy="28.5" r="1.7"/></g>'
        + _FACE
        + f'<g fill="{_GOLD}"><circle cx="44" cy="58.3" r="1.3"/><circle cx="47" cy="60.2" r="1.3"/><circle cx="50" cy="61" r="1.6"/>'
        + '<circle cx="53" cy="60.2" r="1.3"/><circle cx="56" cy="58.3" r="1.3"/></g>'
    ),
    "K": (
        _BODY
        + _HEAD
        + f'<path d="M40.7 46 C40 58 46 60.5 50 61 C54 60.5 60 58 59.3 46 C57 50 54 48.4 50 48.4 C46 48.4 43 50 40.7 46Z" fill="{_HAIR}"/>'
        + '<path d="M46.5 43.5h.1M53.5 43.5h.1" stroke="#5a3a22" stroke-width="1.5" stroke-linecap="round"/>'
        + '<path d="M48 51.4h4" stroke="#f6dfc4" stroke-width="1.2" stroke-linecap="round"/>'
        + f'<path d="M39.5 38.5 L38 25.5 L44.5 31 L50 22.5 L55.5 31 L62 25.5 L60.5 38.5 C53 36.2 47 36.2 39.5 38.5Z" {_GILT}/>'
        + '<path d="M50 24v-5M47.7 21h4.6" stroke="#8a6414" stroke-width="1.5"/>'
        + '<circle cx="50" cy="33" r="1.8" fill="{ink}"/><circle cx="44" cy="34.5" r="1.2" fill="{ink}"/>'
        + '<circle cx="56" cy="34.5" r="1.2" fill="{ink}"/>'
    ),
}
_FRAME = f'<rect width="100" height="140" rx="9" fill="{PAPER}" stroke="#8d8a80"/>'


def ink_of(card: int) -> str:
    """The colour of a card's suit."""
    return RED if card // 13 >= 2 else BLACK


def suit_svg(suit: int, x: float, y: float, r: float, fill: str, turned: bool = False) -> str:
    """A suit symbol centred on a point."""
    size = f"{-r:g}" if turned else f"{r:g}"
    return f'<path transform="translate({x:g} {y:g}) scale({size})" d="{SUIT_CURVES[suit]}" fill="{fill}"/>'


def _corner(card: int) -> str:
    rank = RANKS[card % 13].replace("T", "10")
    tight = ' textLength="19" lengthAdjust="spacingAndGlyphs"' if rank == "10" else ""
    return (
        f'<text x="13" y="25" font-family="{_FONT}" font-size="25" font-weight="bold" text-anchor="middle" '
        f'fill="{ink_of(card)}"{tight}>{rank}</text>' + suit_svg(card // 13, 13, 37, 7, ink_of(card))
    )


def _middle(card: int) -> str:
    suit, rank, ink = card // 13, RANKS[card % 13], ink_of(card)
    if rank == "A":
        return suit_svg(suit, 50, 70, 23, ink)
    if rank not in _FIGURES:
        return "".join(suit_svg(suit, x, y, 8, ink, turned=y > 71) for x, y in _PIPS[card % 13 + 1])
    half = _FIGURES[rank].replace("{ink}", ink) + suit_svg(suit, 34, 28, 5.5, ink)
    return (
        f'<rect x="26.5" y="17.5" width="47" height="105" rx="3" fill="#f5edda" stroke="{ink}" stroke-opacity=".55"/>'
        f'{half}<g transform="rotate(180 50 70)">{half}</g><path d="M27 70h46" stroke="{_GOLD}" stroke-width="2.4"/>'
    )


@cache
def face_svg(card: int) -> str:
    """A card face up: elements of an SVG."""
    corner = _corner(card)
    return f'{_FRAME}{corner}<g transform="rotate(180 50 70)">{corner}</g>{_middle(card)}'


def _lattice() -> str:
    lines = "".join(f"M{x} 8 l124 124 M{x + 124} 8 l-124 124 " for x in range(-118, 100, 12))
    return f'<path d="{lines}" stroke="#9db4e0" stroke-width="1.6" fill="none"/>'


def _waves() -> str:
    rows = "".join(f"M{-4 if row % 2 else -14} {14 + row * 9} " + "q10 -11 20 0 " * 7 for row in range(15))
    return f'<path d="{rows}" stroke="#e6b0a8" stroke-width="1.8" fill="none"/>'


# For each back: its colour, the colour of its edge, and what is drawn on it.
_BACKS = {
    "lattice": ("#31508f", "#1d3263", _lattice),
    "waves": ("#8f2f2f", "#5e1a1a", _waves),
}
BACKS = tuple(_BACKS)


@cache
def back_svg(name: str = BACKS[0]) -> str:
    """A card face down: elements of an SVG.

    Args:
        name: one of ``BACKS``.
    """
    ground, edge, draw = _BACKS[name]
    return (
        f'<rect width="100" height="140" rx="9" fill="{PAPER}" stroke="{edge}"/>'
        f'<svg x="6" y="6" width="88" height="128" viewBox="6 6 88 128"><rect x="6" y="6" width="88" height="128" fill="{ground}"/>'
        f'{draw()}</svg><rect x="6" y="6" width="88" height="128" rx="5" fill="none" stroke="{edge}" stroke-width="1.5"/>'
    )


@cache
def card_sheet() -> str:
    """All cards and backs as symbols of one SVG file, for ``<use href="cards.svg#7C">``; the ids are the names of cards and backs.

    A page may colour clubs and diamonds, by the CSS variables ``--clubs`` and ``--diamonds``.
    """
    symbols = {back: back_svg(back) for back in BACKS}
    for card in range(13 * len(SUITS)):
        symbols[card_name(card)] = svg = face_svg(card)
        if variable := {"C": "--clubs", "D": "--diamonds"}.get(SUITS[card // 13]):
            symbols[card_name(card)] = svg.replace(f'"{ink_of(card)}"', f'"var({variable}, {ink_of(card)})"')
    drawn = "".join(f'<symbol id="{name}" viewBox="0 0 100 140">{svg}</symbol>' for name, svg in symbols.items())
    return f'<svg xmlns="http://www.w3.org/2000/svg">{drawn}</svg>'
