import gc
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import psutil
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.conform import check
from agents.arena.stress import run
from agents.cli import main
from agents.programs.player import BotLimits, OutsidePlayer
from agents.programs.protocol import Teller, legal_texts
from agents.programs.views import Seen, read_views
from ginenv.actions import NUM_ACTIONS, parse_action
from ginenv.cards import card_name, parse_cards
from ginenv.engine import STATE, apply, deal, next_word, random_action
from ginenv.errors import GinError
from ginenv.game import next_hand, score_hand, start_game
from ginenv.players import make_player
from ginenv.rules import PRESETS, RULES, get_rules
from ginenv.view import VIEW, make_views
from tests.support.told import rebuild

ROOT = Path(__file__).parent.parent
SALT = f"{1:032x}"
QUICK = BotLimits(start_seconds=10, seconds=1.0, restarts=0, end_seconds=0.2)

# Plays the last legal action; writes down every line that it is told.
LOGGER = """
import json, sys
log = open(sys.argv[1], "w")
split = len(sys.argv) > 2
for line in sys.stdin:
    log.write(line); log.flush()
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "ready", "protocol": 1, "split": split}), flush=True)
    elif message["type"] == "act":
        answers = []
        for game in message["games"]:
            if "arrangements" in game:
                answers.append({"slot": game["slot"], "melds": game["arrangements"][-1]})
            elif "legal" in game:
                answers.append({"slot": game["slot"], "action": game["legal"][-1]})
        print(json.dumps({"type": "answers", "id": message["id"], "answers": answers}), flush=True)
    else:
        break
"""


def command(*words):
    return "cmd:" + shlex.join([sys.executable, *(str(word) for word in words)])


def bad_bot(kind, seed=0):
    return command(ROOT / "agents" / "arena" / "bad_bots.py", kind, seed)


@pytest.fixture
def logger(tmp_path):
    script = tmp_path / "logger.py"
    script.write_text(LOGGER, encoding="utf-8")
    log = tmp_path / "log.jsonl"

    def lines():
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]

    return lambda *options: (command(script, log, *options), lines)


def events_of(lines):
    """Events by slot, in the order told."""
    slots = {}
    for line in lines:
        for game in line.get("games", ()):
            slots.setdefault(game["slot"], []).extend(game["events"])
    return slots


def test_views_are_read_field_by_field_as_they_are():
    """Every byte of three views is random, so that two fields can only agree where they are the same."""
    content = np.random.default_rng(1).integers(0, 256, (3, VIEW.itemsize), np.uint8)
    views = content.reshape(-1).view(VIEW)
    # Where these are random too, there are no moves to read.
    views["num_history"] = [0, 5, 9]
    views["history"] = 104
    views["rules"]["choose_spread"] = 0
    pairs = {"discards": ("legal", 0), "knocks": ("legal", 1), "others": ("legal", 2), "moves": ("", 0)}
    pairs |= {f"spread_{k}": ("spread", k) for k in range(4)}
    for view, seen in zip(views, read_views(views), strict=True):
        for name in Seen._fields:
            field, k = pairs.get(name, (name.removeprefix("other_"), int(name.startswith("other_"))))
            if field in RULES.names:
                assert getattr(seen, name) == view["rules"][field]
            elif field == "history":
                assert seen.history == view["history"].tobytes()
            elif field:
                assert getattr(seen, name) == np.ravel(view[field])[k], name
        assert len(seen.moves) == 4 * seen.num_history


@pytest.mark.parametrize("rules", sorted(PRESETS))
def test_events_tell_all_that_a_seat_may_see_in_every_preset(rules):
    """Random hands: cards, pile and score rebuilt from the events agree with the state at every decision."""
    s = np.zeros(1, STATE)
    s["rules"] = get_rules(rules).block
    word = np.uint64(11)
    tellers: list = [None, None]
    log: list = [[], []]
    for key in range(2):
        s["key"] = key
        start_game(s[0])
        for _ in range(8):
            while True:
                over = s["phase"][0] == 6
                for seat in range(2):
                    if not over and s["turn"][0] != seat:
                        continue
                    view = read_views(make_views(s, seat))[0]
                    teller = tellers[seat]
                    if teller is None or teller.hand_no != view.hand_no:
                        teller = tellers[seat] = Teller(view)
                    teller.update(view)
                    news = json.loads(teller.news())
                    log[seat] = ([] if news and news[0]["event"] == "deal" else log[seat]) + news
                    known = rebuild(log[seat])[-1]
                    mine = {c for c in range(52) if int(s["hands"][0][seat]) >> c & 1}
                    assert set(parse_cards(" ".join(known["cards"]))) == mine
                    if over:
                        assert known["over"]["points"] == s["points"][0]
                if over:
                    break
                word, drawn = (np.uint64(part) for part in next_word(word))
                apply(s[0], random_action(s[0], drawn))
            score_hand(s[0])
            for seat in range(2):
                assert rebuild(log[seat])[-1]["over"]["score"] == [s["score"][0][seat], s["score"][0][1 - seat]]
                assert rebuild(log[seat])[-1]["over"]["target_reached"] == bool(s["game_over"][0])
            if s["game_over"][0]:
                break
            next_hand(s[0])
        tellers, log = [None, None], [[], []]


