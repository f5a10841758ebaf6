"""Sessions and tables that are open, the players behind them, and the limits on all of them."""

from __future__ import annotations

import asyncio
import functools
import secrets
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from agents.levels.player import LevelPlayer
from agents.play.allowed import check_allowed
from agents.player_names import casefolded, check_name
from agents.programs.messages import Act
from agents.programs.responder import Hands, answer_texts
from agents.serve.engines import Engine
from agents.serve.people import People
from agents.serve.tables import Table
from ginenv.engine.rules import Rules
from ginenv.errors import GinError
from ginenv.tables.players import make_player

# Games that one session may have in play, and in one message.
MAX_HANDS = 64


class NotFoundError(GinError):
    """There is no such session, table, person or level."""


class LimitError(GinError):
    """More is open, or asked at once, than one server keeps."""


@dataclass
class Limits:
    """What one server keeps.

    Attributes:
        sessions: sessions and tables at once.
        per_person: of these, with one person.
        players: different players.
        idle_seconds: after so long without a request a session may end.
        seconds: for one request.
    """

    sessions: int = 2000
    per_person: int = 8
    players: int = 16
    idle_seconds: float = 1800.0
    seconds: float = 30.0


@dataclass
class Session:
    """A host's conversation with a player, or a table.

    Attributes:
        number: of the session; its games have slots of their own among all sessions' games.
        player: the player with a person's memory; ``None`` for the shared one.
    """

    engine: Engine
    person: str
    number: int
    player: LevelPlayer | None
    hands: Hands | None = None
    table: Table | None = None
    used: float = field(default_factory=time.monotonic)
    busy: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether it is a table whose game is over: it counts against no limit, and ends when its place is needed."""
        return self.table is not None and self.table.is_over and not self.busy

    def finish(self, error: object = None) -> None:
        """Ends a request; what went wrong has been reported to whoever waited for it."""
        self.busy, self.used = False, time.monotonic()

    def slots(self, slots: np.ndarray) -> np.ndarray:
        """The numbers of its games among all sessions' games."""
        return np.full(len(slots), self.number, np.int64)

    async def decide(self, views: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The player's actions for ``VIEW[n]``."""
        return await self.engine.decide(views, self.slots(slots), self.player)

    async def observe(self, views: np.ndarray, slots: np.ndarray) -> None:
        """Shows the player hands that ended; what it learns is on disk before this returns."""
        if self.player is not None and len(views):
            await self.engine.run(self.player.observe_hands, views, self.slots(slots))


class Sessions:
    """All that is open.

    Args:
        home: directory of what players learn.
        limits: the limits.
        allowed: further players that may play, by the names that the command line gave.
    """

    def __init__(self, home: Path, limits: Limits, allowed: Collection[str] = ()) -> None:
        self.people, self.limits, self.allowed = People(home), limits, allowed
        self._pool = ThreadPoolExecutor(1)
        # Each is loaded in a thread of its own, so that nobody waits for another's player.
        self._loaders = ThreadPoolExecutor(limits.players)
        self._engines: dict[str, asyncio.Task[Engine]] = {}
        self._sessions: dict[str, Session] = {}
        self._opened = 0

    async def engine(self, name: str) -> Engine:
        """The player of a name, which is loaded when it is first needed.

        Raises:
            GinError: if it may not play here, or cannot be made.
            LimitError: if there are too many different players.
        """
        check_allowed(name, self.allowed)
        if name not in self._engines:
            if len(self._engines) >= self.limits.players:
                raise LimitError(f"at most {self.limits.players} different players play at once")
            self._engines[name] = loading = asyncio.ensure_future(self._load(name))
            loading.add_done_callback(lambda done: self._forget_failed(name, done))
        # Whoever stops waiting leaves it to the next.
        return await asyncio.shield(self._engines[name])

    async def _load(self, name: str) -> Engine:
        make = functools.partial(make_player, name, 0, learn=False, adapt=False, numpy=True)
        return Engine(await asyncio.get_running_loop().run_in_executor(self._loaders, make), self._pool)

    def _forget_failed(self, name: str, loading: asyncio.Task[Engine]) -> None:
        if loading.cancelled() or loading.exception():
            del self._engines[name]

    async def open(self, name: str, person: str | None) -> tuple[str, Session]:
        """Opens a session with a player; returns its id, which nobody can guess.

        Raises:
            GinError: if the player may not play, or keeps no memory of people.
            LimitError: if too many are open.
        """
        player = None
        engine = await self.engine(name)
        if person is not None:
            person = check_name(person, "a person's")
            player = await engine.run(self.people.player, engine.player, person)
        # From here on nothing is waited for, so that requests at the same time cannot pass the limits together.
        self._end_idle()
        if len(self._sessions) >= self.limits.sessions:
            self._sessions = {key: each for key, each in self._sessions.items() if not each.is_finished}
        if len(self._sessions) >= self.limits.sessions:
            raise LimitError(f"{self.limits.sessions} sessions are open, as many as one server keeps")
        if person is not None:
            count = sum(
                casefolded(each.person) == casefolded(person) and not each.is_finished
                for each in self._sessions.values()
            )
            if count >= self.limits.per_person:
                raise LimitError(f"{person!r} has {count} sessions open, as many as one person may have")
        self._opened += 1
        session, key = Session(engine, person or "", self._opened, player), secrets.token_urlsafe(12)
        self._sessions[key] = session
        return key, session

    def _end_idle(self) -> None:
        oldest = time.monotonic() - self.limits.idle_seconds
        self._sessions = {key: each for key, each in self._sessions.items() if each.busy or each.used >= oldest}

    def session(self, key: str) -> Session:
        """A session with a host, by its id.

        Raises:
            NotFoundError: if there is none, or it was idle for too long.
        """
        session = self._sessions.get(key)
        if session is None or session.hands is None:
            raise NotFoundError("there is no such session; one that is not used for a while ends")
        return session

    def table(self, key: str) -> tuple[Session, Table]:
        """A session at a table and the table, by its id; raises like ``session``."""
        session = self._sessions.get(key)
        if session is None or session.table is None:
            raise NotFoundError("there is no such table; one that is not used for a while ends")
        return session, session.table

    def close(self, key: str) -> None:
        """Ends a session or table."""
        if self._sessions.pop(key, None) is None:
            raise NotFoundError("there is nothing of this id to be ended")

    async def begin_table(self, session: Session, rules: Rules, one_hand: bool = False) -> None:
        """Makes a session a table, at which the server deals games, or one hand."""
        one = np.zeros(1, np.int64)

        async def decide(view: np.ndarray) -> int:
            return int((await session.decide(view, one))[0])

        session.table = Table(rules, decide, lambda view: session.observe(view, one), one_hand)
        await session.table.go_on()

    async def act(self, session: Session, message: Act) -> dict[str, Any]:
        """Answers a host's message."""
        assert session.hands is not None
        # In a thread: the longest messages take seconds.
        questions = await asyncio.to_thread(session.hands.read, message.games)
        if len(session.hands.readers) > MAX_HANDS:
            session.hands.readers.clear()
            raise LimitError(f"a session has at most {MAX_HANDS} games in play; these are forgotten")
        await session.observe(questions.finals, questions.final_slots)
        answers: list[dict[str, Any]] = []
        if len(questions.views):
            actions = await session.decide(questions.views, questions.slots)
            answers = answer_texts(questions.views, questions.slots, actions)
        return {"type": "answers", "id": message.id, "answers": answers}
