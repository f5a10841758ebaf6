"""Tables in Markdown: how rows of results become lines, and a page with its tables filled in."""

from __future__ import annotations

import json
import string
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
# Checkpoints in words.
_CHECKPOINTS = {
    "benchmarks/checkpoints/previous": "the network that shipped before (`benchmarks/checkpoints/previous`)",
}


class _Cells(string.Formatter):
    """Python's format strings, with three formats more: ``points`` and ``percent`` of a mean and its interval, and ``player``."""

    def format_field(self, value: Any, format_spec: str) -> str:
        match format_spec:
            case "points":
                return f"{value['mean']:+.2f} ({value['low']:+.2f} to {value['high']:+.2f})"
            case "percent":
                return f"{value['mean']:.1%} ({100 * value['low']:.1f} to {100 * value['high']:.1f})".replace("%", " %")
            case "player":
                return _CHECKPOINTS.get(value, f"`{value}`")
        return format(value, format_spec).replace("%", " %") if format_spec else str(value)


@dataclass(frozen=True)
class Rows:
    """Rows of a table, and what each of their cells holds.

    Attributes:
        source: name of a file in ``benchmarks/results`` (with ``*``: of several, in order), or the document itself.
        cells: a format string for a row, with ``|`` between cells. Its fields are those of the row and of all that it lies in; ``key`` is
            the row's place, ``name`` what ``*`` stands for in the file's name.
        at: where rows lie in a document: steps with ``/`` between them, and ``*`` for every item. Empty: the document is the only row.
    """

    source: str | Mapping[Any, Any] | list[dict[str, Any]]
    cells: str
    at: str = ""

    def lines(self) -> Iterator[str]:
        """The rows in Markdown."""
        for row in self._rows():
            yield f"| {_Cells().vformat(self.cells, (), row)} |"

    def _rows(self) -> Iterator[dict[str, Any]]:
        if not isinstance(self.source, str):
            yield from _rows_at(self.source, self.at, {})
            return
        before, _, after = self.source.partition("*")
        for path in sorted(RESULTS.glob(f"{self.source}.json")):
            name = path.stem.removeprefix(before).removesuffix(after)
            yield from _rows_at(_read(path.stem), self.at, {"name": name})


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        headings: its headings, with ``|`` between them.
        rows: its rows, one kind after the other.
        command: what makes the figures, printed below them; empty where the page says it.
    """

    headings: str
    rows: Sequence[Rows]
    command: str = ""

    def __str__(self) -> str:
        lines = [f"| {self.headings} |", "|" + " --- |" * (1 + self.headings.count("|"))]
        made_by = ["", f"Made by `{self.command}`."] if self.command else []
        return "\n".join([*lines, *(line for rows in self.rows for line in rows.lines()), *made_by, ""])


def _read(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _rows_at(document: Any, path: str, above: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What lies at a path, each with the fields of all that it lies in."""
    fields = above | (dict(document) if isinstance(document, Mapping) else {"value": document})
    step, _, rest = path.partition("/")
    if not path:
        yield fields
    elif step == "*":
        items = document.items() if isinstance(document, Mapping) else enumerate(document)
        for key, item in items:
            yield from _rows_at(item, rest, above | {"key": key})
    else:
        yield from _rows_at(document[int(step) if isinstance(document, list) else step], rest, fields)


def filled(path: Path, parts: Mapping[str, Table | str]) -> str:
    """A page with its tables between their marks, ``<!-- NAME -->`` and ``<!-- end of NAME -->``."""
    text = path.read_text(encoding="utf-8")
    for name, table in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            sys.exit(f"{path.name} lacks the marks of {name}")
        text = f"{before}{begin}\n{table}\n{end}{after}"
    return text
