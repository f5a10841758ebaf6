"""``gin serve``: who gets in, what a session and a table answer, what a person's memory survives, and clients in other languages."""

import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest

from agents.programs.messages import json_schema
from ginenv.engine.rules import get_rules
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player
from tests.support.programs import ROOT
from tests.support.serving import TOKEN, Served, serving
from tests.test_bot import DEAL, Behind, act

TABLE = jsonschema.Draft202012Validator(json_schema() | {"anyOf": [{"$ref": "#/$defs/GameEntry"}]})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served"), "--sessions", "40", "--per-person", "2") as found:
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
    for action in ("spread 3", "knock AS" if "AS" not in state["game"]["hand"] else "knock KS", "sing"):
        status, answer = server.call("POST", path, {"action": action})
        assert status == 422 and action.split()[0] in answer["message"]
    _, again = server.call("GET", path)
    assert again == state
    # An accepted action whose answer is lost: the next request has all of it.
    _, state = server.call("POST", path, {"action": state["game"]["legal"][-1]})
    assert state["game"]["events"] and server.call("GET", path)[1] == server.call("GET", path)[1] == state
    assert server.call("DELETE", path)[0] == 204
    assert server.call("GET", path)[0] == server.call("DELETE", path)[0] == 404


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/sessions", "/people/Ann/memories/level-2", "/nothing"])
@pytest.mark.parametrize("token", ["", "another-token-12345678"])
def test_a_stranger_is_refused_everywhere(server, path, token):
    for method in ("GET", "POST", "PUT", "DELETE"):
        status, answer = server.call(method, path, {}, token)
        assert status == 401 and answer["type"] == "error"


def test_a_client_that_wants_another_protocol_fills_no_log(tmp_path, capfd):
    with serving(tmp_path) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 60) as other:
            # As Java's client begins.
            lines = ["GET / HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {TOKEN}", "Upgrade: h2c"]
            other.sendall("\r\n".join([*lines, "Connection: Upgrade, close", "", ""]).encode())
            assert b" 200 " in other.recv(100)
    assert not capfd.readouterr().err


def test_only_this_machine_is_listened_to(server):
    host, port = server.url.removeprefix("http://").split(":")
    assert host == "127.0.0.1"
    with socket.socket() as other:
        # The same port of all other addresses is free.
        other.bind(("127.0.0.2", int(port)))


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
        [decision] = answer["answers"]
        assert decision["action"] == match.hand.action_text(int(player.act(view)[0]))
        match.push(decision["action"])
    assert server.call("DELETE", f"/sessions/{session}")[0] == 204
    assert server.call("DELETE", f"/sessions/{session}")[0] == 404


@pytest.mark.parametrize(
    ("body", "status", "facts"),
    [
        (b"{", 400, ["JSON"]),
        (b"[" * 100_000, 400, ["JSON"]),
        (b"", 422, ["message"]),
        ([], 422, ["object"]),
        ({"type": "act", "id": 1}, 422, ["games"]),
        ({"type": "act", "id": 1, "gmaes": []}, 422, ["gmaes", "games"]),
        (act(DEAL, phase="draw"), 422, ["phase", "upcard"]),
        (b" " * 1_100_000, 413, ["1048576"]),
    ],
)
def test_a_bad_body_is_explained_and_the_session_goes_on(server, body, status, facts):
    session = open_session(server)
    found, answer = server.call("POST", f"/sessions/{session}/act", body)
    assert found == status and answer["type"] == "error" and all(fact in answer["message"] for fact in facts)
    found, answer = server.call("POST", f"/sessions/{session}/act", act(DEAL, phase="upcard"))
    assert found == 200 and answer["answers"] == [{"slot": 1, "action": "take"}]


