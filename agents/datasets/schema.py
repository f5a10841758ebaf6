"""The columns of a table of decisions: their types, what they mean, and which ones the seat to move could not see."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pyarrow as pa

FORMAT_VERSION = 1
_NAME = pa.dictionary(pa.int16(), pa.string())


class Column(NamedTuple):
    """A column.

    Attributes:
        type: its Arrow type.
        about: what it holds.
        hidden: whether the seat to move could not see it; a policy must not read a hidden column.
    """

    type: pa.DataType
    about: str
    hidden: bool = False


COLUMNS = {
    "game": Column(pa.int64(), "number of the game in the file; single hands are games of one hand"),
    "hand": Column(pa.int64(), "number of the hand in the file"),
    "ply": Column(pa.int16(), "decisions in the hand before this one"),
    "position": Column(
        pa.string(),
        "everything before the decision, deck and seeds included, in the form `gin1`",
        hidden=True,
    ),
    "seat": Column(pa.int8(), "seat to move, 0 or 1"),
    "player": Column(_NAME, "name of the player in that seat"),
    "opponent": Column(_NAME, "name of the other player"),
    "phase": Column(_NAME, "upcard, draw, discard, spread, layoff or wall"),
    "cards": Column(pa.int64(), "cards of the seat to move; bit 13 * suit + rank, suits S C D H, ranks A to K"),
    "other_cards": Column(pa.int64(), "cards of the other seat, in the same form", hidden=True),
    "legal_cards": Column(pa.int64(), "legal actions 0 to 51, as bits"),
    "legal_knocks": Column(pa.int64(), "legal actions 52 to 103, as bits"),
    "legal_others": Column(pa.int8(), "legal actions 104 to 106, as bits"),
    "action": Column(pa.int8(), "the action played, 0 to 106 (`ginenv.action_name` says what it is)"),
    "end": Column(_NAME, "how the hand ended; not over in a record that breaks off", hidden=True),
    "points": Column(pa.int16(), "what the hand brought the seat to move; negative: the other seat", hidden=True),
    "won": Column(pa.int8(), "1, 0 or -1: the game won, undecided or lost; null for single hands", hidden=True),
}


def schema_of(about: dict[str, Any]) -> pa.Schema:
    """The schema of a file; every field says what it holds and whether it was hidden from the player.

    Args:
        about: how the file was made, as plain JSON values.
    """
    fields = [
        pa.field(name, column.type, metadata={"about": column.about, "hidden": str(column.hidden).lower()})
        for name, column in COLUMNS.items()
    ]
    hidden = ",".join(name for name, column in COLUMNS.items() if column.hidden)
    return pa.schema(fields, metadata={"ginenv": json.dumps(about), "hidden": hidden})
