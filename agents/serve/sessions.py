"""What is open at the server, tables and conversations with hosts, and the limits on all of it."""

from __future__ import annotations

import asyncio
import functools
import secrets
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from agents.levels.player import LevelPlayer
from agents.play.allowed import check_allowed
from agents.play.game import Game
from agents.play.session import Session
from agents.play.store import UnsavedPlayer
from agents.player_names import casefolded, check_name
from agents.programs.events import HandEvents, may_play, question
from agents.programs.messages import Act
from agents.programs.responder import Hands, answer_texts
from agents.programs.views import read_views
from agents.serve.players import SharedPlayer
from ginenv.engine.actions import parse_action
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, quoted
from ginenv.tables.players import make_player

# Games that one host may have in play, and in one message; and different players at once.
MAX_HANDS, _MAX_PLAYERS = 64, 16
_ONE = np.zeros(1, np.int64)
_Open = TypeVar("_Open", "Table", "HostGames")


class NotFoundError(GinError):
    """There is no such session, table, person or level."""


class BusyError(GinError):
    """An earlier request is still being answered."""


class LimitError(GinError):
    """More is open, or asked at once, than one server keeps."""


@dataclass
class Limits:
    """What one server keeps.

    Attributes:
        sessions: sessions and tables at once.
        per_person: of these, with one person.
        idle_seconds: after so long without a request a session may end.
        seconds: for one request.
    """

    sessions: int = 2000
    per_person: int = 8
    idle_seconds: float = 1800.0
    seconds: float = 30.0


@dataclass
class Opponent:
    """A player of ours, as one table or host has it.

    Attributes:
        number: of the table or host; its games have slots of their own among all games.
        remembering: the player with a person's memory; ``None`` for the shared one.
    """

    shared: SharedPlayer
    person: str
    number: int
    remembering: LevelPlayer | None

    async def decide(self, views: np.ndarray) -> np.ndarray:
        """The actions for ``VIEW[n]``."""
        return await self.shared.decide(views, np.full(len(views), self.number, np.int64), self.remembering)

    async def observe(self, views: np.ndarray) -> None:
        """Shows the player hands that ended; what it learns is on disk before this returns."""
        if self.remembering is not None and len(views):
            slots = np.full(len(views), self.number, np.int64)
            await self.shared.run(self.remembering.observe_hands, views, slots)


class _Seat:
    """Something that is open.

    Attributes:
        opponent: the player of ours.
        is_over: whether it is a game that is over: it counts against no limit, and ends when its place is needed.
    """

    is_over = False

    def __init__(self, opponent: Opponent) -> None:
        self.opponent = opponent
        self.used, self.busy = time.monotonic(), False

    def finish(self, error: object = None) -> None:
        """Ends a request; what went wrong has been reported to whoever waited for it."""
        self.busy, self.used = False, time.monotonic()


class HostGames(_Seat):
    """A host that deals and keeps the rules, and asks a player of ours.

    Attributes:
        answer: the last answer, until the next message is accepted.
    """

    def __init__(self, opponent: Opponent, rules: Rules, seed: int) -> None:
        super().__init__(opponent)
        self.hands = Hands(rules, seed)
        self.answer: dict[str, Any] | None = None

    async def act(self, message: Act) -> dict[str, Any]:
        """Answers a message, which changes nothing where it is refused."""
        # In a thread: the longest messages take seconds.
        questions = await asyncio.to_thread(self.hands.read, message.games)
        if len(self.hands.readers) > MAX_HANDS:
            self.hands.readers.clear()
            raise LimitError(f"a session has at most {MAX_HANDS} games in play; these are forgotten")
        await self.opponent.observe(questions.finals)
        answers: list[dict[str, Any]] = []
        if len(questions.views):
            actions = await self.opponent.decide(questions.views)
            answers = answer_texts(questions.views, questions.slots, actions)
        self.answer = answer = {"type": "answers", "id": message.id, "answers": answers}
        return answer


class Table(_Seat):
    """A game against a player of ours; the server deals and keeps the rules.

    Attributes:
        session: the person's.
    """

    def __init__(self, opponent: Opponent, rules: Rules, one_hand: bool = False) -> None:
        super().__init__(opponent)
        self.session, self._one_hand = Session(UnsavedPlayer(opponent.person or "you")), one_hand
        self.session.begin(Game.begin(rules, opponent.shared.player.name, easy=False))
        self._hand_events: HandEvents | None = None
        # Since the last accepted action, and whether they have been part of an answer.
        self._events: list[dict[str, Any]] = []
        self._answered = False

    @property
    def is_over(self) -> bool:
        """Whether the game, or the only hand, has ended."""
        match = self.session.match
        return match.is_over or bool(self._one_hand and match.played)

    def legal(self) -> list[str]:
        """The actions that the person may choose from, in words."""
        hand = self.session.hand
        return [hand.action_text(action) for action in hand.legal_actions()]

    async def go_on(self) -> None:
        """Plays the opponent's moves until the person is to move or the game is over."""
        session = self.session
        while not (self.is_over or session.is_turn):
            if session.hand.is_over:
                session.next_hand()
            else:
                await self._push(int((await self.opponent.decide(session.hand.view(1 - session.seat)))[0]))

    async def play(self, action: str) -> None:
        """Plays the person's action in words, and what follows.

        Raises:
            GinError: if it is not legal, or the game is over.
        """
        if self.is_over:
            raise GinError("the game is over; a new table begins another one")
        await self.go_on()
        number = parse_action(action)
        if not may_play(read_views(self.session.view.reshape(1))[0], number):
            raise GinError(f"{quoted(action)} is not legal; legal are: {', '.join(self.legal())}")
        if self._answered:
            self._events, self._answered = [], False
        await self._push(number)
        await self.go_on()

    async def _push(self, action: int) -> None:
        session = self.session
        session.play(action)
        if session.hand.is_over:
            played = session.match.played[-1]
            self._tell(played.view(session.seat))
            self._hand_events = None
            await self.opponent.observe(played.view(1 - session.seat))

    def _tell(self, view: np.ndarray) -> None:
        [seen] = read_views(view)
        if self._hand_events is None:
            self._hand_events = HandEvents(seen)
        self._hand_events.update(seen)
        self._events += self._hand_events.unsent()

    def entry(self) -> dict[str, Any]:
        """What has happened since the person's last action, with the question, as an entry of an ``act`` message.

        The same as long as no action is accepted: an answer may get lost.
        """
        self._answered = True
        if self.is_over:
            return {"slot": 0, "events": self._events}
        view = self.session.hand.view(self.session.seat)
        self._tell(view)
        return {"slot": 0, "events": self._events, **question(read_views(view)[0])}


