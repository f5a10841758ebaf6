"""The command line: ``gin COMMAND ...``, and behind it ``train.py`` and ``evaluate.py``.

A command's module is imported only when the command runs: a match does not load training, and the table to play at loads neither.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
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
    "levels": Command("agents.cli.levels:levels", "show, learned, build, fit", reads_arguments=True),
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
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG)

# Words that ``evaluate.py`` takes as commands and not as players' names.
BESIDE_MATCHES = ("tournament", "conform", "exploit")


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
    try:
        os.getcwd()
    except FileNotFoundError:
        sys.exit(f"{name}: the current directory has been deleted; change to another one")
    for size in ("COLUMNS", "LINES"):
        # An unknown size, as some terminals write it: libraries would break lines after no character.
        if os.environ.get(size) == "0":
            del os.environ[size]
    if chosen.one_thread:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Nothing has begun yet, and an exception could get lost in a module that is being imported.
    handle_stops(lambda *_: _leave(f"{name}: interrupted before anything was finished\n"))
    # Imported only now: libraries read their number of threads when they are loaded.
    from ginenv.errors import GinError

    # Each makes a command show what it has. Set explicitly, since a shell starts background jobs with interrupts ignored.
    handle_stops(interrupt)
    for stream in (sys.stdout, sys.stderr):
        # File names need not be UTF-8, and a terminal may lack some characters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    message = ""
    try:
        with _exit_when_unread():
            status = _function(chosen, name, arguments)
    except GinError as error:
        # For whoever wrote the player that failed.
        if os.environ.get("GINENV_TRACEBACK"):
            raise
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt as stopped:
        # A command may say what became of its work.
        status, message = INTERRUPTED, f"{name}: {str(stopped) or 'interrupted before anything was finished'}"
    except OSError as error:
        # Disk errors are reported; any other is a bug of this program.
        if error.errno not in _DISK_ERRORS:
            raise
        sys.exit(f"{name}: {error.filename or 'a file'} cannot be written: {error.strerror}")
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
        if hasattr(select, "poll"):
            output = select.poll()
            output.register(1, 0)
            if not output.poll(0):
                # Another pipe broke: a bug of this program.
                raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        before = broken.__context__
        if before is not None and not isinstance(before, BrokenPipeError | SystemExit):
            raise before from None
        sys.exit(UNREAD)


def _leave(words: str) -> None:
    os.write(2, words.encode())
    os._exit(INTERRUPTED)


def _function(command: Command, name: str, arguments: Sequence[str]) -> int | None:
    module, _, attribute = command.function.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    import tyro

    with _format_help(), _without_empty_defaults():
        if command.reads_arguments:
            return function(arguments)
        return tyro.cli(
            function, prog=name, args=arguments, description=_about(function, name), config=(tyro.conf.OmitArgPrefixes,)
        )


def _format_help() -> ConstructorRegistry:
    """A registry with which every command refuses an empty path, or a word that is not a number, in plain words."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec

    from agents.files import parse_path

    registry = ConstructorRegistry()
    numbers = {int: "a whole number", float: "a number"}

    @registry.primitive_rule
    def path(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Path] | None:
        if info.type is not Path and set(get_args(info.type)) != {Path, type(None)}:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="PATH",
            instance_from_str=lambda words: parse_path(words[0]),
            is_instance=lambda value: isinstance(value, info.type),
            str_from_instance=lambda value: [str(value)],
        )

    @registry.primitive_rule
    def number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        kinds = set(get_args(info.type) or [info.type]) - {type(None)}
        if len(kinds) != 1 or not kinds <= numbers.keys():
            return None
        kind = kinds.pop()

        def parse(words: list[str]) -> Any:
            if words[0] == "None" and kind is not info.type:
                return None
            try:
                return kind(words[0])
            except ValueError:
                raise ValueError(f"{words[0]!r} is not {numbers[kind]}") from None

        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=kind.__name__.upper(),
            instance_from_str=parse,
            is_instance=lambda value: isinstance(value, (info.type, int)),
            str_from_instance=lambda value: [str(value)],
        )

    return registry


# A default that says nothing, perhaps broken between two lines of a box.
_EMPTY_DEFAULT = re.compile(r"\(default:[\s│]*(?:None|''|\"\")?\)")
_EMPTY_LINE = re.compile(r"^│ *│\n", re.MULTILINE)


@contextmanager
def _without_empty_defaults() -> Iterator[None]:
    """Leaves ``(default: )`` and ``(default: None)`` out of a command's help; its boxes keep their shape."""
    if not {"-h", "--help"} & {*sys.argv[1:]}:
        yield
        return
    # With the encoding of what it stands for, by which the boxes are drawn.
    shown = io.TextIOWrapper(io.BytesIO(), sys.stdout.encoding, write_through=True)
    try:
        with redirect_stdout(shown):
            yield
    finally:
        text = shown.buffer.getvalue().decode(shown.encoding)  # type: ignore[attr-defined]
        print(_EMPTY_LINE.sub("", _EMPTY_DEFAULT.sub(lambda found: re.sub(r"[^│\n]", " ", found[0]), text)), end="")


def _about(function: Callable[..., Any], name: str) -> str | None:
    """The help text above the arguments; ``None`` stands for the function's docstring."""
    if name != "evaluate.py":
        return None
    others = [f"{name} {other}, {COMMANDS[other].summary}" for other in BESIDE_MATCHES]
    return "\n\n".join([str(function.__doc__).partition("\n")[0], "Other commands, each with its own --help:", *others])


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
