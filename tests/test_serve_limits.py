"""``gin serve``: nobody waits for another's message or player, and a page of another origin asks only where the command line allows it."""

import threading

import pytest
from starlette.testclient import TestClient

from agents.programs.responder import Hands
from agents.serve import api, sessions
from agents.serve.api import make_app
from agents.serve.sessions import Limits, Sessions
from tests.support.serving import TOKEN
from tests.test_bot import DEAL, act

HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def client_of(home, origins=(), **limits) -> TestClient:
    return TestClient(make_app(Sessions(home, Limits(**{"seconds": 300.0, **limits})), TOKEN, origins), headers=HEADERS)


@pytest.mark.parametrize("part", ["parse", "read"])
def test_nobody_waits_for_anothers_long_message(tmp_path, monkeypatch, part):
    begun, others_answered, waited = threading.Event(), threading.Event(), []
    target, name = (api, "parse_json") if part == "parse" else (Hands, "read")
    real = getattr(target, name)

    def slow(*arguments):
        if part == "read" or b'"act"' in arguments[0]:
            begun.set()
            waited.append(others_answered.wait(30))
        return real(*arguments)

    monkeypatch.setattr(target, name, slow)
    with client_of(tmp_path) as client:
        path = f"/sessions/{client.post('/sessions', json={'player': 'simple'}).json()['session']}/act"
        answers: list[int] = []
        asking = threading.Thread(
            target=lambda: answers.append(client.post(path, json=act(DEAL, phase="upcard")).status_code)
        )
        asking.start()
        assert begun.wait(60) and client.get("/").status_code == 200
        others_answered.set()
        asking.join(60)
    assert answers == [200] and waited == [True]


def test_a_message_about_too_many_games_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(Hands, "read", lambda *arguments: pytest.fail("it was read"))
    with client_of(tmp_path) as client:
        path = f"/sessions/{client.post('/sessions', json={'player': 'simple'}).json()['session']}/act"
        games = [{"slot": slot, "events": [DEAL]} for slot in range(sessions.MAX_HANDS + 1)]
        answer = client.post(path, json={"type": "act", "id": 1, "games": games})
    assert answer.status_code == 422 and str(sessions.MAX_HANDS) in answer.json()["message"]


def test_a_player_that_loads_slowly_holds_up_nobody_else(tmp_path, monkeypatch):
    loaded, real = threading.Event(), sessions.make_player

    def slow(name, *arguments, **options):
        assert name != "formula" or loaded.wait(60)
        return real(name, *arguments, **options)

    monkeypatch.setattr(sessions, "make_player", slow)
    with client_of(tmp_path, seconds=2.0) as client:
        assert client.post("/sessions", json={"player": "formula"}).status_code == 503
        assert client.post("/sessions", json={"player": "simple"}).status_code == 201
        loaded.set()
        assert client.post("/sessions", json={"player": "formula"}).status_code == 201


def test_games_that_are_over_count_against_no_limit(tmp_path):
    state: dict = {}
    with client_of(tmp_path, sessions=2, per_person=1) as client:
        for _ in range(4):
            body = {"player": "level-1", "person": "Ann", "rules": "eaai,target=1,max_drawn_hands=1"}
            opened = client.post("/tables", json=body)
            assert opened.status_code == 201, opened.text
            state = opened.json()
            assert client.post("/tables", json=body).status_code == 429
            while not state["over"]:
                legal = state["game"]["legal"]
                action = next((each for each in legal if each.startswith("knock")), legal[0])
                state = client.post(f"/tables/{state['table']}", json={"action": action}).json()
        # The result can be learned again as long as nobody needs the place.
        assert client.get(f"/tables/{state['table']}").json() == state


def test_a_page_of_another_origin_asks_only_if_it_is_allowed(tmp_path):
    ours, other = "https://cards.example", "https://evil.example"
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    with client_of(tmp_path, [ours]) as client:
        asked = client.options("/tables", headers={"Origin": ours, "Authorization": "", **wanted})
        assert asked.status_code == 200 and asked.headers["access-control-allow-origin"] == ours
        assert "authorization" in asked.headers["access-control-allow-headers"].lower()
        assert client.get("/", headers={"Origin": ours}).headers["access-control-allow-origin"] == ours
        assert client.get("/", headers={"Origin": ours, "Authorization": ""}).status_code == 401
        for answer in (
            client.options("/tables", headers={"Origin": other, **wanted}),
            client.get("/", headers={"Origin": other}),
        ):
            assert "access-control-allow-origin" not in answer.headers
    with client_of(tmp_path) as client:
        assert "access-control-allow-origin" not in client.get("/", headers={"Origin": ours}).headers
