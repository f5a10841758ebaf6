"""The one reader of tables of decisions, which strangers may have written: their columns, their size, and row groups as checked tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from agents.datasets.schema import COLUMNS, FORMAT_VERSION
from agents.files import JsonError, parse_json
from ginenv.errors import GinError, must_be, quoted

# Its functions are made at run time, so type checkers know none of them.
pc: Any = pyarrow.compute
# Of one row group: what ``gin games`` writes has some ten thousand rows, at most some hundred thousand.
MAX_ROWS = 1 << 20
MAX_BYTES = 1 << 29
MAX_NAMES = 1000
MAX_NAME = 1000
_TEXTS = [name for name, column in COLUMNS.items() if column.type == pa.string() or pa.types.is_dictionary(column.type)]


class DatasetError(GinError):
    """A table of decisions that cannot be used."""


def open_games(path: str | Path) -> tuple[pq.ParquetFile, dict[str, Any]]:
    """Opens a table of decisions; returns the file and how it was made.

    Raises:
        DatasetError: if the file cannot be read, is from another version, or has other columns.
    """
    if Path(path).exists() and not Path(path).is_file():
        raise DatasetError(f"{path} is no file")
    try:
        about = pq.read_metadata(path)
        # Texts stay in their dictionaries: one long text that every row repeats would fill the memory.
        file = pq.ParquetFile(path, metadata=about, read_dictionary=_repeated(about), page_checksum_verification=True)
        schema = file.schema_arrow
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        # Arrow's own message repeats the file's name and the error number.
        number = error.errno if isinstance(error, OSError) else None
        raise DatasetError(
            f"{path} cannot be read as Parquet: {os.strerror(number) if number else _line(error)}"
        ) from None
    about = (schema.metadata or {}).get(b"ginenv")
    if about is None:
        raise DatasetError(f"{path} is no table of decisions that gin games wrote")
    try:
        found = parse_json(about)
    except JsonError as error:
        raise DatasetError(f"{path}: what it says of itself is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise DatasetError(f"{path}: what it says of itself is a {type(found).__name__}; it must be a JSON object")
    if found.get("format") != FORMAT_VERSION or isinstance(found["format"], bool):
        raise DatasetError(
            f"{path} has format {quoted(found.get('format'))}; this version reads format {FORMAT_VERSION}"
        )
    players = found.setdefault("players", [])
    if not isinstance(players, list) or not all(isinstance(name, str) and len(name) < MAX_NAME for name in players):
        raise DatasetError(must_be(f"{path}: players", f"a list of names of fewer than {MAX_NAME:,} letters", players))
    _check_columns(path, schema)
    return file, found


def _repeated(about: pq.FileMetaData) -> list[str]:
    """The columns of texts that are kept as dictionaries; those kept as differences cannot be read so, and hold at most 2 GiB."""
    groups = [about.row_group(group) for group in range(about.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    texts = [chunk for chunk in chunks if chunk.path_in_schema in _TEXTS and chunk.physical_type == "BYTE_ARRAY"]
    others = {chunk.path_in_schema for chunk in texts if "DELTA_BYTE_ARRAY" in chunk.encodings}
    return sorted({chunk.path_in_schema for chunk in texts} - others)


def column_names(file: pq.ParquetFile) -> tuple[str, ...]:
    """The names of a table's columns; columns that others have added are left alone."""
    return tuple(name for name in COLUMNS if name in file.schema_arrow.names)


def _check_columns(path: str | Path, schema: pa.Schema) -> None:
    for name, column in COLUMNS.items():
        count = schema.names.count(name)
        if count > 1 or (column.always and not count):
            raise DatasetError(f"{path} has {count} columns {name!r}; a table of decisions has one")
        if count and _plain(schema.field(name).type) != _plain(column.type):
            raise DatasetError(
                must_be(f"{path}: the type of column {name!r}", str(column.type), str(schema.field(name).type))
            )


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without the dictionary in which its values may be kept."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def read_group(path: str | Path, file: pq.ParquetFile, group: int) -> pa.Table:
    """A row group of an open table; texts are dictionaries.

    Raises:
        DatasetError: if it cannot be read, is too large, or lacks values.
    """
    where = f"{path}: row group {group + 1} of {file.num_row_groups}"
    try:
        about = file.metadata.row_group(group)
        if about.num_rows > MAX_ROWS or about.total_byte_size > MAX_BYTES:
            raise DatasetError(
                f"{where} has {about.num_rows:,} rows in {about.total_byte_size:,} bytes; allowed are {MAX_ROWS:,} rows in "
                f"{MAX_BYTES:,} bytes"
            )
        table = file.read_row_group(group, columns=list(column_names(file))).unify_dictionaries()
        table.validate(full=True)
        bad = next((name for name in table.column_names if table[name].null_count and name != "won"), "")
        size = sum(_characters(table[name]) for name in _TEXTS)
        names = max(len(pc.unique(table[name])) for name in ("player", "opponent"))
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        if isinstance(error, GinError):
            raise
        raise DatasetError(f"{where} cannot be read: {_line(error)}") from None
    if bad:
        raise DatasetError(f"{where}: column {bad!r} lacks values")
    if size > MAX_BYTES or names > MAX_NAMES:
        raise DatasetError(
            f"{where} has {size:,} bytes of text with {names:,} names; allowed are {MAX_BYTES:,} and {MAX_NAMES:,}"
        )
    return table


def _characters(column: pa.ChunkedArray) -> int:
    """How many bytes a column of texts has once each row has its own."""
    total = 0
    for chunk in column.chunks:
        if isinstance(chunk, pa.DictionaryArray):
            total += pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
        else:
            total += pc.sum(pc.binary_length(chunk)).as_py() or 0
    return total


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
