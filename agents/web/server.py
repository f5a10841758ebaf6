"""The application: addresses, who asks, and what is answered. Threads do the work, one request of a player at a time."""

from __future__ import annotations

import importlib
import secrets
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request as HTTPRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agents.web.browser_session import Sessions
from agents.web.pages import STATIC, static_file
from agents.web.request import Request
from agents.web.root_path import RootPath
from agents.web.safety import LONGEST_BODY, Guard
from ginenv.errors import GinError

_MAX_FIELDS = 100
Handler = Callable[[Request], Response]
# For each address and method, the handler as "module:function". Modules are loaded when they are first needed, so that the server
# listens at once: some of them need torch or matplotlib.
_PAGES = {
    "/": {"GET": "lobby:lobby"},
    "/ready": {"GET": "lobby:ready"},
    "/new": {"GET": "lobby:wait_for_game", "POST": "lobby:new"},
    "/players": {"GET": "lobby:players", "POST": "lobby:change_player"},
    "/rules": {"GET": "lobby:rules", "POST": "lobby:change_rules"},
    "/options": {"GET": "lobby:options", "POST": "lobby:change_options"},
    "/table": {"GET": "table:show", "POST": "table:play"},
    "/statistics": {"GET": "statistics:statistics", "POST": "statistics:reset_statistics"},
    "/learned": {"GET": "learned:learned", "POST": "learned:reset"},
    "/watch": {"GET": "watch:watch", "POST": "watch:begin"},
    "/records": {"GET": "watch:records", "POST": "watch:import_record"},
    "/records/{number}.gin": {"GET": "watch:save_record"},
    "/replay": {"GET": "watch:replay", "POST": "watch:replay_text"},
    "/analysis": {"GET": "analysis:analysis", "POST": "analysis:analyse_text"},
    "/analysis/seed": {"GET": "analysis:analyse_seed", "POST": "analysis:analyse_seed"},
    "/try": {"GET": "analysis:other_move"},
    "/mistakes": {"GET": "analysis:mistakes_page", "POST": "analysis:analyse_all"},
    "/practice": {"GET": "practice:practice", "POST": "practice:answer"},
    "/results": {"GET": "results:results"},
    "/results/report": {"GET": "results:report"},
}
# Addresses for which one need not have a seat yet.
_FOR_ALL = ("/players",)
# Addresses that are not for somebody who was invited to one seat: other people's affairs.
_FOR_HOSTS = ("/players", "/learned", "/watch", "/results")


def _answer(request: Request, name: str) -> Response:
    handler, home = _handler(name), request.sessions.home
    if not (request.invited or request.session.get("admitted")):
        # A link that has just been taken back.
        return PlainTextResponse("This link is no longer good.\n", 403)
    if request.invited and request.path.startswith(_FOR_HOSTS):
        return request.problem(403, "That is not possible", "This page is not for somebody who was invited.")
    # The player is the one that the browser's session names, else the player who played last; nobody who has an own browser.
    named = home.find(request.session.get("player", ""))
    named = None if request.sessions.is_away(named or "") else named
    request.who = request.invited or named or home.last_player or ""
    if request.path not in _FOR_ALL:
        if request.session.get("next"):
            # Covered until somebody takes a seat.
            return request.go("/players")
        try:
            if request.who:
                request.set_session(request.sessions.browser_session(request.who))
        except (GinError, OSError) as error:
            return request.problem(409, "This seat cannot be taken", str(error))
        try:
            browser = request.browser_session
        except GinError:
            return request.go("/players")
        # Requests that wait for their turn hold threads, which other players need.
        if not browser.queue.acquire(blocking=False):
            return PlainTextResponse("Too much was asked at once; try again in a moment.\n", 429)
        try:
            with browser.locked():
                # From now on this browser belongs to this player, whichever player another one has.
                request.remember(browser)
                return _handled(request, handler)
        finally:
            browser.queue.release()
    return _handled(request, handler)


