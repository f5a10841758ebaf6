"""Tables of decisions as Parquet files: written group by group beside the old file, and read back, replaying every hand.

Strangers may have written a file that is read: its columns, sizes and values are checked before they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from agents.arena.matches import summed
from agents.datasets.rows import Decisions, Hands, columns_of, decisions_of
from agents.datasets.schema import COLUMNS, FORMAT_VERSION, schema_of
from agents.files import parse_json, write_atomic, writing
from agents.programs.player import fault_text
from ginenv.engine.engine import STATE
from ginenv.errors import GinError, must_be, quoted, reason_of
from ginenv.hands.text import parse_position

Progress = Callable[[int], None]
# Its functions are made at run time, so type checkers know none of them.
pc: Any = pyarrow.compute
# Columns with few different words.
_REPEATED = ("player", "opponent", "phase", "end")
# Columns from which hands are played again.
_PLAYED = ("position", "hand", "action")
# Of one row group: what is written has some ten thousand rows, at most some hundred thousand. Of a name or position, in bytes.
MAX_ROWS, MAX_BYTES, MAX_TEXT = 1 << 18, 1 << 29, 1 << 11
# Why a file ends early after an interrupt.
INTERRUPTED = "interrupted"


class DatasetError(GinError):
    """A table of decisions that cannot be used."""


@dataclass(frozen=True)
class WriteResult:
    """What was written.

    Attributes:
        games: number of games.
        hands: number of hands.
        rows: number of decisions.
        interrupted: why the file ends early: ``INTERRUPTED`` or an error's message; otherwise empty.
        faults: faults of outside programs, with the hands that they forfeited, which are not in the file.
    """

    games: int = 0
    hands: int = 0
    rows: int = 0
    interrupted: str = ""
    faults: Sequence[dict[str, Any]] = ()


def write_games(
    path: str | Path, groups: Iterable[Hands], about: dict[str, Any], progress: Progress | None = None
) -> WriteResult:
    """Writes a table of decisions.

    Args:
        path: the file; an existing file is replaced at the end.
        groups: the hands; each group becomes a row group.
        about: how they were made, as plain JSON values; kept in the file.
        progress: called with the number of games written.

    Returns:
        What was written: after an interrupt or an error of a player, what had been finished by then.

    Raises:
        FileError: if the file cannot be written.
        GinError: if a player fails before anything was finished.
        KeyboardInterrupt: after an interrupt before anything was finished.
    """
    about = {"format": FORMAT_VERSION, **about}
    written, schema = WriteResult(), schema_of(about)

    def write(temporary: str) -> None:
        nonlocal written
        writer = _writer(temporary, schema)
        try:
            for group in groups:
                written = replace(written, faults=summed([*written.faults, *group.faults]))
                if not len(group.states):
                    continue
                table = table_of(group, schema, written.hands)
                writer.write_table(table, row_group_size=len(table))
                hands, rows = written.hands + len(group.states), written.rows + len(table)
                written = replace(written, games=int(group.games[-1]) + 1, hands=hands, rows=rows)
                if progress is not None:
                    progress(written.games)
            if written.faults and not written.rows:
                raise GinError(f"every hand was forfeited; {fault_text(written.faults[0])}")
        except (GinError, KeyboardInterrupt) as error:
            if not written.rows:
                raise
            written = replace(written, interrupted=str(error) if isinstance(error, GinError) else INTERRUPTED)
        finally:
            writer.close()

    with writing(path):
        write_atomic(path, write)
    return written


def _writer(path: str, schema: pa.Schema) -> pq.ParquetWriter:
    # A position repeats nearly all of the one before it.
    encoding = {"position": "DELTA_BYTE_ARRAY"}
    repeated: Any = list(_REPEATED)
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 9, "write_page_checksum": True}
    return pq.ParquetWriter(path, schema, use_dictionary=repeated, column_encoding=encoding, **options)


def table_of(hands: Hands, schema: pa.Schema, first: int) -> pa.Table:
    """The decisions of hands as a table; the first hand gets number ``first``."""
    decisions = decisions_of(hands.states)
    columns = columns_of(hands, decisions)
    columns["hand"] = columns["hand"] + first
    arrays = [_arrow(columns[field.name], field.type, len(decisions.hand)) for field in schema]
    return pa.table([array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema)


def _arrow(values: Any, kind: pa.DataType, count: int) -> pa.Array:
    """A column as Arrow; text is given as codes and the words that they stand for."""
    if isinstance(values, tuple):
        codes, words = values
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words, pa.string()))
    return pa.nulls(count, kind) if values is None else pa.array(values, kind)


def open_games(path: str | Path) -> tuple[pq.ParquetFile, dict[str, Any]]:
    """Opens a table of decisions; returns the file and how it was made.

    Raises:
        DatasetError: if the file cannot be read, is from another version, or has other columns.
    """
    if not Path(path).is_file():
        raise DatasetError(f"{path} is {'no file' if Path(path).exists() else 'not there'}")
    try:
        metadata = pq.read_metadata(path)
        chunks = [
            metadata.row_group(group).column(place)
            for group in range(metadata.num_row_groups)
            for place in range(metadata.num_columns)
        ]
        # Texts stay in their dictionaries: a long one that every row repeats would fill the memory. Those kept as differences cannot
        # be read so, and hold at most 2 GiB.
        texts = {*_REPEATED, "position"} - {c.path_in_schema for c in chunks if "DELTA_BYTE_ARRAY" in c.encodings}
        file = pq.ParquetFile(path, metadata=metadata, read_dictionary=[*texts], page_checksum_verification=True)
        schema = file.schema_arrow
        stored = (schema.metadata or {}).get(b"ginenv")
        about = None if stored is None else parse_json(stored)
    except (OSError, ValueError, KeyError, pa.ArrowException, GinError) as error:
        raise DatasetError(f"{path} cannot be read as a table of decisions: {_line(error)}") from None
    if not isinstance(about, dict):
        raise DatasetError(f"{path} is no table of decisions that gin games wrote")
    if about.get("format") != FORMAT_VERSION:
        raise DatasetError(
            f"{path} has format {quoted(about.get('format'))}; this version reads format {FORMAT_VERSION}"
        )
    players = about.setdefault("players", [])
    if not isinstance(players, list) or not all(isinstance(name, str) for name in players):
        raise DatasetError(must_be(f"{path}: players", "a list of names", players))
    for name, column in COLUMNS.items():
        if (count := schema.names.count(name)) != 1:
            raise DatasetError(f"{path} has {count} columns {name!r}; a table of decisions has one")
        if _plain(schema.field(name).type) != _plain(column.type):
            raise DatasetError(
                must_be(f"{path}: the type of column {name!r}", str(column.type), str(schema.field(name).type))
            )
    return file, about


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without the dictionary in which its values may be kept."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _line(error: Exception) -> str:
    return (reason_of(error).strip().splitlines() or [type(error).__name__])[0][:300]


def read_group(
    path: str | Path, file: pq.ParquetFile, group: int, columns: Iterable[str] = COLUMNS
) -> tuple[pa.Table, np.ndarray, Decisions]:
    """A row group of an open table, in which texts are dictionaries; its hands, ``STATE[h]``, played again; and their decisions.

    Args:
        path: the file's path, for errors.
        file: the open file.
        group: number of the row group.
        columns: names of the columns that are read besides those from which the hands are played.

    Raises:
        DatasetError: if it cannot be read, is too large, lacks values, or does not replay.
    """
    where = f"{path}: row group {group + 1} of {file.num_row_groups}"
    try:
        size = file.metadata.row_group(group)
        if not 0 < size.num_rows <= MAX_ROWS or size.total_byte_size > MAX_BYTES:
            raise DatasetError(
                f"{where} has {size.num_rows:,} rows in {size.total_byte_size:,} bytes; allowed are 1 to {MAX_ROWS:,} rows "
                f"in {MAX_BYTES:,} bytes"
            )
        table = file.read_row_group(group, columns=[*{*_PLAYED, *columns}]).unify_dictionaries()
        table.validate(full=True)
        for name in table.column_names:
            if table[name].null_count and name != "won":
                raise DatasetError(f"{where}: column {name!r} lacks values")
            if pa.types.is_string(_plain(table[name].type)) and _longest(table[name]) > MAX_TEXT:
                raise DatasetError(f"{where}: column {name!r} has a text of more than {MAX_TEXT:,} bytes")
        return table, *_replayed(table)
    except DatasetError:
        raise
    except (OSError, ValueError, KeyError, pa.ArrowException, GinError) as error:
        raise DatasetError(f"{where} cannot be read: {_line(error)}") from None


def _longest(column: pa.ChunkedArray) -> int:
    """The length of a column's longest text, in bytes."""
    texts = [chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk for chunk in column.chunks]
    return max(pc.max(pc.binary_length(text)).as_py() or 0 for text in texts)


