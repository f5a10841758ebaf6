"""Who may use the table: everyone with the address that ``gin web`` printed, or with a link to one seat; never another site's page.

The address holds a token, which the first request moves into a signed session (a cookie): other users of this machine, who can reach the
port as well, do not know it. A page of another site can make a browser send requests here. Such requests carry that site's ``Origin``; if
the site made its own name resolve to this machine, they carry that name as ``Host``. Both are refused.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Callable, Collection
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Pages fetch nothing from elsewhere, and no other page may show them in a frame. Charts carry their styles in attributes.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# Answers in the application's place; None lets it answer.
Admission = Callable[[Scope], ASGIApp | None]


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own, which no other machine can reach."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _name_in(host: str) -> str | None:
    """The name or address in a ``Host`` or an ``Origin``; None if it is malformed."""
    try:
        return urlsplit(host if "://" in host else f"//{host}").hostname
    except ValueError:
        return None


class Guard:
    """Refuses requests under other names, from other sites' pages and from those who are not admitted; keeps pages to themselves.

    Args:
        app: what is guarded.
        host: what the server listens on.
        names: further names under which it may be reached.
        admit: whether whoever asks is admitted.
    """

    def __init__(self, app: ASGIApp, host: str, names: Collection[str], admit: Admission) -> None:
        self.app, self.host, self.admit = app, host, admit
        # Of a proxy, which may pass another Host on than the browser's, or add a port to it.
        self.proxies = {name.lower() for name in names}
        self.names = {"localhost"} | self.proxies
        if not is_loopback(host):
            self.names |= {host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or lets the application do it."""
        if scope["type"] != "http":
            # No web sockets, and no other protocol.
            return await self.app(scope, receive, send) if scope["type"] == "lifespan" else None

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope) or self.admit(scope) or self.app
        return await answer(scope, receive, guarded)

    def _is_ours(self, name: str) -> bool:
        """Whether a host is this machine: an address cannot be made to resolve to another one, but a name has to be known."""
        if name in self.names:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback or not is_loopback(self.host)
        except ValueError:
            return False

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = _name_in(host)
        if name is None or not self._is_ours(name):
            words = f"This table is not known as {name or host!r}"[:200]
            return PlainTextResponse(f"{words}; 'gin web --allow-host NAME' allows a name.\n", 421)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host and _name_in(origin) not in self.proxies:
            return PlainTextResponse("Another site's page may not use this table (a foreign Origin).\n", 403)
        return None


def admission(
    token: str, once: Collection[str], invited: Callable[[str], object], path: Callable[[Scope], str]
) -> Admission:
    """Admits browsers that bring a token in an address; from then on their sessions (see ``SessionMiddleware``) say that they did.

    Args:
        token: the table's own.
        once: tokens that are used up by the first request; the command line of a browser, which other users of this machine can
            see, holds such a one.
        invited: whether a token is that of a person's link; such a browser gets that person's seat alone (``Request.invited``).
        path: the path of a request as the browser knows it.
    """
    unused = set(once)

    def admit(scope: Scope) -> ASGIApp | None:
        query, session = parse_qsl(scope["query_string"].decode("latin-1")), scope["session"]
        given = {value for name, value in query if name == "token"}
        if given & unused or any(secrets.compare_digest(value.encode(), token.encode()) for value in given):
            unused.difference_update(given)
            session.pop("token", None)
            session["admitted"] = True
        elif link := next(filter(invited, given), ""):
            session.clear()
            session["token"] = link
        elif session.get("admitted") or invited(session.get("token", "")):
            return None
        else:
            words = "This table asks for its token: open the address that 'gin web' has printed, or the link that you were sent."
            return PlainTextResponse(f"{words}\n", 403)
        # The same address without the token, which from now on appears in no link and no history.
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        return RedirectResponse(path(scope) + (f"?{rest}" if rest else ""), 303)

    return admit
