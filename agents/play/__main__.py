"""``python -m agents.play``: a table to play at in the terminal."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from agents.play import levels
from agents.play.options import Options
from agents.play.session import Desk
from agents.play.store import Home, PlayerFile, default_home
from agents.play.terminal.replay import replay
from agents.play.terminal.screen import LeaveError, Terminal
from ginenv.errors import GinError

_EPILOG = (
    "At the table, 'help' lists what can be typed. Everything is kept in one directory: --home, else $GINENV_HOME."
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m agents.play", description="Gin rummy in the terminal.", epilog=_EPILOG)
    parser.add_argument("command", nargs="?", choices=("new", "resume", "replay"), help="what to begin with")
    parser.add_argument("file", nargs="?", help="the record that 'replay' opens")
    parser.add_argument("--home", type=Path, default=default_home(), help="directory of players, games and records")
    parser.add_argument("--player", help="who sits down; made when there is no such player")
    parser.add_argument("--opponent", help="who sits across: level-1 to level-4, formula, easy, any agent's name")
    parser.add_argument("--rules", help="a preset, and changes to it: dg-standard,target=150")
    parser.add_argument("--seed", type=int, help="deal the same cards every time")
    parser.add_argument(
        "--freeze", action="store_true", help="the level does not learn from you (an option of the player)"
    )
    parser.add_argument(
        "--what-did-you-learn",
        metavar="LEVEL",
        help="say what a level has learned (of --player, or of everybody), and leave",
    )
    parser.add_argument("--reset", metavar="LEVEL", help="put a level back to how it was installed, and leave")
    return parser


def _sit_down(terminal: Terminal, home: Home, name: str | None) -> PlayerFile:
    name = name or home.last_player
    if name is None:
        names = home.names()
        if names:
            terminal.say(f"Players: {', '.join(names)}")
        name = terminal.ask("Your name> ") or (names[0] if names else "Player")
    known = {other.casefold() for other in home.names()}
    return home.open(name) if name.casefold() in known else home.create(name)


def _begin(desk: Desk, arguments: argparse.Namespace) -> None:
    options: Options = desk.file.options
    for name in ("opponent", "rules"):
        if (value := getattr(arguments, name)) is not None:
            options = options.changed(name, value)
            if name == "opponent":
                desk.check_opponent(value)
    if arguments.freeze:
        options = options.changed("learning", "off")
    desk.file.options = options
    desk.file.save()
    desk.run((arguments.command, "") if arguments.command else None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if (chosen.file is not None) != (chosen.command == "replay"):
        parser.error("'replay' needs a FILE, and nothing else has one")
    if chosen.seed is not None and chosen.seed < 0:
        parser.error("--seed is a whole number from 0")
    terminal = Terminal()
    desk = None
    try:
        if chosen.command == "replay":
            replay(terminal, chosen.file)
            return 0
        home = Home(chosen.home)
        if chosen.reset or chosen.what_did_you_learn:
            if chosen.reset:
                terminal.say(levels.reset(chosen.reset, home.path))
            if chosen.what_did_you_learn:
                terminal.say(levels.learned(chosen.what_did_you_learn, chosen.player, home.path))
            return 0
        desk = Desk(terminal, home, _sit_down(terminal, home, chosen.player), chosen.seed)
        _begin(desk, chosen)
    except (LeaveError, KeyboardInterrupt):
        if desk is not None:
            waiting = desk.file.game is not None
            terminal.say("", "Saved; 'resume' goes on with the game." if waiting else "Good-bye.")
    except GinError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or 'a file'} cannot be used: {error.strerror or error}", file=sys.stderr)
        return 1
    finally:
        if desk is not None:
            desk.close()
    return 0


if __name__ == "__main__":
    # Set anew, since a shell starts background jobs with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Networks decide one position at a time, for which a second thread is only waited for.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
