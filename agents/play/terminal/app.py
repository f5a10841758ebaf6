"""The program: its command line, and a session from the first name to the good-bye."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from agents.play.opponents import reset_level, what_level_learned
from agents.play.session import Session
from agents.play.store import Home, PlayerFile, default_home
from agents.play.terminal.menu import Menu
from agents.play.terminal.replay import replay
from agents.play.terminal.screen import LeaveError, Terminal
from ginenv.errors import GinError


@dataclass
class Arguments:
    """Gin rummy in the terminal. At the table, 'help' lists what can be typed.

    Attributes:
        command: what to begin with.
        file: the record that 'replay' opens.
        home: directory of players, games and records; $GINENV_HOME if that is set.
        player: who plays; created if there is no such player.
        opponent: level-1 to level-4, formula, easy, or any agent's name.
        rules: a preset, and changes to it, as in dg-standard,target=150.
        seed: deal the same cards every time.
        freeze: levels do not learn from you in this session.
        what_did_you_learn: say what a level has learned (of --player, or of everybody), and leave.
        reset: reset a level to how it was installed, and leave.
    """

    command: Annotated[Literal["menu", "new", "resume", "replay"], tyro.conf.Positional] = "menu"
    file: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")] = None
    home: Path = field(default_factory=default_home)
    player: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    opponent: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    rules: Annotated[str | None, tyro.conf.arg(metavar="RULES")] = None
    seed: Annotated[int | None, tyro.conf.arg(metavar="NUMBER")] = None
    freeze: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    what_did_you_learn: Annotated[str | None, tyro.conf.arg(metavar="LEVEL")] = None
    reset: Annotated[str | None, tyro.conf.arg(metavar="LEVEL")] = None


def _player(terminal: Terminal, home: Home, name: str | None) -> PlayerFile:
    name = name or home.last_player
    if name is None:
        if names := home.names():
            terminal.say(f"Players: {', '.join(names)}")
        name = terminal.ask("Your name> ") or (names[0] if names else "Player")
    return home.open(name) if home.find(name) else home.create(name)


def _play(terminal: Terminal, home: Home, chosen: Arguments) -> None:
    session = Session(home, _player(terminal, home, chosen.player), chosen.seed, chosen.freeze)
    try:
        if chosen.opponent is not None:
            session.set_opponent(chosen.opponent)
        if chosen.rules is not None:
            terminal.say(session.set_rules(chosen.rules))
        Menu(terminal, session).run(chosen.command)
    except (LeaveError, KeyboardInterrupt):
        waiting = session.file.game is not None
        terminal.say("", "Saved; 'resume' goes on with the game." if waiting else "Good-bye.")
    finally:
        session.close()


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    chosen = tyro.cli(Arguments, prog="gin play", args=arguments)
    terminal = Terminal()
    try:
        if (chosen.file is not None) != (chosen.command == "replay"):
            raise GinError("'replay' needs a FILE, and no other command takes one")
        if chosen.seed is not None and chosen.seed < 0:
            raise GinError(f"--seed is {chosen.seed}; it must be a whole number from 0")
        if chosen.file is not None:
            replay(terminal, chosen.file)
            return 0
        home = Home(chosen.home)
        if chosen.reset:
            terminal.say(reset_level(chosen.reset, home.path))
        if chosen.what_did_you_learn:
            terminal.say(what_level_learned(chosen.what_did_you_learn, chosen.player, home.path))
        if not (chosen.reset or chosen.what_did_you_learn):
            _play(terminal, home, chosen)
    except (LeaveError, KeyboardInterrupt):
        terminal.say("")
    except GinError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or 'a file'} cannot be used: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0
