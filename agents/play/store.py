"""What stays on disk: a directory with one for every player in it.

    HOME/session.json                   who played last
    HOME/players/NAME/player.json       options, statistics and the unfinished game, in one file: they are always of one moment
    HOME/players/NAME/records/*.gin     a record of every game, rewritten after each hand
    HOME/players/NAME/lock              held by the one process in which this player plays

Files are written beside the old ones and renamed over them, so a process may be killed at any moment. A file that cannot be
read is kept under another name, never deleted.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from agents.files import FileError, read_bytes, read_json, write_json, write_text, writing
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


class Home:
    """The directory in which everything is kept; what cannot be done with it raises ``GinError`` (or ``OSError``).

    Args:
        path: the directory; made when needed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self._players = self.path / "players"
        with writing(self._players):
            self._players.mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """Names of all players, sorted."""
        found = [unquote(entry.name) for entry in self._players.iterdir() if entry.is_dir()]
        return sorted(found, key=str.casefold)

    def find(self, name: str) -> str | None:
        """A player's name as it is spelled, whatever the case of the letters; None where there is no such player."""
        return next((known for known in self.names() if known.casefold() == name.casefold()), None)

    def known(self, name: str) -> str:
        """The same, where such a player has to exist."""
        known = self.find(name)
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
            return self.find(read_json(self.path / "session.json")["player"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # Nothing is lost with this file: the program asks for a name.
            return None

    def create(self, name: str) -> PlayerFile:
        """Creates a player, whose name is neither taken nor empty, too long or unprintable, and opens its file."""
        name = " ".join(name.split())
        if not name or len(name) > _LONGEST_NAME or not name.isprintable() or "|" in name:
            raise StoreError(
                f"{name!r} cannot be a player's name: a name has 1 to {_LONGEST_NAME} printable characters, and no '|'"
            )
        if (known := self.find(name)) is not None:
            raise StoreError(f"there is a player {known!r} already")
        with writing(directory := self._directory(name)):
            directory.mkdir()
        return self.open(name)

    def open(self, name: str) -> PlayerFile:
        """Opens a player's file: no other process can until it is closed."""
        known = self.known(name)
        opened = PlayerFile(known, self._directory(known))
        opened.write(self.path / "session.json", lambda path: write_json(path, {"player": known}))
        return opened

    def remove(self, name: str) -> None:
        """Removes a player, who must not be playing elsewhere, with statistics and records."""
        known = self.known(name)
        directory = self._directory(known)
        lock = _locked(known, directory)
        try:
            with writing(directory):
                shutil.rmtree(directory)
        finally:
            lock.release()


def _locked(name: str, directory: Path) -> FileLock:
    # Shared by threads: the one that serves a table need not be the one that opened the file.
    lock = FileLock(directory / "lock", blocking=False, thread_local=False)
    with writing(directory):
        try:
            lock.acquire()
        except Timeout:
            raise StoreError(f"{name!r} is playing at another table already (in another process)") from None
    return lock


class PlayerFile:
    """A player's file, open; holds the player's lock until ``close``.

    Attributes:
        name: the player's name.
        path: the file.
        records: directory of the player's records.
        options: what the player has chosen.
        statistics: what the player's hands add up to.
        game: the unfinished game as plain values, or None.
        notices: sentences that the person should be shown: what could not be read, written or learned.
    """

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self.path = directory / "player.json"
        self.records = directory / "records"
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

    def record_files(self) -> list[Path]:
        """The player's records, the oldest first."""
        return sorted(self.records.glob("*.gin"))

    def write_record(self, name: str, match: Match, players: tuple[str, str]) -> None:
        """Writes the record of a game so far; a notice says so if that fails."""
        self.write(self.records / f"{name}.gin", lambda path: write_text(path, format_record(match, players)))

    def _load(self) -> None:
        try:
            content = _Content.read(read_bytes(self.path))
        except FileNotFoundError:
            return
        except GinError as error:
            kept = self._free_name("player.json.damaged")
            with writing(kept):
                os.replace(self.path, kept)
            self.notices.append(
                f"{self.path} is damaged ({error}). It is kept as {kept.name}; {self.name} starts with the default options, "
                "empty statistics and no unfinished game."
            )
            return
        self.options, self.statistics, self.game = content.options, content.statistics, content.game

    def set_game_aside(self, reason: str) -> str:
        """Moves an unfinished game that cannot be resumed to a file of its own; returns the sentence to show."""
        kept = self._free_name("game.damaged")
        with writing(kept):
            write_json(kept, self.game)
        self.game = None
        self.save()
        return f"the unfinished game cannot go on ({reason}). It is kept as {kept}."

    def _free_name(self, base: str) -> Path:
        return next(path for n in itertools.count(1) if not (path := self.directory / f"{base}-{n}").exists())

    def save(self) -> None:
        """Writes options, statistics and the unfinished game, all at once; if that fails, a notice says so."""
        content = _Content(name=self.name, options=self.options, statistics=self.statistics, game=self.game)
        self.write(self.path, lambda path: write_json(path, content.model_dump()))

    def write(self, path: Path, write: Callable[[Path], None]) -> None:
        """Writes a file; if that fails, the old one is whole and a notice says so."""
        try:
            with writing(path):
                write(path)
        except FileError as error:
            self.notices.append(f"{error}; what was saved before is still there.")

    def close(self) -> None:
        """Lets another process have the player."""
        self._lock.release()
