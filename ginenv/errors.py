"""The errors that bad input raises, and checks of values. Each message is one sentence: what was expected, what was given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any


class GinError(ValueError):
    """Base class of every error that bad input raises."""


class CardError(GinError):
    """A text or number that does not stand for a card, or a deck that is not complete."""


class RulesError(GinError):
    """A rule with an invalid value, or an unknown rule or preset."""


class IllegalActionError(GinError):
    """An action that the rules do not allow now."""


class TextError(GinError):
    """A position or record that cannot be read."""


class UnknownNameError(GinError):
    """A name that is not registered."""


# The most characters of a value that a message quotes: a megabyte is not repeated.
_SHOWN = 200
# And of all the names that it lists, some of which may come from a file.
_LISTED = 1000


def quoted(value: object) -> str:
    """A value as a message quotes it: its ``repr`` in one line, cut short if it is long."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the nearest known name, or an empty text if none is near."""
    near = difflib.get_close_matches(name[:_SHOWN], list(names), n=1, cutoff=0.5)
    return f" (did you mean {quoted(near[0])}?)" if near else ""


def unknown_name(kind: str, name: str, names: Iterable[str]) -> str:
    """One sentence for an unknown name: what it is, the nearest known name, and all known names."""
    names = sorted(names)
    return f"unknown {kind} {quoted(name)}{did_you_mean(name, names)}; known: {_listed(names) or 'none'}"


def _listed(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= _LISTED else f"{text[:_LISTED]}… ({len(text):,} characters)"


def reason_of(error: Exception) -> str:
    """Why something failed, for a message that names the file: a system error is given without its number and the file name."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def must_be(name: str, expected: str, value: object) -> str:
    """One sentence for an invalid value: its name, what was expected, and what was given."""
    return f"{name} must be {expected}, got {quoted(value)}"


def check_choice(name: str, value: Any, allowed: Sequence[Any], error: type[GinError] = GinError) -> int:
    """The position of a value among those allowed.

    Raises:
        GinError: (or the error given) if it is not one of them; the message lists them and names the nearest.
    """
    if isinstance(value, str | Integral):
        for position, candidate in enumerate(allowed):
            if candidate == value and isinstance(candidate, bool) == isinstance(value, bool):
                return position
    names = _listed(repr(candidate) for candidate in allowed)
    # Numbers are not misspelt.
    words = [candidate for candidate in allowed if isinstance(candidate, str)]
    hint = did_you_mean(value, words) if isinstance(value, str) else ""
    raise error(must_be(name, f"one of {names}", value) + hint)


def check_integer(name: str, value: Any, least: int, most: int | None = None, error: type[GinError] = GinError) -> int:
    """A whole number in a range, as an ``int``.

    Raises:
        GinError: (or the error given) if it is not a whole number in the range.
    """
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else least - 1
    if number < least or (most is not None and number > most):
        limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise error(must_be(name, f"a whole number {limits}", value))
    return number
