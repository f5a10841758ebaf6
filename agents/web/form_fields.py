"""Numbers that were sent as text, in a form or in an address."""

from __future__ import annotations

from collections.abc import Mapping

from ginenv.errors import GinError


def integer_field(values: Mapping[str, str], name: str, default: int | None = None) -> int:
    """A whole number among values that were sent; raises ``GinError`` if it is none, or is missing and has no default."""
    text = values.get(name) or ("" if default is None else str(default))
    if not (text.isdecimal() and len(text) <= 9):
        raise GinError(f"{name} must be a whole number, got {text[:20]!r}")
    return int(text)
