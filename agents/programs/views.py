"""Views as plain values: Python reads the fields of a tuple many times faster than those of an array's record."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from ginenv.view.history import Move, move_arrays
from ginenv.view.view import VIEW

# Bytes of one move in ``Seen.moves``.
MOVE_BYTES = len(Move._fields)
_CODES = {"int64": "q", "uint64": "Q", "int32": "i", "int16": "h", "uint8": "B"}


class Seen(NamedTuple):
    """What the line protocol needs of one view (``ginenv.view.view.VIEW``), in the order of its fields there.

    In a pair the first value is the seat's own and the second the opponent's. ``legal`` becomes three masks: ``discards`` (ids 0 to 51),
    ``knocks`` and ``others``. ``spread`` becomes one field for each of the knocker's melds. ``lenient_knock``, ``target`` and
    ``max_drawn_hands`` are rules.

    Attributes:
        pile: the discard pile from the bottom, one byte each; only the first ``num_pile`` count.
        moves: all moves of the hand (``ginenv.view.history.Move``), four bytes each.
    """

    hand: int
    known_cards: int
    other_known_cards: int
    thrown: int
    other_thrown: int
    refused: int
    other_refused: int
    spread_0: int
    spread_1: int
    spread_2: int
    spread_3: int
    shown: int
    laid: int
    discards: int
    knocks: int
    others: int
    luck: int
    hand_luck: int
    score: int
    other_score: int
    points: int
    hand_no: int
    boxes: int
    other_boxes: int
    deadwood: int
    other_deadwood: int
    drawn_hands: int
    phase: int
    seat: int
    started: int
    limit: int
    doubled: int
    stock: int
    upcard: int
    drawn: int
    end: int
    winner: int
    knocker: int
    num_pile: int
    lenient_knock: int
    target: int
    max_drawn_hands: int
    pile: bytes
    first_upcard: int
    moves: bytes


def _layout() -> struct.Struct:
    """The struct that reads the fields of ``Seen``, except the moves, from the bytes of a view."""
    fields: dict[str, tuple[np.dtype, int]] = {name: VIEW.fields[name][:2] for name in VIEW.names}  # type: ignore
    rules, start = fields.pop("rules")
    fields |= {name: (rules[name], start + rules.fields[name][1]) for name in rules.names}  # type: ignore
    form, place = "=", 0
    for name, (kind, offset) in sorted(fields.items(), key=lambda field: field[1][1]):
        if name == "pile":
            code = f"{kind.itemsize}s"
        elif name in Seen._fields or name in ("legal", "spread"):
            code = f"{kind.itemsize // kind.base.itemsize}{_CODES[kind.base.name]}"
        else:
            continue
        form += f"{offset - place}x{code}"
        place = offset + kind.itemsize
    return struct.Struct(form)


_LAYOUT = _layout()


def read_views(views: np.ndarray) -> list[Seen]:
    """The views of a batch, ``VIEW[n]``, as plain values."""
    table, counts = move_arrays(views)
    moves, longest = table.tobytes(), table[0].nbytes if len(views) else 0
    content = views.tobytes()
    size = VIEW.itemsize
    return [
        Seen._make((*_LAYOUT.unpack_from(content, i * size), moves[i * longest : i * longest + MOVE_BYTES * count]))
        for i, count in enumerate(counts.tolist())
    ]
