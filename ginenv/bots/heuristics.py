"""The built-in bots, which are parameter sets of one player.

| name | idea |
|---|---|
| ``random`` | uniform over the legal actions |
| ``easy`` | draws as ``formula``, always discards its largest unused card, knocks at once (GR's easy game) |
| ``simple`` | the 2021 challenge's baseline: melds, least deadwood, knocks at once, ignores its opponent |
| ``formula`` | fixed formulas: ways to fill, dead cards, danger; knocks early or plays for gin (GR's opponent; its choices are hints) |
| ``camper`` | never knocks below gin |
| ``knocker`` | knocks in its first turns, then plays for gin |
| ``style`` | any of these, or a novice's habit, with changed numbers: ``style:base=hoards-pairs,draw=always,knock=5`` |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ginenv.bots.style_kernels import DISCARD_RULES, DRAW_RULES, FEARS, STYLE, act_batch, decide
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, check_choice, must_be, unknown_name
from ginenv.tables.players import BasePlayer
from ginenv.view.view import VIEW

ALL_OF_PILE = 32
_AT_ONCE: dict[str, Any] = {"knock": 10, "turns": 99, "late": 10}
_THINKS: dict[str, Any] = {"draw": "gain", "discard": "cost", "memory": ALL_OF_PILE, "infer": 1, "bar": 99.0}
_NOVICE = _AT_ONCE | {"draw": "meld", "discard": "cost", "memory": 3, "infer": 0, "ways": 0.5, "noise": 2.0}
# Weights found by matches (docs/log/bots_and_responses.md).
_GIN_HUNT = {"ahead": 2.5, "gin": 60.0, "decay": 0.95, "ways": 2.0, "danger": 18.0}

BOTS: dict[str, dict[str, Any]] = {
    "random": {"blunder": 1.0},
    "easy": _THINKS | _AT_ONCE | {"discard": "largest"},
    "simple": _AT_ONCE | {"draw": "meld", "discard": "least"},
    "formula": _THINKS | {"knock": 10, "turns": 4, "late": 0, "ways": 1.0, "danger": 4.0},
    "camper": _THINKS | _GIN_HUNT | {"knock": 0, "turns": 0, "late": 0},
    "knocker": _THINKS | _GIN_HUNT | {"knock": 10, "turns": 4, "late": 0},
}
# Habits of beginners: further bases of ``style``, in addition to the bots.
NOVICES: dict[str, dict[str, Any]] = {
    "takes-all": _NOVICE | {"draw": "always"},
    "takes-none": _NOVICE | {"draw": "never"},
    "hoards-pairs": _NOVICE | {"pairs": 10.0},
    "prefers-sets": _NOVICE | {"pairs": 4.0},
    "prefers-runs": _NOVICE | {"runs": 4.0},
    "sheds-high": _NOVICE | {"high": -1.5},
    "keeps-high": _NOVICE | {"high": 1.0},
    "early-knocker": _NOVICE | {"turns": 3, "late": 0},
    "blunderer": _NOVICE | {"blunder": 0.15},
}
STYLES = BOTS | NOVICES

_RULES: dict[str, tuple[str, ...]] = {"draw": DRAW_RULES, "discard": DISCARD_RULES, "unafraid": FEARS}
_MAX = {"knock": 10, "turns": 99, "late": 10, "memory": ALL_OF_PILE, "infer": 1, "low_bait": 10, "nerve": 10}
_MAX |= dict.fromkeys(("decay", "blunder", "pair_bait", "run_bait", "overlook", "patience"), 1)
_SIGNED = ("high", "shed")


def style(base: str = "simple", **options: Any) -> np.ndarray:
    """A style record: a named bot with some of its numbers changed.

    Args:
        base: a name in ``STYLES``.
        options: fields of ``STYLE``; rules are given by their names in ``DRAW_RULES``, ``DISCARD_RULES`` and ``FEARS``.

    Returns:
        ``STYLE[1]``.

    Raises:
        GinError: for an unknown base, option or rule, or a number out of range.
    """
    if base not in STYLES:
        raise GinError(unknown_name("style base", base, STYLES))
    record = np.zeros(1, STYLE)
    names = ("base", *(STYLE.names or ()))
    for name, value in (STYLES[base] | options).items():
        if name not in names:
            raise GinError(unknown_name("option of style", name, names))
        record[name] = _checked(name, value)
    return record


def _checked(name: str, value: Any) -> float:
    if name in _RULES:
        return check_choice(f"style option {name}", value, _RULES[name])
    least, most = (-100 if name in _SIGNED else 0), _MAX.get(name, 1000)
    integer = STYLE[name] == np.uint8
    if not isinstance(value, int | float) or not least <= value <= most or (integer and value != int(value)):
        kind = "a whole number" if integer else "a number"
        raise GinError(must_be(f"style option {name}", f"{kind} from {least} to {most}", value))
    return value


class StylePlayer(BasePlayer):
    """Plays a style, or a pool of styles, one for each game.

    Args:
        styles: ``STYLE[m]``; game ``slot`` is played by style ``slot % m``.
        seed: mixed with the views' own random words.

    Raises:
        GinError: if ``styles`` are not style records.
    """

    name = "style"

    def __init__(self, styles: np.ndarray, seed: int = 0) -> None:
        super().__init__(seed)
        if styles.dtype != STYLE or styles.ndim != 1 or not len(styles):
            raise GinError(must_be("styles", "STYLE[m], m above 0", f"{styles.dtype} of shape {styles.shape}"))
        self.styles = styles

    @property
    def compiled(self) -> tuple[Any, np.ndarray]:
        """The kernel that decides, and the styles (see ``ginenv.tables.compiled_players``)."""
        return decide, self.styles

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        views = as_batch(views, VIEW, "VIEW")
        actions = np.empty(len(views), np.int64)
        index = np.zeros(len(views), np.int64) if slots is None else np.asarray(slots, np.int64) % len(self.styles)
        act_batch(views, self.styles, index, np.uint64(self.seed % 2**64), actions)
        return actions


def make_style(seed: int = 0, base: str = "simple", **options: Any) -> StylePlayer:
    """A bot with changed numbers; see ``style``."""
    return StylePlayer(style(base, **options), seed)


def _maker(base: str) -> Callable[..., StylePlayer]:
    """A function that makes a bot, which has no options."""

    def make(seed: int = 0) -> StylePlayer:
        return make_style(seed, base)

    return make


make_random, make_easy, make_simple, make_formula, make_camper, make_knocker = map(_maker, BOTS)