def test_what_is_not_served_says_where_to_look(server):
    for method, path, status in (("GET", "/nothing", 404), ("PATCH", "/tables", 405)):
        found, answer = server.call(method, path)
        assert found == status and f"{method} {path}" in answer["message"] and "/openapi.json" in answer["message"]
    request = urllib.request.Request(f"{server.url}/tables", b"{}", {"Authorization": f"Bearer {TOKEN}"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code == 422 and "Content-Type" in json.loads(caught.value.read())["message"]


@pytest.mark.parametrize(
    "player",
    [
        "cmd:touch /tmp/x",
        "py:os:getcwd",
        "agents/levels/installed/level-1",
        "level-2:profile=/tmp",
        "level-9",
        "network:x=1",
    ],
)
def test_no_request_starts_a_program_or_reads_a_path(server, player):
    for path in ("/sessions", "/tables"):
        status, answer = server.call("POST", path, {"player": player})
        assert status == 422 and answer["type"] == "error"
    quoted = player.replace("/", "%2F").replace(" ", "%20")
    assert server.call("GET", f"/people/Ann/memories/{quoted}")[0] in (404, 422)
    for person in ("..", "%2E%2E%2Fx", "a" * 21, "x%7Cy"):
        assert server.call("PUT", f"/people/{person}/memories/level-2", {})[0] in (404, 405, 422)


def test_more_sessions_than_the_limits_are_refused(server):
    keys = [open_session(server, player="level-2", person="Many") for _ in range(2)]
    status, answer = server.call("POST", "/sessions", {"player": "level-2", "person": "MANY"})
    assert status == 429 and "2" in answer["message"]
    for key in keys:
        server.call("DELETE", f"/sessions/{key}")
    keys = []
    while (status := server.call("POST", "/sessions", {"player": "simple"}))[0] == 201:
        keys.append(status[1]["session"])
    assert status[0] == 429 and 0 < len(keys) <= 40
    for key in keys:
        server.call("DELETE", f"/sessions/{key}")


def test_requests_at_the_same_time_do_not_pass_the_limits_together(server):
    with ThreadPoolExecutor(6) as pool:
        bodies = [{"player": "level-1", "person": name} for name in ("Bea", "bea ", " BEA", "Bea", "Bea", "Bea")]
        answers = list(pool.map(lambda body: server.call("POST", "/sessions", body), bodies))
    opened = [answer["session"] for status, answer in answers if status == 201]
    assert len(opened) == 2 and {status for status, _ in answers} == {201, 429}
    for key in opened:
        server.call("DELETE", f"/sessions/{key}")


def test_a_table_whose_player_fails_at_once_takes_no_place(tmp_path):
    with serving(tmp_path, "--sessions", "1", "--allow", "cmd:false") as server:
        status = 0
        while status != 422:
            status, answer = server.call("POST", "/tables", {"player": "cmd:false"})
            if status == 201:
                server.call("DELETE", f"/tables/{answer['table']}")
            else:
                assert status == 422, answer
        open_session(server)


def test_a_memory_is_learned_exported_imported_and_reset(server):
    address = "/people/{}/memories/level-2"
    assert finish_hands(server, 3, player="level-2", person="Ann")
    status, memory = server.call("GET", address.format("ann"))
    assert status == 200
    [record] = memory["export"]["opponents"].values()
    assert record["hands"] >= 1
    assert server.call("PUT", address.format("Bob"), memory["export"])[0] == 204
    [copied] = server.call("GET", address.format("Bob"))[1]["export"]["opponents"].values()
    assert copied == record
    status, answer = server.call("PUT", address.format("Bob"), memory)
    assert status == 422 and "'export'" in answer["message"]
    # A name that a path would split.
    assert server.call("PUT", address.format("A%2FB"), memory["export"])[0] == 204
    assert server.call("GET", address.format("a%2Fb"))[1]["person"] == "a/b"
    assert server.call("DELETE", address.format("A%2FB"))[0] == 204
    for damaged in ({}, memory["export"] | {"format": 0}, memory["export"] | {"level": "level-1"}):
        assert server.call("PUT", address.format("Bob"), damaged)[0] == 422
    status, answer = server.call("PUT", address.format("Bob"), memory)
    assert status == 422 and "export" in answer["message"]
    assert server.call("DELETE", address.format("Ann"))[0] == 204
    assert server.call("GET", address.format("Ann"))[1]["export"]["opponents"] == {}
    assert server.call("GET", address.format("Bob"))[1]["export"]["opponents"]


def test_a_killed_server_has_lost_no_memory(tmp_path):
    counts = []
    for _ in range(2):
        with serving(tmp_path) as served:
            ended = finish_hands(served, 4, player="level-2", person="Ann")
            counts.append(sum(event["end"] not in ("stock", "forfeit") for event in ended))
        # Killed right after the answer.
        with serving(tmp_path) as served:
            _, memory = served.call("GET", "/people/Ann/memories/level-2")
            [record] = memory["export"]["opponents"].values()
            assert record["hands"] == sum(counts)
    assert all(counts)


def test_many_sessions_at_once_get_answers_of_their_own(server):
    keys = [open_session(server, player="level-1") for _ in range(20)]

    def ask(number: int) -> dict:
        body = act(DEAL, phase="upcard") | {"id": number}
        status, answer = server.call("POST", f"/sessions/{keys[number % len(keys)]}/act", body)
        return answer if status == 200 else {"id": number if status == 409 else -1}

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(100)))
    assert [answer["id"] for answer in answers] == list(range(100))
    for key in keys:
        server.call("DELETE", f"/sessions/{key}")


@pytest.mark.parametrize(
    "words", [["node", "examples/clients/client.mjs"], ["java", "examples/clients/Client.java"]], ids=["node", "java"]
)
def test_a_client_in_another_language_plays_whole_hands(server, words):
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    assert len((ROOT / words[1]).read_text(encoding="utf-8").splitlines()) <= 100
    environment = os.environ | {"GIN_TOKEN": TOKEN}
    done = subprocess.run(
        [*words, server.url, "6", "level-1"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) >= 6 and all(line.startswith("hand ") for line in lines)
