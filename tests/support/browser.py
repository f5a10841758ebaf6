"""A real browser at the table: the distribution's Chromium, and a person who plays by mouse or by keys alone."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agents.play.game import Game
from agents.play.store import Home
from agents.web.people import People, Person
from agents.web.server import make_app
from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import card_name
from ginenv.tables.players import make_player
from tests.support.web_scenes import TOKEN

_ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
).split()
# Of a busy machine.
PATIENCE = 180_000


def chromium() -> str:
    """The browser's program; skips the test where there is none."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium; the distribution's package is called chromium")
    return path


@contextmanager
def browser() -> Iterator[Any]:
    """The browser."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield opened
        finally:
            opened.close()


class Table:
    """A server in a thread of this process, at which Ann plays.

    Args:
        home: where everything is kept.
        game: what is on the table.
        options: options that are changed first.
    """

    def __init__(self, home: Path, game: Game | None = None, **options: str) -> None:
        self.people = People(Home(home))
        self.person: Person = self.people.person("Ann") if self.people.home.find("Ann") else self.people.create("Ann")
        for name, value in options.items():
            self.person.session.set_option(name, value)
        if game is not None:
            self.person.session.file.game = Game.model_validate_json(game.to_json())
        self.app = make_app(self.people, TOKEN)
        listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.entrance = f"{self.address}/?token={TOKEN}"
        self._server = uvicorn.Server(uvicorn.Config(self.app, log_level="error"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)


class Visitor:
    """Somebody at the page of the table, who plays as a decent player would.

    Args:
        page: of the browser.
        table: the server.
        keys: plays by keys alone; else by mouse, dragging every third discard.
        name: who it is.
    """

    def __init__(self, page: Any, table: Table, keys: bool, name: str = "Ann") -> None:
        self.page, self.table, self.keys, self.name = page, table, keys, name
        self.decent = make_player("formula")
        self.faults: list[str] = []
        self.moves = 0
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)

    @property
    def person(self) -> Person:
        """The person's seat at the server."""
        return self.table.people.person(self.name)

    def begin(self) -> None:
        """From the lobby to the table."""
        self.page.goto(self.table.entrance)
        if self.keys:
            self._tab_to("Begin a game", "Go on with it")
            self.page.keyboard.press("Enter")
        else:
            self.page.locator("button:has-text('Begin a game'), a:has-text('Go on with it')").first.click()
        self.page.locator("#table").wait_for()

    def _tab_to(self, *words: str) -> None:
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if self.page.locator(":focus").inner_text().strip() in words:
                return
        raise AssertionError(f"the tabulator key does not lead to {words}")

    def press(self, key: str, button: str) -> None:
        """Presses a button by its key, or with the mouse."""
        if self.keys:
            self.page.keyboard.press(key)
        else:
            self.page.click(button)

    def pick(self, card: str) -> None:
        """Picks a card up (or lays it off)."""
        if not self.keys:
            # Where its right neighbour does not cover it.
            self.page.click(f"#card-{card}", position={"x": 12, "y": 40})
            return
        for _ in range(24):  # the focus may come back to a card after an answer, in between
            self.page.keyboard.press("ArrowRight")
            if self.page.locator(":focus").get_attribute("id") == f"card-{card}":
                break
        else:
            raise AssertionError(f"the arrow keys do not lead to the {card}")
        self.page.keyboard.press("Enter")

    def move(self) -> None:
        """Plays one move, and waits until the page shows it."""
        before = self.person.table.mark
        self.act()
        self.page.locator(f'#table:not([data-at="{before}"])').wait_for()

    def act(self) -> None:
        """Plays one move, without waiting for the answer."""
        live = self.person.session
        self.moves += 1
        if live.hand.is_over:
            self.press("n", "#do-next")
        else:
            self._act(live, int(self.decent.act(live.view.reshape(1))[0]))

    def _act(self, live: Any, action: int) -> None:
        phase, name = live.hand.phase, card_name(action % KNOCK)
        if action == PASS:
            self.press("n", "#do-done") if phase == "layoff" else self.press("p", "#do-pass")
        elif action == STOCK:
            self.press("s", "#do-stock")
        elif action == UPCARD:
            self.press("t", "#do-take")
        elif phase == "spread":
            self.press(str(action + 1), f"#spread-{action + 1}")
        elif phase == "layoff":
            self.pick(name)
        elif action >= KNOCK:
            self.pick(name)
            # Where there is gin, its button takes the place of the other.
            gin = live.turn.best_knock() is not None and not live.turn.left(live.turn.best_knock() % KNOCK)
            self.press("i", "#do-gin") if gin else self.press("k", "#do-knock")
        else:
            self._discard(live, action, name)

    def _discard(self, live: Any, action: int, name: str) -> None:
        asks = live.turn.asks_to_knock(live.turn.action("discard", action))
        if self.keys:
            self.pick(name)
            self.page.keyboard.press("d")
        elif self.moves % 3:
            self.pick(name)
            self.pick(name) if self.moves % 2 else self.page.click("[data-drop=pile]")
        else:
            self.page.drag_and_drop(f"#card-{name}", "[data-drop=pile]", source_position={"x": 12, "y": 40})
        if asks:
            self.page.locator("#do-just-discard").wait_for()
            self.press("n", "#do-just-discard")

    def play_game(self, most: int = 600) -> None:
        """Plays until the game is over."""
        while not self.person.session.match.is_over:
            assert self.moves < most, "the game does not end"
            self.move()
