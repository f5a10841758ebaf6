"""Programs from outside that fail, lie or will not end: each is named, costs itself the game, and leaves nothing behind."""

import gc
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.conformance import check
from agents.arena.series import PlayersBySeries, play_series
from agents.cli import main
from agents.datasets.store import check_games, read_hands
from agents.programs.player import BotLimits, OutsidePlayer, fault_text
from ginenv.bots.heuristics import make_formula, make_simple
from ginenv.errors import GinError
from ginenv.tables.players import parse_player
from tests.support.bad_bots import KINDS
from tests.support.programs import PROGRAM_BEGINS, QUICK, ROOT, bad_bot, events_of, first_views, processes_of
from tests.support.refusals import refuses
from tests.support.scale import SCALE

EXPECTED = {
    "crash": "crash-at-start crash killed orphan", "handshake": "wrong-protocol true-protocol wrong-key", "flood": "flood",
    "timeout": "stall partial", "rubbish": "no-json nested old-id missing twice",
    "illegal move": "long-move long-number illegal number",
}  # fmt: skip


@pytest.mark.parametrize(("kind", "fault"), [(kind, fault) for fault in EXPECTED for kind in EXPECTED[fault].split()])
def test_a_bad_bot_forfeits_is_named_and_leaves_nothing_behind(kind, fault, monkeypatch):
    monkeypatch.setenv("BAD_BOT_TEST", f"{kind}-{os.getpid()}")
    result = play_match(bad_bot(kind), "simple", pairs=2, settings=MatchSettings(limits=QUICK))
    assert result.games["done"].all()
    assert result.games["forfeits"][:, 0].sum() > 0
    assert fault in [entry["kind"] for entry in result.faults]
    assert all(entry["player"].endswith(f"{kind} 0") and 0 < len(entry["first"]) < 1500 for entry in result.faults)
    # This process carries the mark as well.
    assert not set(processes_of(f"BAD_BOT_TEST={kind}-{os.getpid()}")) - {os.getpid()}


@pytest.mark.parametrize("kind", ["noise", "last-words"])
def test_floods_of_words_cost_nothing(kind):
    settings = MatchSettings(limits=BotLimits(end_seconds=60.0))
    result = play_match(bad_bot(kind), "simple", pairs=2, settings=settings)
    assert not result.faults and not result.games["forfeits"].any()


def test_a_program_that_fails_in_an_environment_is_an_error_in_its_own_words():
    for kind, fault in (("no-json", "rubbish"), ("illegal", "illegal move"), ("crash-at-start", "crash")):
        env = gym.make("ginenv:Gin/Hand-v0", opponent=bad_bot(kind))
        with refuses(GinError, f"{kind} 0", fault):
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
    assert (play_match(player, "random", pairs=2).games["winner"] == 1).all()


def test_an_environment_that_is_closed_ends_the_program(monkeypatch, logger):
    mark = f"ginenv-close-{os.getpid()}"
    monkeypatch.setenv("BAD_BOT_TEST", mark)
    spec, lines = logger()
    single = gym.make("ginenv:Gin/Hand-v0", opponent=spec)
    several = gym.make_vec("ginenv:Gin/Hand-v0", num_envs=2, opponent=spec)
    for env in (single, several):
        env.reset(seed=1, options=PROGRAM_BEGINS)
        assert set(processes_of(mark)) - {os.getpid()}
        env.close()
        assert not set(processes_of(mark)) - {os.getpid()}
        assert lines()[-1]["type"] == "bye"


