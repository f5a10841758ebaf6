"""Tables as Markdown writes them."""

from __future__ import annotations

from collections.abc import Iterable


def table(headings: list[str], rows: Iterable[list[str]]) -> list[str]:
    """The lines of a table, and the empty line after it."""
    return [f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *rows)] + [""]
