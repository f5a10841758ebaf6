"""What players know of people: for each person a directory with a file for each level, written after every hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from agents.files import parse_json
from agents.levels.describe import describe_learning
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from agents.levels.profile import Profile, export_opponent, import_opponent, reset_level
from agents.player_names import casefolded
from ginenv.errors import GinError
from ginenv.tables.players import Player

# Of a memory that is imported; one that was exported has some kilobytes.
MAX_MEMORY = 1 << 20
# Memories that are kept in this process.
_MAX_OPEN = 1000


def as_level(player: Player) -> LevelPlayer:
    """The player, if it is a level with a memory.

    Raises:
        GinError: if it is another player.
    """
    if not isinstance(player, LevelPlayer) or not player.level.learns:
        raise GinError(f"{player.name} keeps no memory; only levels do")
    return player


class People:
    """The memories of all people.

    A person's memory is read from disk when it is first needed, and shared by all sessions with this person. Names are those that
    ``check_name`` returns.

    Args:
        home: their directory.
    """

    def __init__(self, home: Path) -> None:
        self.home = home / "people"
        self._open: dict[tuple[str, str], LevelPlayer] = {}

    def _directory(self, person: str) -> Path:
        # "." and ".." mean something else to a file system.
        return self.home / quote(casefolded(person), safe=" ").replace(".", "%2E")

    def player(self, player: Player, person: str) -> LevelPlayer:
        """A level with its memory of a person."""
        level = as_level(player)
        key = (casefolded(person), level.level.digest)
        if key not in self._open:
            if len(self._open) >= _MAX_OPEN:
                # What it has learned is on disk; a session that still uses it goes on with what it has.
                del self._open[next(iter(self._open))]
            self._open[key] = level.with_profile(Profile(self._directory(person), level.level, person))
        return self._open[key]

    def close(self, person: str) -> None:
        """Forgets what was read of a person; it stays on disk."""
        self._open = {key: player for key, player in self._open.items() if key[0] != casefolded(person)}

    def describe(self, level: Level, person: str) -> str:
        """What a level has learned of a person, in words."""
        return describe_learning(self._directory(person), level, person)

    def export(self, level: Level, person: str) -> dict[str, Any]:
        """What a level has learned of a person, for ``restore``."""
        return export_opponent(self._directory(person), level, person)

    def restore(self, level: Level, person: str, text: bytes) -> None:
        """Replaces what a level knows of a person by what was exported.

        Raises:
            GinError: if it cannot be used; nothing has changed then.
        """
        parse_json(text)
        import_opponent(self._directory(person), level, person, text)
        self.close(person)

    def reset(self, level: Level, person: str) -> None:
        """Removes what a level knows of a person."""
        directory = self._directory(person)
        if directory.exists():
            reset_level(directory, level)
        self.close(person)
