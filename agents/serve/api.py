"""The addresses of ``gin serve``, and its OpenAPI description, which FastAPI makes from the same models that check the messages."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeVar, cast

from fastapi import FastAPI, Path, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import Field, TypeAdapter, ValidationError
from starlette.authentication import AuthenticationBackend, AuthenticationError
from starlette.exceptions import HTTPException
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

from agents.files import JsonError, parse_json
from agents.levels.level import Level
from agents.levels.profile import export_opponent, import_opponent, reset_level
from agents.levels.sentences import describe_learning
from agents.play.allowed import names_for_all
from agents.player_names import check_name
from agents.programs.events import VERSION
from agents.programs.messages import Act, Action, AnswerList, Error, GameEntry, Message, RulesField, sentence_of
from agents.serve.players import memory_directory
from agents.serve.sessions import MAX_HANDS, BusyError, HostGames, LimitError, NotFoundError, Sessions, Table
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError, quoted

# Bytes of a body, and of one that is too large.
MAX_BODY, _DRAINED = 1 << 20, 1 << 24
_Result = TypeVar("_Result")

PlayerName = Annotated[str, Field(min_length=1, max_length=200, examples=["level-2"])]
PersonName = Annotated[str, Field(min_length=1, max_length=20, examples=["Ann"])]
Key = Annotated[str, Path(min_length=1, max_length=40)]
Person = Annotated[str, Path(min_length=1, max_length=20)]
LevelName = Annotated[str, Path(min_length=1, max_length=200)]


class NewSession(Message):
    """What a host says of the games that it will ask about: the player, the rules, and whom the player meets."""

    player: PlayerName = "level-2"
    rules: RulesField = get_rules("eaai")
    seed: int = Field(0, ge=0, lt=2**63)
    person: PersonName | None = None


class SessionOpened(Message):
    """A session that is open."""

    session: str
    protocol: int
    name: str


class SessionAct(Act):
    """Questions and news about the games of a session."""

    games: Annotated[list[GameEntry], Field(max_length=MAX_HANDS)]


class NewTable(Message):
    """The opponent, the rules, and who plays: a level remembers a person with a name."""

    player: PlayerName = "level-2"
    rules: RulesField = get_rules("eaai")
    person: PersonName | None = None


class TableAction(Message):
    """One of the ``legal`` actions of the question."""

    action: Action


class TableState(Message):
    """What has happened at a table since the last answer and, while the game is not over, the next question."""

    table: str
    over: bool
    game: GameEntry


class Server(Message):
    """What this server offers."""

    protocol: int
    players: list[str]
    sessions: int


class Memory(Message):
    """What a level has learned of a person: in words, and as an export that the same address takes back."""

    level: str
    person: str
    words: str
    export: dict[str, Any]


class _SafeRequest(Request):
    """A request whose body is bounded, read by the one reader of JSON and checked, in a thread: others do not wait for it."""

    body_model: TypeAdapter[Any]

    async def stream(self) -> AsyncGenerator[bytes, None]:
        read = 0
        async for chunk in super().stream():
            read += len(chunk)
            if read <= MAX_BODY:
                yield chunk
            elif read > _DRAINED:
                # A client that is still sending would not read the answer, but not for ever.
                break
        if read > MAX_BODY:
            raise HTTPException(413, f"the body is too large; at most {MAX_BODY} bytes are read")

    async def json(self) -> Any:
        return await asyncio.to_thread(self._read, await self.body())

    def _read(self, body: bytes) -> Any:
        try:
            return self.body_model.validate_python(parse_json(body))
        except JsonError as error:
            raise HTTPException(400, f"the body is not JSON: {error}") from None
        except ValidationError as error:
            raise HTTPException(422, sentence_of(error.errors(include_url=False, include_input=False))) from None


class _SafeRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        if self.body_field is None:
            return handler
        # FastAPI takes a body that is of its model already as it is.
        model = TypeAdapter[Any](cast(Any, self.body_field.field_info.annotation))

        async def handle(request: Request) -> Response:
            safe = _SafeRequest(request.scope, request.receive)
            safe.body_model = model
            return await handler(safe)

        return handle


class _Token(AuthenticationBackend):
    """Admits those who bring the token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def authenticate(self, conn: HTTPConnection) -> None:
        scheme, _, given = conn.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secrets.compare_digest(given.strip().encode(), self._token):
            raise AuthenticationError("the header Authorization: Bearer TOKEN is missing or holds another token")


def _refused(request: HTTPConnection, error: Exception) -> Response:
    return _problem(401, str(error), {"WWW-Authenticate": "Bearer"})


def _problem(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"type": "error", "message": message}, status, headers)


# What goes wrong, and the status that says so.
_STATUSES = {NotFoundError: 404, BusyError: 409, LimitError: 429, GinError: 422, TimeoutError: 503}
_TOO_LONG = "this takes too long; what has begun is finished all the same"


