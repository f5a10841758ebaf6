"""What stays on disk: a directory with one for every player in it.

    HOME/session.json                   who played last
    HOME/players/NAME/player.json       options, statistics and the unfinished game, in one file: they are always of one moment
    HOME/players/NAME/records/*.gin     a record of every game, rewritten after each hand
    HOME/players/NAME/lock              held by the one process in which this player plays

Files are written beside the old ones and renamed over them, so a process may be killed at any moment. A file that cannot be
read is kept under another name, never deleted.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from agents.files import write_json, write_text
from agents.play.kept import Kept
from agents.play.options import Options
from agents.play.statistics import Statistics
from ginenv.errors import GinError, unknown_name
from ginenv.hand import Match
from ginenv.records import format_record

# A file name holds 255 bytes; a character takes up to 12 of them.
_LONGEST_NAME = 20


class StoreError(GinError):
    """Something on disk that cannot be used, or a player who is at another table."""


class _Content(Kept):
    """A player's file."""

    format: Literal["ginenv player 1"] = "ginenv player 1"
    name: str = ""
    options: Options
    statistics: Statistics
    game: dict[str, Any] | None


def default_home() -> Path:
    """``$GINENV_HOME``, or the place that the platform has for programs' data."""
    chosen = os.environ.get("GINENV_HOME")
    return Path(chosen) if chosen else user_data_path("ginenv", appauthor=False)


def checked_name(name: str) -> str:
    """A player's name without extra blanks.

    Raises:
        StoreError: if it is empty or too long, or has a character that cannot be printed.
    """
    clean = " ".join(name.split())
    if not clean or len(clean) > _LONGEST_NAME or not clean.isprintable() or "|" in clean:
        raise StoreError(
            f"{name!r} cannot be a player's name: a name has 1 to {_LONGEST_NAME} printable characters, and no '|'"
        )
    return clean


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


