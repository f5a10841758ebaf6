"""The store: names, locks, damage, several processes, kills."""

import multiprocessing
import os
import random
import sqlite3
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from agents.files import FileError
from agents.levels.memory import Profile, read_opponents
from agents.play.game import Game
from agents.play.store import Home, StoreError
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.errors import GinError
from ginenv.hands.hand import Match
from ginenv.hands.records import format_record
from ginenv.tables.players import make_player
from ginenv.view.view import VIEW
from tests.support.level_scenes import hands_of
from tests.support.refusals import refuses
from tests.support.session_scenes import KNOCKS, NO_MELD, deck, prepared

FORK = multiprocessing.get_context("fork")


def played(hands: int, seed: int = 3, rules: str = "eaai") -> Match:
    """A game of which some hands have ended."""
    match, player = Match(rules, seed=seed), make_player("simple")
    while True:
        while not match.hand.is_over:
            match.push(int(player.act(match.hand.view())[0]))
        if len(match.played) == hands or match.is_over:
            return match
        match.next_hand()


def change(home: Path, statement: str, *values: object) -> None:
    file = sqlite3.connect(home / "gin.sqlite3")
    with file:
        file.execute(statement, values)
    file.close()


def query(home: Path, statement: str, *values: object) -> list:
    file = sqlite3.connect(home / "gin.sqlite3")
    rows = file.execute(statement, values).fetchall()
    file.close()
    return rows


@pytest.mark.parametrize("name", ["   ", "x" * 21, "a|b", "a\x07b"])
def test_names_that_cannot_be(tmp_path, name):
    with refuses(StoreError, 20):
        Home(tmp_path).create(name)


