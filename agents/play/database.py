"""The one SQLite file of the store: its schema, and transactions.

Values go to statements as parameters (``?``), never in their text. The file is in write-ahead mode: readers never wait, writers wait
for one another, and a process that is killed at any moment loses nothing that was committed. A power failure may lose the last moments
before it, but never half of a commit.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from agents.files import FileError, writing
from ginenv.errors import quoted

# Seconds that a writer waits for another process.
_PATIENCE = 30.0

_SCHEMA = (
    """CREATE TABLE player (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        folded TEXT NOT NULL UNIQUE,  -- the name whatever the case of its letters
        seated INTEGER NOT NULL DEFAULT 0,  -- the highest number is that of who played last
        options TEXT NOT NULL,  -- JSON
        statistics TEXT NOT NULL,  -- JSON
        game TEXT  -- the unfinished game as JSON
    )""",
    """CREATE TABLE game (  -- one row for each game of which a hand has ended, or that was imported
        id INTEGER PRIMARY KEY,
        player INTEGER NOT NULL REFERENCES player ON DELETE CASCADE,
        name TEXT NOT NULL,
        seat INTEGER,  -- of the player; NULL in an imported game of others
        name_0 TEXT NOT NULL,
        name_1 TEXT NOT NULL,
        rules TEXT NOT NULL,
        begun TEXT NOT NULL,  -- UTC, ISO 8601
        record TEXT NOT NULL,  -- ginrecord 1, up to the last hand that has ended
        over INTEGER NOT NULL,
        winner INTEGER,
        score_0 INTEGER NOT NULL,
        score_1 INTEGER NOT NULL,
        UNIQUE (player, name)
    )""",
    """CREATE TABLE hand (  -- hands that have ended, from 1
        game INTEGER NOT NULL REFERENCES game ON DELETE CASCADE,
        number INTEGER NOT NULL,
        starter INTEGER NOT NULL,
        score_0 INTEGER NOT NULL,  -- before the hand
        score_1 INTEGER NOT NULL,
        ended TEXT NOT NULL,
        winner INTEGER,
        knocker INTEGER,
        points INTEGER NOT NULL,
        deadwood_0 INTEGER NOT NULL,
        deadwood_1 INTEGER NOT NULL,
        PRIMARY KEY (game, number)
    ) WITHOUT ROWID""",
    """CREATE TABLE decision (  -- every action of these hands, from 1, of both seats
        game INTEGER NOT NULL,
        hand INTEGER NOT NULL,
        move INTEGER NOT NULL,
        seat INTEGER NOT NULL,
        phase TEXT NOT NULL,
        action INTEGER NOT NULL,
        words TEXT NOT NULL,
        PRIMARY KEY (game, hand, move),
        FOREIGN KEY (game, hand) REFERENCES hand ON DELETE CASCADE
    ) WITHOUT ROWID""",
    """CREATE TABLE analysis (  -- of a hand, by an analyst with certain settings
        game INTEGER NOT NULL,
        hand INTEGER NOT NULL,
        analyst TEXT NOT NULL,
        found TEXT NOT NULL,  -- JSON
        PRIMARY KEY (game, hand, analyst),
        FOREIGN KEY (game, hand) REFERENCES hand ON DELETE CASCADE
    ) WITHOUT ROWID""",
    """CREATE TABLE mistake (  -- mistakes that the last analysis of a hand has found, by the costliest decision
        game INTEGER NOT NULL,
        hand INTEGER NOT NULL,
        move INTEGER NOT NULL,
        kind TEXT NOT NULL,
        mark TEXT NOT NULL,
        best TEXT NOT NULL,
        reason TEXT NOT NULL,
        times INTEGER NOT NULL,
        loss REAL NOT NULL,
        error REAL NOT NULL,
        unit TEXT NOT NULL,
        PRIMARY KEY (game, hand, move),
        FOREIGN KEY (game, hand, move) REFERENCES decision ON DELETE CASCADE
    ) WITHOUT ROWID""",
    """CREATE TABLE exercise (  -- positions that players practise
        id INTEGER PRIMARY KEY,
        player INTEGER NOT NULL REFERENCES player ON DELETE CASCADE,
        source TEXT NOT NULL,  -- GAME.HAND.MOVE of a mistake, or its number in the set for everybody
        mine INTEGER NOT NULL,  -- whether it comes from a mistake of the player's
        position TEXT NOT NULL,  -- ginview1
        kind TEXT NOT NULL,
        schedule TEXT NOT NULL,  -- JSON of the library fsrs
        due TEXT NOT NULL,  -- UTC, ISO 8601
        UNIQUE (player, source)
    )""",
    """CREATE TABLE review (  -- their answers
        id INTEGER PRIMARY KEY,
        exercise INTEGER NOT NULL REFERENCES exercise ON DELETE CASCADE,
        reviewed TEXT NOT NULL,  -- UTC, ISO 8601
        played TEXT NOT NULL,
        correct INTEGER NOT NULL,
        loss REAL NOT NULL,
        error REAL NOT NULL
    )""",
    "CREATE INDEX reviews_of ON review (exercise)",
    """CREATE TABLE invitation (  -- links by which a person plays from a browser of their own
        player INTEGER PRIMARY KEY REFERENCES player ON DELETE CASCADE,
        token TEXT NOT NULL UNIQUE
    )""",
)
# What SQLite calls the values of a column of each type.
_KINDS = {"INTEGER": "integer", "TEXT": "text", "REAL": "real"}
# Control characters, which a terminal would obey; a record has lines, and its reader looks at what they hold.
_CONTROL, _LINES = "'*[' || char(1, 45, 31) || char(127, 45, 159) || ']*'", ("record",)
# The longest text or value, and so the most that one row of a stranger's file can take.
_LONGEST = 64 << 20


@cache
def _tables() -> dict[str, tuple[str, dict[str, str]]]:
    """Every table by its name: the statement that makes it, and for each column the types of its values."""
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in _SCHEMA:
            made.execute(statement)
        statements = made.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        columns = {name: made.execute(f"PRAGMA table_info({name})").fetchall() for name, _ in statements}
    types = {
        table: {
            name: f"'{_KINDS[kind]}'" + ("" if required or key else ", 'null'")
            for _, name, kind, required, _, key in each
        }
        for table, each in columns.items()
    }
    return {name: (statement, types[name]) for name, statement in statements}


class Database:
    """The open file; threads may share it.

    Args:
        path: the file; created when needed.

    Raises:
        FileError: if it cannot be written, is damaged, or is not of this program; it is left as it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        # SQLite does not wait while another process changes a new file to write-ahead mode.
        opening = path.with_name(f"{path.name}.lock")
        if path.exists() and not path.is_file():
            raise FileError(f"{path} cannot be used: it is no file")
        with writing(opening), FileLock(opening, timeout=_PATIENCE), self._store_errors():
            self._file = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._file.row_factory = sqlite3.Row
            self._file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            try:
                is_new = self._is_new()
                for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
                    self._file.execute(f"PRAGMA {pragma}")
                if is_new:
                    with self.transaction():
                        for statement in _SCHEMA:
                            self.run(statement)
                else:
                    self._check_values()
            except BaseException:
                self._file.close()
                raise

    def _is_new(self) -> bool:
        """Whether the file holds nothing; refuses a damaged one, and one in which our writing sets off a stranger's statements."""
        (found,) = self._file.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise FileError(f"{self.path} cannot be used: it is damaged ({' '.join(str(found).split())[:200]})")
        made = {row["name"]: row for row in self.rows("SELECT type, name, sql FROM sqlite_master")}
        for name, row in made.items():
            if row["type"] == "trigger":
                raise FileError(f"{self.path} cannot be used: its trigger {quoted(name)} is not of this program")
        for table, (statement, _) in _tables().items() if made else ():
            if table not in made or made[table]["sql"] != statement:
                raise FileError(f"{self.path} cannot be used: its table {table!r} is not what this program makes")
        return not made

    def _check_values(self) -> None:
        """Refuses values that this program does not write: SQLite itself lets any column hold anything."""
        for table, (_, columns) in _tables().items():
            wrong = [f"typeof({name}) NOT IN ({allowed})" for name, allowed in columns.items()]
            wrong += [
                f"{name} GLOB {_CONTROL}" for name, types in columns.items() if "text" in types and name not in _LINES
            ]
            if self.rows(f"SELECT 1 FROM {table} WHERE {' OR '.join(wrong)} LIMIT 1"):
                raise FileError(
                    f"{self.path} cannot be used: its table {table!r} holds a value of another type than its column, or control characters"
                )

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        # A text that is not UTF-8 may be in the error's own message.
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise FileError(f"{self.path} cannot be used: {' '.join(str(error).split())[:300]}") from None

    def close(self) -> None:
        """Closes the file; nothing can be read or written any more."""
        with self._lock:
            self._file.close()

    def rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """The rows that a statement finds."""
        with self._lock, self._store_errors():
            return self._file.execute(statement, values).fetchall()

    def run(self, statement: str, *values: Any) -> int:
        """Runs a statement that changes something; returns the id of the row that an INSERT added."""
        with self._lock, self._store_errors():
            return self._file.execute(statement, values).lastrowid or 0

    def run_all(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        """Runs a statement for each row of values."""
        with self._lock, self._store_errors():
            self._file.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Does what is inside as a whole or not at all; a nested transaction is part of the outer one.

        Raises:
            FileError: if it cannot be written; then nothing has changed.
        """
        with self._lock:
            with self._store_errors():
                nested = self._file.in_transaction
            if nested:
                yield
                return
            self.run("BEGIN IMMEDIATE")
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._file.rollback()
                raise
