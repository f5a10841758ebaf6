"""Names of people: which are allowed; letter case and extra blanks tell nobody apart."""

from __future__ import annotations

from collections.abc import Iterable

from ginenv.errors import GinError

# A file name holds 255 bytes; a character takes up to 12 of them.
_LONGEST = 20


def folded(name: str) -> str:
    """A name without its letter case: the same for every way to write it."""
    return name.casefold()


def tidied(name: str) -> str:
    """A name without surrounding blanks, and with one blank between words."""
    return " ".join(name.split())


def check_name(name: str, whose: str, error: type[GinError] = GinError) -> str:
    """A new person's name, tidied.

    Args:
        name: as it was given.
        whose: whose name it is, for the message.
        error: the exception to raise.

    Raises:
        GinError: (or the error given) if it is empty, too long or unprintable, or has a ``|``.
    """
    name = tidied(name)
    if not name or len(name) > _LONGEST or not name.isprintable() or "|" in name:
        raise error(f"{name!r} cannot be {whose} name: a name has 1 to {_LONGEST} printable characters, and no '|'")
    return name


def spelled(name: str, known: Iterable[str]) -> str:
    """A name as it is spelled among those known, in any letter case; tidied if it is not among them."""
    known = list(known)
    if name in known:
        return name
    name = tidied(name)
    return next((one for one in known if folded(one) == folded(name)), name)
