"""Names of players: how they are read, what their options may be, and what is said where something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents import cli
from agents.arena import play_match
from agents.arena.configs import TournamentConfig
from agents.arena.tournament import Tournament
from agents.play.allowed import check_allowed
from ginenv.bots.heuristics import StylePlayer, make_style
from ginenv.errors import GinError, UnknownNameError
from ginenv.tables.player_names import PlayerSpec, parse_player, register_directory, register_player
from ginenv.tables.players import make_player
from tests.support.refusals import refuses


@pytest.mark.parametrize(
    ("spec", "facts"),
    [
        ("style:base=campr", ["campr", "camper"]),
        ("style:knock=11", [0, 10, 11]),
        ("style:noise=much", ["noise", "much"]),
        ("simple:knock", ["key=value", "knock"]),
        ("level-4:learn=maybe", ["learn", "true", "false", "maybe"]),
        ("level-4:level=1", ["level"]),
        ("network:temperature=hot", ["temperature", "hot"]),
        ("level-2:opponent=Ann,opponent=Bob", ["opponent"]),
        ("level-2:profile=", ["profile", "''"]),
        ("level-2:learn=false,profile=nowhere", ["learn=false"]),
        ("level-2:profile=nowhere,opponent= ", ["opponent's name"]),
        (3, [3]),
        ("checkpoint", ["checkpoint"]),
        (Path("runs/nowhere/best"), ["runs/nowhere/best"]),
        (Path("simple"), ["./simple"]),
        ("cmd:  ", ["program"]),
    ],
)
def test_bad_names_and_options_are_refused(spec, facts):
    with refuses(GinError, *facts):
        make_player(spec)


def test_an_installed_package_brings_players(tmp_path: Path) -> None:
    (tmp_path / "their_bots.py").write_text("from ginenv.bots.heuristics import make_camper as make\n")
    about = tmp_path / "their_bots-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-bots\nVersion: 1.0\n")
    points = "theirs = their_bots:make\nsimple = their_bots:make\n"
    (about / "entry_points.txt").write_text(f"[ginenv.players]\n{points}")
    script = (
        "from ginenv.tables.players import make_player\n"
        "from ginenv.tables.player_names import player_names\n"
        "print(make_player('theirs').styles == make_player('camper').styles, 'theirs' in player_names())\n"
        "print(make_player('simple').styles == make_player('camper').styles)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": f"{tmp_path}:."}
    )
    assert run.stdout == "[ True] True\n[False]\n", run.stderr


def test_a_player_whose_engine_is_missing_says_what_brings_it():
    register_player("needy", "no_such_engine:make", "an_engine")
    with refuses(GinError, "no_such_engine", "'an_engine'"):
        make_player("needy")


def test_a_directory_is_recognised_by_its_marker(tmp_path):
    register_directory("style.txt", f"{__name__}:style_in_directory", argument="place")
    (tmp_path / "style.txt").write_text("camper")
    player = make_player(f"{tmp_path}:blunder=0.5")
    assert player.styles["blunder"][0] == 0.5 and player.styles["late"][0] == 0
    assert parse_player(str(tmp_path)) == PlayerSpec(str(tmp_path), "style.txt", str(tmp_path))
    (tmp_path / "style.txt").unlink()
    with refuses(UnknownNameError, tmp_path, "checkpoint.json"):
        make_player(str(tmp_path))


@pytest.mark.parametrize("place", ["lv/2026-11-26T12:00:00", "a,b=c"])
def test_a_path_with_options_is_read_and_written_back(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    register_directory("style.txt", f"{__name__}:style_in_directory", argument="place")
    Path(place).mkdir(parents=True)
    Path(place, "style.txt").write_text("camper")
    name = PlayerSpec("", "style.txt", place).with_options(blunder="0.5", note="=")
    parsed = parse_player(name)
    assert (parsed.argument, parsed.options) == (place, {"blunder": "0.5", "note": "="})
    player = make_player(name)
    assert player.styles["blunder"][0] == 0.5
    # What is printed can be given back.
    assert parse_player(player.name) == parsed and player.name == name
    with pytest.raises(UnknownNameError):
        parse_player(f"nowhere/{name}")


def style_in_directory(seed: int, place: str, blunder: float = 0.0, note: str = "") -> StylePlayer:
    return make_style(seed, (Path(place) / "style.txt").read_text(), blunder=blunder)


def test_a_name_is_taken_apart_without_making_the_player():
    assert parse_player("search:worlds=8,belief=uniform").options == {"worlds": "8", "belief": "uniform"}
    program = parse_player("cmd:/opt/bin/python '/home/me/my bots/bot.py' --level 3:x --net=../net")
    assert program.argument.startswith("/opt/bin/python ") and program.argument.endswith("--net=../net")
    # In results, which are exchanged, no directory of this machine.
    assert program.name == "cmd:python bot.py --level 3:x --net=net"
    assert (parse_player("cmd:./bot /").name, parse_player("mine=cmd:./bot").name) == ("cmd:bot /", "mine")


SIMPLE = "ginenv.bots.heuristics:make_simple"


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((name, SIMPLE) for name in (" ", "cmd", 3)),
        *(("mine", target) for target in ("json", 3)),
    ],
)
def test_names_and_targets_that_nobody_could_write_are_not_registered(name: Any, target: Any) -> None:
    with refuses(GinError, repr(name if target == SIMPLE else target)):
        register_player(name, target)


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
    assert Tournament(config).play() and Tournament(config).standings().missing == 0
    Path("own_bot.py").write_text(BOT.replace("simple", "camper"), encoding="utf-8")
    assert Tournament(config).standings().missing == 1


@pytest.mark.parametrize(
    ("spec", "fact"),
    [
        ("py:own_bot", "py:MODULE:CLASS"),
        ("py:no_bot:Bot", "no_bot"),
        ("py:own_bot:Nobody", "Nobody"),
        ("py:own_bot:Unseeded", "seed"),
        ("py:own_bot:nothing", "None"),
        ("py:own_bot:Bot:level=3", "'level'"),
    ],
)
def test_a_class_that_is_no_player_is_named(spec, fact, own_bot):
    with refuses(GinError, fact):
        make_player(spec)


FAILING = """
import numpy as np
from ginenv import BasePlayer, parse_cards


