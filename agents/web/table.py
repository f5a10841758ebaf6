"""The table: a page, and the part of it that changes with every command."""

from __future__ import annotations

from starlette.responses import HTMLResponse, Response

from agents.web.pages import page
from agents.web.request import Asked
from agents.web.view_model import table_values


def show(asked: Asked) -> Response:
    """The table, or the lobby if there is no game; an empty answer if the caller already shows the position."""
    seat = asked.seat
    if not seat.enter():
        return asked.go("/")
    if asked.htmx:
        return Response(status_code=204) if asked.query.get("at") == seat.mark else _part(asked)
    return asked.page("table.html", t=table_values(seat), cloth=seat.session.options.cloth)


def _part(asked: Asked) -> Response:
    seat = asked.seat
    return HTMLResponse(
        page("table_part.html", t=table_values(seat), cloth=seat.session.options.cloth, said=seat.take_said())
    )


def play(asked: Asked) -> Response:
    """Carries out a command and shows the table after it."""
    seat, form = asked.seat, asked.form
    if not seat.enter():
        return asked.go("/")
    # A button that names no command is a card, a spread or a sort order.
    do = form.get("do") or next(
        (command for field, command in (("card", "card"), ("number", "spread"), ("by", "sort")) if form.get(field)), ""
    )
    seat.command(do, {**form, "card": form.get("card") or form.get("picked", "")})
    if seat.session.game is None:
        # An opponent that could not even start again has left the table; the lobby says why, and the game is kept.
        return asked.go("/")
    return _part(asked) if asked.htmx else asked.go("/table")
