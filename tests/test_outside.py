import json
import os
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.arena import play_match
from agents.arena.conform import check
from agents.arena.stress import run
from agents.outside import BotLimits, OutsidePlayer
from agents.protocol import Reader, Teller, legal_texts
from ginenv.actions import parse_action
from ginenv.cards import parse_cards
from ginenv.engine import STATE, apply, next_word, random_action
from ginenv.game import next_hand, score_hand, start_game
from ginenv.players import make_player
from ginenv.rules import PRESETS, get_rules
from ginenv.view import make_views

ROOT = Path(__file__).parent.parent
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
    return command(ROOT / "examples" / "bad_bots.py", kind, seed)


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


def rebuild(events):
    """Hands as text, from events alone: what an outside program can know of each."""
    hands = []
    for event in events:
        if event["event"] == "deal":
            hands.append({"cards": set(event["cards"]), "drawn": [], "pile": [event["upcard"]], "over": None})
        hand = hands[-1]
        who, card = event.get("who"), event.get("card")
        if event["event"] in ("draw", "take") and who == "you":
            hand["cards"].add(card)
        if event["event"] == "take":
            assert hand["pile"].pop() == card
        if event["event"] in ("discard", "knock"):
            if who == "you":
                hand["cards"].remove(card)
            hand["pile"].append(card)
        if event["event"] == "lay off" and who == "you":
            hand["cards"] -= set(event["cards"])
        if event["event"] == "shown" and who == "you":
            assert set(event["cards"]) == hand["cards"]
        if event["event"] == "hand over":
            hand["over"] = event
    return hands


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
                    view = Reader(make_views(s, seat)).view(0)
                    teller = tellers[seat]
                    if teller is None or teller.hand_no != view["hand_no"]:
                        teller = tellers[seat] = Teller(view)
                    teller.update(view)
                    news = teller.news()
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
            reader = Reader(views)
            return np.array([parse_action(legal_texts(reader.view(i))[-1]) for i in range(len(views))])

        def hands_over(self, views, slots=None):
            pass

    spec, lines = logger()
    outside = play_match(spec, "simple", rules=rules, pairs=3)
    inside = play_match(LastLegal(), "simple", rules=rules, pairs=3)
    assert not outside.faults
    assert (outside.games == inside.games).all()
    told = events_of(lines())
    assert len(told) == 6
    hands = sum(len(rebuild(events)) for events in told.values())
    # The last hands of the match may end after the last question.
    assert outside.games["hands"].sum() - 6 <= hands <= outside.games["hands"].sum()


def test_a_split_decision_asks_for_the_discard_first_and_for_the_knock_after_it(logger):
    spec, lines = logger("split")
    result = play_match(spec, "random", pairs=150, unit="hands")
    assert not result.faults and result.style["knocks"][0] > 0
    phases = [game for line in lines() for game in line.get("games", ()) if "legal" in game]
    assert all(
        action.startswith("discard") for game in phases if game["phase"] == "discard" for action in game["legal"]
    )
    asked = [game["legal"] for game in phases if game["phase"] == "knock"]
    assert asked and all(discard.replace("discard", "knock") == knock for discard, knock in asked)


def test_an_arrangement_may_be_answered_by_its_cards(logger):
    spec, lines = logger()
    result = play_match(spec, "random", rules="ht1", pairs=150, unit="hands")
    assert not result.faults
    assert any("arrangements" in game for line in lines() for game in line.get("games", ()))


def test_the_template_bot_is_short_and_about_as_good_as_simple():
    script = ROOT / "examples" / "template_bot.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) < 80
    result = play_match(command(script), "simple", pairs=8)
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
    "wrong-key": "handshake",
    "crash": "crash",
    "killed": "crash",
    "stall": "timeout",
    "partial": "timeout",
    "no-json": "rubbish",
    "nested": "rubbish",
    "old-id": "rubbish",
    "missing": "rubbish",
    "illegal": "illegal move",
    "number": "illegal move",
    "flood": "flood",
    "daemon": "timeout",
    "orphan": "crash",
}


@pytest.mark.parametrize(("kind", "fault"), EXPECTED.items())
def test_a_bad_bot_forfeits_is_named_and_leaves_nothing_behind(kind, fault, monkeypatch):
    monkeypatch.setenv("BAD_BOT_TEST", f"{kind}-{os.getpid()}")
    result = play_match(bad_bot(kind), "simple", pairs=2, limits=QUICK)
    assert result.games["done"].all()
    assert result.games["forfeits"][:, 0].sum() > 0
    assert fault in [entry["kind"] for entry in result.faults]
    assert all(entry["player"].endswith(f"{kind} 0") and entry["first"] for entry in result.faults)
    # This process carries the mark as well.
    assert not set(processes_of(f"BAD_BOT_TEST={kind}-{os.getpid()}")) - {os.getpid()}


def test_a_flood_of_error_output_costs_nothing():
    result = play_match(bad_bot("noise"), "simple", pairs=2, limits=BotLimits())
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
    events = events_of(lines())[4]
    assert [event["event"] for event in events][:2] == ["deal", "pass"]


def test_a_forfeit_of_the_hand_lets_the_game_go_on():
    result = play_match(bad_bot("illegal"), "simple", pairs=2, limits=QUICK, forfeit="hand", forfeit_points=60)
    assert (result.games["hands"] >= 2).all() and (result.games["winner"] == 1).all()


def test_a_program_that_does_not_exist_is_a_fault_and_not_an_error():
    result = play_match("cmd:no-such-program-here", "random", pairs=2, limits=QUICK)
    assert result.faults[0]["kind"] == "cannot start" and "no-such-program-here" in result.faults[0]["first"]
    assert (result.games["winner"] == 1).all()


def test_a_program_that_will_not_end_is_named_and_ended(monkeypatch):
    monkeypatch.setenv("BAD_BOT_TEST", f"ending-{os.getpid()}")
    for kind, words in (("stubborn", "was still running"), ("crash-on-exit", "ended with status 1")):
        result = play_match(bad_bot(kind), "simple", pairs=2, limits=BotLimits(end_seconds=3.0))
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
    assert len(late.wrong) == 1 and "spoken here is 1" in late.wrong[0]


def test_many_bad_bots_at_once_leave_nothing_behind():
    kinds = ["crash", "illegal", "orphan", "no-json"]
    result = run(ROOT / "examples" / "bad_bots.py", kinds, 8, 4, lambda done: None)
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
    play_match(command(script, ROOT / "examples", log), "simple", pairs=1, unit="hands", seed=28)
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    documented = [line for line in text.splitlines() if line[:2] in ("→ ", "← ")]
    assert documented == log.read_text(encoding="utf-8").splitlines()
    assert any("lay off" in line for line in documented) and '"bye"' in documented[-1]