def test_a_program_that_nobody_closed_ends_with_its_player_and_with_the_interpreter(monkeypatch, logger):
    mark = f"ginenv-finalize-{os.getpid()}"
    monkeypatch.setenv("BAD_BOT_TEST", mark)
    spec, lines = logger()
    player = OutsidePlayer(spec.removeprefix("cmd:"))
    player.act(first_views())
    assert set(processes_of(mark)) - {os.getpid()}
    del player
    gc.collect()
    assert not set(processes_of(mark)) - {os.getpid()}
    assert lines()[-1]["type"] == "bye"
    program = f"""
import gymnasium as gym
import ginenv
env = gym.make("Gin/Hand-v0", opponent={spec!r})
env.reset(seed=1, options={PROGRAM_BEGINS!r})
env = None
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
    assert not set(processes_of(mark)) - {os.getpid()}
    assert lines()[-1]["type"] == "bye"


def test_a_forfeit_of_the_hand_lets_the_game_go_on():
    settings = MatchSettings(limits=QUICK, forfeit="hand")
    result = play_match(bad_bot("illegal"), "simple", pairs=2, settings=settings)
    assert (result.games["hands"] >= 2).all() and (result.games["winner"] == 1).all()


def test_a_program_that_the_system_cannot_run_is_a_fault_and_not_an_error(unrunnable):
    result = play_match(f"cmd:{unrunnable}", "random", pairs=2, settings=MatchSettings(limits=QUICK))
    assert result.faults[0]["kind"] == "cannot start" and unrunnable in result.faults[0]["first"]
    assert (result.games["winner"] == 1).all()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("nosuchprog --fast", "'nosuchprog' is no program"),
        ("simple", "'simple' is no program"),
        ("/dev", "'/dev' is no program"),
        (str(ROOT / "pyproject.toml"), "is a file that may not be run"),
        ("'unclosed", "no closing quotation"),
        ("''", "'' is no program"),
    ],
)
def test_a_program_that_does_not_exist_is_named_before_anything_is_played(program, why, tmp_path, monkeypatch, capsys):
    out = tmp_path / "x.json"
    for words in (
        ["evaluate", f"cmd:{program}", "simple", "--games", "2", "--out", str(out)],
        ["games", "play", f"cmd:{program}", "simple", "--games", "2", "--out", str(out)],
        # A player's name is no program either, and there the message names the command to use.
        *([["conform", program]] if program != "simple" else []),
    ):
        monkeypatch.setattr("sys.argv", ["gin", *words])
        with refuses(SystemExit, repr(program), why) as ended:
            main()
        assert "\n" not in str(ended.value)
    assert not out.exists() and "decisions asked" not in capsys.readouterr().out


def test_a_program_that_will_not_end_is_named_and_ended(monkeypatch):
    monkeypatch.setenv("BAD_BOT_TEST", f"ending-{os.getpid()}")
    for kind, words in (("stubborn", "was still running"), ("crash-on-exit", "ended with status 1")):
        result = play_match(bad_bot(kind), "simple", pairs=2, settings=MatchSettings(limits=BotLimits(end_seconds=3.0)))
        assert [fault["kind"] for fault in result.faults] == ["ending"] and words in result.faults[0]["first"]
        assert not result.games["forfeits"].any()
    assert not set(processes_of(f"BAD_BOT_TEST=ending-{os.getpid()}")) - {os.getpid()}


def test_conformance_says_in_words_what_is_wrong(logger):
    good = check(logger()[0].removeprefix("cmd:"), hands=8)
    assert not good.wrong and good.decisions["discard"] and good.decisions["layoff"]
    assert any("spread" in note for note in good.notes)
    bad = check(bad_bot("illegal").removeprefix("cmd:"), hands=2)
    assert len(bad.wrong) == 1 and "illegal move" in bad.wrong[0] and '"legal" list' in bad.wrong[0]
    late = check(bad_bot("wrong-protocol").removeprefix("cmd:"), hands=2)
    assert len(late.wrong) == 1 and "handshake" in late.wrong[0] and "99" in late.wrong[0]


def test_an_interrupted_check_gives_no_verdict(logger, monkeypatch):
    players = []

    def cut_short(player, *rest, **options):
        players.append(player)
        result = play_match(player, *rest, **options)
        result.interrupted = True
        return result

    monkeypatch.setattr("agents.arena.conformance.play_match", cut_short)
    with pytest.raises(KeyboardInterrupt):
        check(logger()[0].removeprefix("cmd:"), hands=2)
    assert len(players) == 1


def test_many_bad_bots_at_once_leave_nothing_behind(monkeypatch):
    mark = f"{os.getpid()}-many"
    monkeypatch.setenv("BAD_BOT_TEST", mark)
    kinds = [kind for kind in KINDS if SCALE > 1 and kind != "noise"] or ["crash", "illegal", "orphan", "no-json"]

    def play(number):
        kind, limits = kinds[number % len(kinds)], replace(QUICK, start_seconds=6, seconds=2)
        settings = MatchSettings(limits=limits, luck=False, seed=number)
        result = play_match(bad_bot(kind, number), "simple", pairs=2, settings=settings)
        assert result.games["done"].all()
        return kind, {fault["kind"] for fault in result.faults}

    with ThreadPoolExecutor(4) as pool:
        named = list(pool.map(play, range(8 * SCALE)))
    assert all(found for _, found in named)
    assert [found for kind, found in named if kind == "no-json"] == [{"rubbish"}] * sum(
        k == "no-json" for k, _ in named
    )
    assert not set(processes_of(f"BAD_BOT_TEST={mark}")) - {os.getpid()}


JAVA = """Exception in thread "main" java.lang.IllegalStateException: no card left
\tat Bot.choose(Bot.java:17)
\tat Bot.main(Bot.java:3)
Caused by: java.io.IOException: no such file
\tat Bot.read(Bot.java:40)
\t... 2 more
"""


PYTHON = 'Traceback (most recent call last):\n  File "bot.py", line 3, in <module>\nValueError: no card left\n'


RUST = "thread 'main' panicked at src/main.rs:2:5:\nno card left\nnote: run with `RUST_BACKTRACE=1`\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (JAVA, "Caused by: java.io.IOException: no such file"),
        (JAVA.partition("Caused")[0] + "\tat Bot.again(Bot.java:5)\n" * 1024, JAVA.partition("\n")[0]),
        (PYTHON, "ValueError: no card left"),
        (RUST, "thread 'main' panicked at src/main.rs:2:5:"),
        ("one\ntwo\n", "two"),
        ("", ""),
    ],
)
def test_a_crash_quotes_the_line_that_names_the_error(text, words, tmp_path):
    (tmp_path / "errors").write_text(text)
    result = play_match(f"cmd:sh -c 'cat >&2 {tmp_path / 'errors'}; exit 3'", "random", pairs=1, unit="hands")
    first = result.faults[0]["first"]
    assert first.startswith("the program ended with status 3") and first.endswith(
        f"; its last words: {words}" if words else "due"
    )


def test_a_forfeit_is_in_the_table_and_in_the_status(unrunnable, tmp_path, monkeypatch, capsys):
    # The seed with which it stalls at the first question: the deals are of no seed, and one hand of a hundred ends within four.
    for bot, words in ((f"cmd:{unrunnable}", "cannot start"), (bad_bot("stall", 2), "no answer in 0.3 s")):
        out = tmp_path / "x.json"
        options = ["--hands", "2", "--seconds", "0.3", "--out", str(out)]
        monkeypatch.setattr("sys.argv", ["gin", "evaluate", bot, "random", *options])
        with refuses(SystemExit, 2, words):
            main()
        assert [match["faults"][0]["forfeits"] for match in json.loads(out.read_text())["matches"]] == [2]
        assert "fault" in capsys.readouterr().out


def test_an_illegal_move_in_a_series_costs_that_hand_alone():
    program = OutsidePlayer(bad_bot("illegal").removeprefix("cmd:"), limits=QUICK)
    try:
        with pytest.warns(UserWarning, match="illegal move: "):
            points = play_series(
                make_simple(1), PlayersBySeries([program, make_formula(2)], np.arange(2)), series=2, hands=6, seed=1
            )
    finally:
        program.close()
    # A forfeit is worth 50 points, and the others play on.
    assert (points[0] == 50).all() and not (points[1] == 50).any()


def test_programs_within_a_series_hear_how_hands_ended(logger):
    spec, lines = logger()
    program = OutsidePlayer(spec.removeprefix("cmd:"))
    try:
        play_series(
            make_simple(1), PlayersBySeries([make_formula(2), program], np.arange(2)), series=2, hands=3, seed=1
        )
    finally:
        program.close()
    events = [event for told in events_of(lines()).values() for event in told]
    assert [event["event"] for event in events].count("hand over") == 3


def test_a_program_that_is_late_costs_a_table_of_games_its_own_hands_alone(tmp_path, monkeypatch, capsys):
    # It sleeps when it has answered enough lines for short hands, but not for long ones.
    slow = tmp_path / "slow.py"
    template = (ROOT / "examples" / "template_bot.py").read_text(encoding="utf-8")
    late = "for number, line in enumerate(sys.stdin):\n        number < 16 or __import__('time').sleep(100)"
    slow.write_text(template.replace("for line in sys.stdin:", late), encoding="utf-8")
    out = tmp_path / "games.parquet"
    words = ["games", "play", f"slow=cmd:{sys.executable} {slow}", "simple", "--hands", "30", "--seconds", "2"]
    monkeypatch.setattr("sys.argv", ["gin", *words, "--out", str(out)])
    with refuses(SystemExit, "forfeited", "timeout", "slow"):
        main()
    assert "cmd:" not in capsys.readouterr().err
    names = {name for pair in next(read_hands(out)).players for name in pair}
    assert names == {"slow", "simple"} and 0 < check_games(out).hands < 30


def test_conform_takes_a_program_by_its_short_name(logger, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["gin", "conform", f"mine={logger()[0]}", "--hands", "2", "--rules", "eaai"])
    main()
    assert "conforms" in capsys.readouterr().out


def test_a_program_goes_by_its_short_name():
    result = play_match(f"mine={bad_bot('illegal')}", "simple", pairs=1, settings=MatchSettings(limits=QUICK))
    assert result.names == ("mine", "simple")
    assert [fault_text(fault)[-7:] for fault in result.faults] == [" (mine)"]
    with refuses(GinError, "simple"):
        parse_player("simple=cmd:true")
