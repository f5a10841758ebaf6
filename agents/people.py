"""Names of people: the case of letters tells nobody apart."""

from __future__ import annotations

from collections.abc import Iterable


def folded(name: str) -> str:
    """A name without the case of its letters: the same for every way to write it."""
    return name.casefold()


def spelled(name: str, known: Iterable[str]) -> str:
    """A name as it is spelled among those known, whatever the case of its letters; as it was given where it is not among them."""
    known = list(known)
    return name if name in known else next((one for one in known if folded(one) == folded(name)), name)
