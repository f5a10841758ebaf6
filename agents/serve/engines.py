"""Players that many sessions share: decisions that wait for the same player are made in one call."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np

from ginenv.errors import GinError
from ginenv.tables.players import Player, ask_player

_Result = TypeVar("_Result")


@dataclass
class _Wait:
    """Views that wait for decisions, and who decides: the shared player, or a copy with a person's memory."""

    views: np.ndarray
    slots: np.ndarray
    player: Player
    done: asyncio.Future = field(repr=False)


class Engine:
    """A player and the decisions that wait for it.

    Args:
        player: the player; it learns nothing.
        pool: the one thread in which players compute.
    """

    def __init__(self, player: Player, pool: ThreadPoolExecutor) -> None:
        self.player, self._pool = player, pool
        self._waiting: list[_Wait] = []
        self._worker: asyncio.Task | None = None

    async def decide(self, views: np.ndarray, slots: np.ndarray, player: Player | None = None) -> np.ndarray:
        """The actions for ``VIEW[n]``: ``int64[n]``. What arrives while others are decided waits, and is decided together.

        Args:
            views: ``VIEW[n]``.
            slots: ``int64[n]``, the games.
            player: the same player with a memory of its own; the shared one when left out.

        Raises:
            GinError: if the player fails.
        """
        wait = _Wait(views, slots, player or self.player, asyncio.get_running_loop().create_future())
        self._waiting.append(wait)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await wait.done

    async def run(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Runs a function in the players' thread, so that no player is ever used by two at once."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, functools.partial(function, *arguments))

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            for wait, result in zip(batch, await self.run(self._decide_all, batch), strict=True):
                if not wait.done.done():
                    wait.done.set_exception(result) if isinstance(result, Exception) else wait.done.set_result(result)

    def _decide_all(self, batch: list[_Wait]) -> list[np.ndarray | Exception]:
        if not getattr(self.player, "shares_choices", False):
            return [_caught(ask_player, wait.player, wait.views, wait.slots) for wait in batch]
        # A level without search: what it knows of its opponents comes in as numbers, so one call serves all.
        views = np.concatenate([wait.views for wait in batch])
        actions = _caught(cast(Any, self.player).choose, views, self._logit_bias(batch))
        if isinstance(actions, Exception):
            return [actions] * len(batch)
        return list(np.split(actions, np.cumsum([len(wait.views) for wait in batch])[:-1]))

    def _logit_bias(self, batch: list[_Wait]) -> np.ndarray | None:
        """The biases that the memories of a batch bring, by view: zeros where there is none; ``None`` if there is none at all."""
        # Only a level has a memory, so whoever is not the shared player is one.
        rows = [
            None if wait.player is self.player else cast(Any, wait.player).logit_bias(wait.slots, len(wait.views))
            for wait in batch
        ]
        like = next((row for row in rows if row is not None), None)
        if like is None:
            return None
        filled = [
            np.zeros((len(wait.views), like.shape[1])) if row is None else row
            for row, wait in zip(rows, batch, strict=True)
        ]
        return np.concatenate(filled)


def _caught(function: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray | Exception:
    """A function's result, or the exception that it raised."""
    try:
        return function(*arguments)
    except Exception as error:
        return error if isinstance(error, GinError) else RuntimeError(repr(error))