@pytest.mark.parametrize("rules", ["eaai", "ht1", "gr", "ht2-simple", "openspiel"])
def test_a_program_plays_as_the_same_player_inside_would(rules, logger):
    class LastLegal:
        name = "last"

        def reset(self, seed=0):
            pass

        def act(self, views, slots=None):
            return np.array([parse_action(legal_texts(view)[-1]) for view in read_views(views)])

        def observe_hands(self, views, slots=None):
            pass

    spec, lines = logger()
    outside = play_match(spec, "simple", rules=rules, pairs=3)
    inside = play_match(LastLegal(), "simple", rules=rules, pairs=3, settings=MatchSettings(salt=outside.salts[0]))
    assert not outside.faults
    assert (outside.games == inside.games).all()
    told = events_of(lines())
    assert len(told) == 6
    hands = sum(len(rebuild(events)) for events in told.values())
    # The last hands of the match may end after the last question.
    assert outside.games["hands"].sum() - 6 <= hands <= outside.games["hands"].sum()


def test_a_split_decision_asks_for_the_discard_first_and_for_the_knock_after_it(logger):
    spec, lines = logger("split")
    result = play_match(spec, "random", pairs=150, unit="hands", settings=MatchSettings(salt=SALT))
    assert not result.faults and result.stats["knocks"][0] > 0
    phases = [game for line in lines() for game in line.get("games", ()) if "legal" in game]
    assert all(
        action.startswith("discard") for game in phases if game["phase"] == "discard" for action in game["legal"]
    )
    asked = [game["legal"] for game in phases if game["phase"] == "knock"]
    assert asked and all(discard.replace("discard", "knock") == knock for discard, knock in asked)


def test_an_arrangement_may_be_answered_by_its_cards(logger):
    spec, lines = logger()
    result = play_match(spec, "random", rules="ht1", pairs=300, unit="hands", settings=MatchSettings(salt=SALT))
    assert not result.faults
    assert any("arrangements" in game for line in lines() for game in line.get("games", ()))


def test_the_template_bot_is_short_and_about_as_good_as_simple():
    script = ROOT / "examples" / "template_bot.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) < 80
    result = play_match(command(script), "simple", pairs=8, settings=MatchSettings(salt=SALT))
    assert not result.faults and 0.15 < result.share.mean < 0.85
    for rules in ("ht1", "openspiel", "gr"):
        assert not play_match(command(script), "random", rules=rules, pairs=2, unit="hands").faults


def processes_of(token):
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


EXPECTED = {
    "crash-at-start": "crash",
    "wrong-protocol": "handshake",
    "true-protocol": "handshake",
    "split-text": "handshake",
    "wrong-key": "handshake",
    "crash": "crash",
    "killed": "crash",
    "stall": "timeout",
    "partial": "timeout",
    "no-json": "rubbish",
    "nested": "rubbish",
    "old-id": "rubbish",
    "missing": "rubbish",
    "twice": "rubbish",
    "long-move": "illegal move",
    "long-number": "illegal move",
    "illegal": "illegal move",
    "number": "illegal move",
    "flood": "flood",
    "daemon": "timeout",
    "orphan": "crash",
}


