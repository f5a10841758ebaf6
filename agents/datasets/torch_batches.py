"""Batches of decisions as torch tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

if TYPE_CHECKING:
    from agents.datasets.load import Games


class TorchBatches(IterableDataset[dict[str, Tensor]]):
    """Batches of a table; every worker gets its share of the row groups.

    Args:
        games: the table.
        size: rows in a batch.
        options: options of ``Games.batches``.
    """

    def __init__(self, games: Games, size: int, options: dict[str, Any]) -> None:
        super().__init__()
        self.games, self.size, self.options = games, size, options

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        """Yields the batches as tensors with the types of their arrays."""
        worker = get_worker_info()
        share = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for batch in self.games.batches(self.size, share=share, **self.options):
            yield {name: torch.from_numpy(values) for name, values in batch.items()}
