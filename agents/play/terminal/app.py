"""The program: its command line, and a session from the first name to the good-bye."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from agents.play.options import Options
from agents.play.session import Session
from agents.play.store import Home, PlayerFile, default_home
from agents.play.terminal.menu import Menu
from agents.play.terminal.replay import replay
from agents.play.terminal.screen import LeaveError, Terminal
from ginenv.errors import GinError, check_integer
from ginenv.hands.records import read_record
from ginenv.tables.players import parse_player


def _word(metavar: str) -> Any:
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclass
class Arguments:
    """Gin rummy in the terminal. At the table, 'help' lists what can be typed.

    Attributes:
        command: what to begin with: the menu, a new game, the unfinished game, or a record.
        file: the record that 'replay' opens.
        home: directory of players, games and records; $GINENV_HOME if that is set.
        player: who plays; created if there is no such player, except to resume.
        opponent: matched, level-1 to level-4, or any player's name.
        rules: a preset, and changes to it, as in dg-standard,target=150.
        seed: deal the same cards every time.
        freeze: levels do not learn from you in this session.
    """

    command: Annotated[Literal["menu", "new", "resume", "replay"], tyro.conf.Positional] = "menu"
    file: Annotated[Path | None, tyro.conf.Positional, _word("[FILE]")] = None
    home: Path = field(default_factory=default_home)
    player: Annotated[str | None, _word("NAME")] = None
    opponent: Annotated[str | None, _word("NAME")] = None
    rules: Annotated[str | None, _word("RULES")] = None
    seed: Annotated[int | None, _word("NUMBER")] = None
    freeze: Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help_behavior_hint="")] = False


@contextmanager
def until_left(terminal: Terminal) -> Iterator[None]:
    """Ends quietly when the person leaves; says in a sentence which file cannot be used."""
    try:
        yield
    except (LeaveError, KeyboardInterrupt):
        terminal.say("")
    except OSError as error:
        raise GinError(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}") from None


def choose_player(terminal: Terminal, home: Home, name: str | None, may_create: bool) -> PlayerFile:
    """Opens the named player, or the last one, or the one whose name the person types."""
    name = home.last_player if name is None else name
    if name is None:
        if names := home.names():
            terminal.say(f"Players: {', '.join(names)}")
        name = terminal.ask("Your name> ") or (names[0] if names else "Player")
    return home.create(name) if may_create and not home.find(name) else home.open(name)


def _play(terminal: Terminal, home: Home, chosen: Arguments) -> None:
    # A misspelled name is reported before anything is asked.
    if chosen.opponent is not None:
        parse_player(chosen.opponent)
    if chosen.rules is not None:
        Options().changed("rules", chosen.rules)
    file = choose_player(terminal, home, chosen.player, may_create=chosen.command != "resume")
    named = () if chosen.opponent is None else (chosen.opponent,)
    session = Session(home, file, chosen.seed, chosen.freeze, named)
    try:
        if chosen.opponent is not None:
            session.set_option("opponent", chosen.opponent)
        if chosen.rules is not None:
            terminal.say(session.set_option("rules", chosen.rules))
        Menu(terminal, session).run(chosen.command)
    except (LeaveError, KeyboardInterrupt):
        waiting = session.file.game is not None
        terminal.say("", "Saved; 'resume' goes on with the game." if waiting else "Good-bye.")
    finally:
        session.close()


def run(arguments: Sequence[str], program: str = "gin play") -> None:
    """Runs the program until the person leaves it.

    Raises:
        GinError: if an argument cannot be used, or a file cannot be read or written.
    """
    chosen = tyro.cli(Arguments, prog=program, args=arguments)
    terminal = Terminal()
    if (chosen.file is not None) != (chosen.command == "replay"):
        raise GinError("'replay' needs a FILE, and no other command takes one")
    if chosen.seed is not None:
        check_integer("--seed", chosen.seed, 0)
    with until_left(terminal):
        if chosen.file is not None:
            replay(terminal, chosen.file.name, read_record(chosen.file))
            return
        with Home(chosen.home) as home:
            _play(terminal, home, chosen)
