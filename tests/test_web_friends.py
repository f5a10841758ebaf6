"""Two people at one table: what each is sent, links, turns at one browser, and games that go on after either side was killed."""

import re
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from agents.play.store import Home
from agents.web.listening import network_host
from agents.web.people import People, Person
from agents.web.server import make_app
from ginenv.engine.cards import card_name
from ginenv.tables.players import make_player
from tests.support.hidden import redeal_hidden
from tests.support.web_scenes import ADDRESS, TOKEN, Client, plain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Side(Client):
    """Somebody's browser, and the player who plays from it."""

    def __init__(self, app, people: People, name: str, token: str) -> None:
        self.people, self.name = people, name
        self.client = TestClient(app, base_url=ADDRESS)
        self.client.get(f"/?token={token}", follow_redirects=False)
        self.decent = make_player("formula")

    @property
    def person(self) -> Person:
        return self.people.person(self.name)

    def do(self, **fields: object) -> str:
        return self.post("/table", at=self.person.table.mark, **fields)


class Table:
    """Ann at the server's own address, and Bob by a link, unless they take turns at Ann's browser."""

    def __init__(self, home: Path, rules: str = "ht1,target=500", **fields: str) -> None:
        self.home = home
        self.serve()
        self.people.create("Ann")
        self.ann = Side(self.app, self.people, "Ann", TOKEN)
        self.ann.post("/options", rules=rules)
        self.shown = self.ann.post("/new", sure="1", opponent="friend", friend="Bob", **fields)
        if not fields:
            self.bob = Side(self.app, self.people, "Bob", self.token)

    def serve(self) -> None:
        self.people = People(Home(self.home))
        self.app = make_app(self.people, TOKEN)

    @property
    def token(self) -> str:
        (found,) = set(re.findall(rf"{ADDRESS}/\?token=(\w+)", self.shown))
        return found

    def restart(self) -> None:
        """A server that was killed, and browsers that have forgotten everything."""
        for seat in self.people._people.values():
            # What the end of a process does.
            seat.session.file.close()
        self.people.home.close()
        self.serve()
        self.ann = Side(self.app, self.people, "Ann", TOKEN)
        self.bob = Side(self.app, self.people, "Bob", self.token)

    def turn(self) -> tuple[Side, Side]:
        """Who is to move, and the other."""
        live = self.ann.person.session
        mine = live.hand.is_over or live.hand.turn == live.seat
        return (self.ann, self.bob) if mine else (self.bob, self.ann)


@pytest.fixture
def table(tmp_path):
    tables = []

    def make(*rules: str, **fields: str) -> Table:
        tables.append(Table(tmp_path, *rules, **fields))
        return tables[-1]

    yield make
    for each in tables:
        each.people.close()


def cards_in(page: str) -> set[str]:
    """Every card that a page names or draws."""
    return set(re.findall(r"\b[A2-9TJQK][SCDH]\b", page.partition("<main")[2]))


def test_two_people_play_a_game_from_two_browsers_and_both_keep_it(table):
    two = table("ht1,target=30")
    assert "Bob" in plain(two.ann.get("/table")) and "Ann" in plain(two.bob.get("/table"))
    heard: dict[str, str] = {"Ann": "", "Bob": ""}
    while not two.ann.person.session.match.is_over:
        mover, other = two.turn()
        assert mover.person.session.hand.is_over or "You can " in plain(mover.get("/table"))
        before = other.person.table.mark
        mover.move()
        heard[other.name] += plain(other.get(f"/table?at={before}", **{"HX-Request": "true"}))
    assert "Bob draws from the stock" in heard["Ann"] and "Ann draws from the stock" in heard["Bob"]
    winner = two.ann.person.session.match.winner
    for seat, side in enumerate((two.ann, two.bob)):
        assert ("You win the game" in plain(side.get("/table"))) == (seat == winner)
        (game,) = side.person.session.file.games()
        assert game.over and game.seat == seat and game.names == ("Ann", "Bob") and game.winner == winner
        (tally,) = side.person.session.file.statistics.root
        assert tally.won == [int(seat == winner), int(seat != winner)] and tally.opponent == ("Bob", "Ann")[seat]
        assert "step 1" in plain(side.get("/replay?record=1"))
    # Either of them may begin another game, and the other finds it.
    two.bob.do(do="another game")
    assert two.ann.person.session.game.name == two.bob.person.session.game.name != game.name


