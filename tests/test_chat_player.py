"""The example that lets a chat endpoint play, against a scripted endpoint on this machine."""

import json
import runpy
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
    """Knocks, or plays the last legal action; whatever ``broken`` holds it answers first, and whatever ``wrong`` holds it says, in turn."""

    requests: ClassVar[list[dict]] = []
    wrong: ClassVar[list[str]] = []
    broken: ClassVar[list[bytes]] = []
    busy, counts = 1, True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).requests.append({"path": self.path, "key": self.headers["Authorization"], **body})
        if type(self).busy:
            type(self).busy -= 1
            self.send_error(503)
            return
        if type(self).broken:
            self.answer(type(self).broken.pop(0))
            return
        legal = body["messages"][1]["content"].rpartition("Legal: ")[2].split(", ")
        action = next((one for one in legal if one.startswith("knock")), legal[-1])
        text = type(self).wrong.pop(0) if type(self).wrong else f"I think that this is best.\n\n**Action: {action}**\n"
        usage = {"prompt_tokens": 100, "completion_tokens": 7} if type(self).counts else None
        self.answer(json.dumps({"choices": [{"message": {"content": text}}], "usage": usage}).encode())

    def answer(self, answer):
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
    Endpoint.requests, Endpoint.wrong, Endpoint.broken, Endpoint.busy, Endpoint.counts = [], [], [], 1, True
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    yield Endpoint
    server.shutdown()
    server.server_close()


def command(place, *options: str) -> str:
    words = [
        sys.executable,
        str(ROOT / "examples" / "chat_player.py"),
        "scripted",
        "--usage",
        str(place / "usage.json"),
    ]
    return shlex.join([*words, "--pause", "0.01", *options])


def test_a_chat_endpoint_plays(endpoint, tmp_path):
    endpoint.wrong = ["discard ZZ", "Nothing comes to mind."]
    player = OutsidePlayer(command(tmp_path, "--temperature", "0.5", "--max-tokens", "900"), limits=PATIENT)
    part = play_pairs((player, make_player("simple")), MatchSettings(unit="hands", luck=False, limits=PATIENT), 0, 2)
    player.close()
    assert len(part.games) == 4
    assert part.faults + player.take_faults() == []
    decisions, calls = sum(player.decisions.values()), len(endpoint.requests) - 1
    assert calls == decisions + 2
    counted = {"answers": calls, "illegal": 2, "prompt_tokens": 100 * calls, "completion_tokens": 7 * calls}
    assert json.loads((tmp_path / "usage.json").read_text()) == counted
    first = endpoint.requests[0]
    assert (first["temperature"], first["max_completion_tokens"], "reasoning_effort" in first) == (0.5, 900, False)
    assert (first["path"], first["key"], first["model"]) == ("/v1/chat/completions", "Bearer a-key", "scripted")
    assert {each["role"] for each in first["messages"]} == {"system", "user"} and "at most 10 points" in first[
        "messages"
    ][0]["content"]
    assert any(
        len(each["messages"]) > 2 and "not legal" in each["messages"][-1]["content"] for each in endpoint.requests
    )


def play_one(spec: str) -> list[tuple[str, str]]:
    settings = MatchSettings(unit="hands", forfeit="hand", luck=False, limits=PATIENT)
    return [(fault["kind"], fault["first"]) for fault in play_match(spec, "simple", pairs=1, settings=settings).faults]


def test_an_endpoint_that_fails_for_a_while_is_asked_again(endpoint, tmp_path):
    endpoint.broken = [b'{"error": "overloaded"}', b"<html>Bad gateway</html>", b'{"choices": []}', b"null"]
    endpoint.counts = False
    assert play_one(f"cmd:{command(tmp_path)}") == []


def test_an_endpoint_that_is_gone_or_has_cost_enough_ends_the_program_with_a_sentence(endpoint, tmp_path, monkeypatch):
    [(kind, words)] = play_one(f"cmd:{command(tmp_path, '--max-total-tokens', '300')}")
    assert kind == "crash" and "300" in words and "usage.json" in words
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    [(kind, words)] = play_one(f"cmd:{command(tmp_path)}")
    assert kind == "crash" and "http://127.0.0.1:9/v1" in words and "refused" in words


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("I think.\n\n**Action: Take**\n", "Take"),
        ("<think>discard 7C?</think>\n<answer>take</answer> is best.", "take"),
        (r"So \boxed{pass} would lose.\n\[\boxed{\text{draw stock}}\]", "draw stock"),
        ("final answer: `discard 7C`.", "discard 7C"),
        ("", ""),
    ],
)
def test_an_answer_is_found_in_what_models_put_around_it(text, action):
    assert runpy.run_path(str(ROOT / "examples" / "chat_player.py"))["action_in"](text) == action


def test_three_wrong_answers_lose_the_hand(endpoint, tmp_path):
    endpoint.wrong = ["sing"] * 3
    settings = MatchSettings(unit="hands", forfeit="hand", luck=False, limits=PATIENT)
    result = play_match(f"cmd:{command(tmp_path)}", "simple", pairs=1, settings=settings)
    assert [(fault["kind"], fault["forfeits"]) for fault in result.faults] == [("illegal move", 1)]
