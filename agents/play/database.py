"""The one SQLite file of the store: its schema, and transactions.

Values go to statements as parameters (``?``), never in their text. The file is in write-ahead mode: readers never wait, writers wait
for one another, and a process that is killed at any moment loses nothing that was committed. A power failure may lose the last moments
before it, but never half of a commit.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from agents.files import FileError, writing

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
        record TEXT NOT NULL,  -- ginrecord 2, up to the last hand that has ended
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
        seat INTEGER NOT NULL,
        times INTEGER NOT NULL,
        unit TEXT NOT NULL,
        kind TEXT NOT NULL,
        mark TEXT NOT NULL,
        played TEXT NOT NULL,
        best TEXT NOT NULL,
        reason TEXT NOT NULL,
        loss REAL NOT NULL,
        error REAL NOT NULL,
        PRIMARY KEY (game, hand, move),
        FOREIGN KEY (game, hand) REFERENCES hand ON DELETE CASCADE
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
        digest TEXT NOT NULL UNIQUE  -- SHA-256 of the link's token, which whoever reads this file does not learn
    )""",
)


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
        with writing(opening), FileLock(opening, timeout=_PATIENCE, mode=0o600), self._store_errors():
            if not path.exists():
                # SQLite gives the files that it writes beside this one the same mode.
                path.touch(0o600)
            self._file = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._file.row_factory = sqlite3.Row
            try:
                is_new = self._is_new()
                for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
                    self._file.execute(f"PRAGMA {pragma}")
                if is_new:
                    with self.transaction():
                        for statement in _SCHEMA:
                            self.run(statement)
            except BaseException:
                self._file.close()
                raise

    def _is_new(self) -> bool:
        """Whether the file holds nothing; refuses one with other tables than this program's."""
        made = {row["sql"] for row in self.rows("SELECT sql FROM sqlite_master")}
        if made and not made.issuperset(_SCHEMA):
            raise FileError(f"{self.path} cannot be used: its tables are not those that this program makes")
        return not made

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FileError(f"{self.path} cannot be used: {error}") from None

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
