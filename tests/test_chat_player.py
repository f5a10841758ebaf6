"""The example that lets a chat endpoint play, against a scripted endpoint on this machine."""

import json
import shlex
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.matches import play_pairs
from agents.programs.player import BotLimits, OutsidePlayer
from ginenv.tables.players import make_player
from tests.support.programs import ROOT

PATIENT = BotLimits(start_seconds=300, seconds=120, end_seconds=10)


class Endpoint(BaseHTTPRequestHandler):
    """Knocks, or plays the last legal action; whatever ``wrong`` holds it says first, in turn."""

    requests: ClassVar[list[dict]] = []
    wrong: ClassVar[list[str]] = []
    busy = 1

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).requests.append({"path": self.path, "key": self.headers["Authorization"], **body})
        if type(self).busy:
            type(self).busy -= 1
            self.send_error(503)
            return
        legal = body["messages"][1]["content"].rpartition("Legal: ")[2].split(", ")
        action = next((one for one in legal if one.startswith("knock")), legal[-1])
        text = type(self).wrong.pop(0) if type(self).wrong else f"I think that this is best.\n\n**Action: {action}**\n"
        message = {"choices": [{"message": {"content": text}}], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}
        answer = json.dumps(message).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        """Says nothing."""


@pytest.fixture
def endpoint(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Endpoint.requests, Endpoint.wrong, Endpoint.busy = [], [], 1
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    yield Endpoint
    server.shutdown()
    server.server_close()


COMMAND = shlex.join([sys.executable, str(ROOT / "examples" / "chat_player.py"), "scripted"])


def test_a_chat_endpoint_plays(endpoint):
    endpoint.wrong = ["discard ZZ", "Nothing comes to mind."]
    player = OutsidePlayer(COMMAND, limits=PATIENT)
    part = play_pairs((player, make_player("simple")), MatchSettings(unit="hands", luck=False, limits=PATIENT), 0, 2)
    player.close()
    assert len(part.games) == 4
    assert part.faults + player.take_faults() == []
    decisions, calls = sum(player.decisions.values()), len(endpoint.requests) - 1
    assert calls == decisions + 2
    first = endpoint.requests[0]
    assert (first["path"], first["key"], first["model"]) == ("/v1/chat/completions", "Bearer a-key", "scripted")
    assert {each["role"] for each in first["messages"]} == {"system", "user"} and "knock limit 10" in first["messages"][
        0
    ]["content"]
    assert any(
        len(each["messages"]) > 2 and "not legal" in each["messages"][-1]["content"] for each in endpoint.requests
    )


def test_three_wrong_answers_lose_the_hand(endpoint):
    endpoint.wrong = ["sing"] * 3
    settings = MatchSettings(unit="hands", forfeit="hand", luck=False, limits=PATIENT)
    result = play_match(f"cmd:{COMMAND}", "simple", pairs=1, settings=settings)
    assert [(fault["kind"], fault["forfeits"]) for fault in result.faults] == [("illegal move", 1)]
