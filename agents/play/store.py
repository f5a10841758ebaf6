"""The store: players, their options and statistics, games, hands, decisions and mistakes, in one SQLite file.

    HOME/gin.sqlite3        everything (``agents.play.database`` has the tables)
    HOME/levels/*.json      what levels have learned (``agents.levels.memory``)
    HOME/locks/             a file for each player, held by the one process in which this player plays

A table uses it like this:

    home = Home(default_home())
    file = home.open("Ann")              # or home.create("Ann"); refused while Ann plays in another process
    file.options, file.statistics        # change them, then file.save()
    file.game = game                     # the unfinished game, or None; file.save() after every action
    file.write_record(name, match, ("Ann", "formula"))      # when a hand has ended; goes to disk with the next file.save()
    file.games()                         # rows for lists, the oldest first; home.record(row.id) is the record of one
    file.close()
    home.close()

``Session`` does all that; a table calls only it. Each ``save`` is one transaction: a process may be killed at any
moment, and what was saved before is intact. Several processes may have the store open, each for a different player; threads may share a
``Home``. Notebooks may read the file with any SQLite library while games are played.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from agents.files import FileError, free_name, private_directory, writing
from agents.play.database import Database
from agents.play.game import Game
from agents.play.options import Options, friend_of
from agents.play.records_table import StoredGame, read_games, write_game
from agents.play.statistics import Tallies, Tally
from agents.player_names import casefolded, check_name, file_name
from ginenv.errors import GinError, unknown_name
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import Record, parse_record

FILE = "gin.sqlite3"
# Hands in which a level looks for what it now plays otherwise.
_LAST_HANDS = 40


class StoreError(GinError):
    """Something in the store that cannot be used, or a player who is at another table."""


def default_home() -> Path:
    """``$GINENV_HOME``, or the platform's place for programs' data.

    Raises:
        StoreError: if the user has no home directory.
    """
    chosen = os.environ.get("GINENV_HOME")
    try:
        return Path(chosen) if chosen else user_data_path("ginenv", appauthor=False)
    except RuntimeError:
        raise StoreError("this user has no home directory; GINENV_HOME names another place") from None


def link_digest(token: str) -> str:
    """What the store keeps of a link's token."""
    return hashlib.sha256(token.encode()).hexdigest()