class Sessions:
    """All that is open.

    Args:
        home: directory of what players learn.
        limits: the limits.
        allowed: further players that may play, by the names that the command line gave.
    """

    def __init__(self, home: Path, limits: Limits, allowed: Collection[str] = ()) -> None:
        self.home, self.limits, self.allowed = home, limits, allowed
        self._pool = ThreadPoolExecutor(1)
        # Each is loaded in a thread of its own, so that nobody waits for another's player.
        self._loaders = ThreadPoolExecutor(_MAX_PLAYERS)
        self._players: dict[str, asyncio.Task[SharedPlayer]] = {}
        self._open: dict[str, Table | HostGames] = {}
        self._opened = 0

    async def player(self, name: str) -> SharedPlayer:
        """The player of a name, which is loaded when it is first needed.

        Raises:
            GinError: if it may not play here, or cannot be made.
            LimitError: if there are too many different players.
        """
        check_allowed(name, self.allowed)
        if name not in self._players:
            if len(self._players) >= _MAX_PLAYERS:
                raise LimitError(f"at most {_MAX_PLAYERS} different players play at once")
            self._players[name] = loading = asyncio.ensure_future(self._load(name))
            loading.add_done_callback(lambda done: self._forget_failed(name, done))
        # Whoever stops waiting leaves it to the next.
        return await asyncio.shield(self._players[name])

    async def _load(self, name: str) -> SharedPlayer:
        make = functools.partial(make_player, name, 0, learn=False, adapt=False, numpy=True)
        return SharedPlayer(await asyncio.get_running_loop().run_in_executor(self._loaders, make), self._pool)

    def _forget_failed(self, name: str, loading: asyncio.Task[SharedPlayer]) -> None:
        if loading.cancelled() or loading.exception():
            del self._players[name]

    async def opponent(self, name: str, person: str | None = None) -> Opponent:
        """A player for somebody; raises like ``player``, or ``GinError`` if it keeps no memory of people."""
        shared, remembering = await self.player(name), None
        if person is not None:
            person = check_name(person, "a person's")
            remembering = await shared.run(shared.remembering, self.home, person)
        self._opened += 1
        return Opponent(shared, person or "", self._opened, remembering)

    def add(self, seat: Table | HostGames) -> str:
        """Keeps what has been opened; returns its id, which nobody can guess.

        Raises:
            LimitError: if too many are open.
        """
        # Nothing is waited for, so that requests at the same time cannot pass the limits together.
        oldest, limits = time.monotonic() - self.limits.idle_seconds, self.limits
        self._open = {key: each for key, each in self._open.items() if each.busy or each.used >= oldest}
        if len(self._open) >= limits.sessions:
            self._open = {key: each for key, each in self._open.items() if each.busy or not each.is_over}
        if len(self._open) >= limits.sessions:
            raise LimitError(f"{limits.sessions} sessions are open, as many as one server keeps")
        if person := seat.opponent.person:
            others = [each for each in self._open.values() if not each.is_over]
            count = sum(casefolded(each.opponent.person) == casefolded(person) for each in others)
            if count >= limits.per_person:
                raise LimitError(f"{person!r} has {count} sessions open, as many as one person may have")
        key = secrets.token_urlsafe(12)
        self._open[key] = seat
        return key

    def find(self, key: str, kind: type[_Open]) -> _Open:
        """A table or a host's games, by the id.

        Raises:
            NotFoundError: if there is none, or it was idle for too long.
        """
        if not isinstance(seat := self._open.get(key), kind):
            raise NotFoundError("there is nothing of this id; what is not used for a while ends")
        return seat

    def close(self, key: str) -> None:
        """Ends a session or table."""
        if self._open.pop(key, None) is None:
            raise NotFoundError("there is nothing of this id to be ended")

    async def in_turn(self, seat: Table | HostGames, work: Callable[[], Awaitable[Any]]) -> Any:
        """Does one thing at a time for a table or a host; what takes longer than a request may is finished all the same.

        Raises:
            BusyError: if an earlier request is not finished.
            TimeoutError: if it takes longer than a request may.
        """
        if seat.busy:
            raise BusyError("this session is busy with another request; its requests come one after the other")
        seat.busy = True
        task = asyncio.ensure_future(work())
        task.add_done_callback(lambda done: seat.finish(done.cancelled() or done.exception()))
        return await asyncio.wait_for(asyncio.shield(task), self.limits.seconds)
