"""The application: addresses, who asks, and what is answered. The work is done in threads, one request of a player at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agents.web import learned, lobby, results, table, watch
from agents.web.asked import PLAYER_COOKIE, Asked
from agents.web.pages import STATIC, static_file
from agents.web.safety import LONGEST_BODY, Guard
from agents.web.seat import House
from ginenv.errors import GinError

_MOST_FIELDS = 100
Handler = Callable[[Asked], Response]


def _take_seat(asked: Asked, cookie: str | None) -> None:
    """Finds out who asks: whoever the browser's cookie names, or who played last."""
    house = asked.house
    name = (house.home.find(unquote(cookie)) if cookie else None) or house.home.last_player
    if name is not None:
        asked.sits(house.seat(name))


def _answer(asked: Asked, handler: Handler, cookie: str | None, alone: bool) -> Response:
    if not alone:
        try:
            _take_seat(asked, cookie)
        except (GinError, OSError) as error:
            return asked.page("problem.html", 409, heading="This seat is taken", words=str(error))
        try:
            seat = asked.seat
        except GinError:
            return asked.go("/players")
        with seat.lock:
            return _handled(asked, handler)
    return _handled(asked, handler)


def _handled(asked: Asked, handler: Handler) -> Response:
    try:
        return handler(asked)
    except (GinError, OSError) as error:
        return asked.page("problem.html", 400, heading="That is not possible", words=str(error))


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, texts alone.

    Raises:
        HTTPException: if it cannot be read, or is too long.
    """
    if request.method != "POST":
        return {}
    read = 0
    body = bytearray()
    async for chunk in request.stream():
        read += len(chunk)
        if read > LONGEST_BODY:
            raise HTTPException(413, f"The form is too long; at most {LONGEST_BODY} bytes are read.")
        body += chunk
    # The stream is spent; the parser gets what was read.
    request._body = bytes(body)
    async with request.form(max_files=0, max_fields=_MOST_FIELDS, max_part_size=LONGEST_BODY) as form:
        return {name: value for name, value in form.multi_items() if isinstance(value, str)}


def _endpoint(handler: Handler, alone: bool = False) -> Callable:
    async def endpoint(request: Request) -> Response:
        form = await _form(request)
        htmx = request.headers.get("hx-request") == "true"
        asked = Asked(request.app, request.url.path, request.query_params, form, request.path_params, htmx)
        return await run_in_threadpool(_answer, asked, handler, request.cookies.get(PLAYER_COOKIE), alone)

    return endpoint


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404, f"There is no file {name!r} here.")
    return Response(
        static_file(name), media_type=STATIC[name], headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )


async def _problem(request: Request, error: Exception) -> Response:
    status, words = (
        (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "Something went wrong here.")
    )
    heading = "There is no such page" if status == 404 else "That is not possible"
    asked = Asked(request.app, request.url.path, QueryParams(), {}, {}, False)
    return asked.page("problem.html", status, heading=heading, words=words)


def make_app(house: House, host: str = "127.0.0.1", token: str | None = None, runs: Path = Path("runs")) -> Starlette:
    """The application.

    Args:
        house: the seats; closed when the application ends.
        host: what it will listen on.
        token: what every request has to bring, or None.
        runs: the folder whose training runs and reports are shown.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        house.close()
        app.state.watched.close()

    routes = [
        Route("/static/{name}", _static),
        *(
            Route(path, _endpoint(handler, alone), methods=[method])
            for method, path, handler, alone in [
                ("GET", "/", lobby.lobby, False),
                ("POST", "/new", lobby.new, False),
                ("GET", "/players", lobby.players, True),
                ("POST", "/players", lobby.change_player, True),
                ("GET", "/rules", lobby.rules, False),
                ("POST", "/rules", lobby.change_rules, False),
                ("GET", "/options", lobby.options, False),
                ("POST", "/options", lobby.change_options, False),
                ("GET", "/table", table.show, False),
                ("POST", "/table", table.play, False),
                ("GET", "/statistics", table.statistics, False),
                ("POST", "/statistics", table.reset_statistics, False),
                ("GET", "/learned", learned.learned, False),
                ("POST", "/learned", learned.reset, False),
                ("GET", "/watch", watch.watch, False),
                ("POST", "/watch", watch.begin, False),
                ("GET", "/records", watch.records, False),
                ("GET", "/records/{number:int}.gin", watch.save_record, False),
                ("GET", "/replay", watch.replay, False),
                ("POST", "/replay", watch.replay_text, False),
                ("GET", "/results", results.results, False),
                ("GET", "/results/report", results.report, False),
            ]
        ),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, host=host, token=token)],
        exception_handlers={HTTPException: _problem, 500: _problem},
        lifespan=lifespan,
    )
    app.state.house, app.state.runs, app.state.watched = house, runs, watch.Watched()
    return app
