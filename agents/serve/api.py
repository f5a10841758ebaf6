"""The addresses of ``gin serve``, and its OpenAPI description, which FastAPI makes from the same models that check the messages."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Any, TypeVar, cast

from fastapi import FastAPI, Path, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import Field, TypeAdapter, ValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from agents.files import JsonError, parse_json
from agents.play.allowed import names_for_all
from agents.player_names import check_name
from agents.programs.events import VERSION
from agents.programs.messages import Act, Action, AnswerList, Error, GameEntry, Message, RulesField, sentence_of
from agents.programs.responder import Hands
from agents.serve.people import MAX_MEMORY, as_level
from agents.serve.sessions import MAX_HANDS, LimitError, NotFoundError, Session, Sessions
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError, quoted

# Bytes of a body, and of one that is too large.
MAX_BODY, _DRAINED = 1 << 20, 1 << 24
_TOO_LARGE = f"the body is too large; at most {MAX_BODY} bytes are read"
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
    """A request whose body is read by the one reader of JSON, with its limits, and checked, in a thread: others do not wait for it."""

    body_model: TypeAdapter[Any]

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
        # FastAPI takes a body that is of its model already as it is.
        model = None if self.body_field is None else TypeAdapter[Any](cast(Any, self.body_field.field_info.annotation))

        async def handle(request: Request) -> Response:
            if model is None:
                return await handler(request)
            safe = _SafeRequest(request.scope, request.receive)
            safe.body_model = model
            return await handler(safe)

        return handle


class Guard:
    """Refuses requests without the token, and bodies that are too large, before anything is read.

    Args:
        app: what is guarded.
        token: what ``Authorization: Bearer`` has to hold.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it."""
        if scope["type"] != "http":
            # Nothing here speaks another protocol.
            return await self.app(scope, receive, send) if scope["type"] == "lifespan" else None
        headers = Headers(scope=scope)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secrets.compare_digest(given.strip().encode(), self.token):
            response = _problem(401, "the header Authorization: Bearer TOKEN is missing or holds another token")
            response.headers["WWW-Authenticate"] = "Bearer"
            return await response(scope, receive, send)
        read = 0

        async def limited() -> Any:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MAX_BODY:
                raise HTTPException(413, _TOO_LARGE)
            return message

        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > MAX_BODY:
            while read < _DRAINED and (message := await receive()).get("more_body"):
                # A client that is still sending would not read the answer.
                read += len(message.get("body", b""))
            return await _problem(413, _TOO_LARGE)(scope, receive, send)
        return await self.app(scope, limited, send)


def _problem(status: int, message: str) -> JSONResponse:
    return JSONResponse({"type": "error", "message": message}, status)


@contextmanager
def _statuses() -> Iterator[None]:
    """Turns the errors of sessions into statuses."""
    try:
        yield
    except NotFoundError as error:
        raise HTTPException(404, str(error)) from None
    except LimitError as error:
        raise HTTPException(429, str(error)) from None
    except GinError as error:
        raise HTTPException(422, str(error)) from None
    except TimeoutError:
        raise HTTPException(503, "this takes too long; what has begun is finished all the same") from None


_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": words}
    for status, words in {
        400: "The body is not JSON",
        401: "The token is missing or wrong",
        404: "There is no such session, table, person or level",
        409: "The session is busy with another request",
        413: "The body is too large",
        422: "The message cannot be used; nothing has changed",
        429: "More is open than one server keeps",
        503: "It took too long",
    }.items()
}


def make_app(sessions: Sessions, token: str, origins: Sequence[str] = ()) -> ASGIApp:
    """The application.

    Args:
        sessions: what is open.
        token: what every request has to bring.
        origins: origins whose pages may read answers.
    """
    app = FastAPI(
        title="gin serve",
        version="1",
        description="Players of gin rummy, asked with the messages of the line protocol.",
        docs_url=None,
        redoc_url=None,
        responses=_ERRORS,
        dependencies=[Security(HTTPBearer(auto_error=False))],
    )
    app.router.route_class = _SafeRoute
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.state.sessions = sessions

    @app.get("/", response_model=Server)
    async def server() -> Response:
        """What this server offers."""
        players = [*names_for_all(), *sessions.allowed]
        return JSONResponse({"protocol": 2, "players": players, "sessions": sessions.limits.sessions})

    _add_sessions(app, sessions)
    _add_tables(app, sessions)
    _add_memories(app, sessions)
    guarded = Guard(app, token)
    if not origins:
        return guarded
    # Outside of the guard: a browser asks without the token whether its page may ask.
    return CORSMiddleware(
        guarded,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "DELETE"),
        allow_headers=("Authorization", "Content-Type"),
        allow_private_network=True,
    )


async def _in_turn(sessions: Sessions, session: Session, work: Callable[[], Awaitable[_Result]]) -> _Result:
    """Does one thing at a time for each session.

    What takes longer than a request may is finished all the same; until then the session is busy.
    """
    if session.busy:
        raise HTTPException(409, "this session is busy with another request; its requests come one after the other")
    session.busy = True
    task = asyncio.ensure_future(work())
    task.add_done_callback(lambda done: session.finish(done.cancelled() or done.exception()))
    with _statuses():
        return await asyncio.wait_for(asyncio.shield(task), sessions.limits.seconds)


async def _open(sessions: Sessions, body: NewSession | NewTable) -> tuple[str, Session]:
    with _statuses():
        async with asyncio.timeout(sessions.limits.seconds):
            return await sessions.open(body.player, body.person)


def _add_sessions(app: FastAPI, sessions: Sessions) -> None:
    @app.post("/sessions", status_code=201, response_model=SessionOpened)
    async def open_session(body: NewSession) -> Response:
        """Opens a session with a player, which then answers a host's questions."""
        key, session = await _open(sessions, body)
        session.hands = Hands(body.rules, body.seed)
        opened = {"session": key, "protocol": VERSION, "name": session.engine.player.name}
        return JSONResponse(opened, 201)

    @app.post("/sessions/{session}/act", response_model=AnswerList)
    async def ask_session(session: Key, body: SessionAct) -> Response:
        """Tells the player what has happened, and asks for its decisions."""
        with _statuses():
            found = sessions.session(session)
        return JSONResponse(await _in_turn(sessions, found, lambda: sessions.act(found, body)))

    @app.delete("/sessions/{session}", status_code=204)
    async def close_session(session: Key) -> Response:
        """Ends a session; what the player has learned stays."""
        with _statuses():
            sessions.close(session)
        return Response(status_code=204)


