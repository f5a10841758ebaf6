"""``gin serve``: one process that answers the messages of the line protocol over HTTP."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Annotated

import tyro

from agents.play.store import default_home
from agents.serve.api import make_app
from agents.serve.sessions import Sessions
from agents.web.listening import listen, make_server
from ginenv.errors import GinError, check_integer, must_be
from ginenv.tables.player_names import parse_player

# Shorter ones could be guessed.
_SHORTEST_TOKEN = 16
# Seconds that a connection without requests stays open: a person thinks longer than a page loads.
_KEEP_ALIVE = 75


def run(
    mcp: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    host: str = "127.0.0.1",
    port: int = 8378,
    home: Path | None = None,
    allow: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    allow_origin: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    sessions: int = 2000,
    seconds: float = 30.0,
) -> None:
    """Players over HTTP, for programs in any language: the messages of the line protocol, as JSON.

    Every request needs the header Authorization: Bearer TOKEN. The token is $GIN_TOKEN, or a new one that is printed.

    Args:
        mcp: tools for a language model instead (Model Context Protocol), over standard input and output; only --allow applies.
        host: address to listen on; any but this machine's own also lets in other machines, without encryption.
        port: port to listen on; 0 takes any that is free.
        home: directory of what players learn of people; $GINENV_HOME if that is set.
        allow: a program (cmd:PROGRAM) or the directory of a checkpoint or a level that may play; may be given several times.
        allow_origin: an origin, such as https://cards.example, whose pages may ask from a browser; may be given several times.
        sessions: most sessions and tables at once.
        seconds: time limit of a request.
    """
    check_integer("--port", port, 0, 65535)
    for name in allow:
        parse_player(name)
    for origin in allow_origin:
        # Nothing else is sent by a browser.
        if not re.fullmatch(r"https?://[^/?#@\s]+|null", origin):
            raise GinError(must_be("--allow-origin", "an origin such as https://cards.example, without a path", origin))
    served = Sessions(home or default_home(), sessions, seconds, allow)
    if mcp:
        from agents.serve.mcp import serve

        return serve(served)
    given = os.environ.get("GIN_TOKEN")
    if given is not None and (len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable()):
        raise GinError(f"GIN_TOKEN must have at least {_SHORTEST_TOKEN} printable characters of ASCII")
    token = given or secrets.token_urlsafe(24)
    app = make_app(served, token, allow_origin)
    listening = listen(host, port)
    host = f"[{host}]" if ":" in host else host
    shown = "the token of GIN_TOKEN" if given else f"the token {token}"
    print(f"Serving at http://{host}:{listening.getsockname()[1]} with {shown}\nCtrl-C ends it.", flush=True)
    try:
        make_server(app, _KEEP_ALIVE).run(sockets=[listening])
    except KeyboardInterrupt:
        print("The server has ended.", flush=True)
