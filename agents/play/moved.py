"""Moves files of earlier versions, a directory for each player, into the store.

What a directory holds is written in one transaction; then the directory goes to ``HOME/moved`` under its name. If the process is killed
in between, the next start has only the second step left. A sentence, kept in the store, tells the player.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from filelock import FileLock, Timeout

from agents.files import read_bytes, read_json, writing
from agents.play.database import Database
from agents.play.moves import count
from agents.play.options import Options
from agents.play.records_table import add_player, write_game
from agents.play.statistics import Statistics
from agents.play.stored_model import Kept
from agents.player_names import folded
from ginenv.errors import GinError
from ginenv.hands.records import read_record


class _Content(Kept):
    """A player's file of earlier versions."""

    format: Literal["ginenv player 1"] = "ginenv player 1"
    name: str = ""
    options: Options
    statistics: Statistics
    game: dict[str, Any] | None


def move_in(home: Path, database: Database) -> None:
    """Moves what earlier versions have left in a home into the store, player by player.

    A player who is playing with an earlier version at that moment stays until the next time.

    Raises:
        FileError: if something cannot be written; what was not moved is as it was.
    """
    directories = sorted(path for path in (home / "players").glob("*") if path.is_dir())
    for directory in directories:
        with writing(directory):
            lock = FileLock(directory / "lock", blocking=False)
            try:
                lock.acquire()
            except Timeout:
                continue
        try:
            with database.transaction():
                _move_player(directory, database)
        finally:
            lock.release()
        _put_away(home, directory)
    last = home / "session.json"
    if last.exists():
        _seat_last_player(last, database)
        _put_away(home, last)


def _move_player(directory: Path, database: Database) -> None:
    name = unquote(directory.name)
    if database.rows("SELECT 1 FROM player WHERE folded = ?", folded(name)):
        return
    content, unreadable = _Content(options=Options(), statistics=Statistics(), game=None), []
    try:
        content = _Content.read(read_bytes(directory / "player.json"))
    except FileNotFoundError:
        pass
    except GinError as error:
        unreadable.append(
            f"player.json is damaged ({error}), so {name} starts with the default options, empty statistics and no "
            "unfinished game"
        )
    player = add_player(database, name, content.options, content.statistics, content.game)
    records = 0
    for path in sorted((directory / "records").glob("*.gin")):
        try:
            record = read_record(path)
        except GinError as error:
            unreadable.append(f"{path.name} is no record ({error})")
            continue
        names = record.players[0] or name, record.players[1] or "seat 1"
        write_game(database, player, path.stem, record.match or record.hand, names)
        records += 1
    what = f"The options, the statistics, the unfinished game and {count(records, 'record')} of {name}"
    words = (
        f"{what} have moved into {database.path}; the files they were in are kept in {Path('moved') / directory.name}."
    )
    for sentence in [words, *(f"Of these files, {each}." for each in unreadable)]:
        database.run("INSERT INTO notice VALUES (?, ?)", player, sentence)


def _seat_last_player(last: Path, database: Database) -> None:
    try:
        name = str(read_json(last)["player"])
    except (GinError, OSError, ValueError, KeyError, TypeError):
        # Nothing is lost with this file: the program asks for a name.
        return
    database.run(
        "UPDATE player SET seated = 1 WHERE folded = ? AND NOT EXISTS (SELECT 1 FROM player WHERE seated > 0)",
        folded(name),
    )


def _put_away(home: Path, path: Path) -> None:
    kept = home / "moved" / path.name
    with writing(kept):
        kept.parent.mkdir(exist_ok=True)
        if kept.exists():
            # An earlier move was killed halfway, or files were put back by hand.
            kept = next(kept for n in range(2, 10_000) if not (kept := home / "moved" / f"{path.name}-{n}").exists())
        os.rename(path, kept)
