"""The code blocks of the documentation's pages."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from agents import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    """A code block.

    Attributes:
        line: where its text begins, from 1.
        language: the word behind the backquotes.
        text: what it holds.
        note: the comment on the line before it, which the reader does not see: ``slow``, or ``file NAME`` for what is kept under a name.
    """

    line: int
    language: str
    text: str
    note: str


def blocks_of(page: Path) -> list[Block]:
    """The code blocks of a page, in their order."""
    content = page.read_text(encoding="utf-8")
    return [
        Block(content.count("\n", 0, found.start("text")) + 1, found["language"], found["text"], found["note"] or "")
        for found in _BLOCK.finditer(content)
    ]


def run_gin(line: str) -> bool:
    """Runs a line of a shell that is a plain call of a command of ``gin``, in this process, which is sooner; returns whether it was one.

    Raises:
        SystemExit: if the command fails.
    """
    if not re.match("gin [a-z]", line) or re.search(r"[|&;<>$*\\]", line):
        return False
    _, command, *words = shlex.split(line, comments=True)
    cli.run("gin", command, words)
    return True
