"""Many gin tables in lock-step: the one loop around the engine, under environments, matches, series and training.

    tables = Tables(2, players=[make_player("simple"), None])

A seat is either a player's or the caller's. Compiled players (``ginenv.tables.compiled_players``) move inside compiled
code; all tables that wait for another player are asked about in one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ginenv.engine.actions import illegal_action
from ginenv.engine.engine import STATE
from ginenv.errors import IllegalActionError
from ginenv.tables.compiled_players import PLAYER, describe_player
from ginenv.tables.kernels import (
    CALLER,
    IDLE,
    TABLE,
    begin_all,
    close_all,
    collect_ended,
    collect_waiting,
    final_views,
    play_all,
)
from ginenv.tables.players import Player
from ginenv.view.view import VIEW


class Tables:
    """Gin tables in lock-step.

    The caller fills the fields ``player``, ``key``, ``luck`` (and others, as needed) of a ``TABLE`` record and the ``rules`` of its
    ``STATE``, calls ``begin``, and then alternates between ``play`` and ``close``.

    Args:
        num_tables: number of tables.
        players: the players, which a table's record names by their place in this list.
        compiled: whether compiled players move inside compiled code, unseen; otherwise they are asked like others.

    Attributes:
        states: ``STATE[n]``.
        tables: ``TABLE[n]``.
        players: the players; each sits at most once at a table (one object may be two players).
        records: ``PLAYER[k]`` of the players.
    """

    def __init__(self, num_tables: int, players: Sequence[Player] = (), compiled: bool = False) -> None:
        self.num_tables, self._is_compiled = num_tables, compiled
        self.states = np.zeros(num_tables, STATE)
        self.tables = np.zeros(num_tables, TABLE)
        self.tables["player"], self.tables["waits_for"] = CALLER, IDLE
        # Views that wait for players, their tables, and the players' ids of these.
        self._waiting = np.zeros(num_tables, VIEW), *np.zeros((2, num_tables), np.int64)
        self._scratch = np.zeros(1, VIEW)
        self._described: dict[int, tuple[np.void, object]] = {}
        self.set_players(players)

    def set_players(self, players: Sequence[Player]) -> None:
        """Replaces the players; the numbers in the tables' records then mean the new ones."""
        self.players, self.records = list(players), np.zeros(len(players), PLAYER)
        self.records["forfeit"] = -1
        if self._is_compiled:
            # Looking up a player's code takes a while, so those who stay are not described again.
            self._described = {id(one): self._described.get(id(one)) or describe_player(one) for one in players}
            for number, one in enumerate(players):
                self.records[number] = self._described[id(one)][0]
        # Looking an address up costs more than a step of a single environment can spare.
        self._players_at = self.records.ctypes.data

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs; addresses of compiled code are looked up again."""
        return self.__dict__ | {"_described": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.set_players(self.players)

    def begin(self, rows: np.ndarray) -> None:
        """Deals the next episode at some tables (``int64[k]``)."""
        begin_all(self.states, self.tables, rows, self._scratch, self._players_at)

    def waiting(self) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Yields, for each player that tables wait for, its number, ``VIEW[k]``, the tables ``int64[k]``, and its ids of them.

        The arrays are valid until this is called again.
        """
        (views, rows, ids), ends = self._waiting, np.zeros(len(self.players) + 1, np.int64)
        collect_waiting(self.states, self.tables, views, rows, ids, ends)
        start = 0
        for number, end in enumerate(ends[:-1].tolist()):
            if end > start:
                yield number, views[start:end], rows[start:end], ids[start:end].copy()
            start = end

    def play(self, views: np.ndarray, rows: np.ndarray, actions: np.ndarray) -> None:
        """Plays the actions ``int64[k]`` that the seats to move at some tables chose for their views.

        Compiled players then move, too.

        Raises:
            IllegalActionError: at the first action that is not legal; those before it have been played.
        """
        bad = play_all(self.states, self.tables, views, rows, actions, self._scratch, self._players_at)
        if bad >= 0:
            view, state = views[bad], self.states[rows[bad]]
            number = int(self.tables["player"][rows[bad], state["turn"]])
            who = f"player {self.players[number].name!r}: " if number >= 0 else ""
            raise IllegalActionError(who + illegal_action(int(actions[bad]), view["legal"], int(view["phase"])))

    def ended(self) -> np.ndarray:
        """The tables whose hand is over and has not been closed: ``int64[k]``."""
        rows = np.empty(self.num_tables, np.int64)
        return rows[: collect_ended(self.tables, rows)]

    def final_views(self, number: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a player sees of the hands that ended at some tables: ``VIEW[k]`` and ``int64[k]``, its ids of these tables."""
        views, ids = np.empty(len(rows), VIEW), np.empty(len(rows), np.int64)
        count = final_views(self.states, self.tables, rows, number, views, ids)
        return views[:count], ids[:count]

    def close(self, rows: np.ndarray) -> np.ndarray:
        """Closes hands that are over and deals the next hands of their games; returns the tables whose episode is over."""
        rows = rows.copy()
        return rows[: close_all(self.states, self.tables, rows, self._scratch, self._players_at)]