def _last_rows(table: pa.Table) -> np.ndarray:
    numbers = table["hand"].to_numpy()
    return np.flatnonzero(np.r_[numbers[1:] != numbers[:-1], True])


def _replayed(table: pa.Table) -> tuple[np.ndarray, Decisions]:
    """The hands of a table from their first positions and the actions, and their decisions."""
    starts = np.r_[0, _last_rows(table)[:-1] + 1]
    actions = np.split(table["action"].to_numpy().astype(np.int64), starts[1:])
    states = np.zeros(len(starts), STATE)
    for place, line in enumerate(table["position"].take(pa.array(starts)).to_pylist()):
        hand = parse_position(line)
        if hand.history:
            raise GinError("the first row of a hand is not its first decision")
        hand.push_all(actions[place].tolist())
        states[place] = hand.state[0]
    return states, decisions_of(states)


def _hands_of(table: pa.Table, states: np.ndarray) -> Hands:
    """The hands of a row group. No position says who sat where or how the game ended: both are taken from each hand's last row."""
    seats, ends = table["seat"].to_numpy(), _last_rows(table)
    names, others = table["player"].to_pylist(), table["opponent"].to_pylist()
    players = [(names[i], others[i]) if seats[i] == 0 else (others[i], names[i]) for i in ends]
    won = None
    if not table["won"].null_count:
        last = table["won"].to_numpy()[ends].astype(np.int8)
        mine = np.where(seats[ends] == 0, last, -last)
        won = np.stack([mine, -mine], 1)
    return Hands(states, table["game"].to_numpy()[ends], players, won)


def read_hands(path: str | Path) -> Iterator[Hands]:
    """The hands of a table, played again, one group for each row group.

    Raises:
        DatasetError: if the file cannot be read, or its hands do not replay.
    """
    file, _ = open_games(path)
    for group in range(file.num_row_groups):
        table, states, _ = read_group(path, file, group)
        yield _hands_of(table, states)
