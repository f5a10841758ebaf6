"""``gin serve``: who gets in, what a session and a table answer, what bounds whom, what a memory survives, clients in other languages."""

import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from agents.programs.messages import json_schema
from agents.programs.responder import Hands
from agents.serve import sessions
from agents.serve.api import make_app
from agents.serve.sessions import Sessions
from ginenv.engine.rules import get_rules
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player
from tests.support.programs import ROOT
from tests.support.scale import SCALE
from tests.support.serving import TOKEN, Served, serving
from tests.test_bot import DEAL, Behind, act

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
TABLE = jsonschema.Draft202012Validator(json_schema() | {"anyOf": [{"$ref": "#/$defs/GameEntry"}]})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


def open_session(server: Served, **options: object) -> str:
    status, answer = server.call("POST", "/sessions", {"player": "simple", **options})
    assert status == 201, answer
    return answer["session"]


def finish_hands(server: Served, hands: int, **options: object) -> list[dict]:
    """Plays hands at a table by the first legal action, knocking where that is possible; returns how they ended."""
    status, state = server.call("POST", "/tables", {"rules": "eaai,target=500", **options})
    assert status == 201, state
    ended: list[dict] = []
    while len(ended) < hands and not state["over"]:
        TABLE.validate(state["game"])
        legal = state["game"]["legal"]
        action = next((each for each in legal if each.startswith("knock")), legal[0])
        status, state = server.call("POST", f"/tables/{state['table']}", {"action": action})
        assert status == 200, state
        ended += [event for event in state["game"]["events"] if event["event"] == "hand over"]
    server.call("DELETE", f"/tables/{state['table']}")
    return ended


def test_a_table_is_looked_at_again_and_refuses_what_is_not_legal(server):
    _, state = server.call("POST", "/tables", {"player": "simple"})
    path = f"/tables/{state['table']}"
    for action in ("spread 3", "sing"):
        status, answer = server.call("POST", path, {"action": action})
        assert status == 422 and action.split()[0] in answer["message"]
    _, again = server.call("GET", path)
    assert again == state
    # An accepted action whose answer is lost: the next request has all of it.
    _, state = server.call("POST", path, {"action": state["game"]["legal"][-1]})
    assert state["game"]["events"] and server.call("GET", path)[1] == server.call("GET", path)[1] == state
    assert server.call("DELETE", path)[0] == 204
    assert server.call("GET", path)[0] == server.call("DELETE", path)[0] == 404


def test_a_stranger_is_refused_everywhere(server):
    for path in ("/", "/openapi.json", "/sessions", "/people/Ann/memories/level-2", "/nothing"):
        for method in ("GET", "POST", "DELETE"):
            status, answer = server.call(method, path, {}, "another-token-12345678")
            assert status == 401 and answer["type"] == "error"
    assert server.call("GET", "/", token="")[0] == 401


def test_a_session_answers_like_the_player_itself(server):
    session = open_session(server)
    match, player = Match(get_rules("eaai"), seed=8), make_player("simple")
    host, other = Behind(match.rules, "simple"), make_player("random")
    while not match.hand.is_over:
        view = match.hand.view()
        if match.hand.turn:
            match.push(int(other.act(view)[0]))
            continue
        body = json.loads(host.message(view, True).model_dump_json(exclude_unset=True))
        status, answer = server.call("POST", f"/sessions/{session}/act", body)
        assert status == 200 and answer["id"] == body["id"]
        # An answer that was lost, also once a message has been refused.
        assert server.call("POST", f"/sessions/{session}/act", {})[0] == 422
        assert server.call("GET", f"/sessions/{session}/act") == (200, answer)
        [decision] = answer["answers"]
        assert decision["action"] == match.hand.action_text(int(player.act(view)[0]))
        match.push(decision["action"])
    assert server.call("DELETE", f"/sessions/{session}")[0] == 204
    assert server.call("DELETE", f"/sessions/{session}")[0] == 404


