"""Who may ask: this machine alone, or whoever has the token; never another site's page.

A page of another site can make a browser send requests here. Such requests carry that site's ``Origin``; if the site made its own name
resolve to this machine, they carry that name as ``Host``. Both are refused.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_COOKIE = "gin_token"
# Pages fetch nothing from elsewhere, and no other page may show them in a frame. Charts carry their styles in attributes.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
LONGEST_BODY = 2_000_000


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own, which no other machine can reach."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_ours(host: str, bound: str) -> bool:
    """Whether a ``Host`` names this machine: an address cannot be made to resolve to another, but a name has to be known."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if is_loopback(bound):
        return is_loopback(name)
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return name in ("localhost", bound.lower(), socket.gethostname().lower())


class Guard:
    """Refuses foreign requests, and adds the headers that keep pages to themselves.

    Args:
        app: what is guarded.
        host: what the server listens on.
        token: what a request has to bring, once in its address or in a cookie; None where the server listens on loopback only.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None = None) -> None:
        self.app, self.host, self.token = app, host, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or lets the application do it."""
        if scope["type"] != "http":
            # No web sockets, and no other protocol.
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (self.app if refusal is None else refusal)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not _is_ours(host, self.host):
            return PlainTextResponse("This address is not this table's (a foreign Host).\n", 421)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return PlainTextResponse("Another site's page may not use this table (a foreign Origin).\n", 403)
        if scope["method"] not in ("GET", "HEAD") and headers.get("sec-fetch-site", "same-origin") not in (
            "same-origin",
            "none",
        ):
            return PlainTextResponse("Another site's page may not use this table.\n", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > LONGEST_BODY:
            return PlainTextResponse(f"The request is too long; at most {LONGEST_BODY} bytes are read.\n", 413)
        return self._without_token(scope, headers) if self.token else None

    def _without_token(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        assert self.token is not None
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        if any(
            name == "token" and secrets.compare_digest(value.encode(), self.token.encode()) for name, value in query
        ):
            # Moved from the address into a cookie, so that it appears in no link and no history.
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            answer = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(_COOKIE, self.token, httponly=True, samesite="strict")
            return answer
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
        except CookieError:
            cookie = None
        if cookie is not None and secrets.compare_digest(cookie.value.encode(), self.token.encode()):
            return None
        return PlainTextResponse("This table asks for its token: open the address that 'gin web' has printed.\n", 403)
