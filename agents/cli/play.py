"""``gin play`` and ``gin explain``."""

from __future__ import annotations


def play(arguments: list[str], program: str) -> int:
    """Opens the table."""
    from agents.play.__main__ import main

    return main(arguments)


def explain(arguments: list[str], program: str) -> None:
    """Explains a position."""
    from agents.search.explain import main

    main(arguments)
