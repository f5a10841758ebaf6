"""Tables of decisions for learning: batches of arrays, with hidden columns only on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from agents.datasets.schema import COLUMNS
from agents.datasets.store import open_games, read_group
from ginenv.errors import GinError, check_integer, unknown_name
from ginenv.view.encoding import encode_views
from ginenv.view.view import action_masks

# The columns that every batch holds besides what the player saw: which decision it was, and the action.
_SEEN = ("game", "hand", "ply", "seat", "action")


class Games:
    """A table of decisions.

        games = Games("games.parquet")
        for batch in games.batches(4096, player="network", seed=1):
            batch["observation"], batch["mask"], batch["action"]

    Args:
        path: the file.

    Attributes:
        about: how the table was made.

    Raises:
        DatasetError: if the file cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._file, self.about = open_games(path)

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
    ) -> Iterator[dict[str, np.ndarray]]:
        """Batches of decisions.

        Args:
            size: rows in a batch; the last batch of a row group may have fewer.
            player: only this player's decisions; everyone's when left out.
            also: further columns, which may be hidden ones; columns of lists come as arrays of objects.
            seed: shuffles the row groups, and the rows within each; rows come in the order of play when left out.

        Yields:
            ``observation uint8[b, 520]``, ``mask int8[b, 107]``, and the columns ``game``, ``hand``, ``ply``, ``seat``, ``action`` and
            those in ``also``, each ``[b]``.

        Raises:
            GinError: if a column or the player does not exist, or the file cannot be read.
        """
        check_integer("size", size, 1)
        for name in also:
            if name not in COLUMNS:
                raise GinError(unknown_name("column", name, COLUMNS))
        if player and player not in self.about["players"]:
            raise GinError(unknown_name("player", player, self.about["players"]))
        groups = np.arange(self._file.num_row_groups)
        rng = np.random.default_rng(seed)
        if seed is not None:
            rng.shuffle(groups)
        names = dict.fromkeys((*_SEEN, *also))
        for group in groups.tolist():
            table, _, decisions = read_group(self.path, self._file, group, (*names, "player"))
            columns = {name: _column(table[name]) for name in names}
            rows = np.arange(len(table))
            if player:
                rows = rows[_column(table["player"]) == player]
            if seed is not None:
                rng.shuffle(rows)
            for first in range(0, len(rows), size):
                batch = rows[first : first + size]
                views = decisions.views[batch]
                seen = {"observation": encode_views(views), "mask": action_masks(views)}
                yield seen | {name: values[batch] for name, values in columns.items()}


def _column(values: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(pa.string())
    array = values.to_numpy()
    return array.astype(np.int64) if array.dtype.kind == "i" else array
