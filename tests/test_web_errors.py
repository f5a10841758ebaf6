"""What goes wrong at the table in the browser is said where it arose; first use; and that the work of one holds up nobody else."""

import threading
import time
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from agents.web import jobs, learned
from agents.web import warmup as ready
from ginenv.errors import GinError
from tests.support.session_scenes import LOOSE, NO_MELD, deck, prepared
from tests.support.web_scenes import ADDRESS, TOKEN, Failing, Guest, Slow, plain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

PART = {"HX-Request": "true", "Origin": ADDRESS}


def loose_game():
    return prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0)


def test_a_part_that_cannot_be_had_is_a_sentence_for_the_page_to_show(guest):
    ann = guest()
    answer = ann.client.get("/analysis?game=77", headers=PART)
    assert answer.status_code == 400 and answer.text == "there is no game 77 in the store"
    assert ann.client.get("/nothing", headers=PART).text == "Page not found."
    # Somebody who opens the address gets a page.
    assert "<h1>" in ann.client.get("/analysis?game=77").text


def test_an_opponent_that_fails_leaves_the_game_and_a_sentence(guest):
    ann = guest(loose_game())
    ann.get("/table")
    sound, ann.person.session.opponent = ann.person.session.opponent, Failing(ZeroDivisionError("by nothing"))
    shown = plain(ann.do(do="pass"))
    assert "Formula cannot play: it has failed (ZeroDivisionError: by nothing). The game is kept." in shown
    assert "it is Formula's turn" in plain(ann.do(do="stock"))
    ann.person.session.opponent = sound
    assert "Formula passes on the K♦" in plain(ann.do(do="again"))
    ann.person.session.opponent = Failing(GinError("the program has ended"))
    assert "cannot play: the program has ended" in plain(ann.do(card="KS"))
    ann.person.session.game.opponent = "cmd:/nowhere/gone"
    ann.person.session.allowed.add("cmd:/nowhere/gone")
    ann.person.session.save()
    answer = ann.client.post("/table", data={"do": "again"}, headers=PART)
    assert answer.headers["HX-Redirect"] == "/"
    shown = plain(ann.get("/"))
    assert "'/nowhere/gone'" in shown and "There is an unfinished game" in shown
    assert ann.person.session.file.game.name == "prepared"


def test_compilation_of_the_rules_is_announced(guest):
    ann = guest()
    assert "hx-get" not in ann.get("/ready")
    job = SimpleNamespace(over=False, seconds=2, done=0, total=0)
    job.wait = lambda seconds: job.over
    ann.client.app.state.preparations = SimpleNamespace(prepare=lambda options: job)
    for path in ("/ready", "/"):
        assert 'hx-get="/ready"' in ann.get(path) and "2 s so far" in ann.get(path)
    # A game begins as soon as that is done, and until then the page says why not.
    shown = ann.post("/new", sure="1", opponent="simple", rules="eaai")
    assert 'hx-get="/new"' in shown and "2 s so far" in shown and not ann.person.session.is_playing
    job.over = True
    assert "hx-get" not in ann.get("/ready") and "compiled" not in ann.get("/")
    assert 'id="table"' in ann.get("/new") and ann.person.session.game.opponent == "simple"
    # The address begins no second game.
    before = ann.person.table.mark
    assert "unfinished game" in ann.get("/new") and ann.person.table.mark == before


def test_what_a_level_has_learned_is_looked_up_outside_of_the_request(guest, monkeypatch):
    ann, go_on, real = guest(), threading.Event(), learned.load_level
    monkeypatch.setattr(learned, "load_level", lambda name: go_on.wait(60) and real(name))
    assert 'hx-get="/learned?level=level-1"' in ann.client.get("/learned?level=level-1").text
    go_on.set()
    assert "<h2>How it plays now</h2>" in ann.get("/learned?level=level-1")


def test_what_the_chosen_opponent_needs_is_prepared_as_soon_as_it_is_chosen(guest, monkeypatch):
    played = []
    monkeypatch.setattr(ready, "_make_ready", lambda opponent, rules: played.append((opponent, rules)))
    ann = guest()
    preparations = ann.client.app.state.preparations = ready.Preparations()
    ann.post("/options", opponent="easy")
    ann.post("/rules", preset="ht1", target="60")
    options = ann.person.session.options
    assert "target=60" in options.rules and preparations.prepare(options).wait(10)
    begun = len(played)
    assert played[-1] == ("easy", options.rules) and ("easy", "dg-standard") in played
    # A program is nobody's to start before the game begins.
    program = options.model_copy(update={"opponent": "cmd:/bin/false", "rules": "ht1"})
    assert preparations.prepare(program).wait(10) and len(played) == begun


def test_others_are_answered_while_an_opponent_thinks(guest):
    ann: Guest = guest(loose_game())
    ann.get("/table")
    bob = TestClient(ann.client.app, base_url=ADDRESS)
    bob.get(f"/?token={TOKEN}")
    bob.post("/players", data={"do": "create", "name": "Bob"})
    slow = ann.person.session.opponent = Slow(ann.person.session.opponent)
    playing = threading.Thread(target=lambda: ann.do(do="pass"))
    playing.start()
    try:
        assert slow.begun.wait(60)
        assert bob.post("/new", data={"sure": "1"}).status_code == 200
        assert 'id="table"' in bob.get("/table").text and playing.is_alive()
    finally:
        slow.go_on.set()
        playing.join(60)


def test_one_player_holds_few_threads(guest):
    ann: Guest = guest()
    taken = 0
    while ann.person.queue.acquire(blocking=False):
        taken += 1
    assert 2 <= taken <= 20 and ann.client.get("/").status_code == 429
    ann.person.queue.release()
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
