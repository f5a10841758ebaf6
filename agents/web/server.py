"""The application: addresses, who asks, and what is answered. Threads do the work, one request of a player at a time."""

from __future__ import annotations

import importlib
import re
import secrets
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request as HTTPRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from agents.web.pages import STATIC, static_file
from agents.web.people import People
from agents.web.request import Request, UnfinishedError, path_below
from agents.web.safety import Guard, admission
from ginenv.errors import GinError, must_be

_MAX_BODY, _MAX_FIELDS = 2_000_000, 100
_ROOT = re.compile(r"(/[A-Za-z0-9._~@%-]+)+")
# For each address and method, the handler as "module:function". Modules are loaded when they are first needed, so that the server
# listens at once: some of them need torch or matplotlib.
_PAGES = {
    "/": {"GET": "lobby:lobby"},
    "/ready": {"GET": "lobby:ready"},
    "/new": {"GET": "lobby:wait_for_game", "POST": "lobby:new"},
    "/invitation": {"GET": "lobby:invitation"},
    "/players": {"GET": "lobby:players", "POST": "lobby:change_player"},
    "/rules": {"GET": "options:rules", "POST": "options:change_rules"},
    "/options": {"GET": "options:options", "POST": "options:change_options"},
    "/daily": {"GET": "daily:daily", "POST": "daily:play"},
    "/table": {"GET": "table_page:show", "POST": "table_page:play"},
    "/play-on": {"GET": "table_page:show", "POST": "table_page:play"},
    "/play-on/new": {"POST": "play_on:begin"},
    "/statistics": {"GET": "statistics:statistics", "POST": "statistics:reset_statistics"},
    "/learned": {"GET": "learned:learned", "POST": "learned:reset"},
    "/learned/strength": {"GET": "learned:strength"},
    "/records": {"GET": "records:records", "POST": "records:import_record"},
    "/records/{number}.gin": {"GET": "records:save_record"},
    "/replay": {"GET": "records:replay"},
    "/analysis": {"GET": "analysis:analysis"},
    "/mistakes": {"GET": "analysis:mistakes_page", "POST": "analysis:analyse_all"},
    "/practice": {"GET": "practice:practice", "POST": "practice:answer"},
}
# Addresses for which one need not have a seat yet.
_FOR_ALL = ("/players",)
# Addresses that are not for somebody who was invited to one seat: other people's affairs.
_FOR_HOSTS = ("/players", "/learned", "/invitation", "/daily")


def _endpoint(name: str) -> Callable:
    async def endpoint(http_request: HTTPRequest) -> Response:
        body = await http_request.body()
        # In threads: nobody waits for a long form of somebody else.
        fields = await run_in_threadpool(_fields, body)
        return await run_in_threadpool(_answer, Request(http_request.scope, fields), name)

    return endpoint


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form; what is not UTF-8 in them is replaced."""
    try:
        return dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise HTTPException(400, f"The form has too many fields; at most {_MAX_FIELDS} are read.") from None


def _answer(request: Request, name: str) -> Response:
    people = request.people
    if not (request.invited or request.session.get("admitted")):
        # A link that has just been taken back.
        return PlainTextResponse("This link is no longer good.\n", 403)
    if request.invited and request.path.startswith(_FOR_HOSTS):
        return request.problem(403, "That is not possible", "This page is not for somebody who was invited.")
    # The player is the one that the browser's session names, else the player who played last; nobody who has an own browser.
    named = people.home.find(request.session.get("player", "")) or ""
    request.who = request.invited or ("" if people.is_away(named) else named) or people.home.last_player or ""
    if request.path in _FOR_ALL:
        return _handled(request, name)
    if not request.who or request.session.get("next"):
        # Nobody is here yet, or the table is covered until somebody takes a seat.
        return request.go("/players")
    try:
        person = people.person(request.who)
    except (GinError, OSError) as error:
        return request.problem(409, "This seat cannot be taken", str(error))
    # Requests that wait for their turn hold threads, which other players need.
    if not person.queue.acquire(blocking=False):
        return PlainTextResponse("Too much was asked at once; try again in a moment.\n", 429)
    try:
        with person.locked():
            # From now on this browser belongs to this player, whichever player another one has.
            request.ask_as(person)
            return _handled(request, name)
    finally:
        person.queue.release()


def _handled(request: Request, name: str) -> Response:
    module, _, function = name.partition(":")
    try:
        return getattr(importlib.import_module(f"agents.web.{module}"), function)(request)
    except UnfinishedError as unfinished:
        return unfinished.response
    except (GinError, OSError) as error:
        return request.problem(400, "That is not possible", str(error))


def _static(http_request: HTTPRequest) -> Response:
    name = http_request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    for_ever = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(static_file(name), media_type=STATIC[name], headers=for_ever)


async def _problem(http_request: HTTPRequest, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    heading, words = {
        404: ("There is no such page", "Page not found."),
        413: ("That is not possible", f"The form is too long; at most {_MAX_BODY} bytes are read."),
        500: ("That is not possible", "Something went wrong here."),
    }.get(status, ("That is not possible", str(getattr(error, "detail", ""))))
    return Request(http_request.scope, {}).problem(status, heading, words)


def check_root_path(root: str) -> str:
    """A path without its last slash; empty for the root itself.

    Raises:
        GinError: if it is no path.
    """
    root = root.rstrip("/")
    if root and not _ROOT.fullmatch(root):
        raise GinError(must_be("--root-path", "a path such as /user/ann/proxy/8377", root))
    return root


def make_app(
    people: People,
    token: str,
    once: Collection[str] = (),
    host: str = "127.0.0.1",
    names: Collection[str] = (),
    root: str = "",
) -> Starlette:
    """The application.

    Args:
        people: everybody at the table; their sessions end with the application.
        token: what a browser has to bring once.
        once: tokens that are good for one request only.
        host: what the server will listen on.
        names: further names under which the table may be reached.
        root: path under which a proxy serves the table (``check_root_path``); the proxy may take it off, or not.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        people.close()

    routes: list[BaseRoute] = [Route("/static/{name}", _static)]
    for path, handlers in _PAGES.items():
        routes += [Route(path, _endpoint(name), methods=[method]) for method, name in handlers.items()]
    app = Starlette(
        routes=[Mount(unquote(root), routes=routes), *routes] if root else routes,
        middleware=[
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
                names=names,
                admit=admission(token, once, people.invited, lambda scope: root + path_below(root, scope)),
            ),
        ],
        exception_handlers={HTTPException: _problem, 500: _problem},
        lifespan=lifespan,
        max_body_size=_MAX_BODY,
    )
    app.state.people, app.state.root, app.state.host, app.state.preparations = people, root, host, None
    return app
