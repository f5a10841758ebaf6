"""How both servers listen: strangers who send half of a request keep nobody out, and fill no log."""

import contextlib
import logging
import socket
import threading
import time
import urllib.request
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from agents.web import listening

CAP = 24
# More than the system keeps for a client that does not read.
LONG = 1 << 24


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(listening, "_MAX_CONNECTIONS", CAP)
    monkeypatch.setattr(listening, "_HEAD_SECONDS", 2.0)
    monkeypatch.setattr(listening, "_BODY_SECONDS", 2.0)

    async def app(scope, receive, send):
        while scope["method"] == "POST" and (await receive()).get("more_body"):
            pass
        await PlainTextResponse("here" if scope["method"] != "PUT" else "here" * (LONG // 4))(scope, receive, send)

    where = listening.listen("127.0.0.1", 0)
    server = listening.make_server(app)
    server.config.lifespan = "off"
    thread = threading.Thread(target=server.run, kwargs={"sockets": [where]})
    thread.start()
    yield where.getsockname()
    server.should_exit = True
    thread.join(30)


def half(address: tuple[str, int], text: bytes = b"GET / HTTP/1.1\r\nHost: x") -> socket.socket:
    connection = socket.create_connection(address, 30)
    connection.sendall(text)
    return connection


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1000) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def answered(address: tuple[str, int]) -> bool:
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/", timeout=30) as answer:
        return answer.read() == b"here"


def test_half_sent_requests_keep_nobody_out_and_end(address):
    with contextlib.ExitStack() as held:
        connections = [held.enter_context(half(address)) for _ in range(3 * CAP)]
        assert answered(address)
        assert sum(map(is_open, connections)) <= CAP // 2
        body = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
        first = held.enter_context(half(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
        assert first.recv(1000).startswith(b"HTTP/1.1 200")
        # In the middle of the second request, where nothing limits how long a connection is kept alive.
        first.sendall(b"GET / HT")
        connections += [first, held.enter_context(half(address, body))]
        until = time.monotonic() + 30
        while any(map(is_open, connections)) and time.monotonic() < until:
            time.sleep(0.1)
        assert not any(map(is_open, connections)) and answered(address)


def test_unread_answers_keep_nobody_out_and_end(address, monkeypatch):
    monkeypatch.setattr(listening, "_UNREAD_SECONDS", 2.0)
    with contextlib.ExitStack() as held:
        text = b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n" * 3
        for _ in range(CAP):
            held.enter_context(half(address, text))
        assert answered(address)
        last, size = held.enter_context(half(address, text[: len(text) // 3])), 0
        time.sleep(4)
        with contextlib.suppress(ConnectionResetError):
            while part := last.recv(1 << 20):
                size += len(part)
        assert size < LONG and answered(address)


def test_a_connection_with_a_request_in_work_makes_no_room():
    book: Any = listening._Connections(4)
    dropped = []

    class Connection:
        def __init__(self, address: str) -> None:
            self.address = address

        def drop(self) -> None:
            dropped.append(self)
            book.remove(self)

    busy, idle, *others = (Connection(address) for address in "abcabcdd")
    for each in (busy, idle):
        book.add(each)
    book.set_waiting(busy, False)
    for each in others:
        book.add(each)
    assert busy not in dropped and dropped[0] is idle and len(dropped) == 4


def test_an_answer_does_not_wait_for_an_acknowledgement():
    with listening.listen("127.0.0.1", 0) as where:
        # Else asyncio leaves Nagle's algorithm on.
        assert where.proto == socket.IPPROTO_TCP


def test_a_log_takes_few_lines_a_minute():
    lines, record = listening._RateLimit(), logging.LogRecord("asyncio", 40, "", 0, "out of files", None, None)
    assert sum(lines.filter(record) for _ in range(1000)) == listening._LINES_PER_MINUTE
