"""Programs from outside that fail, lie or will not end: each is named, costs itself the game, and leaves nothing behind."""

import gc
import json
import os
import subprocess
import sys
import time

import gymnasium as gym
import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.conformance import STAGES, check
from agents.arena.series import PlayersBySeries, play_series
from agents.cli import main
from agents.programs.player import BotLimits, OutsidePlayer, fault_text
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.errors import GinError
from ginenv.tables.player_names import parse_player
from tests.support.programs import PROGRAM_BEGINS, QUICK, ROOT, bad_bot, events_of, first_views, processes_of
from tests.support.refusals import refuses


@pytest.fixture
def running(monkeypatch):
    """The processes that carry this test's mark, apart from this one."""
    mark = f"mark-{os.getpid()}-{os.urandom(4).hex()}"
    monkeypatch.setenv("BAD_BOT_TEST", mark)
    return lambda: set(processes_of(f"BAD_BOT_TEST={mark}")) - {os.getpid()}


@pytest.fixture
def left_behind(running):
    """Those that are there some seconds later: a busy machine takes its time to kill."""

    def wait():
        until = time.monotonic() + 10
        while running() and time.monotonic() < until:
            time.sleep(0.1)
        return running()

    return wait


def gin(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["gin", *(str(word) for word in words)])
    main()


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("crash-at-start", "crash"),
        ("orphan", "crash"),
        ("wrong-key", "handshake"),
        ("flood", "flood"),
        ("partial", "timeout"),
        ("twice", "rubbish"),
    ],
)
def test_a_bad_bot_forfeits_is_named_and_leaves_nothing_behind(kind, fault, left_behind):
    result = play_match(bad_bot(kind), "simple", pairs=1, settings=MatchSettings(limits=QUICK))
    assert result.games["done"].all()
    assert result.games["forfeits"][:, 0].sum() > 0
    assert fault in [entry["kind"] for entry in result.faults]
    assert all(entry["player"].endswith(f"{kind} 0") and 0 < len(entry["first"]) < 1500 for entry in result.faults)
    assert not left_behind()


def test_a_program_that_fails_in_an_environment_is_an_error_in_its_own_words():
    env = gym.make("ginenv:Gin/Hand-v0", opponent=bad_bot("no-json"))
    with refuses(GinError, "no-json 0", "rubbish"):
        for seed in range(20):
            _, info = env.reset(seed=seed)
            over = False
            while not over:
                *_, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    env.close()
    player = OutsidePlayer("no-such-program-here")
    for _ in range(3):
        with refuses(GinError, "'no-such-program-here'"):
            player.act(first_views())
    # In a match the same player costs itself the games.
    assert (play_match(player, "random", pairs=1).games["winner"] == 1).all()