@pytest.mark.parametrize(("kind", "fault"), EXPECTED.items())
def test_a_bad_bot_forfeits_is_named_and_leaves_nothing_behind(kind, fault, monkeypatch):
    monkeypatch.setenv("BAD_BOT_TEST", f"{kind}-{os.getpid()}")
    result = play_match(bad_bot(kind), "simple", pairs=2, settings=MatchSettings(limits=QUICK))
    assert result.games["done"].all()
    assert result.games["forfeits"][:, 0].sum() > 0
    assert fault in [entry["kind"] for entry in result.faults]
    assert all(entry["player"].endswith(f"{kind} 0") and 0 < len(entry["first"]) < 1500 for entry in result.faults)
    # This process carries the mark as well.
    assert not set(processes_of(f"BAD_BOT_TEST={kind}-{os.getpid()}")) - {os.getpid()}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody inherits such a process")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_child_that_dropped_its_session_and_environment_ends_with_the_command(workers, tmp_path):
    bot = bad_bot("bare-daemon", f"{os.getpid()}{workers}")
    words = [bot, "simple", "--hands", "4", "--workers", str(workers), "--out", str(tmp_path / "x.json")]
    done = subprocess.run(
        [sys.executable, "evaluate.py", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    left = [
        process
        for process in psutil.process_iter(["cmdline"])
        if f"{os.getpid()}{workers}" in (process.info["cmdline"] or ())
    ]
    for process in left:
        process.kill()
    assert not left
    [match] = json.loads((tmp_path / "x.json").read_text())["matches"]
    assert [fault["kind"] for fault in match["faults"]] == ["crash"], done.stderr


def test_a_flood_of_error_output_costs_nothing():
    result = play_match(bad_bot("noise"), "simple", pairs=2)
    assert not result.faults and not result.games["forfeits"].any()


def test_a_restarted_program_is_told_the_hand_again(logger, tmp_path):
    spec, lines = logger()
    player = OutsidePlayer(spec.removeprefix("cmd:"))
    s = np.zeros(1, STATE)
    s["rules"] = get_rules("eaai").block
    start_game(s[0])
    seat = int(s["turn"][0])
    apply(s[0], int(player.act(make_views(s, seat), np.array([4]))[0]))
    other = make_player("simple")
    while s["turn"][0] != seat:
        apply(s[0], int(other.act(make_views(s, 1 - seat))[0]))
    player.close()
    player.act(make_views(s, seat), np.array([4]))
    player.close()
    [events] = events_of(lines()).values()
    assert [event["event"] for event in events][:2] == ["deal", "pass"]


def test_the_module_can_be_the_first_that_is_imported():
    done = subprocess.run(
        [sys.executable, "-c", "import agents.programs.player"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# The learner sits in seat 0 and the program begins, so that every reset asks it.
ASKED_FIRST = {"starter": 1, "seat": 0}


def test_a_program_that_fails_in_an_environment_is_an_error_in_its_own_words():
    for kind, words in (
        ("no-json", "rubbish: answered with what is not JSON"),
        ("illegal", "illegal move: in slot [0-9]+: .* is not legal; legal are: "),
        ("crash-at-start", "crash: the program ended with status"),
    ):
        env = gym.make("ginenv:Gin/Hand-v0", opponent=bad_bot(kind))
        with pytest.raises(GinError, match=f"player 'cmd:.*{kind} 0' cannot go on; {words}"):
            for seed in range(20):
                _, info = env.reset(seed=seed)
                over = False
                while not over:
                    *_, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        env.close()
    player = OutsidePlayer("no-such-program-here")
    for _ in range(3):
        with pytest.raises(GinError, match=r"cannot start: 'no-such-program-here' cannot be started"):
            player.act(first_views())
    # In a match the same player costs itself the games.
    assert (play_match(player, "random", pairs=2).games["winner"] == 1).all()


def first_views():
    s = np.zeros(1, STATE)
    s["rules"] = get_rules("eaai").block
    start_game(s[0])
    return make_views(s, int(s["turn"][0]))


@pytest.mark.parametrize("memory", ["env", "profile"])
def test_a_hand_that_was_broken_off_is_followed_by_a_new_deal(memory, logger):
    """Resets in the middle and illegal actions of the learner: what the program is told agrees with what it is asked."""
    spec, lines = logger()
    env = gym.make("ginenv:Gin/Hand-v0", opponent=spec, opponent_memory=memory, disable_env_checker=True)
    for seed in range(6):
        _, info = env.reset(seed=None if seed else 3, options=ASKED_FIRST)
        for _ in range(seed):
            _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
            if over:
                break
        else:
            if seed % 2:
                assert env.step(NUM_ACTIONS - 1 if not info["action_mask"][-1] else 0)[2]
    env.close()
    told: list = []
    for line in lines():
        for game in line.get("games", ()):
            told += game["events"]
            if "hand" in game:
                hand = rebuild(told)[-1]
                assert hand["cards"] == set(game["hand"])
                assert (hand["pile"][-1] if hand["pile"] else None) == game["upcard"]
    assert [event["event"] for event in told].count("deal") == 6


def test_a_hand_like_the_last_one_but_for_the_upcard_is_another_hand(logger):
    spec, lines = logger()
    player = OutsidePlayer(spec.removeprefix("cmd:"))
    s = np.zeros(1, STATE)
    s["rules"] = get_rules("eaai").block
    for upcard in (20, 21):
        deck = [*range(20), upcard, *(card for card in range(20, 52) if card != upcard)]
        s["deck"][0, :52] = deck
        deal(s[0], 0)
        player.act(make_views(s, 0))
    player.close()
    [told] = events_of(lines()).values()
    assert [event["upcard"] for event in told] == [card_name(20), card_name(21)]


def test_an_environment_that_is_closed_ends_the_program(monkeypatch, logger):
    mark = f"ginenv-close-{os.getpid()}"
    monkeypatch.setenv("BAD_BOT_TEST", mark)
    spec, lines = logger()
    single = gym.make("ginenv:Gin/Hand-v0", opponent=spec)
    several = gym.make_vec("ginenv:Gin/Hand-v0", num_envs=2, opponent=spec)
    for env in (single, several):
        env.reset(seed=1, options=ASKED_FIRST)
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
env.reset(seed=1, options={ASKED_FIRST!r})
env = None
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
    assert not set(processes_of(mark)) - {os.getpid()}
    assert lines()[-1]["type"] == "bye"


def test_a_player_may_be_used_again_after_it_was_closed(logger):
    spec, lines = logger()
    player = OutsidePlayer(spec.removeprefix("cmd:"), limits=QUICK)
    for _ in range(3):
        assert player.act(first_views())[0] >= 0
        player.close()
    assert [line["type"] for line in lines()] == ["hello", "act", "bye"]


def test_a_forfeit_of_the_hand_lets_the_game_go_on():
    settings = MatchSettings(limits=QUICK, forfeit="hand", forfeit_points=60)
    result = play_match(bad_bot("illegal"), "simple", pairs=2, settings=settings)
    assert (result.games["hands"] >= 2).all() and (result.games["winner"] == 1).all()


def test_a_program_that_does_not_exist_is_a_fault_and_not_an_error():
    result = play_match("cmd:no-such-program-here", "random", pairs=2, settings=MatchSettings(limits=QUICK))
    assert result.faults[0]["kind"] == "cannot start" and "no-such-program-here" in result.faults[0]["first"]
    assert (result.games["winner"] == 1).all()


def test_a_program_that_will_not_end_is_named_and_ended(monkeypatch):
    monkeypatch.setenv("BAD_BOT_TEST", f"ending-{os.getpid()}")
    for kind, words in (("stubborn", "was still running"), ("crash-on-exit", "ended with status 1")):
        result = play_match(bad_bot(kind), "simple", pairs=2, settings=MatchSettings(limits=BotLimits(end_seconds=3.0)))
        assert [fault["kind"] for fault in result.faults] == ["ending"] and words in result.faults[0]["first"]
        assert not result.games["forfeits"].any()
    assert not set(processes_of(f"BAD_BOT_TEST=ending-{os.getpid()}")) - {os.getpid()}


def test_conformance_says_in_words_what_is_wrong(logger):
    good = check(logger()[0].removeprefix("cmd:"), hands=8)
    assert not good.wrong and good.asked["discard"] and good.asked["layoff"]
    assert any("spread" in note for note in good.notes)
    bad = check(bad_bot("illegal").removeprefix("cmd:"), hands=2)
    assert len(bad.wrong) == 1 and "illegal move" in bad.wrong[0] and '"legal" list' in bad.wrong[0]
    late = check(bad_bot("wrong-protocol").removeprefix("cmd:"), hands=2)
    assert len(late.wrong) == 1 and "it must be 1" in late.wrong[0]


def test_many_bad_bots_at_once_leave_nothing_behind():
    kinds = ["crash", "illegal", "orphan", "no-json"]
    result = run(ROOT / "agents" / "arena" / "bad_bots.py", kinds, 8, 4, lambda done: None)
    assert not result.unnamed and result.left_behind == 0
    assert {kind: set(named) for kind, named in result.faults.items()}["no-json"] == {"rubbish"}


TEE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from template_bot import choose
log = open(sys.argv[2], "w", encoding="utf-8")
for line in sys.stdin:
    log.write("→ " + line)
    log.flush()
    message = json.loads(line)
    if message["type"] == "hello":
        answer = {"type": "ready", "protocol": 1, "name": "template"}
    elif message["type"] == "act":
        answers = [{"slot": g["slot"], "action": choose(g)} for g in message["games"] if "legal" in g]
        answer = {"type": "answers", "id": message["id"], "answers": answers}
    else:
        break
    log.write("← " + json.dumps(answer) + chr(10))
    log.flush()
    print(json.dumps(answer), flush=True)
"""


def test_the_transcript_in_the_specification_is_what_happens(tmp_path):
    script, log = tmp_path / "tee.py", tmp_path / "log.txt"
    script.write_text(TEE, encoding="utf-8")
    play_match(
        command(script, ROOT / "examples", log),
        "simple",
        pairs=1,
        unit="hands",
        seed=93,
        settings=MatchSettings(salt=SALT),
    )
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    documented = [line for line in text.splitlines() if line[:2] in ("→ ", "← ")]
    assert documented == log.read_text(encoding="utf-8").splitlines()
    assert any("lay off" in line for line in documented) and '"bye"' in documented[-1]


# Declines every knock until the wall, and takes what it may there; says whatever its second argument holds when it is ready.
PATIENT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from template_bot import choose
log = open(sys.argv[3], "w")
for line in sys.stdin:
    log.write(line); log.flush()
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "ready", "protocol": 1} | json.loads(sys.argv[2])), flush=True)
    elif message["type"] == "act":
        asked = [game for game in message["games"] if "legal" in game]
        answers = [
            {"slot": g["slot"], "action": choose(g) if g["phase"] in ("draw", "discard") else g["legal"][0]} for g in asked
        ]
        print(json.dumps({"type": "answers", "id": message["id"], "answers": answers}), flush=True)
"""


@pytest.fixture
def patient(tmp_path):
    script, log = tmp_path / "patient.py", tmp_path / "patient.jsonl"
    script.write_text(PATIENT, encoding="utf-8")
    return lambda **ready: command(script, ROOT / "examples", json.dumps(ready), log), lambda: [
        json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()
    ]


def test_a_split_program_is_told_of_no_knock_that_it_was_not_offered(patient):
    """At the wall a card can only be laid down with a knock."""
    spec, lines = patient
    settings = MatchSettings(get_rules("openspiel"), unit="hands", salt=SALT)
    result = play_match(spec(split=True), "random", pairs=25, settings=settings)
    assert not result.faults
    asked, told = set(), set()
    for line in lines():
        for game in line.get("games", ()):
            if game.get("phase") == "knock":
                asked |= {(game["slot"], text) for text in game["legal"]}
            for event in game["events"]:
                if event["event"] == "knock" and event["who"] == "you":
                    told.add((game["slot"], f"knock {event['card']}"))
    assert told and told <= asked


def test_a_program_says_which_rules_it_plays(patient):
    spec, _ = patient
    gc = spec(rules=["gc", "gc,target=50"])
    for rules in ("gc", "gc,target=50"):
        assert not play_match(gc, "random", rules=rules, pairs=1, unit="hands").faults
    other = play_match(gc, "random", rules="eaai", pairs=1, unit="hands")
    assert [fault["kind"] for fault in other.faults] == ["rules"]
    assert "plays gc and gc,target=50" in other.faults[0]["first"]
    for wrong in ("gc", ["gcc"], [3]):
        [fault] = play_match(spec(rules=wrong), "random", rules="gc", pairs=1, unit="hands").faults
        assert fault["kind"] == "handshake" and "rules" in fault["first"]
    found = check(gc.removeprefix("cmd:"), hands=2)
    assert not found.wrong and found.asked["layoff"] and sum("not played" in note for note in found.notes) == 7
    assert check(gc.removeprefix("cmd:"), hands=2, rules=get_rules("gc,target=50")).notes[0].startswith("was not asked")
    assert "played nothing" in check(gc.removeprefix("cmd:"), hands=2, rules=get_rules("gr")).wrong[0]


JAVA = """Exception in thread "main" java.lang.IllegalStateException: no card left
\tat Bot.choose(Bot.java:17)
\tat Bot.main(Bot.java:3)
Caused by: java.io.IOException: no such file
\tat Bot.read(Bot.java:40)
\t... 2 more
"""
PYTHON = (
    'Traceback (most recent call last):\n  File "bot.py", line 3, in <module>\n    main()\nValueError: no card left\n'
)
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


def test_a_forfeit_is_in_the_table_and_in_the_status(tmp_path, monkeypatch, capsys):
    for bot, words in (("cmd:no-such-program", "cannot start"), (bad_bot("stall"), "no answer in 0.3 s")):
        out = tmp_path / "x.json"
        monkeypatch.setattr(
            "sys.argv", ["gin", "evaluate", bot, "random", "--hands", "2", "--seconds", "0.3", "--out", str(out)]
        )
        with pytest.raises(SystemExit, match=f"2 hands were forfeited; cmd:.*{words}"):
            main()
        assert [match["faults"][0]["forfeits"] for match in json.loads(out.read_text())["matches"]] == [2]
        assert "fault" in capsys.readouterr().out
