"""Where a server listens."""

from __future__ import annotations

import socket

from ginenv.errors import GinError


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; raises ``GinError`` if the address cannot be used."""
    try:
        # With its protocol: asyncio turns Nagle's algorithm off only where it is TCP by name, and without that every answer waits
        # 40 ms for an acknowledgement of its headers.
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(64)
        return listening
    except OSError as error:
        raise GinError(
            f"{host} port {port} cannot be listened on ({error.strerror or error}); choose another with --host or --port"
        ) from None
