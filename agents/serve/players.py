"""Players that many sessions share: decisions that wait for the same player are made in one call."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from agents.levels.player import LevelPlayer, act_together
from agents.levels.profile import Profile
from agents.player_names import file_name
from ginenv.errors import GinError
from ginenv.tables.players import Player, ask_player

_Result = TypeVar("_Result")


class _Wait(NamedTuple):
    """Views that wait for decisions, and who decides: the shared player, or a copy with a person's memory."""

    views: np.ndarray
    slots: np.ndarray
    player: Player
    done: asyncio.Future


class SharedPlayer:
    """A player and the decisions that wait for it.

    Args:
        player: the player; it learns nothing.
        pool: the one thread in which players compute.
    """

    def __init__(self, player: Player, pool: ThreadPoolExecutor) -> None:
        self.player, self._pool = player, pool
        self._waiting: list[_Wait] = []
        self._worker: asyncio.Task | None = None

    @property
    def level(self) -> LevelPlayer:
        """The player, if it is a level with a memory.

        Raises:
            GinError: if it is another player.
        """
        if not isinstance(self.player, LevelPlayer):
            raise GinError(f"{self.player.name} keeps no memory; only levels do")
        return self.player

    def remembering(self, home: Path, person: str) -> LevelPlayer:
        """The player with its memory of a person, which is read from disk."""
        level = self.level
        return level.with_profile(Profile(memory_directory(home, person), level.level, person))

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
        if not isinstance(self.player, LevelPlayer):
            return [_caught(ask_player, wait.player, wait.views, wait.slots) for wait in batch]
        # What a level knows of its opponents comes in as numbers, so one call serves all.
        asked = [(cast(LevelPlayer, wait.player), wait.views, wait.slots) for wait in batch]
        try:
            return list(act_together(self.player, asked))
        except Exception as error:
            return [_told(error)] * len(batch)


def _caught(function: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray | Exception:
    """A function's result, or the exception that it raised."""
    try:
        return function(*arguments)
    except Exception as error:
        return _told(error)


def _told(error: Exception) -> Exception:
    return error if isinstance(error, GinError) else RuntimeError(repr(error))


def memory_directory(home: Path, person: str) -> Path:
    """Where levels keep what they learn of a person."""
    return home / "people" / file_name(person)
