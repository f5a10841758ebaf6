"""How long play in the browser takes: the server's start, the first page, a click, and the analysis of a hand.

python -m benchmarks.speed.web_speed                          400 clicks against each opponent, 20 hands, in some minutes
python -m benchmarks.speed.web_speed --clicks 40 --hands 4 --starts 1 --results runs/web_speed.json

``gin web`` runs in its own process with its own store. A client on this machine sends what a browser would send (the forms of the table,
as htmx does) and reads each answer to its end. The times do not include the browser's drawing. The bars are for wall-clock time. The
server's processor time is given too, because only it means much while other programs run (it is available on Linux only).
"""

from __future__ import annotations

import http.client
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.arena.results import versions
from agents.files import write_json
from agents.reports.terminal import progress_bar

RESULTS = Path(__file__).parents[1] / "results" / "web_speed.json"
_PROGRAM = "import sys; sys.argv[0] = 'gin'; from agents.cli import main; main()"
# The bar for the median time of a click against each opponent, in milliseconds.
CLICK_BARS = {"formula": 10.0, "level-4": 400.0}
KINDS = ("all clicks", "clicks that it answered")
# For each time that has a bar: which statistic must not exceed the bar, and the bar.
BARS = {
    "listens, s": ("most", 10.0),
    "first page, ms": ("most", 300.0),
    **{f"{name}: {kind}, ms": ("median", bar) for name, bar in CLICK_BARS.items() for kind in KINDS},
    "first analysis, s": ("most", 5.0),
    "analysis, s": ("most", 5.0),
}
RULES = "eaai"
_RANKS = "A23456789TJQK"
# Enough for compiling after an installation, on a machine that does other work as well.
_PATIENCE = 900.0


class Server:
    """``gin web`` in its own process.

    Args:
        home: directory of its store.
        python: the interpreter that runs it.
        cwd: the directory in which it runs; this one when left out.
        variables: of its environment, beside this process's.

    Attributes:
        listen: seconds from its start until it said where it listens.
        processor: processor time over the same period.
    """

    def __init__(self, home: str, python: str = sys.executable, cwd: Path | None = None, **variables: str) -> None:
        command = [python, "-c", _PROGRAM, "web", "--no-browser", "--port", "0", "--home", home]
        began = time.perf_counter()
        environment = os.environ | variables
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=cwd)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.listen, self.processor = time.perf_counter() - began, self.used()
        found = re.search(r"http://([^:]+):(\d+)(/\S+)", line)
        if found is None:
            raise SystemExit(f"gin web did not start: {line!r}")
        self._line = http.client.HTTPConnection(found[1], int(found[2]), timeout=_PATIENCE)
        self._line.request("GET", found[3])
        answer = self._line.getresponse()
        answer.read()
        self._cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait()

    def used(self) -> float | None:
        """Processor time of the process so far, in seconds; None where the system does not provide it."""
        try:
            # The CPU clock of another process, with the id that clock_getcpuclockid(3) gives it.
            return time.clock_gettime((~self._process.pid << 3) | 2)
        except OSError:
            return None

    def ask(self, path: str, fields: dict[str, str] | None = None, part: bool = False) -> str:
        """Fetches a page or, with ``part``, what a page asks for to replace a part of itself."""
        headers = {"Cookie": self._cookie} | ({"HX-Request": "true"} if part else {})
        if fields is None:
            self._line.request("GET", path, headers=headers)
        else:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            self._line.request("POST", path, urllib.parse.urlencode(fields), headers)
        answer = self._line.getresponse()
        text = answer.read().decode()
        if answer.status >= 400:
            raise SystemExit(f"{path}: {answer.status} {text[-300:]}")
        return text

    def timed(self, path: str, fields: dict[str, str] | None = None, part: bool = False) -> tuple[str, float, float]:
        """The same, with wall-clock and processor milliseconds (nan where processor time is not available)."""
        used, began = self.used(), time.perf_counter()
        text = self.ask(path, fields, part)
        wall, now = time.perf_counter() - began, self.used()
        return text, 1000 * wall, float("nan") if used is None or now is None else 1000 * (now - used)

    def wait_until_ready(self) -> None:
        """Waits until the compiled code is loaded."""
        until = time.monotonic() + _PATIENCE
        while "hx-get" in self.ask("/ready", part=True):
            if time.monotonic() > until:
                raise SystemExit("the rules have not been compiled in time")
            time.sleep(0.2)


def _position(shown: str) -> tuple[str, int]:
    """The name of the hand on the table, and how many actions have been played in it."""
    found = re.search(r'data-at="([^"]*)\.(\d+)"', shown)
    assert found is not None, shown[:300]
    return found[1], int(found[2])


def next_click(shown: str) -> dict[str, str] | None:
    """The next click of a simple player, which discards its highest card outside melds; None when the game is over."""
    phase = re.search(r'data-phase="(\w+)"', shown)
    assert phase is not None
    fields = {"at": ".".join(map(str, _position(shown)))}
    if phase[1] == "over":
        return fields | {"do": "next"} if 'id="do-next"' in shown else None
    if 'id="do-just-discard"' in shown:
        picked = re.search(r'id="picked" value="(\w+)"', shown)
        assert picked is not None
        return fields | {"do": "knock", "picked": picked[1]}
    if phase[1] == "discard":
        if 'id="do-gin"' in shown:
            return fields | {"do": "gin"}
        cards = re.findall(r'<li class="([^"]*)"><button class="card" id="card-(\w\w)"', shown)
        loose = [name for kinds, name in cards if not {"run", "set"} & set(kinds.split())]
        return fields | {"card": max(loose or [name for _, name in cards], key=lambda name: _RANKS.index(name[0]))}
    if phase[1] == "spread":
        return fields | {"number": "1"}
    stock = re.search(r'id="do-stock"[^>]*disabled', shown)
    ways = {"upcard": "pass", "wall": "pass", "layoff": "done", "draw": "take" if stock else "stock"}
    return fields | {"do": ways[phase[1]]}


