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
    """Knocks, or plays the last legal action; whatever ``broken`` holds it answers first, in turn, and then says what ``wrong`` holds."""

    requests: ClassVar[list[dict]] = []
    broken: ClassVar[list[bytes]] = []
    wrong: ClassVar[list[str]] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({"path": self.path, "key": self.headers["Authorization"], **body})
        legal = body["messages"][1]["content"].rpartition("Legal: ")[2].split(", ")
        action = next((one for one in legal if one.startswith("knock")), legal[-1])
        if self.broken:
            answer = self.broken.pop(0)
        else:
            text = self.wrong.pop(0) if self.wrong else f"I think that this is best.\n\n**Action: {action}**\n"
            usage = {"prompt_tokens": 100, "completion_tokens": 7}
            answer = json.dumps({"choices": [{"message": {"content": text}}], "usage": usage}).encode()
        self.send_response(200 if answer else 503)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        """Says nothing."""


@pytest.fixture
def endpoint(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Endpoint.requests, Endpoint.wrong, Endpoint.broken = [], [], []
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    yield Endpoint
    server.shutdown()
    server.server_close()


def command(place, *options: str) -> str:
    words = [sys.executable, ROOT / "examples" / "chat_player.py", "scripted", "--usage", place / "usage.json"]
    return shlex.join([*map(str, words), "--pause", "0.01", *options])


def test_a_chat_endpoint_plays_and_is_asked_again_where_it_fails_or_errs(endpoint, tmp_path):
    failures = [b"", b'{"error": "overloaded"}', b"<html>Bad gateway</html>", b'{"choices": []}', b"null"]
    uncounted = {"choices": [{"message": {"content": "Nothing comes to mind."}}], "usage": None}
    endpoint.broken, endpoint.wrong = [*failures, json.dumps(uncounted).encode()], ["discard ZZ"]
    player = OutsidePlayer(command(tmp_path, "--temperature", "0.5", "--max-tokens", "900"), limits=PATIENT)
    part = play_pairs((player, make_player("simple")), MatchSettings(unit="hands", luck=False, limits=PATIENT), 0, 1)
    player.close()
    assert len(part.games) == 2 and part.faults + player.take_faults() == []
    answers = len(endpoint.requests) - len(failures)
    assert answers == sum(player.decisions.values()) + 2
    counted = {"prompt_tokens": 100 * (answers - 1), "completion_tokens": 7 * (answers - 1)}
    assert json.loads((tmp_path / "usage.json").read_text()) == {"answers": answers, "illegal": 2, **counted}
    first = endpoint.requests[0]
    assert (first["temperature"], first["max_completion_tokens"], "reasoning_effort" in first) == (0.5, 900, False)
    assert (first["path"], first["key"], first["model"]) == ("/v1/chat/completions", "Bearer a-key", "scripted")
    system, question = first["messages"]
    assert (system["role"], question["role"]) == ("system", "user") and "at most 10 points" in system["content"]
    assert any("not legal" in each["messages"][-1]["content"] for each in endpoint.requests)


def only_fault(spec: str) -> tuple[str, str]:
    settings = MatchSettings(unit="hands", forfeit="hand", luck=False, limits=PATIENT)
    [fault] = play_match(spec, "simple", pairs=1, settings=settings).faults
    return fault["kind"], fault["first"]


def test_an_endpoint_that_is_gone_or_has_cost_enough_ends_the_program_with_a_sentence(endpoint, tmp_path, monkeypatch):
    kind, words = only_fault(f"cmd:{command(tmp_path, '--max-total-tokens', '300')}")
    assert kind == "crash" and "300" in words and "usage.json" in words
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    kind, words = only_fault(f"cmd:{command(tmp_path)}")
    assert kind == "crash" and "http://127.0.0.1:9/v1" in words and "refused" in words


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("I think.\n\n**Action: Take**\n", "Take"),
        ("<think>discard 7C?</think>\n<answer>take</answer> is best.", "take"),
        (r"So \boxed{pass} would lose.\n\[\boxed{\text{draw stock}}\]", "draw stock"),
        ("final answer: `discard 7C`.", "discard 7C"),
        ("Cut off before its end: <answer>\n- pass", "pass"),
        (r"\boxed{\mathbf{draw\ stock}}", "draw stock"),
        ("", ""),
    ],
)
def test_an_answer_is_found_in_what_models_put_around_it(text, action):
    assert runpy.run_path(str(ROOT / "examples" / "chat_player.py"))["action_in"](text) == action


def test_three_wrong_answers_lose_the_hand(endpoint, tmp_path):
    endpoint.wrong = ["sing"] * 3
    assert only_fault(f"cmd:{command(tmp_path)}")[0] == "illegal move"