class Home:
    """The directory in which everything is kept.

    Args:
        path: the directory; made when needed.

    Raises:
        StoreError: if it cannot be made.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        try:
            self._players.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be used for players and games: {_reason(error)}") from None

    @property
    def _players(self) -> Path:
        return self.path / "players"

    def names(self) -> list[str]:
        """Names of all players, sorted."""
        try:
            found = [unquote(entry.name) for entry in self._players.iterdir() if entry.is_dir()]
        except OSError as error:
            raise StoreError(f"{self._players} cannot be read: {_reason(error)}") from None
        return sorted(found, key=str.casefold)

    def _find(self, name: str) -> str | None:
        return next((known for known in self.names() if known.casefold() == name.casefold()), None)

    def _known(self, name: str) -> str:
        known = self._find(name)
        if known is None:
            raise StoreError(unknown_name("player", name, self.names()))
        return known

    def _directory(self, name: str) -> Path:
        # "." and ".." mean something else to a file system.
        return self._players / quote(name, safe=" ").replace(".", "%2E")

    @property
    def last_player(self) -> str | None:
        """Who played last, if that player still exists."""
        try:
            name = json.loads((self.path / "session.json").read_text(encoding="utf-8"))["player"]
        except (OSError, ValueError, KeyError, TypeError):
            # Nothing is lost with this file: whoever comes is asked for a name.
            return None
        return self._find(name) if isinstance(name, str) else None

    def create(self, name: str) -> PlayerFile:
        """Makes a player and opens its file.

        Raises:
            StoreError: if the name cannot be one or is taken.
        """
        name = checked_name(name)
        if (known := self._find(name)) is not None:
            raise StoreError(f"there is a player {known!r} already")
        try:
            self._directory(name).mkdir()
        except FileExistsError:
            raise StoreError(f"there is a player {name!r} already") from None
        except OSError as error:
            raise StoreError(f"the player {name!r} cannot be made: {_reason(error)}") from None
        return self.open(name)

    def open(self, name: str) -> PlayerFile:
        """Opens a player's file: no other process can until it is closed.

        Raises:
            StoreError: if there is no such player, or another process has the file open.
        """
        known = self._known(name)
        opened = PlayerFile(known, self._directory(known))
        try:
            write_json(self.path / "session.json", {"player": known})
        except OSError as error:
            opened.notices.append(f"{self.path / 'session.json'} cannot be written: {_reason(error)}")
        return opened

    def remove(self, name: str) -> None:
        """Removes a player with its statistics and records.

        Raises:
            StoreError: if there is no such player, or it is at a table.
        """
        known = self._known(name)
        directory = self._directory(known)
        lock = _locked(known, directory)
        try:
            shutil.rmtree(directory)
        except OSError as error:
            raise StoreError(f"the player {known!r} cannot be removed: {_reason(error)}") from None
        finally:
            lock.release()


def _locked(name: str, directory: Path) -> FileLock:
    # Shared by threads: whoever serves a table need not be who opened the file.
    lock = FileLock(directory / "lock", blocking=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreError(f"{name!r} is playing at another table already (in another process)") from None
    except OSError as error:
        raise StoreError(f"the files of {name!r} in {directory} cannot be used: {_reason(error)}") from None
    return lock


class PlayerFile:
    """A player's file, open; holds the player's lock until ``close``.

    Attributes:
        name: the player's name.
        options: what the player has chosen.
        statistics: what the player's hands add up to.
        game: the unfinished game as plain values, or None.
        notices: sentences that the person should be shown, about files that could not be read.
    """

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self.options = Options()
        self.statistics = Statistics()
        self.game: dict[str, Any] | None = None
        self.notices: list[str] = []
        self._lock = _locked(name, directory)
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The file."""
        return self.directory / "player.json"

    @property
    def records(self) -> Path:
        """The directory of the player's records."""
        return self.directory / "records"

    def record_files(self) -> list[Path]:
        """The player's records, the oldest first."""
        return sorted(self.records.glob("*.gin"))

    def write_record(self, name: str, match: Match, players: tuple[str, str]) -> None:
        """Writes the record of a game so far.

        Raises:
            OSError: if it cannot be written.
        """
        write_text(self.records / f"{name}.gin", format_record(match, players))

    def _load(self) -> None:
        try:
            content = _Content.read(self.path.read_bytes())
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {_reason(error)}") from None
        except GinError as error:
            self._set_aside(str(error))
            return
        self.options, self.statistics, self.game = content.options, content.statistics, content.game

    def _set_aside(self, reason: str) -> None:
        kept = self._free_name("player.json.damaged")
        try:
            os.replace(self.path, kept)
        except OSError as error:
            raise StoreError(f"{self.path} is damaged ({reason}) and cannot be kept aside: {_reason(error)}") from None
        self.notices.append(
            f"{self.path} is damaged ({reason}). It is kept as {kept.name}; {self.name} starts with the default options, "
            "empty statistics and no unfinished game."
        )

    def set_game_aside(self, reason: str) -> str:
        """Takes an unfinished game that cannot be resumed out of the player's file and keeps it in one of its own.

        Returns:
            The sentence to show.
        """
        kept = self._free_name("game.damaged")
        write_json(kept, self.game)
        self.game = None
        self.save()
        return f"the unfinished game cannot go on ({reason}). It is kept as {kept}."

    def _free_name(self, base: str) -> Path:
        number = 1
        while (self.directory / f"{base}-{number}").exists():
            number += 1
        return self.directory / f"{base}-{number}"

    def save(self) -> None:
        """Writes options, statistics and the unfinished game, all at once.

        Raises:
            OSError: if they cannot be written; the old file is whole then.
        """
        content = _Content(name=self.name, options=self.options, statistics=self.statistics, game=self.game)
        write_json(self.path, content.model_dump())

    def close(self) -> None:
        """Lets another process have the player."""
        self._lock.release()