def _add_tables(app: FastAPI, sessions: Sessions) -> None:
    @app.post("/tables", status_code=201, response_model=TableState)
    async def open_table(body: NewTable) -> Response:
        """Begins a game against a player; the server deals."""
        key, session = await _open(sessions, body)
        try:
            await _in_turn(sessions, session, lambda: sessions.begin_table(session, body.rules))
        except HTTPException:
            # Nobody has learned its id.
            sessions.close(key)
            raise
        return _table(key, session, 201)

    @app.post("/tables/{table}", response_model=TableState)
    async def play(table: Key, body: TableAction) -> Response:
        """Plays an action; the answer holds what followed, and the next question."""
        with _statuses():
            session, state = sessions.table(table)
        await _in_turn(sessions, session, lambda: state.play(body.action))
        return _table(table, session)

    @app.get("/tables/{table}", response_model=TableState)
    async def look(table: Key) -> Response:
        """The last answer again: after one that was lost, or a request that took too long."""
        with _statuses():
            session, state = sessions.table(table)
        await _in_turn(sessions, session, state.go_on)
        return _table(table, session)

    @app.delete("/tables/{table}", status_code=204)
    async def close_table(table: Key) -> Response:
        """Leaves a table."""
        with _statuses():
            sessions.close(table)
        return Response(status_code=204)


def _table(key: str, session: Session, status: int = 200) -> Response:
    assert session.table is not None
    table = session.table
    return JSONResponse({"table": key, "over": table.is_over, "game": table.entry()}, status)


def _add_memories(app: FastAPI, sessions: Sessions) -> None:
    people = sessions.people

    async def use(level: str, person: str, work: Callable[..., _Result], *more: Any) -> _Result:
        with _statuses():
            name = check_name(person, "a person's")
            async with asyncio.timeout(sessions.limits.seconds):
                engine = await sessions.engine(level)
                return await engine.run(work, as_level(engine.player).level, name, *more)

    # Names may hold a slash.
    address = "/people/{person:path}/memories/{level:path}"

    @app.get(address, response_model=Memory)
    async def read_memory(person: Person, level: LevelName) -> Response:
        """What a level has learned of a person."""
        words = await use(level, person, people.describe)
        export = await use(level, person, people.export)
        return JSONResponse({"level": level, "person": person, "words": words, "export": export})

    @app.put(address, status_code=204)
    async def import_memory(person: Person, level: LevelName, body: dict[str, Any], request: Request) -> Response:
        """Replaces what a level knows of a person by an export."""
        text = await request.body()
        if len(text) > MAX_MEMORY:
            raise HTTPException(413, f"a memory has at most {MAX_MEMORY} bytes")
        if "opponents" not in body:
            raise HTTPException(422, "opponents: missing; a memory is what GET of this address answers under 'export'")
        await use(level, person, people.restore, text)
        return Response(status_code=204)

    @app.delete(address, status_code=204)
    async def reset_memory(person: Person, level: LevelName) -> Response:
        """Lets a level forget a person."""
        await use(level, person, people.reset)
        return Response(status_code=204)


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = str(error.detail)
    if text == HTTPStatus(error.status_code).phrase:
        # The router's own: an address or a method that there is not.
        wanted = quoted(f"{request.method} {request.url.path}")
        text = f"there is no {wanted} here; GET /openapi.json describes every address"
    response = _problem(error.status_code, text)
    response.headers.update(error.headers or {})
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    text = sentence_of(error.errors())
    if isinstance(error.body, bytes) and error.body:
        text += "; a body is read with the header Content-Type: application/json"
    return _problem(422, text)
