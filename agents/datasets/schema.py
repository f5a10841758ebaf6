"""The columns of a table of decisions: their types, what they mean, and which ones the seat to move could not see; and the table's card."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
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
        always: whether every file has it; other columns are present only on request.
    """

    type: pa.DataType
    about: str
    hidden: bool = False
    always: bool = True


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
    "expert_action": Column(pa.int8(), "what the expert plays here, of the same view", hidden=True, always=False),
    "expert_actions": Column(
        pa.list_(pa.int8()),
        "the actions that the expert compared; empty where it had no choice",
        hidden=True,
        always=False,
    ),
    "expert_values": Column(
        pa.list_(pa.float32()), "its value of each of them, as the expert counts it", hidden=True, always=False
    ),
}


def schema_of(about: dict[str, Any], further: Collection[str]) -> pa.Schema:
    """The schema of a file; every field says what it holds and whether it was hidden from the player.

    Args:
        about: how the file was made, as plain JSON values.
        further: names of the columns that are present besides those that always are.
    """
    fields = [
        pa.field(name, column.type, metadata={"about": column.about, "hidden": str(column.hidden).lower()})
        for name, column in COLUMNS.items()
        if column.always or name in further
    ]
    hidden = ",".join(field.name for field in fields if COLUMNS[field.name].hidden)
    return pa.schema(fields, metadata={"ginenv": json.dumps(about), "hidden": hidden})


def card_path(path: str | Path) -> Path:
    """The path of a table's card: ``games.md`` for ``games.parquet``."""
    return Path(path).with_suffix(".md")


def is_card(card: Path, path: Path) -> bool:
    """Whether a file is the card of such a table."""
    with card.open(encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n") == f"# {path.name}"


_CARD = """# {name}

Gin rummy, one row a decision: {counts}. Parquet, compressed with zstd; a row group holds whole hands.

## How it was made

{made}

Deals come from the stream for learning (`agents.deal_streams`), which nothing that is reported is measured on. The same
command writes the same rows, but where a program from outside plays. `gin games check FILE` plays every hand again
and compares.

## Columns

| column | what it holds | hidden from the seat to move |
| --- | --- | --- |
{columns}

A policy that reads a hidden column cheats; loaders leave them out unless they are asked for by name. The schema's
metadata says the same: each field has `about` and `hidden`.

## Limits

- The actions are those of the players named above: they show how these play, not how gin rummy ought to be played,
  nor how people play it.
- What a hand or a game came to is mostly luck with the cards: `points` has a standard deviation of 25 to 30.
- Decisions of one hand, and hands of one game, are not independent; split by `game`.
"""


def data_card(path: str | Path, columns: list[str], about: dict[str, Any], counts: dict[str, int]) -> str:
    """The card of a table as Markdown.

    Args:
        path: path of the table.
        columns: names of its columns.
        about: how it was made; values that are empty are left out.
        counts: numbers of ``games``, ``hands`` and ``decisions``.
    """
    told = {name: ", ".join(value) if isinstance(value, list) else value for name, value in about.items()}
    rows = [(name, COLUMNS[name]) for name in columns]
    return _CARD.format(
        name=Path(path).name,
        counts=", ".join(f"{value:,} {what}" for what, value in counts.items()),
        made="\n".join(f"- {name}: {value}" for name, value in told.items() if value not in ("", None)),
        columns="\n".join(f"| `{name}` | {column.about} | {'yes' if column.hidden else ''} |" for name, column in rows),
    )
