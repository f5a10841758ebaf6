"""Names of people: which are allowed; letter case, extra blanks and the ways to write an accent tell nobody apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from urllib.parse import quote

from ginenv.errors import GinError

# A file name holds 255 bytes; a character takes up to 12 of them.
_LONGEST = 20


def normalized(name: str) -> str:
    """A name with single blanks and composed characters: systems differ in whether they send ``é`` as one or as two (NFC, NFD)."""
    return unicodedata.normalize("NFC", " ".join(name.split()))


def casefolded(name: str) -> str:
    """A name without its letter case: the same for every way to write it."""
    return normalized(normalized(name).casefold())


def file_name(name: str) -> str:
    """What a file or directory of a person is called, however the name is written."""
    # "." and ".." mean something else to a file system.
    return quote(casefolded(name), safe=" ").replace(".", "%2E")


def check_name(name: str, owner: str, error: type[GinError] = GinError) -> str:
    """A new person's name, normalized.

    Args:
        name: as it was given.
        owner: whose name it is, for the message.
        error: the exception to raise.

    Raises:
        GinError: (or the error given) if it is empty, too long or unprintable, or has a ``|``.
    """
    name = normalized(name)
    if not name or len(name) > _LONGEST or not name.isprintable() or "|" in name:
        raise error(f"{name!r} cannot be {owner} name: a name has 1 to {_LONGEST} printable characters, and no '|'")
    return name


def canonical_name(name: str, names: Iterable[str]) -> str:
    """A name as it is spelled among those known, in any letter case; normalized if it is not among them."""
    names = list(names)
    if name in names:
        return name
    name = normalized(name)
    return next((one for one in names if casefolded(one) == casefolded(name)), name)
