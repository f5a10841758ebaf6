"""Damaged stores: bytes, tables, values and JSON of the SQLite file in which the table keeps its players and games."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from agents.play.store import FILE, Home
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player
from tests.support.mutations import NASTY, Report, changed_bytes, changed_values, check_reader
from tests.support.positions import mutate

COLUMNS = {
    "player": ["id", "name", "folded", "seated", "options", "statistics", "game"],
    "game": ["id", "player", "name", "seat", "name_0", "rules", "begun", "record", "over", "winner", "score_0"],
    "hand": ["game", "number", "starter", "score_1", "ended", "winner", "points", "deadwood_0"],
    "decision": ["hand", "move", "seat", "phase", "action", "words"],
}
SCHEMAS = (
    "DROP TABLE game",
    "DROP TABLE player",
    "ALTER TABLE hand RENAME TO hands",
    "ALTER TABLE player RENAME COLUMN options TO choices",
    "ALTER TABLE game ADD COLUMN more TEXT",
    "CREATE TRIGGER spy AFTER UPDATE ON player BEGIN DELETE FROM game; END",
    "DROP TABLE mistake; CREATE VIEW mistake AS SELECT id AS game, name AS mark FROM player",
    "DROP TABLE game; CREATE TABLE game (id INTEGER PRIMARY KEY)",
    "PRAGMA user_version = 9; PRAGMA application_id = 77",
    "CREATE TABLE others (a)",
    "UPDATE player SET name = replace(hex(zeroblob(50000)), '00', 'x')",
    "UPDATE player SET name = 'A' || char(27) || '[2J'",
)
FOREIGN = (
    "CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT); INSERT INTO urls (url) VALUES ('x')",
    "CREATE TABLE player (name TEXT); INSERT INTO player VALUES ('Ann')",
    "CREATE VIEW player AS SELECT 1 AS id",
)


def write(directory: Path) -> bytes:
    """A right store: a player with statistics, an unfinished game, and two games of which hands have ended."""
    with Home(directory) as home:
        file = home.create("Ann")
        player, match = make_player("simple"), Match("eaai", seed=3)
        while len(match.played) < 2:
            while not match.hand.is_over:
                match.push(int(player.act(match.hand.view())[0]))
            if len(match.played) < 2:
                match.next_hand()
        file.statistics.tally("eaai", "simple").hands = 2
        file.game = {"name": "now", "record": []}
        for name in ("first", "second"):
            file.write_record(name, match, ("Ann", "simple"))
        file.save()
        file.close()
    return (directory / FILE).read_bytes()


def read(directory: Path) -> None:
    """Opens a store, reads all that lists and pages show, and saves."""
    with Home(directory) as home:
        assert home.last_player in (None, *home.names())
        for name in home.names():
            with contextlib.closing(home.open(name)) as file:
                for game in file.games():
                    assert game.seat is None or game.names[game.seat]
                    home.record(game.id)
                for tally in file.statistics.root:
                    assert all(isinstance(margin, int) for margin in file.margins(tally))
                file.save()


def _change(path: Path, rng: np.random.Generator) -> str:
    """Changes a store with a statement; returns which."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA synchronous = OFF")
        kind = rng.integers(10)
        if kind == 0:
            file.executescript(messages := SCHEMAS[rng.integers(len(SCHEMAS))])
        elif kind == 1:
            file.close()
            path.unlink()
            file = sqlite3.connect(path)
            file.executescript(messages := FOREIGN[rng.integers(len(FOREIGN))])
        elif kind == 2:
            column = ("options", "statistics", "game")[rng.integers(3)]
            values = json.loads(file.execute(f"SELECT {column} FROM player").fetchone()[0])
            messages, changed = changed_values(values, rng)
            file.execute(f"UPDATE player SET {column} = ?", [json.dumps(changed)])
        elif kind == 3:
            messages = "record"
            file.execute(
                "UPDATE game SET record = ?", [mutate(file.execute("SELECT record FROM game").fetchone()[0], rng)]
            )
        else:
            table = list(COLUMNS)[rng.integers(len(COLUMNS))]
            column, value = COLUMNS[table][rng.integers(len(COLUMNS[table]))], NASTY[rng.integers(len(NASTY))]
            if isinstance(value, dict | list):
                value = json.dumps(value).encode()
            messages = f"{table}.{column} = {str(value)[:20]!r}"
            with contextlib.suppress(sqlite3.IntegrityError, OverflowError):
                file.execute(f"UPDATE {table} SET {column} = ?", [value])
        file.commit()
        file.close()
    return messages


def check(directory: Path, seed: int, count: int) -> Report:
    """Reads damaged stores: a third of them with changed bytes."""
    rng = np.random.default_rng(seed)
    right = write(directory)
    read(directory)

    def cases() -> Iterator[tuple[str, Path]]:
        for number in range(count):
            for path in directory.glob(f"{FILE}*"):
                path.unlink()
            (directory / FILE).write_bytes(right if number % 3 else changed_bytes(right, rng))
            yield _change(directory / FILE, rng) if number % 3 else "bytes", directory

    return check_reader(cases(), read)
