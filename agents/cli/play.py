"""``gin play`` and ``gin explain``."""

from __future__ import annotations


def play(arguments: list[str], program: str) -> None:
    """Opens the table."""
    from agents.play.terminal.app import run

    run(arguments, program)


def explain(arguments: list[str], program: str) -> None:
    """Explains a position."""
    from agents.search.explain import main

    main(arguments)
