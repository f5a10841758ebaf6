"""How both servers listen: where, and how many connections strangers may hold, and for how long.

uvicorn's own ``limit_concurrency`` answers 503 to everybody once a stranger holds enough connections, and it sets no time for a request's
arrival. Here a new connection takes the place of the one that has waited longest without a request to be answered, or that leaves answers
unread.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from collections import Counter
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ginenv.errors import GinError

# Connections in all, where the system allows as many open files; half of them from one address, which may be that of a proxy.
_MAX_CONNECTIONS = 1024
# Connections that asyncio accepts in one go; the rest wait in the system. Four times as many can be open before they are counted, or after
# they were dropped.
_BACKLOG = 32
# Open files for everything else.
_RESERVED = 4 * _BACKLOG + 64
# Seconds from a request's first byte, or from a connection's beginning, to the end of its head; of its body; and for which a client may
# leave answers unread.
_HEAD_SECONDS, _BODY_SECONDS, _UNREAD_SECONDS = 10.0, 60.0, 60.0
# Lines that a logger writes in a minute; strangers cause some of them.
_LINES_PER_MINUTE = 20


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; raises ``GinError`` if the address cannot be used."""
    try:
        # With its protocol: asyncio turns Nagle's algorithm off only where it is TCP by name, and without that every answer waits
        # 40 ms for an acknowledgement of its headers.
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
        return listening
    except OSError as error:
        raise GinError(
            f"{host} port {port} cannot be listened on ({error.strerror or error}); choose another with --host or --port"
        ) from None


def make_server(app: ASGIApp, keep_alive: int = 5) -> uvicorn.Server:
    """A server of an application; it runs on a socket of ``listen``.

    Args:
        app: the application.
        keep_alive: seconds that a connection without requests stays open.
    """
    for name in ("asyncio", "uvicorn.error"):
        logging.getLogger(name).addFilter(_RateLimit())
    # No access log: it would name people, or show a token. No warnings: a stranger's bad request causes one each.
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=partial(_Protocol, book=_Connections(_max_connections())),  # type: ignore[arg-type]
            ws="none",
            log_level="error",
            access_log=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=2,
            timeout_keep_alive=keep_alive,
        )
    )


def _max_connections() -> int:
    """As many as leave enough open files for everything else."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MAX_CONNECTIONS
    return max(min(_MAX_CONNECTIONS, files - _RESERVED), 2)


class _RateLimit(logging.Filter):
    """Lets a logger write so many lines in a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._minute, self._lines = 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        if (now := time.monotonic()) - self._minute > 60:
            self._minute, self._lines = now, 0
        self._lines += 1
        return self._lines <= _LINES_PER_MINUTE


class _Connections:
    """All connections.

    Args:
        most: how many there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[_Protocol] = set()
        self._by_address: Counter[str] = Counter()
        # Those without a request to be answered, the longest waiting first.
        self._waiting: dict[_Protocol, None] = {}

    def add(self, connection: _Protocol) -> None:
        """Counts a new connection; where there are too many, the one that has waited longest ends, in the extreme the new one."""
        self._open.add(connection)
        self._by_address[connection.address] += 1
        self.set_waiting(connection, True)
        if self._by_address[connection.address] > self._most // 2:
            next(each for each in self._waiting if each.address == connection.address).drop()
        elif len(self._open) > self._most:
            next(iter(self._waiting)).drop()

    def remove(self, connection: _Protocol) -> None:
        """Forgets a connection, unless that has been done."""
        if connection not in self._open:
            return
        self.set_waiting(connection, False)
        self._open.remove(connection)
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]

    def set_waiting(self, connection: _Protocol, waits: bool) -> None:
        """Says whether a connection has no request to be answered; one that has waited before keeps its place."""
        if not waits:
            self._waiting.pop(connection, None)
        elif connection in self._open:
            self._waiting.setdefault(connection)


class _Protocol(H11Protocol):
    """A connection that has to send its requests in time, and that may have to make room for another."""

    def __init__(self, *arguments: Any, book: _Connections, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.address = ""
        self._book, self._due, self._timer = book, "", None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Counts the connection, and begins to wait for a request."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self._wait_for("head")
        self._book.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._wait_for("")
        self._book.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._wait_for("head")
        elif self.conn.their_state is h11.SEND_BODY:
            self._wait_for("body")
        else:
            self._wait_for("reading" if self.flow.write_paused else "")
        # No browser sends requests ahead of answers; with a thousand of them a stranger would never wait for anything.
        is_ahead = bool(self.conn.trailing_data[0])
        self._book.set_waiting(self, is_ahead or self.flow.write_paused or not self._is_answering)

    def pause_writing(self) -> None:
        """The client leaves answers unread: it may have to make room, and has to go on in time."""
        super().pause_writing()
        self._book.set_waiting(self, True)
        if not self._due:
            self._wait_for("reading")

    def resume_writing(self) -> None:
        """The client reads on."""
        super().resume_writing()
        if self._due == "reading":
            self._wait_for("")

    def on_response_complete(self) -> None:
        """Waits for the next request, if it has not come already."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_answering:
            self._book.set_waiting(self, True)

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for(self, part: str) -> None:
        """Ends the connection unless this part of a request, or the reading of its answer, comes in time; empty for nothing."""
        if part == self._due:
            return
        self._due = part
        if self._timer is not None:
            self._timer.cancel()
        seconds = {"head": _HEAD_SECONDS, "body": _BODY_SECONDS, "reading": _UNREAD_SECONDS}.get(part)
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.drop)

    def drop(self) -> None:
        """Ends the connection without an answer."""
        # Before it is lost, so that the next one to make room is another.
        self._book.remove(self)
        self.transport.abort()
