"""The levels as the desk sees them: where they keep what they learn, what that is, and how it is put back."""

from __future__ import annotations

from pathlib import Path


def with_profile(spec: str, player: str, home: Path, *, learns: bool) -> str:
    """The name of an opponent; a level's is completed with where it keeps what it learns of this player."""
    return spec


def learned(level: str, player: str, home: Path) -> str:
    """What a level has learned, of this player and as a whole, in words and numbers."""
    return ""


def reset(level: str, home: Path) -> str:
    """Puts a level back to how it was installed."""
    return ""
