"""A contest of bots of which some hang, eat memory, crash or do not compile: standings, feedback, and going on after a kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.arena.conformance import check
from agents.contest import contest as contests
from agents.contest import feedback
from agents.contest.contest import Contest, ContestConfig
from agents.contest.entries import build, find_entries
from agents.contest.pages import publish
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError
from tests.support.compilers import BOTS, PATIENT, ROOT, STAND_INS, build_host, build_players, need
from tests.support.refusals import refuses

# Plays the last legal action; {} stands for what it does at a question that is not the first.
BOT = """
import json, sys, time
asked, memory = 0, []
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "ready", "protocol": 1}), flush=True)
    elif message["type"] == "act":
        games = [game for game in message["games"] if "legal" in game]
        asked += len(games)
        %s
        answers = [{"slot": game["slot"], "action": game["legal"][-1]} for game in games]
        print(json.dumps({"type": "answers", "id": message["id"], "answers": answers}), flush=True)
    else:
        break
"""
BAD = {
    "hangs": "time.sleep(100)",
    "eats": "memory.append(bytearray(30_000_000))",
    "crashes": "raise ValueError('no idea')",
    "late": "assert asked < 60, 'too many questions'",
    "weak": "pass",
}
PROGRAM = "import sys; sys.argv[0] = 'gin'; from agents.cli import main; main()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Eight bots, of which three can play to the end."""
    monkeypatch.setattr(contests, "_CHECKED_HANDS", 2)
    monkeypatch.setattr(contests, "_RESAMPLES", 20)
    monkeypatch.setattr(feedback, "HANDS", 1)
    monkeypatch.setattr(feedback, "WORLDS", 4)
    feedback._analyst.cache_clear()
    place = tmp_path / "bots"
    (place / "folder").mkdir(parents=True)
    for name, what in BAD.items():
        (place / f"{name}.py").write_text(BOT % what, encoding="utf-8")
    shutil.copy(ROOT / "examples" / "template_bot.py", place / "good.py")
    shutil.copy(ROOT / "examples" / "template_bot.py", place / "folder" / "bot.py")
    (place / "broken.py").write_text("print('hello'", encoding="utf-8")
    yield place
    feedback._analyst.cache_clear()


def config(folder: Path, **changes: object) -> ContestConfig:
    values = {"pairs": 4, "block": 2, "seconds": 2.0, "memory": 100, "beside": (), "out": folder.parent / "out"}
    return ContestConfig(directory=folder, **(values | changes))  # type: ignore[arg-type]


