"""The command line: ``gin COMMAND ...``, and behind it ``train.py`` and ``evaluate.py``.

A command's module is imported only when the command runs: a match does not load training, and the table to play at loads neither.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from agents.interrupts import handle_stops, interrupt

if TYPE_CHECKING:
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo


class Command(NamedTuple):
    """A command.

    Attributes:
        function: ``"module:function"``, whose parameters are the command's arguments and whose docstring is its help.
        summary: what it does, in a few words.
        one_thread: whether matrix products use one thread. Players get small batches, for which several threads, waiting for each other,
            take longer than one; more work goes to more processes.
        reads_arguments: whether the function gets the words after the command instead, and parses them itself.
        extra: the extras that install what it needs.
    """

    function: str
    summary: str
    one_thread: bool = True
    reads_arguments: bool = False
    extra: str = "agents"


COMMANDS = {
    "play": Command("agents.play.terminal:play", "a game in the terminal, question by question", extra="match"),
    "web": Command("agents.web.app:run", "the table in the browser", extra="web"),
    "serve": Command("agents.serve.app:run", "players over HTTP; --mcp: hands for language models", extra="web"),
    "practice": Command("agents.play.terminal:practice", "your mistakes and a set of positions, to play again"),
    "analyse": Command("agents.cli.analyse:analyse", "RECORD, POSITION: what decisions cost; --mistakes: yours"),
    "train": Command("agents.cli.train:train", "trains an agent by self-play and exports it", False, extra="train"),
    "export": Command("agents.cli.networks:export", "NETWORK DIRECTORY: a copy with its card, or for apps"),
    "evaluate": Command("agents.cli.evaluate:evaluate", "A B: a match; A --against B C ...: several", extra="match"),
    "bench": Command("agents.cli.bench:bench", "PLAYER: six fixed opponents, one score, one file", extra="match"),
    "rate": Command("agents.cli.rate:rate", "PLAYER: a rating by few hands, for expensive players", extra="match"),
    "tournament": Command("agents.cli.tournament:tournament", "CONFIG.yaml: everyone against everyone", extra="match"),
    "exploit": Command("agents.cli.measure:exploit", "PLAYER: trains best responses against a player", False),
    "conform": Command("agents.cli.programs:conform", "PROGRAM: does it keep to the line protocol?", extra="match"),
    "bot": Command("agents.cli.bot:bot", "PLAYER: our player as a program of that protocol", extra="match"),
    "levels": Command("agents.cli.levels:levels", "show, learned, build", reads_arguments=True),
    "warm": Command("agents.cli.warm:warm", "compiles everything now, so that nobody waits later", extra="match"),
    "games": Command(
        "agents.cli.games:games", "games as Parquet tables of every decision", reads_arguments=True, extra="match,data"
    ),
}
# What people do with the commands, by the first of each group.
GROUPS = {"play": "play", "train": "train", "evaluate": "measure", "levels": "levels", "games": "data"}

# Modules that not every command needs, and the extras that install them; the others are in the extra of the command.
EXTRAS = {"tensorboard": "train", "pyarrow": "data"}
EXTRAS |= dict.fromkeys(("fastapi", "starlette", "uvicorn", "itsdangerous", "mcp"), "web")
EXTRAS |= {"fsrs": "agents", "safetensors": "agents", "torch": "agents"}

# The exit status when nobody reads the output any more: what a shell reports for a program that SIGPIPE ended.
UNREAD = 141
# The exit status when an interrupt kept a command from finishing: what a shell reports after Ctrl-C.
INTERRUPTED = 130


def run(program: str, command: str, arguments: Sequence[str]) -> None:
    """Runs a command; on an error it prints one sentence and exits with a non-zero status.

    A command that Ctrl-C, SIGTERM or the end of its terminal kept from finishing exits with status 130, even if it showed what it had.

    Args:
        program: how the program was called, such as ``gin`` or ``evaluate.py``.
        command: one of ``COMMANDS``.
        arguments: the words after it.
    """
    name = program if program == f"{command}.py" else f"{program} {command}"
    chosen = COMMANDS[command]
    for size in ("COLUMNS", "LINES"):
        # An unknown size, as some terminals write it: libraries would break lines after no character.
        if os.environ.get(size) == "0":
            del os.environ[size]
    if chosen.one_thread:
        # Before anything is imported: libraries read their number of threads when they are loaded.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Set explicitly, since a shell starts background jobs with interrupts ignored.
    handle_stops(interrupt)
    from ginenv.errors import GinError

    for stream in (sys.stdout, sys.stderr):
        # File names need not be UTF-8, and a terminal may lack some characters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    message = ""
    try:
        with _exit_when_unread():
            status = _function(chosen, name, arguments)
    except (GinError, OSError) as error:
        # For whoever wrote the player that failed. An error that the system did not number is a bug.
        if os.environ.get("GINENV_TRACEBACK") or (isinstance(error, OSError) and error.errno is None):
            raise
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt as stopped:
        # A command may say what became of its work.
        status, message = INTERRUPTED, f"{name}: {str(stopped) or 'interrupted before anything was finished'}"
    except MemoryError as error:
        sys.exit(f"{name}: there is not enough memory ({str(error).rstrip('.') or 'for all that was asked'})")
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing in ("ginenv", "agents", "None"):
            raise
        # Both of these contain what other commands need, too.
        extra = chosen.extra if chosen.extra in ("train", "web") else EXTRAS.get(missing, chosen.extra)
        sys.exit(f"{name}: {missing} is not installed; pip install 'ginenv[{extra}]' installs it")
    finally:
        # Only the interpreter's shutdown is left, which shows an exception as a traceback.
        handle_stops(signal.SIG_IGN)
    if message:
        print(message, file=sys.stderr)
    if status:
        sys.exit(status)


@contextmanager
def _exit_when_unread() -> Iterator[None]:
    """Ends the program silently when the reader of its output has gone, as ``head`` does; an error is still reported."""
    try:
        try:
            yield
        finally:
            # Not left to the interpreter's shutdown, which would complain.
            print(end="", flush=True)
    except BrokenPipeError as broken:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        before = broken.__context__
        if isinstance(before, Exception) and not isinstance(before, BrokenPipeError):
            raise before from None
        sys.exit(UNREAD)


def _function(command: Command, name: str, arguments: Sequence[str]) -> int | None:
    module, _, attribute = command.function.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    import tyro

    with _plain_words():
        if command.reads_arguments:
            return function(arguments)
        return tyro.cli(function, prog=name, args=arguments, config=(tyro.conf.OmitArgPrefixes,))


def _plain_words() -> ConstructorRegistry:
    """A registry with which a number or a path that may be left out is shown, and a word that is no number refused, in plain words."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec

    registry = ConstructorRegistry()
    kinds: dict[Any, tuple[str, str]] = {
        int: ("INT", "a whole number"),
        float: ("FLOAT", "a number"),
        Path: ("PATH", "a path"),
    }

    @registry.primitive_rule
    def rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        kind = next((kind for kind in kinds if info.type is kind or {*get_args(info.type)} == {kind, type(None)}), None)
        if kind is None:
            return None

        def parse(words: list[str]) -> Any:
            try:
                return kind(words[0])
            except ValueError:
                raise ValueError(f"{words[0]!r} is not {kinds[kind][1]}") from None

        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=kinds[kind][0],
            instance_from_str=parse,
            is_instance=lambda value: isinstance(value, (info.type, int)),
            str_from_instance=lambda value: [str(value)],
        )

    return registry


def main() -> None:
    """The program ``gin``."""
    command, *rest = sys.argv[1:] or ["--help"]
    if command == "help" and rest:
        command, rest = rest[0], [*rest[1:], "--help"]
        sys.argv[1:] = [command, *rest]
    if command in ("-V", "--version"):
        from ginenv import __version__

        print(f"gin, of ginenv {__version__}")
    elif command in ("-h", "--help", "help"):
        with _exit_when_unread():
            print("usage: gin COMMAND ...; gin COMMAND --help says more")
            for name, chosen in COMMANDS.items():
                print(f"{GROUPS.get(name, ''):7}  {name:14} {chosen.summary}")
    elif command in COMMANDS:
        run("gin", command, rest)
    else:
        from ginenv.errors import unknown_name

        sys.exit(f"gin: {unknown_name('command', command, COMMANDS)}")
