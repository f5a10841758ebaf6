"""The table: a page, and the part of it that changes with every command."""

from __future__ import annotations

from typing import Any

from starlette.responses import HTMLResponse, Response

from agents.web.pages import page
from agents.web.request import Request
from agents.web.view_model import table_values


def show(request: Request) -> Response:
    """The table, or the lobby if there is no game; an empty answer if the caller already shows the position."""
    browser = request.browser_session
    if not browser.enter():
        return request.go("/")
    if request.htmx:
        return Response(status_code=204) if request.query.get("at") == browser.mark else _part(request)
    return request.page("table.html", **_values(request))


def _part(request: Request) -> Response:
    values = _values(request)
    return HTMLResponse(page("table_part.html", **values, messages=request.browser_session.take_messages()))


def _values(request: Request) -> dict[str, Any]:
    browser = request.browser_session
    browser.catch_up()
    friend = browser.session.friend
    # Two people who have no browsers of their own take turns at this one.
    turns = friend is not None and not any(map(request.sessions.is_away, (friend.file.name, browser.name)))
    return {"t": table_values(browser), "cloth": browser.session.options.cloth, "turns": turns}


def play(request: Request) -> Response:
    """Carries out a command and shows the table after it."""
    browser, form = request.browser_session, request.form
    if not browser.enter():
        return request.go("/")
    # A button that names no command is a card, a spread or a sort order.
    do = form.get("do") or next(
        (command for field, command in (("card", "card"), ("number", "spread"), ("by", "sort")) if form.get(field)), ""
    )
    if do == "hand over":
        return request.hand_over(browser.live.theirs)
    browser.command(do, {**form, "card": form.get("card") or form.get("picked", "")})
    if browser.session.game is None:
        # An opponent that could not even start again has left the table; the lobby says why, and the game is kept.
        return request.go("/")
    return _part(request) if request.htmx else request.go("/table")