def _handled(request: Request, handler: Handler) -> Response:
    try:
        return handler(request)
    except (GinError, OSError) as error:
        return request.problem(400, "That is not possible", str(error))


async def _form(http_request: HTTPRequest) -> dict[str, str]:
    """The fields of a form; what is not UTF-8 in them is replaced.

    Raises:
        HTTPException: if it is too long, or has too many fields.
    """
    if http_request.method != "POST":
        return {}
    read = 0
    body = bytearray()
    async for chunk in http_request.stream():
        read += len(chunk)
        if read > LONGEST_BODY:
            raise HTTPException(413, f"The form is too long; at most {LONGEST_BODY} bytes are read.")
        body += chunk
    # In a thread: nobody waits for a long form of somebody else.
    return await run_in_threadpool(_fields, body)


def _fields(body: bytearray) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise HTTPException(400, f"The form has too many fields; at most {_MAX_FIELDS} are read.") from None


def _handler(name: str) -> Handler:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"agents.web.{module}"), function)


def _endpoint(name: str) -> Callable:
    async def endpoint(http_request: HTTPRequest) -> Response:
        form = await _form(http_request)
        htmx = http_request.headers.get("hx-request") == "true"
        request = Request(
            http_request.app,
            http_request.url.path,
            http_request.query_params,
            form,
            http_request.path_params,
            htmx,
            http_request.session,
            _address(http_request),
        )
        return await run_in_threadpool(_answer, request, name)

    return endpoint


def _address(http_request: HTTPRequest) -> str:
    """The address of the server as the browser knows it, which a proxy need not pass on as ``Host``: browsers send it with forms."""
    origin = http_request.headers.get("origin", "")
    if "://" in origin:
        http_request.session["address"] = origin + http_request.scope.get("app_root_path", "")
    return http_request.session.get("address") or str(http_request.base_url).rstrip("/")


def _static(http_request: HTTPRequest) -> Response:
    name = http_request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    return Response(
        static_file(name), media_type=STATIC[name], headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )


async def _problem(http_request: HTTPRequest, error: Exception) -> Response:
    status, words = (
        (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "Something went wrong here.")
    )
    heading = "That is not possible"
    if status == 404:
        heading, words = "There is no such page", "Page not found."
    request = Request(
        http_request.app, http_request.url.path, QueryParams(), {}, {}, http_request.headers.get("hx-request") == "true"
    )
    return request.problem(status, heading, words)


def make_app(
    sessions: Sessions,
    token: str,
    once: set[str] | None = None,
    host: str = "127.0.0.1",
    names: Collection[str] = (),
    runs: Path = Path("runs"),
    root: str = "",
) -> Starlette:
    """The application.

    Args:
        sessions: the seats; closed when the application ends.
        token: what a browser has to bring once.
        once: tokens that are good for one request only; they are removed as they are used.
        host: what the server will listen on.
        names: further names under which the table may be reached.
        runs: the folder whose training runs and reports are shown.
        root: path under which a proxy serves the table (``agents.web.root_path``).
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        sessions.close()

    routes = [Route("/static/{name}", _static)]
    for path, handlers in _PAGES.items():
        routes += [Route(path, _endpoint(name), methods=[method]) for method, name in handlers.items()]
    app = Starlette(
        routes=routes,
        middleware=[
            *([Middleware(RootPath, root=root)] if root else ()),
            # A secret and a name for each start: what is not from this process is no session of it.
            Middleware(
                SessionMiddleware,
                secret_key=secrets.token_urlsafe(32),
                session_cookie=f"gin_{secrets.token_hex(4)}",
                path=root or "/",
                max_age=None,
            ),
            Middleware(
                Guard,
                host=host,
                token=token,
                once=set() if once is None else once,
                names=names,
                invited=lambda token: bool(sessions.invited(token)),
            ),
        ],
        exception_handlers={HTTPException: _problem, 500: _problem},
        lifespan=lifespan,
    )
    app.state.sessions, app.state.runs, app.state.preparations = sessions, runs, None
    return app
