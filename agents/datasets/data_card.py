"""The card beside a table of decisions: what it holds, how it was made, and what it is not for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agents.datasets.schema import COLUMNS


def card_path(path: str | Path) -> Path:
    """The path of a file's card: ``games.md`` for ``games.parquet``."""
    return Path(path).with_suffix(".md")


def is_card(card: Path, path: Path) -> bool:
    """Whether a file is the card of such a table."""
    with card.open(encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n") == _title(path)


def _title(path: str | Path) -> str:
    return f"# {Path(path).name}"


def data_card(path: str | Path, columns: Iterable[str], about: dict[str, Any], counts: dict[str, int]) -> str:
    """The card as Markdown.

    Args:
        path: path of the file.
        columns: names of its columns.
        about: how it was made, as kept in the file.
        counts: numbers of ``games``, ``hands`` and ``decisions``.
    """
    numbers = ", ".join(f"{value:,} {what}" for what, value in counts.items())
    made = [f"- {name}: {_words(value)}" for name, value in about.items() if value not in ("", None)]
    table = [f"| `{name}` | {COLUMNS[name].about} | {'yes' if COLUMNS[name].hidden else ''} |" for name in columns]
    return "\n".join(
        [
            _title(path),
            "",
            f"Gin rummy, one row a decision: {numbers}. Parquet, compressed with zstd; a row group holds whole hands.",
            "",
            "## How it was made",
            "",
            *made,
            "",
            "Deals come from the stream for learning (`agents.deal_streams`), which nothing that is reported is measured on. The same",
            "command writes the same rows, but where a program from outside plays. `gin games check FILE` plays every hand again",
            "and compares.",
            "",
            "## Columns",
            "",
            "| column | what it holds | hidden from the seat to move |",
            "| --- | --- | --- |",
            *table,
            "",
            "A policy that reads a hidden column cheats; loaders leave them out unless they are asked for by name. The schema's",
            "metadata says the same: each field has `about` and `hidden`.",
            "",
            "## Limits",
            "",
            "- The actions are those of the players named above: they show how these play, not how gin rummy ought to be played,",
            "  nor how people play it.",
            "- What a hand or a game came to is mostly luck with the cards: `points` has a standard deviation of 25 to 30.",
            "- Decisions of one hand, and hands of one game, are not independent; split by `game`.",
            "",
        ]
    )


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
