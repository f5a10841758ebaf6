"""The table in the terminal as a program behind a pseudo-terminal."""

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
from agents.play.terminal.commands import GROUPS, parse_command
from tests.support.refusals import refuses
from tests.support.session_scenes import FITS, KNOCKS, MANY_WAYS, NO_MELD, deck, prepared


class Program:
    """``gin play`` behind a pseudo-terminal."""

    PROMPT = re.compile(r"(?:> |\(yes/no[^)\n]*\) )$")
    ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")

    def __init__(self, *arguments: str) -> None:
        master, slave = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "50", "PYTHONIOENCODING": "utf-8"}
        self.sent: list[str] = []
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
        self.sent.append(line)
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
    """What somebody would type who follows the hints and otherwise does the first thing that is offered."""
    if "yes/no" in screen.splitlines()[-1]:
        return "yes"
    if screen.endswith("next hand> "):
        return ""
    hints = re.findall(
        r"Hint: (discard|knock with|take the upcard|draw from the stock|pass|be done)(?: the (\S\S))?", screen
    )
    if hints:
        keys = {
            "discard": "d ",
            "knock with": "k ",
            "take the upcard": "t",
            "draw from the stock": "s",
            "pass": "p",
            "be done": "n",
        }
        return keys[hints[-1][0]] + hints[-1][1]
    return "h"


# Each command, and what is shown after it.
LOOKING_AROUND = {
    "help": "play to gin", "rules dg-standard": "The rules are Standard", "rule target 40": "Standard, target 40", "? done": "end your",
    "rule": "undercut_bonus", "opponent": "formula", "opponent formulla": "did you mean 'formula'", "options": "always_resume",
    "opponent formula": "Your opponent is Formula", "set easy_game on": "easy_game is now on", "player Spreader": "Spreader is at",
    "resume": "take the K♦ or pass", "p": "knock with the", "knock KC": "spread 1", "spread 2": "knock by Spreader", "next hand": "hand 2",
    "menu": "Spreader is at", "switch Layer": "Layer is at", "r": "Formula passes on the K♦", "pass": "lay off", "l 7S": "lay off",
    "lay off JS": "lay off the 3♥", "done": "knock by Formula", "score": "laid off in hand 1", "player Ginny": "Ginny is at",
    "resume ": "take the K♦ or pass", "p ": "go gin with the K♣", "gin": "gin by Ginny", "create Temp": "Temp is at", "players": "* Temp",
    "player Ann": "Ann is at", "remove Temp": "Remove 'Temp'", "yes": "Temp is removed", "learned level-1": "level-1", "y": "level-1",
    "new": "hand 1",
}  # fmt: skip
AT_THE_TABLE = ["sort value descending", "u", "v", "move 1 3", "show", "w", "score", "g", "play to gin", "stats"]


def test_a_whole_game_behind_a_pseudo_terminal_with_every_command(tmp_path):
    home = Home(tmp_path)
    for name, game in {
        "Spreader": prepared("ht1", deck(MANY_WAYS, NO_MELD, "KD", "KC"), 0),
        "Layer": prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1),
        "Ginny": prepared("eaai", deck("3S 3C 3D 3H 8S 9S TS 4H 5H 6H", NO_MELD, "KD", "KC"), 0),
    }.items():
        file = home.create(name)
        file.game = game.to_json()
        file.save()
        file.close()
    program = Program("--home", str(tmp_path), "--player", "Ann", "--opponent", "simple", "--seed", "5")
    for line, words in LOOKING_AROUND.items():
        if line == "y":
            program.say("reset level-1")
        assert words in program.say(line), f"{line}: {program.screen}"
    # A whole game: looking around at the first discard, then by the hints.
    looked = False
    while not program.screen.endswith("menu> "):
        if not looked and "Your turn: discard" in program.screen:
            looked = True
            for line in AT_THE_TABLE:
                program.say(line)
            card = re.findall(r"^Ann +(\S\S)", program.say("show"), re.MULTILINE)[-1]
            assert " by Formula (easy game)" in program.say(f"knock {card}") or "not a knock" in program.screen
        else:
            program.say(person(program.screen))
    assert "the game." in program.screen and "boxes" in program.screen
    assert "Formula (easy game)" in program.say("statistics")
    path = tmp_path / "game.gin"
    for line, words in {
        "records": "1 ", f"export 1 {path}": "is in", f"import {path}": "is among the games of", "replay": "step 1 of", "": "step 2 of",
        "q": "", "reset stats": "", "yes": "The statistics are reset", "statistics": "not played a hand yet",
        "practice draw": "from the set", "menu": "0 answers so far", "quit": "Good-bye",
    }.items():  # fmt: skip
        assert words in program.say(line), f"{line}: {program.screen}"
    assert program.end() == 0
    given = {parse_command(line)[0] for line in program.sent if line not in ("", "yes", "y")}
    assert given >= {command.words[0] for group in GROUPS.values() for command in group}


def test_a_game_goes_on_after_a_kill_and_after_both_ways_to_leave(tmp_path):
    options = ["--player", "Ann", "--seed", "5", "--rules", "gr", "--opponent", "easy"]
    program = Program("new", "--home", str(tmp_path), *options)
    for _ in range(7):
        program.say(person(program.screen))
    table = program.say("show").split("\n\n")[-1]
    with refuses(StoreError, "Ann"):
        Home(tmp_path).open("Ann")
    os.killpg(program.process.pid, signal.SIGKILL)
    program.end()
    program = Program("resume", "--home", str(tmp_path))
    assert program.screen.split("\n\n")[-1] == table
    shown, status = program.leave(b"\x03")
    assert "Saved; 'resume' goes on with the game." in shown and status == 0 and "Traceback" not in shown


def test_the_end_of_input_saves_and_leaves(tmp_path, monkeypatch, capsys):
    answers = iter(["Ann", "new"])

    def read(prompt: str) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    cli.run("gin", "play", ["--home", str(tmp_path), "--seed", "3", "--freeze"])
    assert "Saved; 'resume' goes on with the game." in capsys.readouterr().out
    file = Home(tmp_path).open("Ann")
    # The flag is for this session alone.
    assert file.game is not None and file.options.learning
    file.close()


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["replay", "nowhere.gin"], "nowhere.gin"), (["--player", "a|b"], "'a|b' 20"), (["--player", ""], "'' 20"), (["replay"], "FILE"),
        (["resume", "--player", "Ghost"], "'Ghost'"), (["--player", "Ann", "--rules", "dg-standart"], "'dg-standard'"),
        (["--home", "/dev/null/x"], "/dev/null"),
        (["--seed", "-1"], "--seed 0 -1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence_and_a_status(tmp_path, arguments, facts):
    with refuses(SystemExit, "gin play", *facts.split()):
        cli.run("gin", "play", ["--home", str(tmp_path), *arguments])


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [
        ("tyro", ()),
        ("torch", ("--player", "Ann", "--opponent", "level-1")),
    ],
)
def test_what_an_extra_would_bring_is_named(tmp_path, missing, arguments):
    code = f"""
import sys
class Missing:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
from agents import cli
cli.run("gin", "play", sys.argv[1:])
"""
    command = [sys.executable, "-c", code, "--home", str(tmp_path), *arguments]
    ended = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    extra = "match" if missing == "tyro" else "agents"
    assert all(fact in ended.stderr for fact in ("gin play: ", missing, f"'ginenv[{extra}]'"))
