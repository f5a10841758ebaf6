"""The table under a path of another server, such as a JupyterHub's: pages name addresses as if at the root, and here they move."""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ginenv.errors import GinError, must_be

_ROOT = re.compile(r"(/[A-Za-z0-9._~@%-]+)+")
# Attributes that hold an address of this server. What people write is escaped, so no text looks like one.
_LINK = re.compile(rb'(\s(?:href|action|formaction|src|hx-get|hx-post)=")/(?!/)')
_REDIRECTS = ("location", "hx-redirect")


def check_root_path(root: str) -> str:
    """A path without its last slash; empty for the root itself.

    Raises:
        GinError: if it is no path.
    """
    root = root.rstrip("/")
    if root and not _ROOT.fullmatch(root):
        raise GinError(must_be("--root-path", "a path such as /user/ann/proxy/8377", root))
    return root


class RootPath:
    """Takes the path off requests, where the proxy has not done so, and puts it before the addresses in answers.

    Args:
        app: what answers, as if it were at the root.
        root: the path (``check_root_path``), not empty.
    """

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app, self.root = app, root
        # A server hands paths on without their escapes.
        self._begins = f"{unquote(root)}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        path = scope["path"]
        if path.startswith(self._begins):
            path = path[len(self._begins) - 1 :]
        waiting: list[Message] = []

        async def moved(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in _REDIRECTS:
                    if headers.get(name, "").startswith("/"):
                        headers[name] = self.root + headers[name]
                if headers.get("content-type", "").startswith("text/html"):
                    # The length is known only when the page is.
                    waiting.append(message)
                    return
            elif waiting:
                start = waiting.pop()
                message["body"] = _LINK.sub(rb"\1" + self.root.encode() + b"/", message.get("body", b""))
                MutableHeaders(scope=start)["content-length"] = str(len(message["body"]))
                await send(start)
            await send(message)

        return await self.app({**scope, "path": path, "app_root_path": self.root}, receive, moved)
