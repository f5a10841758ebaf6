"""The addresses of ``gin serve``, and its OpenAPI description, which FastAPI makes from the same models that check the messages."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPBearer
from pydantic import Field
from starlette.authentication import AuthenticationBackend, AuthenticationError
from starlette.exceptions import HTTPException
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

from agents.levels.memory import reset_level
from agents.levels.sentences import describe_learning
from agents.play.allowed import names_for_all
from agents.programs.events import VERSION
from agents.programs.messages import Act, Action, AnswerList, Error, GameEntry, Message, RulesField, sentence_of
from agents.serve.sessions import MAX_HANDS, HostGames, LimitError, NotFoundError, Sessions, Table
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError, quoted

_MAX_BODY = 1 << 20

PlayerName = Annotated[str, Field(min_length=1, max_length=200, examples=["level-2"])]
PersonName = Annotated[str, Field(min_length=1, max_length=20, examples=["Ann"])]
Key = Annotated[str, Path(min_length=1, max_length=40)]
Person = Annotated[str, Path(min_length=1, max_length=20)]
LevelName = Annotated[str, Path(min_length=1, max_length=200)]


class NewTable(Message):
    """The player, the rules, and whom the player meets: a level remembers a person with a name."""

    player: PlayerName = "level-2"
    rules: RulesField = get_rules("eaai")
    person: PersonName | None = None


class NewSession(NewTable):
    """The same of the games that a host deals; the seed is for random words that the host does not send."""

    seed: int = Field(0, ge=0, lt=2**63)


class SessionOpened(Message):
    """A session that is open."""

    session: str
    protocol: int
    name: str


class SessionAct(Act):
    """Questions and news about the games of a session."""

    games: Annotated[list[GameEntry], Field(max_length=MAX_HANDS)]


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
    """What a level has learned of a person, in words."""

    level: str
    person: str
    words: str


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
_STATUSES = {NotFoundError: 404, LimitError: 429, GinError: 422, TimeoutError: 503}
_TOO_LONG = "this takes too long; what has begun is finished all the same"


async def _failed(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in _STATUSES.items() if isinstance(error, kind))
    return _problem(status, _TOO_LONG if status == 503 else str(error))


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(error.status_code, f"{request.method} {quoted(request.url.path)}: {error.detail}", error.headers)


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
    for kind in _STATUSES:
        app.add_exception_handler(kind, _failed)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=_MAX_BODY)
    app.add_middleware(AuthenticationMiddleware, backend=_Token(token), on_error=_refused)
    # Outside of the token: a browser asks without it whether its page may ask.
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("Authorization", "Content-Type"),
        allow_private_network=True,
    )

    @app.get("/", response_model=Server)
    async def server() -> Any:
        """What this server offers."""
        players = [*names_for_all(), *sessions.allowed]
        return {"protocol": VERSION, "players": players, "sessions": sessions.most}

    _add_sessions(app, sessions)
    _add_tables(app, sessions)
    _add_memories(app, sessions)
    return app


def _add_sessions(app: FastAPI, sessions: Sessions) -> None:
    @app.post("/sessions", status_code=201, response_model=SessionOpened)
    async def open_session(body: NewSession) -> Any:
        """Opens a session with a player, which then answers a host's questions."""
        opponent = await sessions.opponent(body.player, body.person)
        key = sessions.add(HostGames(opponent, body.rules, body.seed))
        return {"session": key, "protocol": VERSION, "name": opponent.player.name}

    @app.post("/sessions/{session}/act", response_model=AnswerList)
    async def ask_session(session: Key, body: SessionAct) -> Response:
        """Tells the player what has happened, and asks for its decisions."""
        games = sessions.find(session, HostGames)
        return JSONResponse(await sessions.in_turn(games, lambda: games.act(body)))

    @app.get("/sessions/{session}/act", response_model=AnswerList)
    async def last_answer(session: Key) -> Response:
        """The last answer again: after one that was lost, or a request that took too long."""
        games = sessions.find(session, HostGames)
        return JSONResponse(await sessions.in_turn(games, games.last_answer))

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
    # Names may hold a slash.
    address = "/people/{person:path}/memories/{level:path}"

    @app.get(address, response_model=Memory)
    async def read_memory(person: Person, level: LevelName) -> Any:
        """What a level has learned of a person."""
        player, directory, name = await sessions.memory(level, person)
        words = await sessions.run(describe_learning, directory, player.level, name)
        return {"level": level, "person": person, "words": words}

    @app.delete(address, status_code=204)
    async def reset_memory(person: Person, level: LevelName) -> None:
        """Lets a level forget a person."""
        player, directory, _ = await sessions.memory(level, person)
        if directory.exists():
            await sessions.run(reset_level, directory, player.level)
