"""``gin play`` as a program behind a pseudo-terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from agents import cli
from agents.play.store import Home, StoreError
from tests.support.refusals import refuses


class Program:
    """``gin play`` behind a pseudo-terminal."""

    PROMPT = re.compile(r"> $")
    ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")

    def __init__(self, *arguments: str) -> None:
        master, slave = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "50", "PYTHONIOENCODING": "utf-8"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from agents import cli; cli.main()", "play", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=Path(__file__).parents[1],
            env=environment,
            start_new_session=True,
            # The controlling terminal, so that Ctrl-C interrupts as it does there.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.master = master
        self.screen = self.read()

    def read(self, patience: float = 600.0) -> str:
        """What is shown up to the next prompt, or the end."""
        raw, ends = b"", time.monotonic() + patience
        while time.monotonic() < ends:
            if not select.select([self.master], [], [], 0.5)[0]:
                continue
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                return self._plain(raw)
            raw += chunk
            if self.PROMPT.search(self._plain(raw)):
                return self._plain(raw)
        raise AssertionError(f"no prompt came: {self._plain(raw)[-2000:]}")

    def _plain(self, raw: bytes) -> str:
        return self.ESCAPES.sub("", raw.decode("utf-8", "replace"))

    def say(self, line: str) -> str:
        os.write(self.master, f"{line}\n".encode())
        self.screen = self.read()
        return self.screen

    def leave(self, key: bytes) -> tuple[str, int]:
        # A key that comes just before the line editor listens can be lost, so it is pressed again while nothing happens.
        for _ in range(20):
            time.sleep(0.5)
            os.write(self.master, key)
            try:
                return self.read(5.0), self.end()
            except AssertionError:
                continue
        raise AssertionError(f"{key!r} ended nothing")

    def end(self) -> int:
        status = self.process.wait(60)
        os.close(self.master)
        return status


def person(screen: str) -> str:
    """What somebody would type who follows the hints, and otherwise goes on or asks for one."""
    if screen.splitlines()[-1].startswith("Enter"):
        return ""
    keys = {"Discard": "", "Knock with": "k ", "Take the upcard": "t", "Draw from the stock": "s", "Pass": "p"}
    hints = re.findall(rf"Hint: ({'|'.join(keys)})(?: the (\S\S))?", screen)
    return keys[hints[-1][0]] + hints[-1][1] if hints else "h"


def test_a_game_goes_on_after_a_kill_and_after_ctrl_c_to_its_end(tmp_path):
    program = Program(
        "--home",
        str(tmp_path),
        "--player",
        "Ann",
        "--seed",
        "5",
        "--rules",
        "gr,target=20",
        "--opponent",
        "easy",
        "--set",
        "hints=formulas",
    )
    for _ in range(7):
        program.say(person(program.screen))
    table = program.say("").split("\n\n")[-1]
    with refuses(StoreError, "Ann"):
        Home(tmp_path).open("Ann")
    os.killpg(program.process.pid, signal.SIGKILL)
    program.end()
    program = Program("--home", str(tmp_path))
    assert program.screen.split("\n\n")[-1] == table
    shown, status = program.leave(b"\x03")
    assert "'gin play' goes on with it" in shown and status == 0 and "Traceback" not in shown
    program = Program("--home", str(tmp_path))
    while "begins another game" not in program.screen:
        program.say(person(program.screen))
    assert "the game." in program.screen and "total" in program.screen
    assert "Good-bye" in program.say("q") and program.end() == 0
    with Home(tmp_path) as home:
        assert [game.over for game in home.games("Ann")] == [True]


def test_the_end_of_input_saves_and_leaves(tmp_path, monkeypatch, capsys):
    answers = iter(["Ann"])

    def read(prompt: str) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    # A size that a terminal does not know.
    monkeypatch.setenv("COLUMNS", "0")
    chosen = ["--opponent", "simple", "--rules", "dg-standard,target=40", "--set", "learning=off", "sort=value"]
    cli.run("gin", "play", ["--home", str(tmp_path), "--seed", "3", *chosen])
    shown = capsys.readouterr().out
    assert "'gin play' goes on with it" in shown and shown.count("Standard, target 40") == 1
    cli.run("gin", "play", ["--home", str(tmp_path), "--opponent", "easy"])
    assert "Your opponent is Easy. This takes effect with the next game." in capsys.readouterr().out
    file = Home(tmp_path).open("Ann")
    assert file.game is not None and not file.options.learning and file.options.sort == "value"
    file.close()


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["--player", "a|b"], "'a|b' 20"), (["--player", "Ann", "--rules", "dg-standart"], "'dg-standard'"),
        (["--player", "Ann", "--set", "sort"], "--set 'sort'"), (["--player", "Ann", "--set", "sort=suite"], "'suit'"),
        (["--home", "/dev/null/x"], "/dev/null"), (["--seed", "-1"], "--seed 0 -1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence_and_a_status(tmp_path, arguments, facts):
    with refuses(SystemExit, "gin play", *facts.split()):
        cli.run("gin", "play", ["--home", str(tmp_path), *arguments])
