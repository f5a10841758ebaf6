"""How both servers listen: strangers who send half of a request keep nobody out."""

import asyncio
import contextlib
import socket
import threading
import time
import urllib.request

import pytest
from starlette.responses import PlainTextResponse

from agents.web import listening

CAP = 24
# More than the system keeps for a client that does not read.
LONG = 1 << 24


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(listening, "_MAX_CONNECTIONS", CAP)
    monkeypatch.setattr(listening, "_SECONDS", 2.0)

    async def app(scope, receive, send):
        if scope["path"] == "/long":
            await asyncio.sleep(1)
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
        # One with a request in work makes no room.
        working = held.enter_context(half(address, b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n"))
        assert answered(address)
        connections = [held.enter_context(half(address)) for _ in range(3 * CAP)]
        assert answered(address) and working.recv(1000).startswith(b"HTTP/1.1 200")
        assert sum(map(is_open, connections)) <= CAP
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


def test_unread_answers_keep_nobody_out_and_end(address):
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


def test_an_answer_does_not_wait_for_an_acknowledgement():
    with listening.listen("127.0.0.1", 0) as where:
        # Else asyncio leaves Nagle's algorithm on.
        assert where.proto == socket.IPPROTO_TCP
