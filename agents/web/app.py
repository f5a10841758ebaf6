"""``gin web``: one process that serves the table to a browser on this machine."""

from __future__ import annotations

import secrets
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import tyro

from agents.play.store import Home, default_home
from agents.web.listening import listen, make_server, network_host
from agents.web.people import People
from agents.web.server import check_root_path, make_app
from agents.web.warmup import Preparations
from ginenv.errors import GinError, check_integer
from ginenv.tables.player_names import parse_player


def run(
    host: str = "127.0.0.1",
    allow_host: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    root_path: str = "",
    allow: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
    port: int = 8377,
    browser: bool = True,
    home: Path | None = None,
    freeze: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Gin rummy in the browser: one process on this machine, nothing fetched from anywhere.

    Args:
        host: address to listen on; any but this machine's own also lets in others who have the printed address with its token.
        allow_host: a further name under which the table is reached, such as a proxy's; may be given several times.
        root_path: path under which a proxy serves the table, such as /user/ann/proxy/8377.
        allow: a program (cmd:PROGRAM) or the directory of a checkpoint or a level that may play; may be given several times.
        port: port to listen on; 0 takes any that is free.
        browser: open the page in a browser.
        home: directory of players, games and records; $GINENV_HOME if that is set.
        freeze: levels do not learn from you while this runs.
    """
    check_integer("--port", port, 0, 65535)
    root = check_root_path(root_path)
    for name in allow:
        parse_player(name)
    # The browser's command line can be seen by other users of this machine, so what it holds opens the table only once.
    token, once = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    try:
        people = People(Home(home or default_home()), freeze, allow)
    except OSError as error:
        raise GinError(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}") from None
    app = make_app(people, token, {once}, host, allow_host, root)
    listening = listen(host, port)
    shown = network_host(host)
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{listening.getsockname()[1]}/?token="
    print(f"The table is at {address}{token}\nCtrl-C leaves; every game is kept.", flush=True)
    app.state.preparations = Preparations()
    if browser:
        threading.Thread(target=webbrowser.open, args=(address + once,), daemon=True).start()
    try:
        make_server(app).run(sockets=[listening])
    except KeyboardInterrupt:
        print("The table is closed.", flush=True)
