"""Ctrl-C and SIGTERM at random moments of train, evaluate and tournament: no lost results, leftovers or tracebacks allowed.

`python -m benchmarks.robustness.interrupts --rounds 40` (`--only train evaluate` for some of them). Each command is run
undisturbed first, on a few
seconds' work. Then it is run again and again with a signal at a random moment, from when it handles signals until it would have ended.
Half of the signals are Ctrl-C, sent to all of the program's processes as a terminal does, and half are SIGTERM, sent to the program
alone. Every second match and tournament is played by two workers. Training and tournament are then started again with the
same arguments and must end with the same result. A match must have written its finished part and said so, or said that nothing was
finished.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import tyro

from agents.arena import play_match
from agents.arena.results import versions
from agents.files import read_json, write_json

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "interrupts.json"
# Longer than any of these runs takes; only a program that hangs reaches it.
_PATIENCE = 300.0
# How long processes may take to notice that their program has ended.
_GRACE = 5.0
# What no program may print, whatever happens to it.
_UGLY = ("Traceback", "Exception ignored", "leaked", "Fatal")
# Keys of results that differ from run to run.
_TIMES = ("elapsed_seconds", "seconds", "ms_per_decision", "minutes", "command", "out", "workers")
_SMALL = (
    "num_envs=64 num_steps=16 minibatch=256 threads=1 bfloat16=no eval_opponents=[random] eval_games=20 minutes=0 "
    "network.actor=[32] network.critic=[32] decisions=40000 save_every=0.01"
).split()
_PLAYERS = ("simple", "formula")


class ExitResult(NamedTuple):
    """How a run ended."""

    status: int
    output: str
    seconds: float
    waited: float
    left: list[str]


def listens(pid: int) -> bool:
    """Whether a process has its own SIGTERM handler; until then, Ctrl-C and SIGTERM end the interpreter in the default way."""
    try:
        caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return True
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def run(words: list[str], moment: float | None = None, ctrl_c: bool = True) -> ExitResult:
    """Runs a command in its own session; sends it a signal ``moment`` seconds after it has begun to handle signals."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        sent = time.monotonic()
        if moment is not None:
            while process.poll() is None and not listens(process.pid):
                time.sleep(0.002)
            time.sleep(moment)
            sent = time.monotonic()
            if process.poll() is None and ctrl_c:
                os.killpg(process.pid, signal.SIGINT)
            elif process.poll() is None:
                process.terminate()
        try:
            status = process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            status = -1
        ended = time.monotonic()
        # The helper processes of the library that starts workers notice only after a while that the program has ended.
        while (left := _left(process.pid)) and time.monotonic() - ended < _GRACE:
            time.sleep(0.05)
        if left:
            os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        return ExitResult(status, output.read(), ended - began, ended - sent, left)


def _left(session: int) -> list[str]:
    """Descriptions of the processes of a session."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())[:80]}")
        except (OSError, psutil.Error):
            continue
    return found


def without_times(value: Any) -> Any:
    """A results file without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in _TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


class Command(NamedTuple):
    """A command that is interrupted.

    Attributes:
        words: arguments of a run, from its directory and the number of workers.
        result: the result of a finished run in that directory.
        resumes: whether the same arguments continue an interrupted run.
    """

    words: Callable[[Path, int], list[str]]
    result: Callable[[Path], Any]
    resumes: bool = True


def _train(out: Path, workers: int) -> list[str]:
    return ["train.py", "--config", "configs/smoke.yaml", "--out", str(out), "--set", *_SMALL]


def _trained(out: Path) -> Any:
    about = read_json(out / "last" / "checkpoint.json")["about"]
    digests = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (out / "last").glob("*.safetensors")
    }
    return about["decisions"], digests


def _evaluate(out: Path, workers: int) -> list[str]:
    sizes = f"--games 8000 --batch 500 --workers {workers}".split()
    return ["evaluate.py", *_PLAYERS, *sizes, "--out", str(out / "match.json")]


def _tournament(out: Path, workers: int) -> list[str]:
    changes = ["pairs=600", "block=100", "resamples=20", f"out={out}"]
    changes.append("players={simple: simple, formula: formula, easy: easy}")
    return ["evaluate.py", "tournament", "configs/tournament.yaml", *changes, "--workers", str(workers)]


