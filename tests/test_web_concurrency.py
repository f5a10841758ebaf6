"""Several people at one server: the work of one bounds nobody else's, and ends."""

import re
import threading
import time

import pytest
from starlette.testclient import TestClient

from agents.analysis import sources
from agents.web import jobs, replay_pages
from ginenv.tables.players import make_player
from tests.support.web_scenes import ADDRESS, TOKEN, Guest, plain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Slow:
    """Plays as ``formula`` does, but waits first for an event and then for a while."""

    name = "slow"
    pause = 0.05

    def __init__(self) -> None:
        self.begun, self.go_on, self.formula = threading.Event(), threading.Event(), make_player("formula")

    def act(self, views, slots=None):
        self.begun.set()
        assert self.go_on.wait(60)
        time.sleep(self.pause)
        return self.formula.act(views, slots)

    def observe_hands(self, views, slots=None):
        pass


def test_others_are_answered_while_a_slow_game_is_watched_and_its_work_is_bounded(guest, monkeypatch):
    monkeypatch.setattr(replay_pages, "MAX_SECONDS", 0.3)
    ann: Guest = guest()
    assert "Ann is at the table" in ann.get("/")
    bob = TestClient(ann.client.app, base_url=ADDRESS)
    bob.get(f"/?token={TOKEN}")
    bob.post("/players", data={"do": "create", "name": "Bob"})
    assert bob.post("/new", data={"sure": "1"}).status_code == 200
    fields = {"first": "formula", "second": "formula", "rules": "eaai", "seed": "3"}
    for client in (ann.client, bob):
        assert client.post("/watch", data=fields).status_code == 200
    slow = Slow()
    ann.browser.watched.get(1).players = [slow, slow]
    found: list[str] = []
    watching = threading.Thread(target=lambda: found.append(ann.get("/watch?game=1&at=999999")))
    watching.start()
    try:
        assert slow.begun.wait(60)
        assert 'id="table"' in bob.get("/table").text
        assert ", step" in plain(bob.get("/watch?game=1&at=5").text)
        assert "Analysis" in bob.get("/analysis").text and watching.is_alive()
    finally:
        slow.go_on.set()
        watching.join(60)
    (step,) = re.findall(r"hand \d, step (\d+)", plain(found[0]))
    assert 1 <= int(step) <= 10 and 'id="step-on"' in found[0], "the page shows how far it has come, and goes on"


def test_the_hand_of_a_seed_is_played_outside_of_the_request_that_asks_for_it(guest, monkeypatch):
    ann: Guest = guest()
    slow = Slow()
    slow.pause = 0
    monkeypatch.setattr(sources, "make_player", lambda name, seed: slow)
    shown = ann.post("/analysis/seed", first="level-2", second="formula", rules="eaai", seed="3")
    (address,) = re.findall(r'hx-get="(/analysis/seed[^"]+)"', shown)
    slow.go_on.set()
    led = ""
    while not led:
        led = ann.client.get(address.replace("&amp;", "&"), headers={"HX-Request": "true"}).headers.get(
            "HX-Redirect", ""
        )
    assert led.startswith("/analysis?subject=") and "Level 2 against Formula" in plain(ann.get(led))


def test_a_watched_game_is_its_players_own(guest):
    ann: Guest = guest()
    ann.post("/watch", first="simple", second="formula", rules="eaai", seed="3")
    ann.post("/players", do="create", name="Bob")
    assert ann.client.get("/watch?game=1").status_code == 400


def test_one_player_holds_few_threads(guest):
    ann: Guest = guest()
    taken = 0
    while ann.browser.queue.acquire(blocking=False):
        taken += 1
    assert 2 <= taken <= 20 and ann.client.get("/").status_code == 429
    ann.browser.queue.release()
    assert ann.client.get("/").status_code == 200


def wait_for(what, seconds: float = 30) -> bool:
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.01)
    return what()


def test_unwatched_work_stops_and_restarts_on_request(monkeypatch):
    monkeypatch.setattr(jobs, "_ABANDONED", 0.1)
    pool, ended = jobs.Jobs(), threading.Event()

    def work(tell):
        while not ended.is_set():
            time.sleep(0.01)
            tell(0, 1)
        return "done"

    first = pool.job("hand", work)
    assert wait_for(lambda: first.over) and first.result is None
    stays = pool.job("all", work, stays=True)
    ended.set()
    assert pool.job("hand", work) is not first
    assert stays.wait(30) and stays.result == "done"
    assert wait_for(lambda: pool.job("hand", work).result == "done")


def test_a_persons_work_waits_for_its_turn_and_for_nobody_elses():
    pool, go_on = jobs.Jobs(), threading.Event()
    begun: list[str] = []

    def work(name):
        def run(tell):
            begun.append(name)
            assert go_on.wait(60)

        return run

    mine = [pool.job(number, work("Ann")) for number in range(5)]
    theirs = jobs.Jobs().job("b", work("Bob"))
    assert wait_for(lambda: "Bob" in begun)
    assert begun.count("Ann") < len(mine)
    go_on.set()
    assert theirs.wait(30) and all(each.wait(30) for each in mine) and begun.count("Ann") == len(mine)
