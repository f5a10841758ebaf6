"""What is open at the server, tables and conversations with hosts, and the limits on all of it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from agents.levels.memory import Profile
from agents.levels.player import LevelPlayer
from agents.play.allowed import check_allowed
from agents.play.game import Game
from agents.play.session import Session
from agents.play.store import UnsavedPlayer
from agents.player_names import check_name, file_name
from agents.programs.events import HandEvents, may_play, question
from agents.programs.messages import Act
from agents.programs.responder import Hands, answer_texts
from agents.programs.views import read_views
from ginenv.engine.actions import parse_action
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, quoted
from ginenv.tables.players import Player, ask_player, make_player, show_hands

# Games that one host may have in play, and in one message; and different players at once.
MAX_HANDS, _MAX_PLAYERS = 64, 16
# Seconds after which what nobody uses ends.
_IDLE = 1800.0
_Result = TypeVar("_Result")
_Open = TypeVar("_Open", "Table", "HostGames")


class NotFoundError(GinError):
    """There is no such session, table, person or level."""


class LimitError(GinError):
    """More is open, or asked at once, than one server keeps."""


@dataclass
class Opponent:
    """A player of ours, as one table or host has it.

    Attributes:
        player: the player, with the memory of the person if there is one.
        person: whom it remembers; empty for the player that all share.
        number: of the table or host; its games have slots of their own among all games.
        run: runs a function in the one thread in which players compute, so that none is ever used by two at once.
    """

    player: Player
    person: str
    number: int
    run: Callable[..., Awaitable[Any]]

    async def decide(self, views: np.ndarray) -> np.ndarray:
        """The actions for ``VIEW[n]``; raises ``GinError`` if the player fails."""
        return await self.run(ask_player, self.player, views, self._slots(views))

    async def observe(self, views: np.ndarray) -> None:
        """Shows the player hands that ended; what it learns is on disk before this returns."""
        if self.person and len(views):
            await self.run(show_hands, self.player, views, self._slots(views))

    def _slots(self, views: np.ndarray) -> np.ndarray:
        return np.full(len(views), self.number, np.int64)


class _Seat:
    """Something that is open.

    Attributes:
        opponent: the player of ours.
        turn: held by the request that is being answered.
        is_over: whether it is a game that is over: it ends when its place is needed.
    """

    is_over = False

    def __init__(self, opponent: Opponent) -> None:
        self.opponent = opponent
        self.used, self.turn = time.monotonic(), asyncio.Lock()


class HostGames(_Seat):
    """A host that deals and keeps the rules, and asks a player of ours."""

    def __init__(self, opponent: Opponent, rules: Rules, seed: int) -> None:
        super().__init__(opponent)
        self._hands = Hands(rules, seed)
        self._answer: dict[str, Any] | None = None

    async def act(self, message: Act) -> dict[str, Any]:
        """Answers a message, which changes nothing where it is refused."""
        # In a thread: the longest messages take seconds.
        questions = await asyncio.to_thread(self._hands.read, message.games)
        if len(self._hands.readers) > MAX_HANDS:
            self._hands.readers.clear()
            raise LimitError(f"a session has at most {MAX_HANDS} games in play; these are forgotten")
        await self.opponent.observe(questions.finals)
        answers: list[dict[str, Any]] = []
        if len(questions.views):
            actions = await self.opponent.decide(questions.views)
            answers = answer_texts(questions.views, questions.slots, actions)
        self._answer = {"type": "answers", "id": message.id, "answers": answers}
        return self._answer

    async def last_answer(self) -> dict[str, Any]:
        """The answer to the last message that was accepted."""
        if self._answer is None:
            raise NotFoundError("this session has not been asked anything yet")
        return self._answer


class Table(_Seat):
    """A game against a player of ours; the server deals and keeps the rules.

    Attributes:
        session: the person's.
    """

    def __init__(self, opponent: Opponent, rules: Rules, one_hand: bool = False) -> None:
        super().__init__(opponent)
        self.session, self._one_hand = Session(UnsavedPlayer(opponent.person or "you")), one_hand
        self.session.begin(Game.begin(rules, opponent.player.name, easy=False))
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
        most: sessions and tables at once.
        seconds: for one request.
        allowed: further players that may play, by the names that the command line gave.
    """

    def __init__(self, home: Path, most: int = 2000, seconds: float = 30.0, allowed: Collection[str] = ()) -> None:
        self.home, self.most, self.seconds, self.allowed = home, most, seconds, allowed
        self._pool = ThreadPoolExecutor(1)
        self._players: dict[str, asyncio.Task[Player]] = {}
        self._open: dict[str, Table | HostGames] = {}
        self._opened = 0

    async def player(self, name: str) -> Player:
        """The player of a name, which is loaded when it is first needed; it learns nothing.

        Raises:
            GinError: if it may not play here, or cannot be made.
            LimitError: if there are too many different players.
            TimeoutError: if loading it takes longer than a request may.
        """
        check_allowed(name, self.allowed)
        if name not in self._players:
            if len(self._players) >= _MAX_PLAYERS:
                raise LimitError(f"at most {_MAX_PLAYERS} different players play at once")
            # In a thread, so that nobody waits for another's player.
            make = asyncio.to_thread(make_player, name, 0, learn=False, adapt=False, numpy=True)
            self._players[name] = loading = asyncio.create_task(make)
            loading.add_done_callback(lambda done: self._forget_failed(name, done))
        # Whoever stops waiting leaves it to the next.
        return await asyncio.wait_for(asyncio.shield(self._players[name]), self.seconds)

    def _forget_failed(self, name: str, loading: asyncio.Task[Player]) -> None:
        if loading.cancelled() or loading.exception():
            del self._players[name]

    async def memory(self, name: str, person: str) -> tuple[LevelPlayer, Path, str]:
        """A level, where it keeps what it learns of a person, and the person's name; raises like ``player``, or if it is no level."""
        person, player = check_name(person, "a person's"), await self.player(name)
        if not isinstance(player, LevelPlayer):
            raise GinError(f"{player.name} keeps no memory; only levels do")
        return player, self.home / "people" / file_name(person), person

    async def run(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Runs a function in the players' thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def opponent(self, name: str, person: str | None = None) -> Opponent:
        """A player for somebody; raises like ``player`` and, for a person, like ``memory``."""
        player = await self.player(name)
        if person is not None:
            level, directory, person = await self.memory(name, person)
            player = await self.run(lambda: level.with_profile(Profile(directory, level.level, person)))
        self._opened += 1
        return Opponent(player, person or "", self._opened, self.run)

    def add(self, seat: Table | HostGames) -> str:
        """Keeps what has been opened; returns its id, which nobody can guess.

        Raises:
            LimitError: if too many are open.
        """
        # Nothing is waited for, so that requests at the same time cannot pass the limit together.
        oldest = time.monotonic() - _IDLE
        self._open = {key: each for key, each in self._open.items() if each.turn.locked() or each.used >= oldest}
        if len(self._open) >= self.most:
            self._open = {key: each for key, each in self._open.items() if not each.is_over}
        if len(self._open) >= self.most:
            raise LimitError(f"{self.most} sessions are open, as many as one server keeps")
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
            TimeoutError: if it takes longer than a request may.
        """

        async def finish() -> Any:
            async with seat.turn:
                seat.used = time.monotonic()
                return await work()

        return await asyncio.wait_for(asyncio.shield(asyncio.create_task(finish())), self.seconds)
