"""Tables of decisions for learning: batches of numpy arrays or torch tensors, with hidden columns only on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from agents.datasets.reader import DatasetError, column_names, open_games, read_group
from agents.datasets.store import replayed
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, STOCK
from ginenv.errors import GinError, check_integer, unknown_name

if TYPE_CHECKING:
    from torch.utils.data import IterableDataset

# The columns that every batch holds besides what the player saw: which decision it was, and the action.
SEEN = ("game", "hand", "ply", "seat", "action")


class Games:
    """A table of decisions.

        games = Games("games.parquet")
        for batch in games.batches(4096, player="network", seed=1):
            batch["observation"], batch["mask"], batch["action"]

    Args:
        path: the file.

    Attributes:
        about: how the table was made.
        columns: names of its columns.

    Raises:
        DatasetError: if the file cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._file, self.about = open_games(path)
        self.columns = column_names(self._file)

    def __reduce__(self) -> tuple[type[Games], tuple[str | Path]]:
        """Another process, such as a worker that loads data, opens the file by its path."""
        return Games, (self.path,)

    def __len__(self) -> int:
        """The number of decisions."""
        return self._file.metadata.num_rows

    def batches(
        self,
        size: int = 4096,
        *,
        player: str = "",
        also: Sequence[str] = (),
        seed: int | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> Iterator[dict[str, np.ndarray]]:
        """Batches of decisions.

        Args:
            size: rows in a batch; the last batch of a row group may have fewer.
            player: only this player's decisions; everyone's when left out.
            also: further columns, which may be hidden ones; columns of lists come as arrays of objects.
            seed: shuffles the row groups, and the rows within each; rows come in the order of play when left out.
            share: ``(k, n)``: every ``n``-th row group from the ``k``-th on, for several readers.

        Yields:
            ``observation uint8[b, 520]``, ``mask int8[b, 107]`` and the columns in ``SEEN`` and ``also``, as ``[b]``.

        Raises:
            GinError: if a column or the player does not exist, or the file cannot be read.
        """
        check_integer("size", size, 1)
        for name in also:
            if name not in self.columns:
                raise GinError(unknown_name("column", name, self.columns))
        if player and player not in self.about["players"]:
            raise GinError(unknown_name("player", player, self.about["players"]))
        groups = np.arange(self._file.num_row_groups)
        rng = np.random.default_rng(seed)
        if seed is not None:
            rng.shuffle(groups)
        for group in groups[share[0] :: share[1]].tolist():
            table = read_group(self.path, self._file, group)
            rows = np.arange(len(table))
            if player:
                rows = rows[table["player"].cast(pa.string()).to_numpy() == player]
            if seed is not None:
                rng.shuffle(rows)
            try:
                yield from _batches(table, rows, size, [*SEEN, *also])
            except DatasetError as error:
                raise DatasetError(
                    f"{self.path}: row group {group + 1} of {self._file.num_row_groups}: {error}"
                ) from None

    def torch(self, size: int = 4096, **options: Any) -> IterableDataset[dict[str, Any]]:
        """The batches as a dataset of torch tensors, for ``DataLoader(..., batch_size=None)``; its workers share the row groups.

        Args:
            size: rows in a batch.
            options: as for ``batches``, but without columns of text or lists.
        """
        from agents.datasets.torch_batches import Batches

        return Batches(self, size, options)


def _batches(table: pa.Table, rows: np.ndarray, size: int, names: list[str]) -> Iterator[dict[str, np.ndarray]]:
    _, found = replayed(table, observations=True)
    columns = {name: _column(table[name]) for name in dict.fromkeys(names)}
    for first in range(0, len(rows), size):
        chosen = rows[first : first + size]
        batch = {"observation": found.observations[chosen], "mask": _masks(found.rows["legal"][chosen])}
        yield batch | {name: values[chosen] for name, values in columns.items()}


def _column(values: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(pa.string())
    array = values.to_numpy()
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def _masks(legal: np.ndarray) -> np.ndarray:
    """The legal actions in three masks ``int64[n, 3]`` as an action mask ``int8[n, 107]``."""
    masks = np.zeros((len(legal), NUM_ACTIONS), np.int8)
    for place, (first, last) in enumerate(((0, KNOCK), (KNOCK, STOCK), (STOCK, NUM_ACTIONS))):
        masks[:, first:last] = legal[:, place : place + 1] >> np.arange(last - first) & 1
    return masks