class Home:
    """The directory in which everything is kept; operations that fail raise ``GinError`` (or ``OSError``).

    Args:
        path: the directory; created when needed.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            self.path = Path(path).expanduser()
        except RuntimeError:
            raise StoreError(f"this user has no home directory for {path}; GINENV_HOME names another place") from None
        with writing(self.path / "locks"):
            private_directory(self.path)
            (self.path / "locks").mkdir(0o700, exist_ok=True)
        self.database = Database(self.path / FILE)

    def __enter__(self) -> Home:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; a process that is about to end need not call it."""
        self.database.close()

    def names(self) -> list[str]:
        """Names of all players, sorted."""
        return [row["name"] for row in self.database.rows("SELECT name FROM player ORDER BY folded")]

    def find(self, name: str) -> str | None:
        """The exact spelling of a player's name given in any case; None if there is no such player."""
        rows = self.database.rows("SELECT name FROM player WHERE folded = ?", casefolded(name))
        return rows[0]["name"] if rows else None

    def canonical_name(self, name: str) -> str:
        """Like ``find``, but the player has to exist."""
        stored_name = self.find(name)
        if stored_name is None:
            raise StoreError(unknown_name("player", name, self.names()))
        return stored_name

    @property
    def last_player(self) -> str | None:
        """Who played last, if that player still exists and has no invitation."""
        invited = "SELECT player FROM invitation"
        where = f"WHERE seated > 0 AND id NOT IN ({invited}) ORDER BY seated DESC LIMIT 1"
        rows = self.database.rows(f"SELECT name FROM player {where}")
        return rows[0]["name"] if rows else None

    def invitations(self) -> dict[str, str]:
        """The players who play from browsers of their own, by the ``link_digest`` of their link."""
        rows = self.database.rows("SELECT digest, name FROM invitation JOIN player ON player.id = invitation.player")
        return {row["digest"]: row["name"] for row in rows}

    def invite(self, name: str, token: str) -> None:
        """Gives a player a link with this token, in place of an earlier one; an empty token takes the link back."""
        player = "(SELECT id FROM player WHERE name = ?)"
        with self.database.transaction():
            self.database.run(f"DELETE FROM invitation WHERE player = {player}", self.canonical_name(name))
            if token:
                values = self.canonical_name(name), link_digest(token)
                self.database.run(f"INSERT INTO invitation VALUES ({player}, ?)", *values)

    def create(self, name: str) -> PlayerFile:
        """Creates a player and opens its part of the store; the name must not be taken, empty, too long or unprintable."""
        name = check_name(name, "a player's", StoreError)
        with self.database.transaction():
            if (stored_name := self.find(name)) is not None:
                raise StoreError(f"there is a player {stored_name!r} already")
            self.database.run(
                "INSERT INTO player (name, folded, options, statistics) VALUES (?, ?, ?, ?)",
                *(name, casefolded(name), Options().model_dump_json(), Tallies().model_dump_json()),
            )
        return self.open(name)

    def open(self, name: str) -> PlayerFile:
        """Opens a player's part of the store; until it is closed, no other process can."""
        return PlayerFile(self, self.canonical_name(name))

    def remove(self, name: str) -> None:
        """Removes a player, who must not be playing elsewhere, with statistics and games."""
        stored_name = self.canonical_name(name)
        lock = self.lock(stored_name)
        try:
            self.database.run("DELETE FROM player WHERE name = ?", stored_name)
        finally:
            lock.release()

    def lock(self, name: str) -> FileLock:
        """Acquires a player's lock, which is released when this process ends, however it ends."""
        path = self.path / "locks" / file_name(name)
        # Shared by threads: the one that serves a table need not be the one that opened the file.
        lock = FileLock(path, mode=0o600, blocking=False, thread_local=False)
        with writing(path):
            try:
                lock.acquire()
            except Timeout:
                raise StoreError(f"{name!r} is playing at another table already (in another process)") from None
        return lock

    def games(self, player: str) -> list[StoredGame]:
        """The games of a player, the oldest first."""
        return read_games(self.database, player=self.canonical_name(player))

    def game(self, game: int) -> StoredGame:
        """A game by its id."""
        found = read_games(self.database, game=game)
        if not found:
            raise StoreError(f"there is no game {game} in the store")
        return found[0]

    def record_text(self, game: int) -> str:
        """The record of a game by its id, as text."""
        rows = self.database.rows("SELECT record FROM game WHERE id = ?", game)
        if not rows:
            raise StoreError(f"there is no game {game} in the store")
        return rows[0]["record"]

    def record(self, game: int) -> Record:
        """The record of a game by its id."""
        return parse_record(self.record_text(game))

    def last_hands(self, player: str) -> list[tuple[int, int, int, Hand]]:
        """A player's last hands at a table, the last first: the game's id, the hand's number in it, the player's seat, and the hand.

        Empty if there is no such player.
        """
        rows = self.database.rows(
            "SELECT hand.game, hand.number, game.seat FROM hand JOIN game ON game.id = hand.game JOIN player ON player.id = game.player "
            "WHERE player.folded = ? AND game.seat IS NOT NULL ORDER BY game.begun DESC, game.id DESC, hand.number DESC LIMIT ?",
            *(casefolded(player), _LAST_HANDS),
        )
        hands = {game: self.record(game).hands for game in {row["game"] for row in rows}}
        return [(row["game"], row["number"], row["seat"], hands[row["game"]][row["number"] - 1]) for row in rows]


