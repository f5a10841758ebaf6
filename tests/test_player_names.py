"""Names of players: how they are read, what their options may be, and what is said where something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.arena import play_match
from agents.arena.configs import TournamentConfig
from agents.arena.tournament import Tournament
from agents.play.allowed import check_allowed
from ginenv.bots.heuristics import StylePlayer, make_style
from ginenv.errors import GinError, UnknownNameError
from ginenv.tables.players import (
    ENTRY_POINTS,
    PlayerSpec,
    make_player,
    parse_player,
    register_directory,
    register_player,
)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("style:base=campr", "did you mean 'camper'"),
        ("style:ahed=3", "did you mean 'ahead'"),
        ("style:draw=allways", "did you mean 'always'"),
        ("style:knock=11", "from 0 to 10"),
        ("style:knock=2.5", "whole number"),
        ("style:noise=much", "a number"),
        ("camper:knock=3", "unknown option 'knock'; this player has none"),
        ("simple:knock", "expected an option such as key=value, got 'knock'"),
        ("level-4:learn=maybe", "option learn must be true or false, got 'maybe'"),
        ("level-4:lern=false", r"unknown option 'lern' \(did you mean 'learn'\?\)"),
        ("level-4:level=1", "unknown option 'level'"),
        ("population:count=many", "option count must be a whole number, got 'many'"),
        ("network:temperature=hot", "option temperature must be a number, got 'hot'"),
        ("network:seed=3", "unknown option 'seed'"),
        ("level-2:opponent=Ann,opponent=Bob", "option 'opponent' is given twice$"),
        ("level-2:worlds=-1", "worlds is -1; input should be greater than or equal to 0"),
        ("level-2:profile=", "profile must be a directory, got ''"),
        ("level-2:learn=false,profile=nowhere", "with learn=false it learns nothing"),
        ("level-2:profile=nowhere,opponent= ", "'' cannot be an opponent's name"),
    ],
)
def test_bad_options_are_refused_with_a_sentence(spec, message):
    with pytest.raises(GinError, match=message):
        make_player(spec)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (None, "expected a player's name, .* got None"),
        (3, "expected a player's name, .* got 3"),
        ("checkpoint", "unknown player 'checkpoint'"),
        ("cmd", "unknown player 'cmd'"),
        ("runs/nowhere/best", "there is no such directory"),
        (Path("runs/nowhere/best"), "there is no such directory"),
        (Path("simple"), "player './simple': there is no such directory"),
        ("cmd:", "'cmd:' does not name a program"),
        ("cmd:  ", "'cmd:  ' does not name a program"),
    ],
)
def test_what_is_no_player_is_refused_in_a_sentence(spec, sentence):
    with pytest.raises(GinError, match=sentence):
        make_player(spec)


def test_an_installed_package_brings_players(tmp_path: Path) -> None:
    (tmp_path / "their_bots.py").write_text("from ginenv.bots.heuristics import make_camper as make\n")
    about = tmp_path / "their_bots-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-bots\nVersion: 1.0\n")
    points = "theirs = their_bots:make\nsimple = their_bots:make\n"
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{points}")
    script = (
        "from ginenv.tables.players import make_player, player_names\n"
        "print(make_player('theirs').styles == make_player('camper').styles, 'theirs' in player_names())\n"
        "print(make_player('simple').styles == make_player('camper').styles)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": f"{tmp_path}:."}
    )
    assert run.stdout == "[ True] True\n[False]\n", run.stderr


def test_a_run_directory_says_where_its_player_is(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "checkpoint.json").write_text("{}")
    with pytest.raises(UnknownNameError, match=f"holds no player; there is one in {tmp_path}/best"):
        parse_player(str(tmp_path))


def test_a_player_whose_engine_is_missing_says_which_extra_brings_it():
    register_player("needy", "no_such_engine:make", "openspiel")
    with pytest.raises(
        GinError, match=r"needs no_such_engine, which is not installed; pip install 'ginenv\[openspiel\]'"
    ):
        make_player("needy")


@pytest.mark.parametrize("spec", ["network", "level-1", "search", str(Path("agents/data/network").resolve())])
def test_without_torch_a_network_names_the_extra_with_torch(spec):
    script = f"import sys; sys.modules['torch'] = None; import ginenv; ginenv.make_player({spec!r})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "needs torch, which is not installed; pip install 'ginenv[agents]' brings it" in run.stderr


def test_a_directory_is_told_by_its_marker_and_takes_options(tmp_path):
    register_directory("style.txt", f"{__name__}:style_in_directory", argument="place")
    (tmp_path / "style.txt").write_text("camper")
    player = make_player(f"{tmp_path}:blunder=0.5")
    assert player.styles["blunder"][0] == 0.5 and player.styles["late"][0] == 0
    assert parse_player(str(tmp_path)) == PlayerSpec(str(tmp_path), "style.txt", str(tmp_path))
    (tmp_path / "style.txt").unlink()
    with pytest.raises(UnknownNameError, match=r"holds no player; expected .*checkpoint\.json"):
        make_player(str(tmp_path))


@pytest.mark.parametrize("place", ["lv/2026-11-26T12:00:00", "a,b=c", 'two "words"', "simple:x=1", "plain", " spaced "])
def test_a_quoted_path_with_options_is_read_and_written_back(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    register_directory("style.txt", f"{__name__}:style_in_directory", argument="place")
    Path(place).mkdir(parents=True)
    Path(place, "style.txt").write_text("camper")
    name = PlayerSpec("", "style.txt", place).with_options(blunder="0.5", note=',"=:')
    parsed = parse_player(name)
    assert (parsed.argument, parsed.options) == (place, {"blunder": "0.5", "note": ',"=:'})
    player = make_player(name)
    assert player.styles["blunder"][0] == 0.5
    # What is printed can be given back.
    assert parse_player(player.name) == parsed and player.name == name
    # Without options a path needs no quotes.
    assert parse_player(f"./{place}").argument == f"./{place}"


@pytest.mark.parametrize(
    "spec", ['"nowhere":learn=false', '"', '""', '"nowhere', '"nowhere"x', "nowhere/12:00:learn=false", "a" * 999]
)
def test_a_quoted_path_that_is_no_directory_is_refused(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError):
        parse_player(spec)


def style_in_directory(seed: int, place: str, blunder: float = 0.0, note: str = "") -> StylePlayer:
    return make_style(seed, (Path(place) / "style.txt").read_text(), blunder=blunder)


def test_a_name_is_taken_apart_without_making_the_player():
    assert parse_player("search:worlds=8,belief=uniform").options == {"worlds": "8", "belief": "uniform"}
    assert parse_player("cmd:bot --level 3:x").argument == "bot --level 3:x"
    with pytest.raises(UnknownNameError, match="did you mean 'simple'"):
        parse_player("simpel:x=1")


@pytest.mark.parametrize("name", ["", " ", "a:b", "a/b", "a,b", "cmd", 3])
def test_names_that_nobody_could_write_are_not_registered(name: Any) -> None:
    with pytest.raises(GinError, match="a player's name must be a word"):
        register_player(name, "ginenv.bots.heuristics:make_simple")


@pytest.mark.parametrize("target", ["", "json", "json:", ":x", "a b:c", 3])
def test_targets_are_written_module_and_attribute(target: Any) -> None:
    with pytest.raises(GinError, match="target must be 'module:attribute'"):
        register_player("mine", target)


def test_a_target_without_its_attribute_is_named() -> None:
    register_player("aimless", "json:nope")
    with pytest.raises(GinError, match=r"^player 'aimless': there is no nope in json$"):
        make_player("aimless")


BOT = """
from ginenv.tables.players import make_player