COMMANDS = {
    "train": Command(_train, _trained),
    "evaluate": Command(_evaluate, lambda out: read_json(out / "match.json")["matches"][0], resumes=False),
    "tournament": Command(_tournament, lambda out: without_times(read_json(out / "results.json"))),
}


def _problems(ended: ExitResult, out: Path) -> list[str]:
    """Problems that can occur with any command."""
    found = [f"said {word!r}" for word in _UGLY if word in ended.output]
    found += [f"left a process: {each}" for each in ended.left]
    found += [
        f"left a file: {path.name}" for path in out.rglob(".*.*") if re.fullmatch(r"\..+\.[a-z0-9_]{8}", path.name)
    ]
    if ended.status == -1:
        found.append("did not end")
    return found


def _match_is_sound(out: Path, ended: ExitResult) -> list[str]:
    """Checks that an interrupted match holds exactly its first pairs and said how many; returns what is wrong."""
    if not (out / "match.json").exists():
        fine = ended.status == 130 and ended.output.rstrip().endswith("interrupted before anything was finished")
        return [] if fine else ["wrote nothing, and did not say so"]
    match = read_json(out / "match.json")["matches"][0]
    same = play_match(*_PLAYERS, pairs=match["pairs"]).to_dict()
    keys = ("pairs", "jobs", "hands", "share", "points_per_hand")
    wrong = [f"{key} is not that of the first {match['pairs']} pairs" for key in keys if match[key] != same[key]]
    if match["pairs"] < match["pairs_wanted"] and f"interrupted after {match['pairs']:,} of" not in ended.output:
        wrong.append("did not say how much was finished")
    return wrong


def interrupt(name: str, rounds: int, rng: np.random.Generator, keep: Path) -> dict[str, Any]:
    """Interrupts one command in this many rounds; returns what happened."""
    command = COMMANDS[name]
    run(command.words(keep / "warm", 1))
    complete = run(command.words(keep / "whole", 1))
    assert complete.status == 0, complete.output
    expected = command.result(keep / "whole")
    two = run(command.words(keep / "two", 2)).seconds
    wrong, finished, waited = [], 0, []
    for number in range(rounds):
        workers = 1 + number % 2
        out = keep / f"{name}-{number}"
        out.mkdir(parents=True)
        ctrl_c, length = bool(number // 2 % 2), two if workers == 2 else complete.seconds
        moment = float(rng.random() * length)
        ended = run(command.words(out, workers), moment, ctrl_c)
        problems = _problems(ended, out)
        waited.append(ended.waited)
        finished += ended.waited < 0.01
        if not command.resumes:
            problems += _match_is_sound(out, ended)
        else:
            again = run(command.words(out, workers))
            problems += _problems(again, out)
            if again.status != 0:
                problems.append(f"status {again.status} when it went on")
            elif command.result(out) != expected:
                problems.append("went on to another result")
        if problems:
            how = f"{'Ctrl-C' if ctrl_c else 'SIGTERM'} after {moment:.2f} s, {workers} workers"
            wrong.append({"round": number, "how": how, "problems": problems, "said": ended.output[-2000:]})
            print(f"{name}, round {number}, {how}: {problems}\n{ended.output[-2000:]}", flush=True)
        shutil.rmtree(out)
    seconds = {"undisturbed": complete.seconds, "to_end_median": float(np.median(waited)), "to_end_most": max(waited)}
    seconds = {key: round(value, 2) for key, value in seconds.items()}
    print(f"{name}: {rounds} rounds, {len(wrong)} with a problem; {seconds}", flush=True)
    return {"rounds": rounds, "ended_before_the_signal": finished, "seconds": seconds, "wrong": wrong}


def main(rounds: int = 40, only: tuple[str, ...] = tuple(COMMANDS), seed: int = 0) -> None:
    """Interrupts the commands and writes the results."""
    found = read_json(RESULTS) if RESULTS.exists() else {}
    for name in only:
        with tempfile.TemporaryDirectory() as keep:
            found[name] = interrupt(name, rounds, np.random.default_rng([seed, *name.encode()]), Path(keep))
        found |= {"versions": versions(), "seed": seed}
        write_json(RESULTS, found)
    if any(found[name]["wrong"] for name in only):
        sys.exit("something was lost or left behind")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
