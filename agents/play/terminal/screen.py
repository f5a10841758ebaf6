"""The terminal as the table sees it: lines to show, and questions that are answered with a line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from agents.play.terminal.commands import parse_command
from ginenv.errors import GinError

with contextlib.suppress(ImportError):
    # With it, input() edits lines and remembers them; it does not exist on every system.
    import readline  # noqa: F401


class LeaveError(Exception):
    """The person leaves: end of input, or the command to quit."""


class MenuError(Exception):
    """The person leaves the table for the menu.

    Args:
        then: a command that the menu is to carry out, and what follows it.
    """

    def __init__(self, then: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.then = then


class Terminal:
    """Shows lines and asks for lines.

    Args:
        console: where lines go; standard output when left out.
        read: called with a prompt; returns a line, or raises ``EOFError``; ``input`` when left out.
    """

    def __init__(self, console: Console | None = None, read: Callable[[str], str] | None = None) -> None:
        self.console = console or Console(highlight=False, emoji=False)
        self._read = read or input

    @property
    def symbols(self) -> bool:
        """Whether suits can be shown as symbols; otherwise they are shown as letters."""
        return (self.console.encoding or "").lower().startswith("utf")

    def say(self, *lines: Any, style: str | None = None, hang: int = 0) -> None:
        """Shows lines: plain texts, never read as markup, or anything that rich shows.

        Args:
            lines: the lines.
            style: the style of all of them.
            hang: indent, in columns, of the further rows of long texts, which are broken between words.
        """
        for line in lines:
            for row in self._rows(line, hang) if isinstance(line, str | Text) and hang else [line]:
                self.console.print(row, style=style, markup=False)

    def _rows(self, line: str | Text, hang: int) -> list[Text]:
        text = Text(line) if isinstance(line, str) else line
        first, *others = text.wrap(self.console, self.console.width) or [text]
        if not others:
            return [text]
        rest = text[len(first) :]
        rest = rest[len(rest) - len(rest.plain.lstrip()) :]
        rows = [first, *(Text(" " * hang) + row for row in rest.wrap(self.console, self.console.width - hang))]
        for row in rows:
            row.rstrip()
        return rows

    def say_unwrapped(self, line: str) -> None:
        """Shows a line that the person may want to copy, such as a path, in one piece however long it is."""
        self.console.print(line, markup=False, soft_wrap=True)

    def warn(self, *lines: object) -> None:
        """Shows lines that say what was or went wrong."""
        for line in lines:
            self.say(f"! {line}", style="bold yellow", hang=2)

    def ask(self, prompt: str) -> str:
        """Asks for a line; returns it without outer blanks.

        Raises:
            LeaveError: at the end of input.
        """
        sys.stdout.flush()
        try:
            return self._read(prompt).strip()
        except EOFError:
            self.say("")
            raise LeaveError from None

    def confirm(self, question: str) -> bool:
        """Asks a question that is answered with yes or no; returns whether it was yes."""
        return self.choose(f"{question} (yes/no)", "yes", "no") == "yes"

    def choose(self, question: str, *answers: str) -> str:
        """Asks a question with a few answers; the first letter of an answer will do.

        Raises:
            LeaveError: at the end of input, or if the person quits here.
        """
        while True:
            typed = self.ask(f"{question} ").lower()
            for answer in answers:
                if typed in (answer, answer[0]):
                    return answer
            with contextlib.suppress(GinError):
                if parse_command(typed)[0] == "quit":
                    raise LeaveError
            self.warn(f"Please answer {', '.join(answers[:-1])} or {answers[-1]}.")
