"""Damaged tables of decisions: bytes, columns, types, values and what the table says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from agents.arena.matches import MatchSettings
from agents.datasets.load import Games
from agents.datasets.schema import COLUMNS
from agents.datasets.source import PlayedGames
from agents.datasets.store import check_games, write_games
from tests.support.mutations import NASTY, Report, changed_bytes, changed_values, check_reader

TYPES = [pa.int8(), pa.uint64(), pa.float64(), pa.string(), pa.binary(), pa.timestamp("ns"), pa.decimal128(38, 5)]
TYPES += [pa.list_(pa.int8()), pa.dictionary(pa.int8(), pa.string()), pa.struct([("a", pa.int8())])]


def write(path: Path) -> bytes:
    """A right table of two hands."""
    write_games(
        path, PlayedGames(("simple", "formula"), 2, MatchSettings(unit="hands")), {"players": ["simple", "formula"]}
    )
    return path.read_bytes()


def read(path: Path) -> None:
    """Reads a table as training does, and as ``gin games check`` does."""
    games = Games(path)
    for batch in games.batches(64, player="simple", also=games.columns, seed=1):
        assert batch["observation"].shape == (len(batch["action"]), 520)
    check_games(path)


def _filled(kind: pa.DataType, count: int, rng: np.random.Generator) -> pa.Array:
    """A column of a type, of values that fit it, or of nulls."""
    for value in rng.permutation(len(NASTY))[:12]:
        try:
            return pa.array([NASTY[value]] * count, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return pa.nulls(count, kind)


def changed_table(table: pa.Table, rng: np.random.Generator) -> tuple[str, pa.Table]:
    """A table with one change, and what it was."""
    names = table.column_names
    name = names[rng.integers(len(names))]
    place, count = names.index(name), len(table)
    kind = int(rng.integers(7))
    if kind == 0:
        return f"{name} lost", table.drop_columns([name])
    if kind == 1:
        return f"{name} twice", table.append_column(name, table[name])
    if kind == 2:
        other = TYPES[rng.integers(len(TYPES))]
        return f"{name} as {other}", table.set_column(place, name, _filled(other, count, rng))
    if kind == 3:
        return f"{name} filled", table.set_column(
            place, table.schema.field(name), _filled(COLUMNS[name].type, count, rng)
        )
    if kind == 4:
        mask = pa.array(rng.random(count) < 0.1)
        repeated = pa.types.is_dictionary(table[name].type)
        plain = (table[name].cast(pa.string()) if repeated else table[name]).combine_chunks()
        mixed = pc.if_else(mask, plain.take(pa.array(rng.permutation(count))), plain)
        return f"{name} mixed", table.set_column(place, name, mixed.cast(table[name].type))
    if kind == 5:
        return "rows moved", table.take(pa.array(rng.integers(0, count, rng.integers(0, 2 * count))))
    messages, about = changed_values(json.loads(table.schema.metadata[b"ginenv"]), rng)
    return f"about: {messages}", table.replace_schema_metadata({"ginenv": json.dumps(about)})


def check(directory: Path, seed: int, count: int) -> Report:
    """Reads damaged tables: half of them with changed bytes."""
    rng = np.random.default_rng(seed)
    path = directory / "games.parquet"
    right = write(path)
    table = pq.read_table(path)
    read(path)

    def cases() -> Iterator[tuple[str, bytes]]:
        for number in range(count):
            if number % 2:
                yield "bytes", changed_bytes(right, rng)
            else:
                name, changed = changed_table(table, rng)
                sink = pa.BufferOutputStream()
                pq.write_table(changed, sink)
                yield name, sink.getvalue().to_pybytes()

    def read_bytes(content: bytes) -> None:
        path.write_bytes(content)
        read(path)

    return check_reader(cases(), read_bytes)
