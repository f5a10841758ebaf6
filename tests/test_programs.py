"""The line protocol with programs from outside: what they are told and asked, and that their answers are what is played."""

import json

import gymnasium as gym
import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.conformance import check
from agents.programs.events import legal_texts
from agents.programs.player import OutsidePlayer
from agents.programs.views import Seen, read_views
from ginenv.engine.actions import NUM_ACTIONS, parse_action
from ginenv.engine.engine import STATE, apply
from ginenv.engine.game import start_game
from ginenv.engine.rules import RULES, get_rules
from ginenv.tables.players import make_player
from ginenv.view.view import VIEW, make_views
from tests.support.programs import LOGGER, PROGRAM_BEGINS, ROOT, SALT, command, events_of
from tests.support.rebuilt_hands import rebuild


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
            if field in (RULES.names or ()):
                assert getattr(seen, name) == view["rules"][field]
            elif field == "pile":
                assert getattr(seen, name) == view[field].tobytes()
            elif field:
                assert getattr(seen, name) == np.ravel(view[field])[k], name
        assert len(seen.moves) == 4 * view["num_history"]


@pytest.mark.parametrize("rules", ["ht1", "gr", "openspiel"])
def test_a_program_plays_as_the_same_player_inside_would(rules, logger, tmp_path):
    class LastLegal:
        name = "last"

        def reset(self, seed=0):
            pass

        def act(self, views, slots=None):
            return np.array([parse_action(legal_texts(view)[-1]) for view in read_views(views)])

        def observe_hands(self, views, slots=None):
            pass

    spec, lines = logger()
    script = tmp_path / "logger.py"
    # Capitals and blanks do not matter.
    script.write_text(LOGGER.replace('g["legal"][-1]', "f'  {g[\"legal\"][-1].swapcase()} '"), encoding="utf-8")
    outside = play_match(spec, "simple", rules=rules, pairs=3)
    inside = play_match(LastLegal(), "simple", rules=rules, pairs=3, settings=MatchSettings(salt=outside.salts[0]))
    assert not outside.faults
    assert (outside.games == inside.games).all()
    events = events_of(lines())
    assert len(events) == 6
    hands = sum(len(rebuild(events)) for events in events.values())
    # The last hands of the match may end after the last question.
    assert outside.games["hands"].sum() - 6 <= hands <= outside.games["hands"].sum()


def test_the_template_bot_is_short_and_about_as_good_as_simple():
    script = ROOT / "examples" / "template_bot.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) < 80
    result = play_match(command(script), "simple", pairs=4, settings=MatchSettings(salt=SALT))
    assert not result.faults and 0.15 < result.share.mean < 0.85
    assert not play_match(command(script), "random", rules="ht1", pairs=2, unit="hands").faults


def test_a_restarted_program_receives_the_hand_again(logger, tmp_path):
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
    assert [line["type"] for line in lines()] == ["hello", "act", "bye"]


@pytest.mark.parametrize("memory", ["env", "profile"])
def test_a_hand_that_was_broken_off_is_followed_by_a_new_deal(memory, logger):
    """Resets in the middle and illegal actions of the learner: what the program is told agrees with what it is asked."""
    spec, lines = logger()
    env = gym.make("ginenv:Gin/Hand-v0", opponent=spec, opponent_memory=memory, disable_env_checker=True)
    for seed in range(6):
        _, info = env.reset(seed=None if seed else 3, options=PROGRAM_BEGINS)
        for _ in range(seed):
            _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
            if over:
                break
        else:
            if seed % 2:
                assert env.step(NUM_ACTIONS - 1 if not info["action_mask"][-1] else 0)[2]
    env.close()
    events: list = []
    for line in lines():
        for game in line.get("games", ()):
            events += game["events"]
            if "hand" in game:
                hand = rebuild(events)[-1]
                assert hand["cards"] == set(game["hand"])
                assert (hand["pile"][-1] if hand["pile"] else None) == game["upcard"]
    assert [event["event"] for event in events].count("deal") == 6


# The template bot, which writes down what it reads and says.
TEE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import template_bot
log = open(sys.argv[2], "w", encoding="utf-8")
def lines():
    for line in sys.__stdin__:
        print("→ " + line, end="", file=log, flush=True)
        yield line
def say(text, flush):
    print("← " + text, file=log, flush=True)
    print(text, flush=flush)
sys.stdin, template_bot.print = lines(), say
template_bot.main()
"""


def test_the_transcript_in_the_specification_is_what_happens(tmp_path):
    script, log = tmp_path / "tee.py", tmp_path / "log.txt"
    script.write_text(TEE, encoding="utf-8")
    spec, settings = command(script, ROOT / "examples", log), MatchSettings(salt=SALT)
    play_match(spec, "simple", pairs=1, unit="hands", seed=93, settings=settings)
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    documented = [line for line in text.splitlines() if line[:2] in ("→ ", "← ")]
    assert documented == log.read_text(encoding="utf-8").splitlines()
    assert any("lay off" in line for line in documented) and '"bye"' in documented[-1]


def test_a_program_says_which_rules_it_plays(logger):
    def spec(rules: object) -> str:
        return logger(json.dumps({"rules": rules}))[0]

    gc = spec(["gc", "gc,target=50"])
    assert not play_match(gc, "random", rules="gc,target=50", pairs=1, unit="hands").faults
    other = play_match(gc, "random", rules="eaai", pairs=1, unit="hands")
    assert [fault["kind"] for fault in other.faults] == ["rules"]
    assert "plays gc and gc,target=50" in other.faults[0]["first"]
    for wrong in ("gc", ["gcc"]):
        [fault] = play_match(spec(wrong), "random", rules="gc", pairs=1, unit="hands").faults
        assert fault["kind"] == "handshake" and "rules" in fault["first"]
    found = check(gc.removeprefix("cmd:"), hands=2)
    assert not found.wrong and sum("not played" in note for note in found.notes) == 7
    assert "played nothing" in check(gc.removeprefix("cmd:"), hands=2, rules=get_rules("gr")).wrong[0]