class Bot:
    def __new__(cls, seed, other: str = "simple"):
        return make_player(other, seed)

class Unseeded:
    pass

def nothing(seed):
    return None
"""


@pytest.fixture
def own_bot(tmp_path, monkeypatch):
    (tmp_path / "own_bot.py").write_text(BOT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [part for part in sys.path if part])
    yield "py:own_bot:Bot"
    sys.modules.pop("own_bot", None)


def test_a_python_class_in_the_working_directory_plays_by_its_name(own_bot):
    assert (
        make_player(own_bot).name == own_bot
        and parse_player(own_bot).with_options(other="easy") == f"{own_bot}:other=easy"
    )
    assert isinstance(make_player(f"{own_bot}:other=camper"), StylePlayer)
    assert play_match(own_bot, "random", pairs=2, unit="hands").names[0] == own_bot


def test_a_tournament_notices_that_the_file_of_a_class_changed(own_bot):
    config = TournamentConfig(players={"own": own_bot, "easy": "easy"}, pairs=1, block=1, out=Path("out"))
    Tournament(config)
    Path("own_bot.py").write_text(BOT.replace("simple", "camper"), encoding="utf-8")
    with pytest.raises(GinError, match="another tournament"):
        Tournament(config)


@pytest.mark.parametrize(
    ("spec", "fact"),
    [
        ("py", "'py'"),
        ("py:", "py:MODULE:CLASS"),
        ("py:own_bot", "py:MODULE:CLASS"),
        ("py:no_bot:Bot", "no_bot"),
        ("py:own_bot:Nobody", "Nobody"),
        ("py:own_bot:Unseeded", "seed"),
        ("py:own_bot:nothing", "None"),
        ("py:os:system", "seed"),
        ("py:own_bot:Bot:level=3", "'level'"),
    ],
)
def test_a_class_that_is_no_player_is_named(spec, fact, own_bot):
    with pytest.raises(GinError, match=fact):
        make_player(spec)


def test_a_python_class_is_taken_from_the_command_line_alone(own_bot):
    with pytest.raises(GinError, match="own_bot"):
        check_allowed(own_bot, ())
    check_allowed(own_bot, (own_bot,))
    with pytest.raises(GinError, match="py"):
        register_player("py", "ginenv.bots.heuristics:make_simple")
    assert "own_bot" not in sys.modules
