"""The errors that bad input raises; each message is one sentence that names what was wrong and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GinError(ValueError):
    """Base of every error that bad input raises."""


class CardError(GinError):
    """A text or number that is no card, or a deck that is no deck."""


class RulesError(GinError):
    """A rule set to a value that it cannot have, or an unknown rule or preset."""


class IllegalActionError(GinError):
    """An action that the rules do not allow now."""


class TextError(GinError):
    """A position or record that cannot be read."""


class UnknownNameError(GinError):
    """A name that is not registered."""


def must_be(name: str, value: object, allowed: str, hint: str = "") -> str:
    """One sentence for a value that cannot be: what it belongs to, what is allowed, and what was given."""
    return f"{name} must be {allowed}, got {value!r}{hint}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the nearest known name, or nothing when none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence for an unknown name: what it is, the nearest one, and all that are allowed."""
    known = sorted(known)
    return f"unknown {kind} {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}"
