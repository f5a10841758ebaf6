"""A request as handlers get it: who asks, for what, and the ways to answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.requests import Request as HTTPRequest
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Scope

from agents.web.form_fields import integer_field
from agents.web.jobs import PATIENCE, Job, Work
from agents.web.listening import network_host
from agents.web.pages import page
from agents.web.people import People, Person
from agents.web.safety import is_loopback
from ginenv.errors import GinError

# Attributes that hold an address of this server. What people write is escaped, so no text looks like one.
_LINK = re.compile(r'(\s(?:href|action|formaction|src|hx-get|hx-post)=")/(?!/)')


class UnfinishedError(Exception):
    """A result takes longer than a page waits; ``response`` says how far it has come."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class Request(HTTPRequest):
    """A request. Handlers write addresses as if the table were at the root of a server, and here they move to where it is.

    Args:
        scope: what Starlette knows of it.
        fields: fields of the form that was sent.

    Attributes:
        who: the name of the player who asks; empty where there is no player yet.
    """

    def __init__(self, scope: Scope, fields: Mapping[str, str]) -> None:
        super().__init__(scope)
        self.fields = fields
        self.people: People = self.app.state.people
        self.who = ""
        self._root: str = self.app.state.root
        self._person: Person | None = None
        # The address of the server as the browser knows it, which a proxy need not pass on as ``Host``: browsers send it with forms.
        if "://" in (origin := self.headers.get("origin", "")):
            self.session["address"] = origin + self._root

    @property
    def path(self) -> str:
        """Path of the address, below the table's own."""
        return path_below(self._root, self.scope)

    @property
    def htmx(self) -> bool:
        """Whether a part of the page is wanted instead of the whole."""
        return self.headers.get("hx-request") == "true"

    @property
    def address(self) -> str:
        """The address of the server, as this browser reaches it."""
        return self.session.get("address") or str(self.base_url).rstrip("/") + self._root

    @property
    def network_address(self) -> str:
        """The address of the server for other machines; empty where they cannot reach it."""
        here = urlsplit(self.address)
        if not is_loopback(here.hostname or ""):
            return self.address
        if is_loopback(self.app.state.host):
            return ""
        # The server's own port and scheme: this browser may come through a tunnel or a proxy, which others do not.
        host, (_, port) = network_host(self.app.state.host), self.scope["server"]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{self._root}"

    @property
    def invited(self) -> str:
        """The name of the person whose link has opened this browser; empty for somebody who has the table's own address."""
        return self.people.invited(self.session.get("token", ""))

    @property
    def person(self) -> Person:
        """The player who asks; at every address but that of the players there is one."""
        assert self._person is not None
        return self._person

    def ask_as(self, person: Person) -> None:
        """Says who asks, which this browser then remembers."""
        self._person = person
        if self.session.get("player") != person.name:
            self.session["player"] = person.name

    def number(self, name: str, default: int = 0) -> int:
        """A whole number from the query; raises ``GinError`` if it is none."""
        return integer_field(self.query_params, name, default)

    def part(self, template: str, status: int = 200, **values: Any) -> Response:
        """A part of a page."""
        text = page(template, **values)
        return HTMLResponse(_LINK.sub(rf"\1{self._root}/", text) if self._root else text, status)

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page with the frame around it, and the sentences that are to be shown once."""
        person = self._person
        frame = {
            "here": self.path,
            "messages": person.take_messages() if person else [],
            "player": person.name if person else "",
            "invited": self.invited,
        }
        return self.part(template, status, **frame | values)

    def progress(self, job: Job, address: str, heading: str, words: str) -> Response:
        """How far a job has come; the page asks for the address again."""
        values = {"job": job, "address": address, "heading": heading, "words": words}
        return self.part("progress_part.html", **values) if self.htmx else self.page("progress.html", **values)

    def result(
        self, key: Hashable, work: Work, address: str, heading: str, words: Callable[[Job], str], keep: bool = False
    ) -> Any:
        """What comes of a job of the person's.

        Args:
            key: of the job.
            work: what it does.
            address: where the result is asked for, again and again.
            heading: what it is about.
            words: say how far it has come.
            keep: whether the result is the same when it is asked for another time.

        Raises:
            UnfinishedError: if it takes longer than a page waits.
            GinError: if nothing comes of it.
        """
        job = self.person.jobs.job(key, work)
        if not job.wait(PATIENCE):
            raise UnfinishedError(self.progress(job, address, heading, words(job)))
        if job.error or not keep:
            self.person.jobs.pop(key, None)
        if job.error:
            raise GinError(job.error)
        return job.result

    def prepared(self) -> Job | None:
        """The preparation of a game against the chosen opponent under the chosen rules; begun as soon as they are chosen."""
        preparations = self.app.state.preparations
        return None if preparations is None else preparations.prepare(self.person.session.options)

    def problem(self, status: int, heading: str, words: str) -> Response:
        """A page that says what is not possible; if only a part was asked for, the sentence alone, which the page then shows."""
        if self.htmx:
            return PlainTextResponse(words, status)
        return self.page("error.html", status, heading=heading, words=words)

    def go(self, path: str) -> Response:
        """Redirects to another whole page, even if only a part was asked for."""
        if self.htmx:
            return Response(status_code=204, headers={"HX-Redirect": self._root + path})
        return RedirectResponse(self._root + path, 303)


def path_below(root: str, scope: Scope) -> str:
    """Path of a request below the path under which a proxy serves the table, whether the proxy has taken that off or not."""
    # A server hands paths on without their escapes.
    root, path = unquote(root), scope["path"]
    return path[len(root) :] if path.startswith(f"{root}/") else path
