"""How both servers listen: where, and how many connections strangers may hold, and for how long.

uvicorn's own ``limit_concurrency`` answers 503 to everybody once a stranger holds enough connections, and it sets no time for a request's
arrival. Here a new connection takes the place of the one that has waited longest without a request to be answered, or that leaves answers
unread.
"""

from __future__ import annotations

import asyncio
import os
import socket
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ginenv.errors import GinError

try:
    import resource
except ImportError:  # Windows
    resource = None

# Connections in all, where the system allows as many open files; and the files that everything else may need.
_MAX_CONNECTIONS, _RESERVED_FILES = 1024, 192
# Connections that asyncio accepts in one go; the rest wait in the system.
_BACKLOG = 32
# Seconds for a request to arrive, from its first byte or the connection's beginning, and for which a client may leave answers unread.
_SECONDS = 30.0


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; raises ``GinError`` if the address cannot be used."""
    try:
        # With its protocol: asyncio turns Nagle's algorithm off only where it is TCP by name, and without that every answer waits
        # 40 ms for an acknowledgement of its headers.
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        if os.name == "posix":
            # Elsewhere it would share the port with another program.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        return listening
    except OSError as error:
        raise GinError(
            f"{host} port {port} cannot be listened on ({error.strerror or error}); choose another with --host or --port"
        ) from None


def network_host(host: str) -> str:
    """What other machines call this one: the address that it listens on, or its address in its network where it listens on all."""
    if host not in ("0.0.0.0", "::"):
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent: the system only says from which address it would send to one that belongs to nobody.
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname()


def make_server(app: ASGIApp, keep_alive: int = 5) -> uvicorn.Server:
    """A server of an application; it runs on a socket of ``listen``.

    Args:
        app: the application.
        keep_alive: seconds that a connection without requests stays open.
    """
    most = _MAX_CONNECTIONS
    if resource is not None and (files := resource.getrlimit(resource.RLIMIT_NOFILE)[0]) != resource.RLIM_INFINITY:
        most = min(most, files - _RESERVED_FILES)
    # No access log: it would name people, or show a token. No warnings: a stranger's bad request causes one each.
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=partial(_Protocol, open_connections=_Connections(max(most, 2))),  # type: ignore[arg-type]
            ws="none",
            log_level="error",
            access_log=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=2,
            timeout_keep_alive=keep_alive,
        )
    )


class _Connections(dict["_Protocol", None]):
    """Connections without a request to be answered, the longest waiting first; counts the others too, so that there are not too many."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.number = most, 0


class _Protocol(H11Protocol):
    """A connection whose client has to send requests and read answers in time, and which may have to make room for another."""

    def __init__(self, *arguments: Any, open_connections: _Connections, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._waiting, self._is_open = open_connections, False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Counts the connection; if there are too many, the one that has waited longest ends, in the extreme this one."""
        super().connection_made(transport)
        self._is_open = True
        self._waiting.number += 1
        self._take_stock()
        if self._waiting.number > self._waiting.most:
            next(iter(self._waiting)).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on."""
        super().data_received(data)
        self._take_stock()

    def pause_writing(self) -> None:
        """The client leaves answers unread."""
        super().pause_writing()
        self._take_stock()

    def resume_writing(self) -> None:
        """The client reads on."""
        super().resume_writing()
        self._take_stock()

    def on_response_complete(self) -> None:
        """Waits for the next request, if it has not come already."""
        super().on_response_complete()
        self._take_stock()

    def _take_stock(self) -> None:
        """Notes whether the connection has a request to be answered, and whether its client owes anything: if so, for how long yet."""
        if not self._is_open:
            return
        answering = self.cycle is not None and not self.cycle.response_complete
        unread, more = self.flow.write_paused, bool(self.conn.trailing_data[0])
        # No browser sends requests ahead of answers; with a thousand of them a stranger would never wait for anything.
        if answering and not (unread or more):
            self._waiting.pop(self, None)
        else:
            self._waiting.setdefault(self)
        begun = self.conn.their_state is h11.IDLE and (more or self.cycle is None)
        if not (unread or begun or self.conn.their_state is h11.SEND_BODY):
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(_SECONDS, self.drop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forget(self) -> None:
        self._stop_timer()
        self._waiting.pop(self, None)
        self._waiting.number -= self._is_open
        self._is_open = False

    def drop(self) -> None:
        """Ends the connection without an answer."""
        # Forgotten before it is lost, so that the next one to make room is another.
        self._forget()
        self.transport.abort()