class PlayerFile:
    """A player's open part of the store; holds the player's lock until ``close``.

    Attributes:
        name: the player's name.
        id: id of the player's row.
        home: the store.
        options: what the player has chosen.
        statistics: totals of the player's hands and games.
        game: the unfinished game, or None.
        notices: sentences that the person should be shown: what could not be written or learned.
    """

    # Whether the person sits at a table of ``Session``, which lays out the cards and tells what happens.
    is_at_table = True

    def __init__(self, home: Home, name: str) -> None:
        self.home = home
        self.name = name
        self.options = Options()
        self.statistics = Tallies()
        self.game: Game | None = None
        self.notices: list[str] = []
        self._ended: dict[str, tuple[Match, tuple[str, str], int, str]] = {}
        self._lock = home.lock(name)
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        database = self.home.database
        rows = database.rows("SELECT id, options, statistics, game FROM player WHERE name = ?", self.name)
        if not rows:
            # Removed by another process before the lock was held.
            raise StoreError(unknown_name("player", self.name, self.home.names()))
        row = rows[0]
        self.id: int = row["id"]
        try:
            self.options = Options.model_validate_json(row["options"])
            self.statistics = Tallies.model_validate_json(row["statistics"])
            self.game = None if row["game"] is None else Game.model_validate_json(row["game"])
        except (GinError, ValueError) as error:
            raise StoreError(f"what the store holds of {self.name} cannot be read ({error})") from None
        with database.transaction():
            seated = "UPDATE player SET seated = (SELECT max(seated) + 1 FROM player) WHERE id = ?"
            database.run(seated, self.id)

    @property
    def friend(self) -> str:
        """The person with whom the player has the unfinished game; empty where the opponent is none."""
        return "" if self.game is None else friend_of(self.game.opponent)

    def games(self) -> list[StoredGame]:
        """The player's games, the oldest first."""
        return self.home.games(self.name)

    def stored_game(self, number: int) -> StoredGame:
        """One of the player's games by its number, from 1."""
        games = self.games()
        if not 1 <= number <= len(games):
            numbered = f"; your records are numbered 1 to {len(games)}" if games else ""
            raise StoreError(f"there is no record {number}{numbered}")
        return games[number - 1]

    def margins(self, tally: Tally) -> list[int]:
        """Points won less points lost in each hand that a tally counts, the oldest first."""
        rows = self.home.database.rows(
            "SELECT CASE hand.winner WHEN game.seat THEN hand.points WHEN 1 - game.seat THEN -hand.points ELSE 0 END AS margin "
            "FROM hand JOIN game ON game.id = hand.game WHERE game.player = ? AND game.rules = ? "
            "AND CASE game.seat WHEN 0 THEN game.name_1 WHEN 1 THEN game.name_0 END = ? "
            "ORDER BY game.begun DESC, game.id DESC, hand.number DESC LIMIT ?",
            *(self.id, tally.variation, tally.opponent, tally.hands),
        )
        return [row["margin"] for row in rows][::-1]

    def write_record(self, name: str, match: Match, players: tuple[str, str], seat: int = 0, begun: str = "") -> None:
        """Puts the ended hands of a game into the store with the next ``save``; the other arguments are those of ``write_game``."""
        self._ended[name] = match.copy(), players, seat, begun

    def save(self, *others: PlayerFile) -> None:
        """Writes options, statistics, the unfinished game and ended hands, of others too, all at once; if that fails, a notice says so."""
        files = self, *others
        try:
            with self.home.database.transaction():
                for file in files:
                    file._write()
            for file in files:
                file._ended.clear()
        except FileError as error:
            for file in files:
                file.notices.append(f"{error}; what was saved before is still there.")

    def _write(self) -> None:
        database = self.home.database
        game = None if self.game is None else self.game.to_json()
        database.run(
            "UPDATE player SET options = ?, statistics = ?, game = ? WHERE id = ?",
            *(self.options.model_dump_json(), self.statistics.model_dump_json(), game, self.id),
        )
        for name, (match, players, seat, begun) in self._ended.items():
            write_game(database, self.id, name, match, players, seat, begun=begun)

    def import_record(self, name: str, text: str) -> StoredGame:
        """Adds a record to the player's games; the seat that bears the player's name is the player's.

        Args:
            name: name for the game; a number is added to it if there is such a game.
            text: the record.

        Raises:
            GinError: if it is not a record, or is there already.
        """
        record = parse_record(text)
        seats = [casefolded(seat) for seat in record.players]
        seat = seats.index(casefolded(self.name)) if casefolded(self.name) in seats else None
        database = self.home.database
        with database.transaction():
            if rows := database.rows("SELECT name FROM game WHERE player = ? AND record = ?", self.id, text):
                raise StoreError(f"this record is among the games of {self.name} already, as {rows[0]['name']}")
            name = free_name(name, [game.name for game in self.games()])
            return self.home.game(write_game(database, self.id, name, record.match, record.names, seat, text))

    def record_text(self, game: int) -> str:
        """The record of one of the player's games, by its id, as text to pass on.

        Raises:
            GinError: if there is no such game, or it is still in play: its keys determine the cards of its next hands.
        """
        if self.game is not None and self.home.game(game).name == self.game.name:
            raise StoreError("this game is still in play; its record can be saved when it is over")
        return self.home.record_text(game)

    def close(self) -> None:
        """Releases the player; another process can then open it."""
        self._lock.release()


class UnsavedPlayer(PlayerFile):
    """Somebody of whom nothing is kept.

    Args:
        name: the name at the table.
    """

    is_at_table = False

    def __init__(self, name: str) -> None:
        # Nobody looks at how the cards lie; hints load nothing.
        self.name, self.options, self.statistics = name, Options(sort="none", hints="formulas"), Tallies()
        self.game, self.notices = None, []

    def save(self, *others: PlayerFile) -> None:
        """Does nothing."""

    def write_record(self, name: str, match: Match, players: tuple[str, str], seat: int = 0, begun: str = "") -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


class UnrecordedPlayer(UnsavedPlayer):
    """A player at a table whose hands are not kept; options that change in play are the copy's alone.

    Args:
        file: the player's part of the store.
    """

    is_at_table = True

    def __init__(self, file: PlayerFile) -> None:
        super().__init__(file.name)
        self.home, self.options = file.home, file.options
