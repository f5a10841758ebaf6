"""A request as handlers get it: who asks, for what, and the ways to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from agents.web.browser_session import BrowserSession, Sessions
from agents.web.form_fields import integer_field
from agents.web.jobs import Job
from agents.web.pages import page
from ginenv.errors import GinError


class Request:
    """A request.

    Args:
        app: the application that is asked.
        path: path of the address.
        query: query of the address.
        form: fields of the form that was sent.
        params: parameters in the path.
        htmx: whether a part of the page is wanted instead of the whole.
        session: what the browser's signed cookie holds.
        address: the address of the server, as this browser reaches it.

    Attributes:
        browser_session: seat of the player who asks.
        who: the name of the player who asks; empty where there is no player yet.
    """

    def __init__(
        self,
        app: Starlette,
        path: str,
        query: QueryParams,
        form: Mapping[str, str],
        params: Mapping[str, Any],
        htmx: bool,
        session: dict[str, Any] | None = None,
        address: str = "",
    ) -> None:
        self.app, self.path, self.query, self.form, self.params, self.htmx = app, path, query, form, params, htmx
        self.session = {} if session is None else session
        self.address = address
        self.who = ""
        self._browser_session: BrowserSession | None = None

    @property
    def invited(self) -> str:
        """The name of the person whose link has opened this browser; empty for somebody who has the table's own address."""
        return self.sessions.invited(self.session.get("token", ""))

    @property
    def sessions(self) -> Sessions:
        """All seats."""
        return self.app.state.sessions

    @property
    def browser_session(self) -> BrowserSession:
        """The seat of the player who asks.

        Raises:
            GinError: if nobody has taken a seat.
        """
        if self._browser_session is None:
            raise GinError("nobody has taken a seat; choose a player first")
        return self._browser_session

    def set_session(self, browser_session: BrowserSession) -> None:
        """Says who asks."""
        self._browser_session = browser_session

    def number(self, name: str, default: int = 0) -> int:
        """A whole number from the query.

        Raises:
            GinError: if it is not a whole number.
        """
        return integer_field(self.query, name, default)

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page with the frame around it, and the sentences that are to be shown once."""
        browser_session = self._browser_session
        values = {
            "here": self.path,
            "messages": browser_session.take_messages() if browser_session else [],
            "player": browser_session.name if browser_session else "",
            "invited": self.invited,
            **values,
        }
        return HTMLResponse(page(template, **values), status)

    def part(self, part: str, full_page: str, **values: Any) -> Response:
        """A part of a page if that is asked for, else the whole."""
        return HTMLResponse(page(part, **values)) if self.htmx else self.page(full_page, **values)

    def progress(self, job: Job, address: str, heading: str, words: str) -> Response:
        """How far a job has come; the page asks for the address again."""
        values = {"job": job, "address": address, "heading": heading, "words": words}
        return self.part("progress_part.html", "progress.html", **values, here=self.path)

    def problem(self, status: int, heading: str, words: str) -> Response:
        """A page that says what is not possible; if only a part was asked for, the sentence alone, which the page then shows."""
        if self.htmx:
            return PlainTextResponse(words, status)
        return self.page("error.html", status, heading=heading, words=words)

    def go(self, path: str) -> Response:
        """Redirects to another whole page, even if only a part was asked for."""
        return Response(status_code=204, headers={"HX-Redirect": path}) if self.htmx else RedirectResponse(path, 303)

    def redirect_as(self, browser_session: BrowserSession) -> Response:
        """Redirects as a player, which this browser then remembers: to the game with a friend if there is one, else to the lobby."""
        self.remember(browser_session)
        self.session.pop("next", None)
        return RedirectResponse("/table" if browser_session.session.file.friend else "/", 303)

    def remember(self, browser_session: BrowserSession) -> None:
        """Makes this browser's session remember the player."""
        if self.session.get("player") != browser_session.name:
            self.session["player"] = browser_session.name

    def hand_over(self, name: str) -> Response:
        """Covers the table until somebody takes a seat, such as the person of this name, whose turn it is at this browser."""
        self.session["next"] = name
        return self.go("/players")
