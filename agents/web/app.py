"""``gin web``: one process that serves the table to a browser on this machine."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from agents.files import check_directory
from agents.play.store import Home, default_home
from agents.web.listening import listen, make_server
from agents.web.people import People
from agents.web.server import check_root_path, make_app
from agents.web.warmup import Preparations
from ginenv.errors import GinError, check_integer
from ginenv.tables.player_names import parse_player


@dataclass
class Arguments:
    """Gin rummy in the browser: one process on this machine, nothing fetched from anywhere.

    Attributes:
        host: address to listen on; any but this machine's own also lets in others who have the printed address with its token.
        allow_host: a further name under which the table is reached, such as a proxy's; may be given several times.
        root_path: path under which a proxy serves the table, such as /user/ann/proxy/8377.
        allow: a program (cmd:PROGRAM) or the directory of a checkpoint or a level that may play; may be given several times.
        port: port to listen on; 0 takes any that is free.
        browser: open the page in a browser.
        home: directory of players, games and records; $GINENV_HOME if that is set.
        runs: folder whose training runs and reports are shown.
        freeze: levels do not learn from you while this runs.
    """

    host: str = "127.0.0.1"
    port: int = 8377
    allow_host: tyro.conf.UseAppendAction[list[str]] = field(default_factory=list)
    root_path: str = ""
    allow: tyro.conf.UseAppendAction[list[str]] = field(default_factory=list)
    browser: bool = True
    home: Path = field(default_factory=default_home)
    runs: Path = Path("runs")
    freeze: Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help_behavior_hint="")] = False


def run(arguments: Sequence[str], program: str = "gin web") -> None:
    """Serves the table until it is interrupted.

    Raises:
        GinError: if an argument cannot be used.
    """
    chosen = tyro.cli(Arguments, prog=program, args=arguments)
    check_integer("--port", chosen.port, 0, 65535)
    check_directory("runs", chosen.runs)
    root = check_root_path(chosen.root_path)
    for name in chosen.allow:
        parse_player(name)
    # The browser's command line can be seen by other users of this machine, so what it holds opens the table only once.
    token, once = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    try:
        people = People(Home(chosen.home), chosen.freeze, chosen.allow)
    except OSError as error:
        raise GinError(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}") from None
    app = make_app(people, token, {once}, chosen.host, chosen.allow_host, chosen.runs, root)
    listening = listen(chosen.host, chosen.port)
    port = listening.getsockname()[1]
    shown = socket.gethostname() if chosen.host in ("0.0.0.0", "::") else chosen.host
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?token="
    print(f"The table is at {address}{token}\nCtrl-C leaves; every game is kept.", flush=True)
    app.state.preparations = Preparations()
    if chosen.browser:
        threading.Thread(target=webbrowser.open, args=(address + once,), daemon=True).start()
    try:
        make_server(app).run(sockets=[listening])
    except KeyboardInterrupt:
        print("The table is closed.", flush=True)
