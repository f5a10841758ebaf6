"""The terminal as the table sees it: lines to show, and questions that are answered with a line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console

with contextlib.suppress(ImportError):
    # With it, input() edits lines and remembers them; it does not exist on every system.
    import readline  # noqa: F401


class LeaveError(Exception):
    """The person leaves: end of input, or the command to quit."""


class Terminal:
    """Shows lines and asks for lines.

    Args:
        console: where lines go; standard output when left out.
        read: is called with a prompt and returns a line, or raises ``EOFError``; ``input`` when left out.
    """

    def __init__(self, console: Console | None = None, read: Callable[[str], str] | None = None) -> None:
        self.console = console or Console(highlight=False)
        self._read = read or input

    @property
    def symbols(self) -> bool:
        """Whether suits can be shown as symbols; as letters otherwise."""
        return (self.console.encoding or "").lower().startswith("utf")

    def say(self, *lines: Any, style: str | None = None) -> None:
        """Shows lines, broken between words: plain texts, never read as markup, or anything that rich shows."""
        for line in lines:
            self.console.print(line, style=style, markup=False)

    def say_whole(self, line: str) -> None:
        """Shows a line that one wants to copy, such as a path: as it is, however long."""
        self.console.print(line, markup=False, soft_wrap=True)

    def warn(self, line: object) -> None:
        """Shows a line that says what was wrong."""
        self.say(f"! {line}", style="bold yellow")

    def ask(self, prompt: str) -> str:
        """A line without outer blanks.

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
        """A question that is answered with yes or no; there is no hint here."""
        while True:
            answer = self.ask(f"{question} (yes/no) ").lower()
            if answer in ("y", "yes", "n", "no"):
                return answer[0] == "y"
            if answer in ("h", "hint"):
                self.warn("There is no hint for a yes or no: that is for you to decide.")
            else:
                self.warn("Please answer yes or no.")
