"""How fast ``gin serve`` is: its start, its memory, one client's decisions, and those of many sessions at once.

python -m benchmarks.speed.serve_speed                        1,000 sessions of level 2, some minutes
python -m benchmarks.speed.serve_speed --sessions 100 --questions 10 --results runs/serve_speed.json

The server runs in its own process. A host on this machine asks it about hands that were played before, so that its own work is only to send
and to read; each session has a connection of its own and sends its next question as soon as it has read the last answer. Times are by the
clock; the server's processor time is given too, because only it means much while other programs run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from agents.arena.results import versions
from agents.files import write_json
from agents.programs.protocol import EventEncoder, question
from agents.programs.views import read_views
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player

RESULTS = Path(__file__).parents[1] / "results" / "serve_speed.json"
_PROGRAM = "import sys; sys.argv[0] = 'gin'; from agents.cli import main; main()"
_TOKEN = "a-token-for-benchmarks"
# What each figure must not exceed, or (decisions) must reach.
BARS = {
    "start to the first decision, s": 3.0,
    "memory after the first decision, MB": 300.0,
    "one client, 95 % of decisions, ms": 100.0,
    "decisions a second": 500.0,
}


class Client:
    """A connection to the server, for one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, port: int) -> Client:
        """A new connection."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        """The answer to a request, which has to be a success."""
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {_TOKEN}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        assert found is not None
        text = await self.reader.readexactly(int(found[1]))
        if not answer.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(text.decode())
        return json.loads(text)

    async def open(self, player: str) -> str:
        """A session with a player."""
        return (await self.post("/sessions", json.dumps({"player": player}).encode()))["session"]


def questions(count: int, seed: int) -> list[bytes]:
    """Messages of a host about hands between two simple bots, each with a question to seat 0."""
    player, made = make_player("simple", seed), []
    match = Match("eaai", seed=seed)
    encoder: EventEncoder | None = None
    while len(made) < count:
        if match.hand.is_over:
            # The next hand's deal tells that this one is over.
            match, encoder = Match("eaai", seed=seed + 100_003 * len(made)), None
        view = match.hand.view()
        if match.hand.turn == 0:
            [seen] = read_views(view)
            encoder = encoder or EventEncoder(seen)
            encoder.update(seen)
            game = question(1, encoder.events_message(), seen)
            made.append(f'{{"type":"act","id":{len(made)},"games":[{game}]}}'.encode())
        match.push(int(player.act(view)[0]))
    return made


async def _play(client: Client, session: str, messages: list[bytes], times: list[float]) -> None:
    for message in messages:
        began = time.perf_counter()
        answer = await client.post(f"/sessions/{session}/act", message)
        times.append(time.perf_counter() - began)
        assert len(answer["answers"]) == 1


async def _measure(port: int, server: psutil.Process, began: float, arguments: argparse.Namespace) -> dict[str, Any]:
    player, own = arguments.player, questions(arguments.one_client, 1)
    client = await Client.connect(port)
    session = await client.open(player)
    first: list[float] = []
    await _play(client, session, own[:1], first)
    found: dict[str, Any] = {"start to the first decision, s": time.perf_counter() - began}
    used = server.cpu_times()
    found["start to the first decision, s of the processor"] = used.user + used.system
    found["memory after the first decision, MB"] = server.memory_info().rss / 1e6
    one: list[float] = []
    await _play(client, session, own[1:], one)
    found["one client, 95 % of decisions, ms"] = 1000 * float(np.percentile(one, 95))
    found["one client, median, ms"] = 1000 * float(np.median(one))
    clients = [await Client.connect(port) for _ in range(arguments.sessions)]
    sessions = [await each.open(player) for each in clients]
    messages = [questions(arguments.questions, 1000 + number % 50) for number in range(50)]
    many: list[float] = []
    before, clock = server.cpu_times(), time.perf_counter()
    plays = zip(clients, sessions, (messages[number % 50] for number in range(len(clients))), strict=True)
    await asyncio.gather(*(_play(*each, many) for each in plays))
    wall, after = time.perf_counter() - clock, server.cpu_times()
    # The system counts in hundredths of a second; the few questions of a first start may take less.
    processor = max(after.user + after.system - before.user - before.system, 0.01)
    found["decisions a second"] = len(many) / wall
    found["decisions a second of the server's processor"] = len(many) / processor
    found["many sessions, 95 % of decisions, ms"] = 1000 * float(np.percentile(many, 95))
    found["memory with all sessions, MB"] = server.memory_info().rss / 1e6
    return found


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures, by their names."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-c", _PROGRAM, "serve", "--port", "0", "--home", home]
        # The first start compiles what is not compiled yet.
        for is_measured in (False, True):
            began = time.perf_counter()
            process = subprocess.Popen(
                command, env=os.environ | {"GIN_TOKEN": _TOKEN}, stdout=subprocess.PIPE, text=True
            )
            try:
                assert process.stdout is not None
                port = int(process.stdout.readline().partition("127.0.0.1:")[2].split()[0])
                small = argparse.Namespace(player=arguments.player, one_client=3, sessions=1, questions=2)
                found = asyncio.run(
                    _measure(port, psutil.Process(process.pid), began, arguments if is_measured else small)
                )
            finally:
                process.kill()
                process.wait()
    return found


def main() -> None:
    """Measures, writes the results, and prints them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--player", default="level-2")
    parser.add_argument("--sessions", type=int, default=1000, help="at once")
    parser.add_argument("--questions", type=int, default=20, help="in each session")
    parser.add_argument("--one-client", type=int, default=500, help="questions of a client that is alone")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    found = measure(arguments)
    command = shlex.join(["python", "-m", "benchmarks.speed.serve_speed", *sys.argv[1:]])
    about = {"command": command, "versions": versions(), "cores": os.cpu_count(), "load before": round(load, 2)}
    figures = {name: {"value": round(value, 3), "bar": BARS.get(name)} for name, value in found.items()}
    about |= {"player": arguments.player, "sessions": arguments.sessions, "questions": arguments.questions}
    write_json(arguments.results, {**about, "figures": figures})
    table = Table("", "", "bar", title=f"load before: {load:.1f}")
    for name, each in figures.items():
        table.add_row(name, f"{each['value']:.1f}", "" if each["bar"] is None else f"{each['bar']:g}")
    Console().print(table)


if __name__ == "__main__":
    main()