def play(server: Server, opponent: str, clicks: int, tick: Callable[[int], None]) -> np.ndarray:
    """Plays games against an opponent; returns each click's wall-clock and processor milliseconds, and whether the opponent moved."""
    server.ask("/options", {"rules": RULES, "opponent": opponent})
    rows: list[tuple[float, float, bool]] = []
    while len(rows) < clicks:
        server.ask("/new", {"sure": "1"})
        shown = server.ask("/table")
        while (fields := next_click(shown)) is not None and len(rows) < clicks:
            hand, played = _position(shown)
            shown, wall, processor = server.timed("/table", fields, part=True)
            now, count = _position(shown)
            assert (now, count) != (hand, played) or 'id="do-just-discard"' in shown, "a click that did nothing"
            # A hand that has ended counts as played, so its name has changed.
            rows.append((wall, processor, count > played + 1))
            tick(len(rows))
    return np.array(rows)


def analyse(server: Server, hands: int, tick: Callable[[int], None]) -> np.ndarray:
    """Has the played hands analysed; returns for each its wall-clock and processor seconds."""
    pattern = r'<td data-is="hands">(\d+)</td>.*?/analysis\?game=(\d+)'
    played = [(int(game), int(ended)) for ended, game in re.findall(pattern, server.ask("/records"), re.DOTALL)]
    rows: list[tuple[float, float]] = []
    for game, hand in [(game, hand) for game, ended in played for hand in range(1, ended + 1)][:hands]:
        used, began = server.used(), time.perf_counter()
        while 'class="analysis"' not in server.ask(f"/analysis?game={game}&hand={hand}", part=True):
            pass
        wall, now = time.perf_counter() - began, server.used()
        rows.append((wall, float("nan") if used is None or now is None else now - used))
        tick(len(rows))
    return np.array(rows)


def _numbers(values: np.ndarray) -> dict[str, Any]:
    """Median, 95th percentile and maximum of times; None where the times are not known."""
    if np.isnan(values).any():
        return {"median": None, "p95": None, "most": None}
    found = np.median(values), np.percentile(values, 95), values.max()
    return dict(zip(("median", "p95", "most"), (round(float(value), 3) for value in found), strict=True))


def _times(rows: np.ndarray) -> dict[str, Any]:
    return {"count": len(rows), "wall": _numbers(rows[:, 0]), "processor": _numbers(rows[:, 1])}


def measure(clicks: int, hands: int, starts: int, console: Console) -> dict[str, Any]:
    """Times by their names in ``BARS``, each with its bar."""
    started, pages = [], []
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home:
        with Server(home) as server:
            # Compiles what is not compiled yet, and makes the player whose lobby is the first page from now on.
            server.ask("/players", {"do": "create", "name": "Ann"})
            server.wait_until_ready()
        for _ in range(starts):
            with Server(home) as server:
                started.append((server.listen, float("nan") if server.processor is None else server.processor))
                pages.append(server.timed("/")[1:])
        with Server(home) as server:
            server.wait_until_ready()
            for opponent in CLICK_BARS:
                with progress_bar(console, clicks, f"clicks against {opponent}") as tick:
                    rows = play(server, opponent, clicks, tick)
                for kind, chosen in zip(KINDS, (rows, rows[rows[:, 2] > 0]), strict=True):
                    found[f"{opponent}: {kind}, ms"] = _times(chosen)
        # In a new process, which has not loaded the network yet.
        with Server(home) as server, progress_bar(console, hands, "hands analysed") as tick:
            analysed = analyse(server, hands, tick)
    found |= {"listens, s": _times(np.array(started)), "first page, ms": _times(np.array(pages))}
    found |= {
        "first analysis, s": _times(analysed[:1]),
        "analysis, s": _times(analysed[1:] if len(analysed) > 1 else analysed),
    }
    for name, (counts, bar) in BARS.items():
        found[name] |= {"counts": counts, "bar": bar, "met": found[name]["wall"][counts] <= bar}
    return {name: found[name] for name in BARS}


def main(clicks: int = 400, hands: int = 20, starts: int = 5, results: Path = RESULTS) -> None:
    """Measures, writes the results, and prints them.

    Args:
        clicks: against each opponent.
        hands: to be analysed, of those that were played.
        starts: of the server.
        results: JSON file for them.
    """
    console, load = Console(), os.getloadavg()[0]
    found = measure(clicks, hands, starts, console)
    command = shlex.join(["python", "-m", "benchmarks.speed.web_speed", *sys.argv[1:]])
    about = {"command": command, "versions": versions(), "cores": os.cpu_count(), "load before": round(load, 2)}
    write_json(results, {**about, "times": found})
    table = Table("", "median", "95 %", "most", "of the processor", "bar", "", title=f"load before: {load:.1f}")
    for name, each in found.items():
        numbers = [*each["wall"].values(), each["processor"]["median"]]
        shown = ["–" if value is None else f"{value:.1f}" for value in numbers]
        table.add_row(name, *shown, f"{each['bar']:g}", "met" if each["met"] else "missed")
    console.print(table)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
