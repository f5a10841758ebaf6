"""Players, options, statistics and games on disk: names, locks, damage, and files of earlier versions."""

import json
import os
import shutil
from pathlib import Path

import pytest

from agents.play.game import Game
from agents.play.options import Options
from agents.play.store import Home, StoreError
from ginenv.cards import format_cards
from ginenv.errors import GinError
from tests.support.session_scenes import KNOCKS, NO_MELD, Talk, deck, prepared

OLD_FILE = Path(__file__).parent / "data" / "player_1.json"


@pytest.mark.parametrize("name", ["", "   ", "x" * 21, "a|b", "a\x07b"])
def test_names_that_cannot_be(tmp_path, name):
    with pytest.raises(StoreError, match="cannot be a player's name"):
        Home(tmp_path).create(name)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "Ünï 花", "con.json", "%2E"])
def test_odd_names_stay_inside_the_home(tmp_path, name):
    home = Home(tmp_path / "home")
    file = home.create(name)
    file.save()
    file.close()
    assert home.names() == [name] and file.path.parent.parent == tmp_path / "home" / "players"
    home.remove(name)
    assert home.names() == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[]",
        b'{"format": "ginenv player 1"}',
        b'{"format": "ginenv player 1", "options": {"sort": 7}, "statistics": [], "game": null}',
        b'{"format": "ginenv player 1", "options": {}, "statistics": [{"hands": -1}], "game": null}',
        b'{"format": "ginenv player 1", "options": {}, "statistics": [], "game": 5}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_player_file_is_kept_aside_and_told(tmp_path, content):
    home = Home(tmp_path)
    file = home.create("Ann")
    file.path.write_bytes(content)
    file.close()
    again = home.open("Ann")
    (notice,) = again.notices
    assert "is damaged" in notice and "player.json.damaged-1" in notice and "\n" not in notice
    assert (again.directory / "player.json.damaged-1").read_bytes() == content
    assert again.options == Options() and again.game is None
    again.save()
    again.close()
    assert not home.open("Ann").notices


def test_a_damaged_game_is_kept_aside_and_the_rest_stays(talk):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0).to_json()
    for place, line in enumerate(game["record"]):
        if line.startswith("stock:"):
            game["record"][place] = line.replace("KC", "KD")
    talk.session.file.statistics.tally("gr", "easy").hands = 4
    talk.session.file.game = game
    shown = talk.say("resume", "resume")
    assert "the unfinished game cannot go on (line" in shown and "there is no unfinished game" in shown
    assert json.loads((talk.session.file.directory / "game.damaged-1").read_text()) == game
    assert talk.kept["game"] is None and talk.kept["statistics"][0]["hands"] == 4
    for change in ({"seed": "x"}, {"record": None}, {"order": ["ZZ"]}, {"name": "../x"}):
        with pytest.raises(GinError):
            Game.read(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0).to_json() | change)


def test_a_player_sits_at_one_table_only(tmp_path):
    home = Home(tmp_path)
    file = home.create("Ann")
    with pytest.raises(StoreError, match="at another table already"):
        Home(tmp_path).open("Ann")
    with pytest.raises(StoreError, match="at another table already"):
        Home(tmp_path).remove("Ann")
    file.close()
    other = Home(tmp_path).open("ann")
    assert other.name == "Ann"
    other.close()


def test_a_full_disk_is_told_and_the_old_file_stays(talk, monkeypatch):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    talk.resume(game, "p")
    before = talk.session.file.path.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    shown = talk.say("resume", "k KC", "set memory on")
    # However the path is broken into lines.
    shown = "".join(shown.split())
    for name in ("player.json", "prepared.gin"):
        sentence = f"{name} cannot be written: No space left on device; what was saved before is still there."
        assert sentence.replace(" ", "") in shown
    assert "knockbyAnn" in shown and "memoryisnowon" in shown
    monkeypatch.undo()
    assert talk.session.file.path.read_bytes() == before
    assert [path.name for path in talk.session.file.directory.iterdir() if path.name.startswith(".")] == []


def test_files_of_the_first_version_still_load(tmp_path):
    home = Home(tmp_path)
    home.create("Ann").close()
    shutil.copy(OLD_FILE, tmp_path / "players" / "Ann" / "player.json")
    talk = Talk(tmp_path)
    assert talk.session.file.notices == []
    assert (talk.session.options.rules, talk.session.options.memory) == ("gc,target=40", True)
    tally = talk.session.file.statistics.tally("gc,target=40", "formula")
    assert (tally.hands, tally.points, tally.won, tally.best) == (3, [51, 0], [1, 0], [51, 0])
    shown = talk.say("resume")
    assert "hand 1" in shown and "Your turn" in shown
    assert format_cards(Game.read(talk.kept["game"]).order)
    talk.session.close()