@pytest.mark.parametrize("name", ["..", "a/b", "Ünï 花 %2E", "'; DROP TABLE x; --"])
def test_odd_names_stay_inside_the_home(tmp_path, name):
    home = Home(tmp_path / "home")
    file = home.create(name)
    file.save()
    file.close()
    assert home.names() == [name] and len(list((tmp_path / "home" / "locks").iterdir())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    home.remove(name)
    assert home.names() == []


def test_an_accent_written_in_two_ways_is_one_name(tmp_path, level):
    composed, decomposed = "José", "Jose\N{COMBINING ACUTE ACCENT}"
    home = Home(tmp_path)
    home.create(decomposed).close()
    assert home.names() == [composed] and home.find(f" {decomposed.upper()} ") == composed
    with refuses(StoreError, composed):
        home.create(composed)
    for name in (composed, decomposed):
        Profile(tmp_path, level, name).learn(np.array(hands_of(make_simple(1), make_formula(2), 1), VIEW))
    assert list(read_opponents(tmp_path, level)) == [composed]


def test_nobody_else_reads_what_is_kept(tmp_path, level, capfd):
    before = os.umask(0)
    try:
        path = tmp_path / "above" / "home"
        home = Home(path)
        file = home.create("Ann")
        file.save()
        Profile(path, level, "Ann").learn(np.array(hands_of(make_simple(1), make_formula(2), 1), VIEW))
        made = [path.parent, path, *path.rglob("*")]
    finally:
        os.umask(before)
    assert {each.stat().st_mode & 0o777 for each in made if each.is_dir()} == {0o700}
    # Locks too, with which others could keep people out.
    kept = [each for each in made if each.is_file()]
    assert len(kept) >= 6 and {each.stat().st_mode & 0o077 for each in kept} == {0}
    assert capfd.readouterr().err == ""
    # A directory that others may enter is named, and once.
    path.chmod(0o755)
    for _ in range(2):
        Home(path).close()
    assert capfd.readouterr().err.count(str(path)) == 1
    file.close()


def test_a_player_that_cannot_be_read_is_named_and_left_as_it_is(tmp_path):
    home = Home(tmp_path)
    file = home.create("Ann")
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    file.game = game
    file.save()
    file.close()
    stored = query(tmp_path, "SELECT options, statistics, game FROM player")
    for column, text in (
        ("options", "{"),
        ("statistics", '[{"hands": -1}]'),
        ("game", game.to_json().replace("KC", "KD")),
    ):
        change(tmp_path, f"UPDATE player SET {column} = ?", text)
        with refuses(StoreError, "Ann"):
            home.open("Ann")
        assert query(tmp_path, f"SELECT {column} FROM player") == [(text,)]
        change(tmp_path, "UPDATE player SET options = ?, statistics = ?, game = ?", *stored[0])
    home.open("Ann").close()


def test_a_store_that_cannot_be_read_is_left_as_it_is(tmp_path):
    path = tmp_path / "gin.sqlite3"
    path.write_bytes(b"dear diary\n" * 1000)
    with refuses(FileError, "gin.sqlite3"):
        Home(tmp_path)
    assert path.read_bytes() == b"dear diary\n" * 1000
    # That of another program or version.
    path.unlink()
    change(tmp_path, "CREATE TABLE player (name TEXT)")
    before = path.read_bytes()
    with refuses(FileError, "gin.sqlite3"):
        Home(tmp_path)
    assert path.read_bytes() == before


def test_a_player_sits_at_one_table_only(tmp_path):
    home = Home(tmp_path)
    file = home.create("Ann")
    with refuses(StoreError, "Ann"):
        Home(tmp_path).open("Ann")
    with refuses(StoreError, "Ann"):
        Home(tmp_path).remove("Ann")
    file.close()
    other = Home(tmp_path).open("ann")
    assert other.name == "Ann" and home.last_player == "Ann"
    other.close()


def test_full_disk_is_reported_and_saved_files_stay(talk):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    talk.resume(game, "p")
    before = talk.stored
    full = talk.home.database.rows("PRAGMA page_count")[0][0]
    talk.home.database.run(f"PRAGMA max_page_count = {full}")
    talk.session.file.game = game.model_copy(update={"opponent": "x" * 100_000})
    talk.session.file.save()
    (notice,) = talk.session.notices()
    assert notice.endswith("cannot be used: database or disk is full; what was saved before is still there.")
    assert talk.stored == before
    talk.home.database.run("PRAGMA max_page_count = 1000000")
    talk.session.file.game = Game.model_validate(before["game"])
    assert "knock by Ann" in talk.say("k KC") and talk.session.notices() == []


def test_hands_are_rows_that_agree_with_the_record(talk):
    match = played(3)
    talk.session.file.write_record("first", match, ("Ann", "simple"))
    talk.session.file.save()
    (game,) = talk.session.file.games()
    record = talk.home.record(game.id)
    assert format_record(record.match, record.players) == format_record(match, ("Ann", "simple"))
    rows = query(talk.home.path, "SELECT number, winner, points, score_0, score_1 FROM hand ORDER BY number")
    scores = [(0, 0), *(pair for _, pair in match.sheet().rows[:-1])]
    wanted = [(n, o.winner, o.points, *s) for n, (o, s) in enumerate(zip(match.outcomes, scores, strict=True), 1)]
    assert rows == wanted
    # A hand that is played again replaces what was known of it.
    talk.session.file.write_record("first", played(1, seed=4), ("Ann", "simple"))
    talk.session.file.save()
    assert query(talk.home.path, "SELECT count(*) FROM game")[0][0] == 1
    talk.session.close()
    talk.home.remove("Ann")
    for table in ("game", "hand"):
        assert query(talk.home.path, f"SELECT count(*) FROM {table}") == [(0,)]


def test_records_travel(talk):
    texts = {
        "mine": format_record(played(2), ("simple", "ANN")),
        "others": format_record(played(20, rules="gr"), ("x", "y")),
    }
    for name, text in texts.items():
        talk.session.file.import_record(name, text)
    games = {game.name: game for game in talk.session.file.games()}
    assert (games["mine"].seat, games["others"].seat) == (1, None)
    assert games["others"].over and not games["mine"].over
    for name, game in games.items():
        assert talk.session.file.record_text(game.id) == texts[name]
    with refuses(StoreError, "Ann", "mine"):
        talk.session.file.import_record("mine", texts["mine"])
    with refuses(GinError, "line 1"):
        talk.session.file.import_record("broken", "dear diary")
    assert len(talk.session.file.games()) == 2


def write(home: Path, name: str, count: int, answers: Connection) -> None:
    """A table that saves again and again, and says so each time."""
    match = played(1)
    file = Home(home).create(name)
    for k in range(1, count + 1):
        file.statistics.tally("eaai", "simple").hands = k
        file.game = Game.begin(match.rules, "x" * 2000, easy=False, seed=k)
        file.write_record(f"game-{k}", match, (name, "simple"))
        file.save()
        assert not file.notices, file.notices
        answers.send(k)
    file.close()


def start(home: Path, name: str, count: int) -> tuple[BaseProcess, Connection]:
    # Forked, so that the kernels need not be loaded again.
    here, there = FORK.Pipe(duplex=False)
    process = FORK.Process(target=write, args=(home, name, count, there))
    process.start()
    there.close()
    return process, here


def test_a_kill_loses_nothing_that_was_answered(tmp_path):
    chance = random.Random(1)
    for number in range(5):
        home = tmp_path / str(number)
        process, answers = start(home, "Ann", 10_000)
        answered = answers.recv()
        time.sleep(chance.uniform(0.0, 0.1))
        process.kill()
        process.join(60)
        try:
            while True:
                answered = answers.recv()
        except (EOFError, OSError):
            pass
        file = Home(home).open("Ann")
        assert file.game is not None and not file.notices
        # What was saved in one go is of one moment.
        count = file.game.seed
        assert count >= answered and count == file.statistics.root[0].hands == len(file.games())
        assert file.home.record(file.games()[-1].id).hands
        file.close()