def test_what_is_hidden_from_one_of_them_changes_no_byte_that_this_one_is_sent(table):
    two, rng, seat = table(), np.random.default_rng(1), 1
    side = two.bob
    pages = ("/table", "/", "/statistics", "/records", "/options", "/analysis", "/replay?record=1", "/rules")
    looked: set[str] = set()

    def sent() -> list[bytes]:
        answers = [side.client.get(path) for path in pages]
        answers += [side.client.get("/table?at=0", headers={"HX-Request": "true"})]
        answers += [side.client.post("/table", data={"do": "hint", "at": side.person.table.mark})]
        return [answer.content for answer in answers]

    needed = {f"{who}: {phase}" for who in ("mine", "theirs") for phase in ("draw", "discard")}
    while not (looked >= needed and side.person.session.hand.is_over):
        hand = side.person.session.hand
        phase = f"{'mine' if hand.turn == seat else 'theirs'}: {hand.phase}"
        if not hand.is_over and (phase not in looked or hand.phase in ("spread", "layoff")):
            looked.add(phase)
            # What is said once and hints that stay are out of the way then.
            sent()
            seen, theirs = sent(), set(map(card_name, _cards(hand, 1 - seat)))
            original, after = hand.state.copy(), redeal_hidden(hand.state, seat, rng)
            hand.state[:] = after
            assert sent() == seen, phase
            hand.state[:] = original
            if hand.phase != "layoff":
                assert not theirs & cards_in(seen[0].decode()), phase
        two.turn()[0].move()


def _cards(hand, seat: int) -> list[int]:
    """The cards of a seat that the other does not know."""
    state = hand.state[0]
    hidden = int(state["hands"][seat]) & ~int(state["known_cards"][seat])
    return [card for card in range(52) if hidden >> card & 1]


def test_a_game_goes_on_after_the_server_and_both_browsers_were_killed(table):
    two = table()
    # Whoever reads the store does not learn the link.
    assert not [path for path in two.home.rglob("*") if path.is_file() and two.token.encode() in path.read_bytes()]
    for _ in range(3):
        mover, _ = two.turn()
        mover.move()
        marks = {side.name: side.person.table.mark for side in (two.ann, two.bob)}
        hands = {side.name: side.person.session.game.order for side in (two.ann, two.bob)}
        two.restart()
        shown = two.bob.get("/table") if mover is two.ann else two.ann.get("/table")
        assert f'data-at="{marks["Ann"]}"' in shown and marks["Ann"] == marks["Bob"]
        # Of a hand that is over, nobody holds cards any more.
        if not two.ann.person.session.hand.is_over:
            assert hands == {side.name: side.person.session.game.order for side in (two.ann, two.bob)}
    players = two.ann.get("/players")
    assert "Take the link back" in players and two.token not in players


def test_a_link_opens_one_seat_and_nothing_else(table):
    two = table()
    for path in ("/players", "/learned"):
        assert two.bob.client.get(path).status_code == 403, path
    for fields in ({"do": "switch", "name": "Ann"}, {"do": "remove", "name": "Ann", "sure": "1"}):
        assert two.bob.client.post("/players", data=fields).status_code == 403
    two.bob.post("/new", sure="1", opponent="friend", friend="Carol")
    assert two.people.home.names() == ["Ann", "Bob"], "who was invited invites nobody"
    assert "Bob" in two.bob.get("/table")
    stranger = TestClient(two.app, base_url=ADDRESS)
    assert stranger.get(f"/?token={two.token}x").status_code == 403


def test_nobody_at_the_servers_own_address_takes_the_seat_of_somebody_who_plays_by_a_link(table):
    two = table()
    for do in ("switch", "free", "remove", "uninvite"):
        answer = two.ann.client.post("/players", data={"do": do, "name": "Bob", "sure": "1"})
        assert answer.status_code == 400 and "Bob" in answer.text, do
    # A browser that has forgotten everything comes back as Ann, whoever sat down last.
    assert "Ann is at the table" in Side(two.app, two.people, "Ann", TOKEN).get("/")
    two.ann.post("/new", sure="1", opponent="formula")
    two.ann.post("/players", do="uninvite", name="Bob")
    assert two.bob.client.get("/table").status_code == 403
    two.ann.post("/players", do="switch", name="Bob")
    assert "Bob is at the table" in two.ann.get("/")


def test_by_turns_at_one_browser_the_cards_are_covered_in_between(table):
    two = table(place="here")
    client = two.ann
    assert "token=" not in two.shown and not two.people.is_away("Bob")
    for _ in range(3):
        names = ("Ann", "Bob") if two.ann.person.session.hand.turn == 0 else ("Bob", "Ann")
        if 'data-phase="waiting"' in client.get("/table"):
            covered = client.post("/table", do="hand over")
            theirs = set(map(card_name, two.people.person(names[1]).session.game.order))
            assert f"Show {names[0]}’s cards" in covered
            for path in ("/table", "/", "/records"):
                assert not theirs & cards_in(client.get(path)), path
            client.post("/players", do="switch", name=names[0])
        mover = Side(two.app, two.people, names[0], TOKEN)
        mover.client = client.client
        while two.ann.person.session.hand.turn == ("Ann", "Bob").index(names[0]):
            mover.move()


