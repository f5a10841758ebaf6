"""The table in the browser without a browser: a client in this process, and a person who plays through its forms."""

import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from starlette.testclient import TestClient

from agents.play.game import Game
from agents.play.session import Session
from agents.play.store import Home
from agents.web.people import People, Person
from agents.web.server import make_app
from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import card_name
from ginenv.tables.players import Player, make_player

ADDRESS = "http://127.0.0.1:8377"
TOKEN = "the-token"


def browser_of(people: People, **settings: object) -> TestClient:
    """A client that has opened the address that the program prints."""
    client = TestClient(make_app(people, TOKEN, **settings), base_url=ADDRESS)  # type: ignore[arg-type]
    client.get(f"/?token={TOKEN}", follow_redirects=False)
    return client


class Failing:
    """An opponent that fails."""

    name = "failing"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def act(self, views: object, slots: object = None) -> NoReturn:
        raise self.error


class Slow:
    """An opponent that thinks until it is told to go on."""

    def __init__(self, player: Any) -> None:
        self.player, self.name = player, player.name
        self.begun, self.go_on = threading.Event(), threading.Event()

    def act(self, views: object, slots: object = None) -> Any:
        self.begun.set()
        assert self.go_on.wait(60)
        return self.player.act(views, slots)

    def observe_hands(self, views: object, slots: object = None) -> None:
        self.player.observe_hands(views, slots)


def command_of(live: Session, action: int) -> tuple[str, dict[str, str]]:
    """How a form says an action: the command, and its other fields."""
    phase = live.hand.phase
    if action == PASS:
        return "done" if phase == "layoff" else "pass", {}
    if action in (STOCK, UPCARD):
        return "stock" if action == STOCK else "take", {}
    if phase == "spread":
        return "spread", {"number": str(action + 1)}
    return "knock" if action >= KNOCK else "card", {"card": card_name(action % KNOCK)}


class Client:
    """Somebody's browser, and the player whose seat it has."""

    client: TestClient
    person: Person
    decent: Player

    def do(self, **fields: object) -> str:
        """What the browser gets after a command."""
        raise NotImplementedError

    def move(self) -> str:
        """Plays what a decent player would, as a form says it."""
        live = self.person.session
        if live.hand.is_over:
            return self.do(do="next")
        do, values = command_of(live, int(self.decent.act(live.view.reshape(1))[0]))
        shown = self.do(do=do, **values)
        return self.do(do="just discard", **values) if self.person.table.pending_knock is not None else shown

    def get(self, path: str, **headers: str) -> str:
        """A page, when what a level has learned has been looked up."""
        answer = self.client.get(path, headers=headers)
        while path.startswith("/learned") and "<progress" in answer.text:
            time.sleep(0.05)
            answer = self.client.get(path, headers=headers)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[-300:])
        return answer.text

    def post(self, path: str, **fields: object) -> str:
        """What is shown after a form was sent."""
        answer = self.client.post(path, data=fields, headers={"Origin": ADDRESS})
        assert answer.status_code == 200, (path, answer.status_code, answer.text[-300:])
        return answer.text


class Guest(Client):
    """A browser's requests, and the player Ann at the server that answers them.

    Args:
        home: where everything is kept.
        game: what is on the table.
        allowed: programs and directories that the command line named.
        options: options that are changed first.
    """

    def __init__(
        self,
        home: Path,
        game: Game | None = None,
        allowed: Sequence[str] = (),
        **options: str,
    ) -> None:
        self.people = People(Home(home), allowed=allowed)
        exists = self.people.home.find("Ann")
        self.person = self.people.person("Ann") if exists else self.people.create("Ann")
        for name, value in options.items():
            self.person.session.set_option(name, value)
        if game is not None:
            self.person.session.file.game = Game.model_validate_json(game.to_json())
        self.client = browser_of(self.people)
        self.decent = make_player("formula")

    def do(self, **fields: object) -> str:
        """The table after a command, as the page gets it."""
        at = {"at": self.person.table.mark} if self.person.session.is_playing else {}
        answer = self.client.post("/table", data={**at, **fields}, headers={"Origin": ADDRESS, "HX-Request": "true"})
        assert answer.status_code == 200, answer.text[-300:]
        return answer.text

    def play_game(self) -> str:
        """Begins a game and plays it to its end; what is shown then."""
        self.post("/new", sure="1")
        shown = ""
        while not self.person.session.match.is_over:
            shown = self.move()
        return shown

    def deal(self, game: Game) -> str:
        """Puts a game in the place of the one that is on the table."""
        self.person.session.leave_game()
        self.person.session.file.game = Game.model_validate_json(game.to_json())
        return self.get("/table")

    def refused(self, path: str, status: int = 400, **fields: object) -> str:
        """What a form is answered that is refused; without fields, an address."""
        answer = self.client.post(path, data=fields) if fields else self.client.get(path)
        assert answer.status_code == status, (path, fields, answer.status_code)
        return plain(answer.text)

    def close(self) -> None:
        self.people.close()


def attribute(text: str, name: str) -> str:
    """The first value of an attribute in a page."""
    found = re.search(rf'\b{name}="([^"]*)"', text)
    assert found is not None, f"no {name} in {text[:200]}"
    return found[1]


def plain(text: str) -> str:
    """What a page says, without its elements."""
    words = re.sub(r"<[^>]*>", "", re.sub(r"<(style|script|svg).*?</\1>", "", text, flags=re.DOTALL))
    return " ".join(words.replace("\ufe0e", "").replace("&#39;", "'").split())
