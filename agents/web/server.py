"""The application: addresses, who asks, and what is answered. Threads do the work, one request of a player at a time."""

from __future__ import annotations

import importlib
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

from agents.web.asked import PLAYER_COOKIE, Asked
from agents.web.jobs import Jobs
from agents.web.pages import STATIC, static_file
from agents.web.safety import LONGEST_BODY, Guard
from agents.web.seat import House
from agents.web.steps import Watched
from ginenv.errors import GinError

_MOST_FIELDS = 100
Handler = Callable[[Asked], Response]
# For each address and method, the handler as "module:function". Modules are loaded when they are first needed, so that the server
# listens at once: some of them need torch or matplotlib.
_PAGES = {
    "/": {"GET": "lobby:lobby"},
    "/ready": {"GET": "lobby:ready"},
    "/new": {"POST": "lobby:new"},
    "/players": {"GET": "lobby:players", "POST": "lobby:change_player"},
    "/rules": {"GET": "lobby:rules", "POST": "lobby:change_rules"},
    "/options": {"GET": "lobby:options", "POST": "lobby:change_options"},
    "/table": {"GET": "table:show", "POST": "table:play"},
    "/statistics": {"GET": "statistics:statistics", "POST": "statistics:reset_statistics"},
    "/learned": {"GET": "learned:learned", "POST": "learned:reset"},
    "/watch": {"GET": "watch:watch", "POST": "watch:begin"},
    "/records": {"GET": "watch:records", "POST": "watch:import_record"},
    "/records/{number:int}.gin": {"GET": "watch:save_record"},
    "/replay": {"GET": "watch:replay", "POST": "watch:replay_text"},
    "/analysis": {"GET": "analysis:analysis", "POST": "analysis:analyse_text"},
    "/analysis/seed": {"POST": "analysis:analyse_seed"},
    "/try": {"GET": "analysis:other_move"},
    "/mistakes": {"GET": "analysis:mistakes_page", "POST": "analysis:analyse_all"},
    "/results": {"GET": "results:results"},
    "/results/report": {"GET": "results:report"},
}
_PLAIN_WORDS = {404: "This address leads nowhere.", 405: "This address is for a button or a form of another page."}
# Addresses for which one need not have a seat yet.
_FOR_ALL = ("/players",)


def _answer(asked: Asked, name: str, cookie: str | None) -> Response:
    handler, home = _handler(name), asked.house.home
    # The one who asks is the player named by the browser's cookie, else whoever played last.
    asked.who = (home.find(unquote(cookie)) if cookie else None) or home.last_player or ""
    if asked.path not in _FOR_ALL:
        try:
            if asked.who:
                asked.sits(asked.house.seat(asked.who))
        except (GinError, OSError) as error:
            return asked.problem(409, "This seat cannot be taken", str(error))
        try:
            seat = asked.seat
        except GinError:
            return asked.go("/players")
        with seat.lock:
            answer = _handled(asked, handler)
        # From now on this browser belongs to this player, whoever else plays in another one.
        return answer if cookie else asked.remembering(answer, seat)
    return _handled(asked, handler)


def _handled(asked: Asked, handler: Handler) -> Response:
    try:
        return handler(asked)
    except (GinError, OSError) as error:
        return asked.problem(400, "That is not possible", str(error))


async def _form(request: Request) -> dict[str, str]:
    """The text fields of a form.

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
    # The stream is used up, so the parser gets what was read.
    request._body = bytes(body)
    async with request.form(max_files=0, max_fields=_MOST_FIELDS, max_part_size=LONGEST_BODY) as form:
        return {name: value for name, value in form.multi_items() if isinstance(value, str)}


def _handler(name: str) -> Handler:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"agents.web.{module}"), function)


def _endpoint(name: str) -> Callable:
    async def endpoint(request: Request) -> Response:
        form = await _form(request)
        htmx = request.headers.get("hx-request") == "true"
        asked = Asked(request.app, request.url.path, request.query_params, form, request.path_params, htmx)
        return await run_in_threadpool(_answer, asked, name, request.cookies.get(PLAYER_COOKIE))

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
    words = _PLAIN_WORDS.get(status, words)
    asked = Asked(request.app, request.url.path, QueryParams(), {}, {}, request.headers.get("hx-request") == "true")
    return asked.problem(status, heading, words)


def make_app(house: House, host: str = "127.0.0.1", token: str | None = None, runs: Path = Path("runs")) -> Starlette:
    """The application.

    Args:
        house: the seats; closed when the application ends.
        host: what the server will listen on.
        token: what every request has to bring, or None.
        runs: the folder whose training runs and reports are shown.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        house.close()
        app.state.watched.close()

    routes = [Route("/static/{name}", _static)]
    for path, handlers in _PAGES.items():
        routes += [Route(path, _endpoint(name), methods=[method]) for method, name in handlers.items()]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, host=host, token=token)],
        exception_handlers={HTTPException: _problem, 500: _problem},
        lifespan=lifespan,
    )
    app.state.house, app.state.runs, app.state.ready = house, runs, None
    app.state.watched, app.state.subjects, app.state.jobs = Watched(), Watched(), Jobs()
    return app
