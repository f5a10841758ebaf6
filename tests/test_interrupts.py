"""Ctrl-C, SIGTERM and SIGHUP where results are at stake: they wait for what is written; what was broken off goes on to the same result."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import agents.arena.executors as executors
import agents.arena.matches as matches
import agents.arena.tournament as tournament
import agents.cli.evaluate as evaluate
import agents.datasets.store as store
from agents import cli
from agents.arena import play_match
from agents.datasets.load import Games
from agents.interrupts import (
    allow_interrupts,
    defer_interrupts,
    handle_stops,
    ignore_interrupts_in_child,
    interrupt,
    take_interrupt,
)

TOURNAMENT = """
players: {a: simple, b: easy}
pairs: 6
block: 2
resamples: 20
"""


def signalling(function: Callable[..., Any], at: int = 1, number: int = signal.SIGTERM) -> Callable[..., Any]:
    """The function, with a signal before its call of this number."""
    calls = 0

    def signalled(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), number)
        return function(*arguments, **options)

    return signalled


def output_of(*words: object) -> str:
    """What a command says when it fails, or the number that it ends with; nothing where it succeeds."""
    try:
        cli.run("gin", str(words[0]), [str(word) for word in words[1:]])
    except SystemExit as ended:
        return str(ended.code)
    return ""


# Of a command that was interrupted before its end.
INTERRUPTED = "130"


def test_an_interrupt_waits_until_it_is_released() -> None:
    signal.signal(signal.SIGTERM, interrupt)
    reached = []
    with defer_interrupts() as interrupts:
        with allow_interrupts():
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.requested
        # One within another is part of it.
        with pytest.raises(KeyboardInterrupt), defer_interrupts(), allow_interrupts():
            reached.append("never")
        with pytest.raises(KeyboardInterrupt), allow_interrupts():
            reached.append("begun")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
            reached.append("never")
        assert not interrupts.requested
        os.kill(os.getpid(), signal.SIGTERM)
    assert reached == ["begun"] and signal.getsignal(signal.SIGTERM) is interrupt
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)


def test_a_handler_of_somebodys_own_stays() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    with defer_interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
    assert heard == [signal.SIGTERM] and not interrupts.requested


INTERRUPTED_MODULE = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\ndone = True\n"


def test_an_interrupt_while_something_is_imported_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("imported_slowly", "imported_while_released"):
        (tmp_path / f"{name}.py").write_text(INTERRUPTED_MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    signal.signal(signal.SIGTERM, interrupt)
    with pytest.raises(KeyboardInterrupt):
        importlib.import_module("imported_slowly")
        time.sleep(2)
    assert sys.modules["imported_slowly"].done
    # It was told, and is not told again when the next kernel is compiled.
    assert not take_interrupt()
    with defer_interrupts() as interrupts:
        with allow_interrupts():
            importlib.import_module("imported_while_released")
        time.sleep(0.3)
        assert interrupts.requested


def test_workers_hear_no_ctrl_c_before_they_are_ready() -> None:
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with ignore_interrupts_in_child():
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.communicate()[0] == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize(("module", "name"), [(matches, "_close"), (evaluate, "write_json")])
def test_a_match_loses_nothing_after_its_last_game(
    module: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, signalling(getattr(module, name)))
    out = tmp_path / "match.json"
    assert output_of("evaluate", "simple", "easy", "--games", 4, "--out", out) == ""
    assert [match["pairs"] for match in json.loads(out.read_text())["matches"]] == [2]
    # The command is over.
    os.kill(os.getpid(), signal.SIGTERM)


def test_an_interrupted_match_holds_the_first_pairs_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matches.Lockstep, "tick", signalling(matches.Lockstep.tick, at=400))
    out = tmp_path / "match.json"
    assert output_of("evaluate", "simple", "easy", "--games", 1000, "--batch", 64, "--out", out) == INTERRUPTED
    [match] = json.loads(out.read_text())["matches"]
    assert 0 < match["pairs"] < 500 and f"{match['pairs']:,} of 500 pairs" in capsys.readouterr().out
    monkeypatch.undo()
    complete = play_match("simple", "easy", pairs=match["pairs"]).to_dict()
    assert all(match[key] == complete[key] for key in ("jobs", "hands", "share", "points_per_hand"))


def test_interrupted_games_survive_as_far_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store, "table_of", signalling(store.table_of, at=2))
    out = tmp_path / "games.parquet"
    assert output_of("games", "play", "simple", "easy", "--hands", 3000, "--out", out) == INTERRUPTED
    message = capsys.readouterr().err
    assert f"gin games: {out}: " in message and "interrupted" in message
    monkeypatch.undo()
    assert sum(len(batch["action"]) for batch in Games(out).batches()) > 1000


def test_an_interrupted_tournament_shows_its_blocks_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.yaml").write_text(TOURNAMENT)
    words = ["tournament", tmp_path / "t.yaml", f"out={tmp_path / 'out'}"]
    with monkeypatch.context() as patched:
        patched.setattr(tournament.Tournament, "save", signalling(tournament.Tournament.save, at=2))
        assert output_of(*words) == INTERRUPTED
    results = tmp_path / "out" / "results.json"
    assert json.loads(results.read_text())["blocks_missing"] == 1
    assert "1 block" in capsys.readouterr().out
    assert output_of(*words) == ""
    assert output_of("tournament", tmp_path / "t.yaml", f"out={tmp_path / 'complete'}") == ""
    resumed, complete = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("out", "complete"))
    assert resumed["blocks_missing"] == 0 and resumed["ratings"] == complete["ratings"]


def test_all_workers_are_started_before_any_job() -> None:
    """Those that a later job would start would hear the Ctrl-C that a terminal sends to every process of a program."""
    before = set(multiprocessing.active_children())
    with executors.process_pool(2):
        assert len(set(multiprocessing.active_children()) - before) == 2


def test_workers_that_play_end_with_a_parent_that_is_killed() -> None:
    script = """if True:
        import multiprocessing, time
        from agents.arena.executors import process_pool
        if __name__ == "__main__":
            with process_pool(2) as pool:
                tasks = [pool.submit(time.sleep, 60) for _ in range(2)]
                while not all(task.running() for task in tasks):
                    time.sleep(0.05)
                time.sleep(2)
                print(*(child.pid for child in multiprocessing.active_children()), flush=True)
                time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [psutil.Process(int(number)) for number in parent.stdout.readline().split()]
        parent.kill()
    assert len(workers) == 2
    gone, alive = psutil.wait_procs(workers, timeout=20)
    for worker in alive:
        worker.kill()
    assert len(gone) == 2


def test_nohup_keeps_a_command_from_hearing_the_end_of_its_terminal() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    handle_stops(interrupt)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN and signal.getsignal(signal.SIGTERM) is interrupt