@pytest.mark.parametrize(
    ("body", "status", "facts"),
    [
        (b"{", 422, ["JSON"]),
        (b"[" * 100_000, 400, ["body"]),
        (b"", 422, ["message"]),
        ([], 422, ["object"]),
        ({"type": "act", "id": 1}, 422, ["games"]),
        ({"type": "act", "id": 1, "games": [], "gmaes": []}, 422, ["gmaes"]),
        (act(DEAL, phase="draw"), 422, ["phase", "upcard"]),
    ],
)
def test_a_bad_body_is_explained_and_the_session_goes_on(server, body, status, facts):
    session = open_session(server)
    found, answer = server.call("POST", f"/sessions/{session}/act", body)
    assert found == status and answer["type"] == "error" and all(fact in answer["message"] for fact in facts)
    found, answer = server.call("POST", f"/sessions/{session}/act", act(DEAL, phase="upcard"))
    assert found == 200 and answer["answers"] == [{"slot": 1, "action": "take"}]


def test_what_is_not_served_is_named(server):
    for method, path, status in (("GET", "/nothing", 404), ("PATCH", "/tables", 405)):
        found, answer = server.call(method, path)
        assert found == status and method in answer["message"] and path in answer["message"]
    request = urllib.request.Request(f"{server.url}/tables", b"{}", {"Authorization": f"Bearer {TOKEN}"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code == 422 and "Content-Type" in json.loads(caught.value.read())["message"]


@pytest.mark.parametrize("player", ["cmd:touch /tmp/x", "py:os:getcwd", "agents/data/network", "level-2:profile=/tmp"])
def test_no_request_starts_a_program_or_reads_a_path(server, player):
    for path in ("/sessions", "/tables"):
        status, answer = server.call("POST", path, {"player": player})
        assert status == 422 and answer["type"] == "error"
    quoted = player.replace("/", "%2F").replace(" ", "%20")
    assert server.call("GET", f"/people/Ann/memories/{quoted}")[0] in (404, 422)
    assert server.call("DELETE", f"/people/{'a' * 21}/memories/level-2")[0] == 422


def test_a_memory_survives_a_killed_server_and_is_read_and_reset(tmp_path):
    ann, bob = "/people/{}/memories/level-2".format("ann"), "/people/{}/memories/level-2".format("b%2Fob")
    with serving(tmp_path) as server:
        # A name that a path would split.
        for name in ("Ann", "b/ob"):
            finish_hands(server, 4, player="level-2", person=name)
    # Killed right after the answer.
    with serving(tmp_path) as server:
        learned = [server.call("GET", address) for address in (ann, bob)]
        assert all(status == 200 and "4 hands" in memory["words"] for status, memory in learned), learned
        assert server.call("DELETE", ann)[0] == 204
        assert "4 hands" not in server.call("GET", ann)[1]["words"] and server.call("GET", bob) == learned[1]


def client_of(home, origins=(), most=9, seconds=300.0, allowed=()) -> TestClient:
    """A server in this process."""
    here = Sessions(home, most, seconds, allowed)
    return TestClient(make_app(here, TOKEN, origins), headers=HEADERS)


def test_nobody_waits_for_anothers_long_message(tmp_path, monkeypatch):
    begun, others_answered, waited, real = threading.Event(), threading.Event(), [], Hands.read

    def slow(*arguments):
        begun.set()
        waited.append(others_answered.wait(30))
        return real(*arguments)

    monkeypatch.setattr(Hands, "read", slow)
    with client_of(tmp_path) as client, ThreadPoolExecutor(1) as pool:
        path = f"/sessions/{client.post('/sessions', json={'player': 'simple'}).json()['session']}/act"
        asking = pool.submit(client.post, path, json=act(DEAL, phase="upcard"))
        assert begun.wait(60) and client.get("/").status_code == 200
        others_answered.set()
        assert asking.result(60).status_code == 200
    assert waited == [True]


def test_a_message_about_too_many_games_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(Hands, "read", lambda *arguments: pytest.fail("it was read"))
    with client_of(tmp_path) as client:
        path = f"/sessions/{client.post('/sessions', json={'player': 'simple'}).json()['session']}/act"
        games = [{"slot": slot, "events": [DEAL]} for slot in range(sessions.MAX_HANDS + 1)]
        answer = client.post(path, json={"type": "act", "id": 1, "games": games})
        assert client.post(path, content=b" " * 1_100_000).status_code == 413
    assert answer.status_code == 422 and str(sessions.MAX_HANDS) in answer.json()["message"]


def test_a_player_that_loads_slowly_holds_up_nobody_else(tmp_path, monkeypatch):
    others_answered, waited, real = threading.Event(), [], sessions.make_player

    def slow(name, *arguments, **options):
        if name == "formula":
            waited.append(others_answered.wait(30))
        return real(name, *arguments, **options)

    monkeypatch.setattr(sessions, "make_player", slow)
    with client_of(tmp_path, seconds=2.0) as client:
        assert client.post("/sessions", json={"player": "formula"}).status_code == 503
        assert client.post("/sessions", json={"player": "simple"}).status_code == 201
        others_answered.set()
        assert client.post("/sessions", json={"player": "formula"}).status_code == 201
    assert waited == [True]


def test_games_that_are_over_make_room(tmp_path):
    state: dict = {}
    with client_of(tmp_path, most=1) as client:
        for _ in range(2):
            body = {"player": "level-1", "person": "Ann", "rules": "eaai,target=1,max_drawn_hands=1"}
            opened = client.post("/tables", json=body)
            assert opened.status_code == 201, opened.text
            state = opened.json()
            assert client.post("/tables", json=body).status_code == 429
            assert client.post("/sessions", json={"player": "simple"}).status_code == 429
            while not state["over"]:
                legal = state["game"]["legal"]
                action = next((each for each in legal if each.startswith("knock")), legal[0])
                state = client.post(f"/tables/{state['table']}", json={"action": action}).json()
        # The result can be learned again as long as nobody needs the place.
        assert client.get(f"/tables/{state['table']}").json() == state


def test_a_table_whose_player_fails_at_once_takes_no_place(tmp_path):
    with client_of(tmp_path, allowed=["cmd:false"], most=1) as client:
        # Unless the person begins.
        while (answer := client.post("/tables", json={"player": "cmd:false"})).status_code == 201:
            client.delete(f"/tables/{answer.json()['table']}")
        assert answer.status_code == 422
        assert client.post("/sessions", json={"player": "simple"}).status_code == 201


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


def test_every_answer_is_one_that_the_description_allows(server):
    """Requests that schemathesis makes from the OpenAPI description."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings
    from schemathesis.specs.openapi import checks

    # A message that fits its schema may still break the rules of the game, and some names are refused by what they mean.
    unchecked = ("positive_data_acceptance", "negative_data_rejection", "ignored_auth", "missing_required_header")
    excluded = [getattr(checks, name) for name in unchecked]

    def fuzz(operation: Any) -> None:
        @given(case=operation.as_strategy())
        @settings(
            max_examples=4 * SCALE, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def run(case: Any) -> None:
            case.call_and_validate(headers=HEADERS, excluded_checks=excluded)

        run()

    description = schemathesis.openapi.from_url(f"{server.url}/openapi.json", headers=HEADERS)
    operations = list(description.get_all_operations())
    for found in operations:
        fuzz(found.ok())
    assert len(operations) == 11 and server.call("GET", "/")[0] == 200


@pytest.mark.parametrize(
    "words", [["node", "examples/clients/client.mjs"], ["java", "examples/clients/Client.java"]], ids=["node", "java"]
)
def test_a_client_in_another_language_plays_whole_hands(server, words):
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    environment = os.environ | {"GIN_TOKEN": TOKEN}
    done = subprocess.run(
        [*words, server.url, "2", "level-1"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) >= 2 and all(line.startswith("hand ") for line in lines)
