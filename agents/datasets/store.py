"""Tables of decisions as Parquet files: written group by group beside the old file, and checked by replaying every hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from agents.arena.matches import summed
from agents.datasets.data_card import card_path, data_card
from agents.datasets.reader import DatasetError, open_games, read_group
from agents.datasets.rows import Decisions, Hands, columns_of, decisions_of
from agents.datasets.schema import COLUMNS, FORMAT_VERSION, schema_of
from agents.datasets.source import Expert, rebuild
from agents.files import write_atomic, write_text, writing
from agents.programs.player import fault_text
from ginenv.errors import GinError, quoted

Progress = Callable[[int], None]
# Columns with few different words; the type stubs allow no list here.
_REPEATED: Any = ["player", "opponent", "phase", "end"]


# Why a file ends early after an interrupt.
INTERRUPTED = "interrupted"


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

    games: int
    hands: int
    rows: int
    interrupted: str = ""
    faults: Sequence[dict[str, Any]] = ()


def _arrow(name: str, values: Any, count: int) -> pa.Array:
    """A column as Arrow; text is given as codes and the words that they stand for."""
    kind = COLUMNS[name].type
    if isinstance(values, tuple):
        codes, words = values
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int16()), pa.array(words, pa.string()))
    if values is None:
        return pa.nulls(count, kind)
    return pa.array(values, kind)


def write_games(
    path: str | Path,
    groups: Iterable[Hands],
    about: dict[str, Any],
    expert: Expert | None = None,
    progress: Progress | None = None,
) -> WriteResult:
    """Writes a table of decisions, and its card beside it.

    Args:
        path: the file; an existing file is replaced at the end.
        groups: the hands; each group becomes a row group.
        about: how they were made, as plain JSON values; kept in the file.
        expert: the player whose actions, and values if it is a search, are added to every decision.
        progress: called with the number of games written.

    Returns:
        What was written: after an interrupt or an error of a player, what had been finished by then.

    Raises:
        FileError: if the file cannot be written.
        GinError: if a player fails before anything was finished.
        KeyboardInterrupt: after an interrupt before anything was finished.
    """
    about = {"format": FORMAT_VERSION, **about}
    schema = schema_of(
        json.dumps(about).encode(), expert is not None, expert is not None and expert.examine is not None
    )
    written = WriteResult(0, 0, 0)

    def write(temporary: str) -> None:
        nonlocal written
        with pq.ParquetWriter(
            temporary,
            schema,
            compression="zstd",
            compression_level=9,
            write_page_checksum=True,
            use_dictionary=_REPEATED,
            # A position repeats nearly all of the one before it.
            column_encoding={"position": "DELTA_BYTE_ARRAY"},
        ) as file:
            for written in _write_groups(file, groups, expert, progress):  # noqa: B007
                pass

    with writing(path):
        write_atomic(path, write)
        counts = {"games": written.games, "hands": written.hands, "decisions": written.rows}
        write_text(card_path(path), data_card(path, schema.names, about | {"ended early": written.interrupted}, counts))
    return written


def _write_groups(
    file: pq.ParquetWriter, groups: Iterable[Hands], expert: Expert | None, progress: Progress | None
) -> Iterator[WriteResult]:
    """Writes groups, and yields after each what the file holds; if it ended early, yields the reason at the end."""
    games = hands = rows = 0
    faults: list[dict[str, Any]] = []
    try:
        for group in groups:
            faults = summed([*faults, *group.faults])
            if not len(group.states):
                continue
            table = table_of(group, file.schema, hands, expert)
            file.write_table(table, row_group_size=max(1, len(table)))
            games, hands, rows = int(group.games[-1]) + 1, hands + len(group.states), rows + len(table)
            if progress is not None:
                progress(games)
            yield WriteResult(games, hands, rows)
        if faults and not rows:
            raise GinError(f"every hand was forfeited; {fault_text(faults[0])}")
        yield WriteResult(games, hands, rows, faults=faults)
    except (GinError, KeyboardInterrupt) as error:
        if not rows:
            raise
        yield WriteResult(games, hands, rows, str(error) if isinstance(error, GinError) else INTERRUPTED, faults)


def table_of(group: Hands, schema: pa.Schema, first: int, expert: Expert | None = None) -> pa.Table:
    """The decisions of hands as a table; the first hand gets number ``first``."""
    found = decisions_of(group.states, views=expert is not None and group.expert is None)
    columns = columns_of(group, found)
    columns["hand"] = columns["hand"] + first
    if expert is not None:
        columns |= expert.columns(found.views) if group.expert is None else group.expert
    count = len(found.rows)
    return pa.table([_arrow(name, columns[name], count) for name in schema.names], schema=schema)


def replayed(table: pa.Table, observations: bool = False) -> tuple[np.ndarray, Decisions]:
    """The hands of a row group, ``STATE[h]``, and their decisions, replayed from the first positions and the actions.

    Raises:
        DatasetError: if they do not replay.
    """
    if not len(table):
        raise DatasetError("it has no rows")
    starts = np.r_[0, _last_rows(table)[:-1] + 1]
    actions = np.split(table["action"].to_numpy().astype(np.int64), starts[1:])
    positions = table["position"].take(pa.array(starts)).to_pylist()
    try:
        states = rebuild(positions, [part.tolist() for part in actions])
        return states, decisions_of(states, observations=observations)
    except GinError as error:
        raise DatasetError(f"its hands do not replay ({error})") from None


def check_games(path: str | Path, progress: Progress | None = None) -> WriteResult:
    """Reads a file back, replays every hand, and compares all columns except the expert's with what is stored.

    Args:
        path: the file.
        progress: called with the number of row groups checked.

    Raises:
        DatasetError: if a row differs from the replay; names the first such row and its column.
    """
    file, _ = open_games(path)
    rows = hands = games = 0
    for group in range(file.num_row_groups):
        table = read_group(path, file, group)
        _check_group(path, table, rows)
        rows += len(table)
        if len(table):
            games, hands = table["game"][-1].as_py() + 1, table["hand"][-1].as_py() + 1
        if progress is not None:
            progress(group + 1)
    return WriteResult(games, hands, rows)


def read_hands(path: str | Path) -> Iterator[Hands]:
    """The hands of a table, played again, one group for each row group.

    Raises:
        DatasetError: if the file cannot be read, or its hands do not replay.
    """
    file, _ = open_games(path)
    rows = 0
    for number in range(file.num_row_groups):
        table = read_group(path, file, number)
        yield _hands_of(path, table, rows)[0]
        rows += len(table)


def _hands_of(path: str | Path, table: pa.Table, first: int) -> tuple[Hands, Decisions]:
    """The hands of a row group that begins with row ``first``, and their decisions."""
    try:
        states, found = replayed(table)
    except DatasetError as error:
        raise DatasetError(f"{path}: the row group that begins with row {first}: {error}") from None
    seats, ends = table["seat"].to_numpy(), _last_rows(table)
    # No position says who sat where or how the game ended: both are taken from each hand's last row.
    names, others = table["player"].to_pylist(), table["opponent"].to_pylist()
    players = [(names[i], others[i]) if seats[i] == 0 else (others[i], names[i]) for i in ends]
    won = None
    if not table["won"].null_count:
        last = table["won"].to_numpy()[ends].astype(np.int8)
        mine = np.where(seats[ends] == 0, last, -last)
        won = np.stack([mine, -mine], 1)
    return Hands(states, table["game"].to_numpy()[ends], players, won), found


def _last_rows(table: pa.Table) -> np.ndarray:
    numbers = table["hand"].to_numpy()
    return np.flatnonzero(np.r_[numbers[1:] != numbers[:-1], True])


def _check_group(path: str | Path, table: pa.Table, first: int) -> None:
    group, found = _hands_of(path, table, first)
    columns = columns_of(group, found)
    columns["hand"] = table["hand"].to_numpy()[_last_rows(table)][found.rows["place"]]
    for name, values in columns.items():
        stored = table[name].combine_chunks()
        expected = _arrow(name, values, len(found.rows))
        if isinstance(values, tuple):
            expected = expected.cast(pa.string())
        if isinstance(stored, pa.DictionaryArray):
            stored = stored.cast(pa.string())
        if not stored.equals(expected):
            row = next(i for i, (a, b) in enumerate(zip(stored, expected, strict=False)) if a != b)
            found_there, right = quoted(stored[row].as_py()), quoted(expected[row].as_py())
            raise DatasetError(f"{path}: row {first + row}, column {name} is {found_there}; played again it is {right}")