async def _failed(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in _STATUSES.items() if isinstance(error, kind))
    return _problem(status, _TOO_LONG if status == 503 else str(error))


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = str(error.detail)
    if text == HTTPStatus(error.status_code).phrase:
        # The router's own: an address or a method that there is not.
        wanted = quoted(f"{request.method} {request.url.path}")
        text = f"there is no {wanted} here; GET /openapi.json describes every address"
    return _problem(error.status_code, text, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    text = sentence_of(error.errors())
    if isinstance(error.body, bytes) and error.body:
        text += "; a body is read with the header Content-Type: application/json"
    return _problem(422, text)


def make_app(sessions: Sessions, token: str, origins: Sequence[str] = ()) -> ASGIApp:
    """The application.

    Args:
        sessions: what is open.
        token: what every request has to bring.
        origins: origins whose pages may read answers.
    """
    app = FastAPI(
        title="gin serve",
        version="2",
        description="Players of gin rummy, asked with the messages of the line protocol.",
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": Error, "description": "What cannot be done, and why; nothing has changed"}},
        dependencies=[Security(HTTPBearer(auto_error=False))],
    )
    app.router.route_class = _SafeRoute
    for kind in _STATUSES:
        app.add_exception_handler(kind, _failed)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(AuthenticationMiddleware, backend=_Token(token), on_error=_refused)
    # Outside of the token: a browser asks without it whether its page may ask.
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "DELETE"),
        allow_headers=("Authorization", "Content-Type"),
        allow_private_network=True,
    )

    @app.get("/", response_model=Server)
    async def server() -> Any:
        """What this server offers."""
        players = [*names_for_all(), *sessions.allowed]
        return {"protocol": VERSION, "players": players, "sessions": sessions.limits.sessions}

    _add_sessions(app, sessions)
    _add_tables(app, sessions)
    _add_memories(app, sessions)
    return app


def _add_sessions(app: FastAPI, sessions: Sessions) -> None:
    @app.post("/sessions", status_code=201, response_model=SessionOpened)
    async def open_session(body: NewSession) -> Any:
        """Opens a session with a player, which then answers a host's questions."""
        async with asyncio.timeout(sessions.limits.seconds):
            opponent = await sessions.opponent(body.player, body.person)
        key = sessions.add(HostGames(opponent, body.rules, body.seed))
        return {"session": key, "protocol": VERSION, "name": opponent.shared.player.name}

    @app.post("/sessions/{session}/act", response_model=AnswerList)
    async def ask_session(session: Key, body: SessionAct) -> Response:
        """Tells the player what has happened, and asks for its decisions."""
        games = sessions.find(session, HostGames)
        return JSONResponse(await sessions.in_turn(games, lambda: games.act(body)))

    @app.get("/sessions/{session}/act", response_model=AnswerList)
    async def last_answer(session: Key) -> Response:
        """The last answer again: after one that was lost, or a request that took too long."""
        games = sessions.find(session, HostGames)
        if games.busy:
            raise BusyError("the last message is still being answered")
        if games.answer is None:
            raise NotFoundError("this session has not been asked anything yet")
        return JSONResponse(games.answer)

    @app.delete("/sessions/{session}", status_code=204)
    async def close_session(session: Key) -> None:
        """Ends a session; what the player has learned stays."""
        sessions.close(session)


def _add_tables(app: FastAPI, sessions: Sessions) -> None:
    def state(key: str, table: Table, status: int = 200) -> Response:
        return JSONResponse({"table": key, "over": table.is_over, "game": table.entry()}, status)

    @app.post("/tables", status_code=201, response_model=TableState)
    async def open_table(body: NewTable) -> Response:
        """Begins a game against a player; the server deals."""
        async with asyncio.timeout(sessions.limits.seconds):
            table = Table(await sessions.opponent(body.player, body.person), body.rules)
        key = sessions.add(table)
        try:
            await sessions.in_turn(table, table.go_on)
        except (GinError, TimeoutError):
            # Nobody has learned its id.
            sessions.close(key)
            raise
        return state(key, table, 201)

    @app.post("/tables/{table}", response_model=TableState)
    async def play(table: Key, body: TableAction) -> Response:
        """Plays an action; the answer holds what followed, and the next question."""
        found = sessions.find(table, Table)
        await sessions.in_turn(found, lambda: found.play(body.action))
        return state(table, found)

    @app.get("/tables/{table}", response_model=TableState)
    async def look(table: Key) -> Response:
        """The last answer again: after one that was lost, or a request that took too long."""
        found = sessions.find(table, Table)
        await sessions.in_turn(found, found.go_on)
        return state(table, found)

    @app.delete("/tables/{table}", status_code=204)
    async def close_table(table: Key) -> None:
        """Leaves a table."""
        sessions.close(table)


def _add_memories(app: FastAPI, sessions: Sessions) -> None:
    async def use(level: str, person: str, work: Callable[..., _Result], *more: Any) -> _Result:
        name = check_name(person, "a person's")
        async with asyncio.timeout(sessions.limits.seconds):
            player = await sessions.player(level)
            return await player.run(work, memory_directory(sessions.home, name), player.level.level, name, *more)

    # Names may hold a slash.
    address = "/people/{person:path}/memories/{level:path}"

    @app.get(address, response_model=Memory)
    async def read_memory(person: Person, level: LevelName) -> Response:
        """What a level has learned of a person."""
        words = await use(level, person, describe_learning)
        export = await use(level, person, export_opponent)
        return JSONResponse({"level": level, "person": person, "words": words, "export": export})

    @app.put(address, status_code=204)
    async def import_memory(person: Person, level: LevelName, body: dict[str, Any], request: Request) -> None:
        """Replaces what a level knows of a person by an export."""
        if "opponents" not in body:
            raise HTTPException(422, "opponents: missing; a memory is what GET of this address answers under 'export'")
        await use(level, person, import_opponent, await request.body())

    @app.delete(address, status_code=204)
    async def reset_memory(person: Person, level: LevelName) -> None:
        """Lets a level forget a person."""
        await use(level, person, _forget)


def _forget(directory: FilePath, level: Level, person: str) -> None:
    if directory.exists():
        reset_level(directory, level)