def played(settings: ContestConfig) -> tuple[Contest, dict]:
    contest = Contest(settings)
    contest.check()
    assert contest.play(lambda done: None, None)
    contest.analyse(lambda done: None)
    publish(contest, "gin contest", "")
    return contest, json.loads((settings.out / "results.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to the limit of memory")
def test_bots_that_hang_eat_memory_or_crash_spoil_no_standings_and_learn_why(folder):
    contest, found = played(config(folder))
    names = [each["name"] for each in found["standings"]]
    assert set(names[:2]) == {"good", "folder"} and names[2:] == ["weak", "late"]
    forfeits = {each["name"]: each["forfeits"] for each in found["standings"]}
    assert forfeits["late"] > 0 and forfeits["good"] == forfeits["weak"] == 0
    why = {"hangs": "timeout", "eats": "MemoryError", "crashes": "no idea", "broken": "SyntaxError"}
    assert {
        name: any(word in wrong for wrong in found["refused"][name]) for name, word in why.items()
    } == dict.fromkeys(why, True)
    page = (contest.config.out / "index.html").read_text(encoding="utf-8")
    assert all(f'href="bot-{name}.html"' in page for name in (*names, *why)) and "refresh" not in page
    late = (contest.config.out / "bot-late.html").read_text(encoding="utf-8")
    assert "too many questions" in late and "deadwood at a knock" in late
    weak = (contest.config.out / "bot-weak.html").read_text(encoding="utf-8")
    (bot,) = [each for each in contest.bots if each.name == "weak"]
    assert bot.feedback is not None
    shown = [each["position"] for each in bot.feedback["dearest"]]
    assert shown and weak.count("better: <strong>") == len(shown) and all(each in weak for each in shown)


def test_a_contest_goes_on_after_a_kill_and_after_a_bot_was_handed_in_again(folder):
    for name in ("hangs", "eats", "crashes", "late", "broken"):
        (folder / f"{name}.py").unlink()
    settings = config(folder)
    words = ["contest", folder, "--out", settings.out, "--pairs", 4, "--block", 2, "--seconds", 2, "--memory", 100]
    command = [sys.executable, "-c", PROGRAM, *map(str, words), "--beside"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    blocks = settings.out / "matches"
    until = time.monotonic() + 300
    while not list(blocks.glob("*/blocks/*.npz")) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {path: path.read_bytes() for path in blocks.glob("*/blocks/*.npz")}
    assert before
    _, found = played(settings)
    assert len(found["standings"]) == 3 and found["blocks_missing"] == 0
    assert {path: path.read_bytes() for path in before} == before
    all_before = set(blocks.glob("*/blocks/*.npz"))
    (folder / "weak.py").write_text(BOT % "pass  # better", encoding="utf-8")
    again = Contest(settings)
    again.check()
    # Two of three matches are its own, of two blocks each.
    missing = sum(not each.is_played(block) for each in again.tournaments.values() for block in each.blocks())
    assert (len(all_before), missing) == (6, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Bot.java", "bot.rs", "bot.cpp", "Trivial.jar"])
def test_bots_of_other_languages_are_compiled_and_started(name, tmp_path):
    need("java", "javac", "jar", "rustc", "g++")
    host, bots = tmp_path / "host.jar", tmp_path / "bots"
    bots.mkdir()
    if name.endswith(".jar"):
        classes = build_players(tmp_path / "theirs", sorted(STAND_INS.glob("*/*.java")))
        subprocess.run(["jar", "cf", bots / name, "-C", classes, "."], check=True)
        subprocess.run(["jar", "cf", host, "-C", build_host(tmp_path / "host"), "."], check=True)
    else:
        shutil.copy(BOTS / name, bots)
    (entry,) = find_entries(bots)
    program = build(entry, tmp_path / "built", 1024, host)
    assert not check(str(program), 2, PATIENT, rules=get_rules("eaai")).wrong


def test_a_bot_that_cannot_be_copied_ends_no_contest(tmp_path, monkeypatch):
    monkeypatch.setattr(contests, "_CHECKED_HANDS", 2)
    (tmp_path / "bots" / "odd").mkdir(parents=True)
    (tmp_path / "bots" / "odd" / "main.py").write_text("", encoding="utf-8")
    (tmp_path / "bots" / "odd" / "data").symlink_to("nowhere")
    (tmp_path / "bots" / "good").mkdir()
    shutil.copy(ROOT / "examples" / "template_bot.py", tmp_path / "bots" / "good" / "bot.py")
    (tmp_path / "bots" / "good" / os.fsdecode(b"caf\xe9.txt")).write_text("", encoding="utf-8")
    contest = Contest(config(tmp_path / "bots"))
    contest.check()
    assert [bot.name for bot in contest.admitted] == ["good"]
    publish(contest, "gin contest", "")
    assert "No such file or directory: &#39;" in (tmp_path / "out" / "bot-odd.html").read_text(encoding="utf-8")


def test_a_folder_without_bots_and_bots_that_nobody_can_tell_apart_are_refused(tmp_path):
    with refuses(GinError, str(tmp_path / "none")):
        find_entries(tmp_path / "none")
    with refuses(GinError, str(tmp_path), ".py"):
        find_entries(tmp_path)
    (tmp_path / "two").mkdir()
    for name in ("two/a.py", "two/b.py", "bot.py", "Bot.java", "simple.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [entry.name for entry in find_entries(tmp_path)] == ["Bot.java", "bot.py", "simple", "two"]
    with refuses(GinError, "a.py", "b.py", "run"):
        build(find_entries(tmp_path)[-1], tmp_path / "out", 1024, tmp_path)
    with refuses(GinError, "simple.py", "--beside"):
        Contest(ContestConfig(directory=tmp_path, out=tmp_path / "out"))