def test_a_program_ends_with_its_environment_its_player_and_the_interpreter(running, left_behind, logger):
    spec, lines = logger()

    def check_ended():
        assert not left_behind() and lines()[-1]["type"] == "bye"

    for env in (
        gym.make("ginenv:Gin/Hand-v0", opponent=spec),
        gym.make_vec("ginenv:Gin/Hand-v0", num_envs=2, opponent=spec),
    ):
        env.reset(seed=1, options=PROGRAM_BEGINS)
        assert running()
        env.close()
        check_ended()
    # Nobody closes these.
    player = OutsidePlayer(spec.removeprefix("cmd:"))
    player.act(first_views())
    assert running()
    del player
    gc.collect()
    check_ended()
    program = f"""
import gymnasium as gym
import ginenv
env = gym.make("Gin/Hand-v0", opponent={spec!r})
env.reset(seed=1, options={PROGRAM_BEGINS!r})
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
    check_ended()


def test_a_forfeit_of_the_hand_lets_the_game_go_on():
    settings = MatchSettings(limits=QUICK, forfeit="hand")
    result = play_match(f"mine={bad_bot('illegal')}", "simple", pairs=1, settings=settings)
    assert (result.games["hands"] >= 2).all() and (result.games["winner"] == 1).all()
    # It goes by its short name.
    assert result.names == ("mine", "simple")
    assert [fault_text(fault)[-7:] for fault in result.faults] == [" (mine)"]
    with refuses(GinError, "simple"):
        parse_player("simple=cmd:true")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("nosuchprog --fast", "'nosuchprog' is no program"),
        ("bot.py --fast", 'cmd:"python bot.py --fast"'),
        (str(ROOT / "pyproject.toml"), "is a file that may not be run"),
        ("'unclosed", "no closing quotation"),
    ],
)
def test_a_program_that_does_not_exist_is_named_before_anything_is_played(program, why, tmp_path, monkeypatch, capsys):
    out = tmp_path / "x.json"
    for words in (["evaluate", f"cmd:{program}", "simple", "--out", out], ["conform", program]):
        with refuses(SystemExit, repr(program), why) as ended:
            gin(monkeypatch, *words)
        assert "\n" not in str(ended.value)
    assert not out.exists() and "decisions asked" not in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "words"), [("stubborn", "was still running"), ("crash-on-exit", "status 1")])
def test_a_program_that_will_not_end_is_named_and_ended(kind, words, left_behind):
    settings = MatchSettings(limits=BotLimits(end_seconds=3.0))
    result = play_match(bad_bot(kind), "simple", pairs=1, unit="hands", settings=settings)
    assert [fault["kind"] for fault in result.faults] == ["ending"] and words in result.faults[0]["first"]
    assert not result.games["forfeits"].any() and not left_behind()


def test_conformance_says_in_words_what_is_wrong(logger):
    good = check(logger()[0].removeprefix("cmd:"), hands=8)
    assert not good.wrong and good.decisions["discard"] and good.decisions["layoff"]
    assert any("spread" in note for note in good.notes)
    bad = check(bad_bot("illegal").removeprefix("cmd:"), hands=2)
    assert len(bad.wrong) == 1 and '"legal" list' in bad.wrong[0]
    # What was wrong comes first, where last; which tests these were is no news if it was every one.
    assert bad.wrong[0].startswith("illegal move: ") and bad.wrong[0].endswith("in every test.")
    assert not any(what in bad.wrong[0] for _, _, what in STAGES)
    late = check(bad_bot("wrong-protocol").removeprefix("cmd:"), hands=2)
    assert len(late.wrong) == 1 and "handshake" in late.wrong[0] and "99" in late.wrong[0]


def test_a_forfeit_is_in_the_table_and_in_the_status(unrunnable, tmp_path, monkeypatch, capsys):
    # The seed with which it stalls at the first question.
    for bot, words in ((f"cmd:{unrunnable}", "cannot start"), (bad_bot("stall", 2), "no answer in 0.3 s")):
        out = tmp_path / "x.json"
        with refuses(SystemExit, 2, words):
            gin(monkeypatch, "evaluate", bot, "random", "--hands", 2, "--seconds", 0.3, "--out", out)
        assert [match["faults"][0]["forfeits"] for match in json.loads(out.read_text())["matches"]] == [2]
        assert "fault" in capsys.readouterr().out


@pytest.fixture
def in_series():
    """Plays hands between ``simple`` and a program in the first of two series, and ``formula`` in the second."""

    def play(spec, hands):
        program = OutsidePlayer(spec.removeprefix("cmd:"), limits=QUICK)
        others = PlayersBySeries([program, make_formula(2)], np.arange(2))
        try:
            return play_series(make_simple(1), others, series=2, hands=hands, seed=1)
        finally:
            program.close()

    return play


def test_an_illegal_move_in_a_series_costs_that_hand_alone(in_series):
    with pytest.warns(UserWarning, match="illegal move: "):
        points = in_series(bad_bot("illegal"), 6)
    # A forfeit is worth 50 points, and the others play on.
    assert (points[0] == 50).all() and not (points[1] == 50).any()


def test_programs_within_a_series_hear_how_hands_ended(in_series, logger):
    spec, lines = logger()
    in_series(spec, 3)
    events = [event for told in events_of(lines()).values() for event in told]
    assert [event["event"] for event in events].count("hand over") == 3