def test_a_game_that_one_of_them_leaves_for_another_ends_for_both(table):
    two = table()
    two.ann.post("/new", sure="1", opponent="formula")
    assert "has begun another game" in plain(two.bob.get("/table")) and two.bob.person.session.file.game is None
    assert two.bob.client.post("/new", data={"sure": "1"}).text.count("has an unfinished game") == 1
    assert two.ann.person.session.opponent is not None, "an invited person ends no game of another"


def test_a_friend_has_to_be_somebody_else_with_a_name_and_the_form_keeps_its_choices(table):
    two = table()
    form = {"opponent": "friend", "rules": "eaai", "place": "here", "sure": "1"}
    for name in ("Ann", "", "x" * 21, "a|b"):
        shown = two.ann.post("/new", **form, friend=name)
        (field,) = re.findall(r'<input id="friend"[^>]*>', shown)
        (reason,) = re.findall(r'<p id="unnamed"[^>]*>([^<]*)', shown)
        assert f'value="{name}"' in field and 'aria-describedby="unnamed" autofocus' in field
        assert repr(name) in plain(reason) if name else "name" in reason
        chosen = re.findall(r'value="([\w-]+)"(?: required)? (?:checked|selected)', shown)
        assert chosen == ["friend", "here", "eaai", "1"]
    assert two.ann.person.session.file.friend == "Bob"
    assert two.ann.person.session.options.rules == "ht1,target=500"


def test_the_link_is_shown_until_the_friend_has_come(table):
    two = table()
    asks = {"HX-Request": "true"}
    two.people.invite("Bob", ADDRESS)
    shown = two.ann.get("/invitation")
    (link,) = re.findall(r'<input id="link"[^>]*value="([^"]*)"', shown)
    assert link == two.people.links["Bob"] and link.endswith(two.token), "the link is the one that was sent"
    assert "on this machine only" in plain(shown)
    assert 'href="/invitation"' in two.ann.get("/table")
    assert two.ann.client.get("/invitation", headers=asks).status_code == 204
    assert two.bob.client.get("/invitation").status_code == 403
    two.bob.get("/table")
    assert two.ann.client.get("/invitation", headers=asks).headers["HX-Redirect"] == "/table"
    assert 'href="/invitation"' not in two.ann.get("/invitation"), "it leads to the table then"
    # The page asks for news beside the grid of the table, in which the score sheet keeps its place.
    assert 'id="news" class="hush"' in two.ann.get("/table") + two.bob.get("/table")


@pytest.mark.parametrize(
    ("host", "reached", "address"),
    [
        ("127.0.0.1", ADDRESS, ""),
        ("192.168.7.8", ADDRESS, "http://192.168.7.8:8377"),
        ("::", "http://localhost:8377", "http://{}:8377"),
        ("fd00::7", ADDRESS, "http://[fd00::7]:8377"),
        ("0.0.0.0", "http://10.1.2.3:8377", "http://10.1.2.3:8377"),
    ],
)
def test_a_link_for_another_device_has_the_address_of_this_one_in_its_network(tmp_path, host, reached, address):
    people = People(Home(tmp_path))
    people.create("Ann")
    client = TestClient(make_app(people, TOKEN, host=host), base_url=reached)
    client.get(f"/?token={TOKEN}")
    form = {"opponent": "friend", "friend": "Bob", "place": "network", "sure": "1"}
    lobby, shown = client.get("/").text, client.post("/new", data=form).text
    closed = "gin web --host 0.0.0.0" in lobby
    assert closed == (not address) == ('value="network" disabled' in lobby)
    # A phone has no use for the code of a link that it cannot open.
    assert closed == ("on this machine only" in plain(shown)) == ('class="qr"' not in shown)
    expected = address.format(network_host(host)) or reached
    assert people.links["Bob"].startswith(f"{expected}/?token=") and people.links["Bob"] in shown
    people.close()


def test_a_link_for_another_device_does_not_lead_through_the_tunnel_of_this_browser(tmp_path):
    people = People(Home(tmp_path))
    people.create("Ann")
    client = TestClient(make_app(people, TOKEN, host="192.168.7.8"), base_url=ADDRESS)
    client.headers |= {"Host": "localhost:9000", "Origin": "https://localhost:9000"}
    client.get(f"/?token={TOKEN}")
    client.post("/new", data={"opponent": "friend", "friend": "Bob", "place": "network", "sure": "1"})
    assert people.links["Bob"].startswith("http://192.168.7.8:8377/?token=")
    people.close()


def test_the_address_in_the_network_is_one_that_other_machines_can_use():
    assert network_host("192.168.7.8") == "192.168.7.8"
    assert network_host("0.0.0.0") not in ("", "0.0.0.0", "127.0.0.1")