class Bot(BasePlayer):
    def __init__(self, seed=0):
        super().__init__(seed)
        {made}

    def act(self, views, slots=None):
        {asked}

    def observe_hands(self, views, slots=None):
        {shown}
"""
SOUND = {"made": "pass", "asked": "return np.array([view['legal'][0] for view in views])", "shown": "pass"}


@pytest.mark.parametrize(
    ("where", "code", "line", "what"),
    [
        ("made", "return (", 9, "SyntaxError"),
        ("asked", "parse_cards('1Z')", 12, "CardError"),
    ],
)
def test_failure_in_own_code_names_file_and_line(where, code, line, what, own_bot, monkeypatch, capsys):
    Path("own_bot.py").write_text(FAILING.format(**SOUND | {where: code}), encoding="utf-8")
    with refuses(GinError, "own_bot.py", f"line {line}", what):
        play_match(own_bot, "easy", pairs=1, unit="hands")
    sys.modules.pop("own_bot", None)
    words = ["evaluate", own_bot, "easy", "--hands", "2", "--out", "match.json"]
    with pytest.raises(SystemExit) as raised:
        cli.run("gin", words[0], words[1:])
    assert f"line {line}" in str(raised.value) and "Traceback" not in str(raised.value)
    sys.modules.pop("own_bot", None)
    monkeypatch.setenv("GINENV_TRACEBACK", "1")
    with pytest.raises(GinError) as raised:
        cli.run("gin", words[0], words[1:])
    assert type(raised.value.__cause__).__name__ == what


def test_a_python_class_is_taken_from_the_command_line_alone(own_bot):
    with refuses(GinError, "own_bot", "gin serve", "gin web", "gin play"):
        check_allowed(own_bot, ())
    check_allowed(own_bot, (own_bot,))
    with refuses(GinError, "py"):
        register_player("py", "ginenv.bots.heuristics:make_simple")
    assert "own_bot" not in sys.modules
