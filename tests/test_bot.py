"""Our players as programs of the line protocol: what they see and decide behind it is what they see and decide in a match here."""

import json
import shlex
import subprocess
import sys

import jsonschema
import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.series import play_series
from agents.deal_streams import salted
from agents.programs.events import HandEvents, question
from agents.programs.messages import SCHEMA, TO_PROGRAM, Act, json_schema, read_message
from agents.programs.player import BotLimits, OutsidePlayer
from agents.programs.responder import Conversation, Hands
from agents.programs.views import read_views
from ginenv.engine.rules import Rules, get_rules
from ginenv.engine.state import canonical
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player
from ginenv.view.view import make_views
from tests.support.hidden import redeal_hidden
from tests.support.programs import SALT

GIN = shlex.join([sys.executable, "-c", "from agents.cli import main; main()"])
# Compiling on first use takes its time.
PATIENT = BotLimits(start_seconds=300, seconds=120, end_seconds=10)
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


class Behind:
    """A player behind the protocol, in this process: it sees what the messages tell, and every message is checked."""

    def __init__(self, rules: Rules, player: str) -> None:
        self.hands, self.player, self.rules = Hands(rules), make_player(player), rules
        self.events: HandEvents | None = None

    def message(self, view: np.ndarray, asks: bool) -> Act:
        [seen] = read_views(view)
        if self.events is None or not self.events.continues(seen):
            self.events = HandEvents(seen)
        self.events.update(seen)
        game = {"slot": 3, "events": self.events.unsent()} | (question(seen) if asks else {})
        line = json.dumps({"type": "act", "id": 1, "games": [game]})
        VALIDATOR.validate(json.loads(line))
        message = read_message(line, TO_PROGRAM)
        assert isinstance(message, Act)
        return message

    def act(self, view: np.ndarray) -> int:
        questions = self.hands.read(self.message(view, True).games)
        assert same_views(questions.views, view)
        return int(self.player.act(questions.views)[0])

    def finish(self, view: np.ndarray) -> None:
        questions = self.hands.read(self.message(view, False).games)
        self.events = None
        questions.finals["hand_luck"] = view["hand_luck"]
        assert same_views(questions.finals, view)


def same_views(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two views agree, except that no event tells a knock that was only a discard from a discard."""
    one, other = canonical(one), canonical(other)
    one["warned"] = other["warned"] = 0
    return one.tobytes() == other.tobytes()


@pytest.mark.parametrize("rules", ["gr-oklahoma", "ht1", "ht2-simple", "openspiel", "big-gin"])
def test_a_host_s_events_give_the_views_of_a_match(rules):
    phases = set()
    for seed, players in enumerate([("simple", "random"), ("knocker", "simple"), ("random", "formula")]):
        match = Match(get_rules(rules), seed=seed)
        sides = [Behind(match.rules, player) for player in players]
        while True:
            hand = match.hand
            while not hand.is_over:
                phases.add(hand.phase)
                match.push(sides[hand.turn].act(hand.view(hand.turn)))
            for seat, side in enumerate(sides):
                side.finish(match.played[-1].view(seat))
            if match.is_over or len(match.played) > 6:
                break
            match.next_hand()
    assert {"draw", "discard"} <= phases


def bot(*words: str) -> str:
    return f"cmd:{GIN} bot {shlex.join(words)}"


@pytest.mark.slow
def test_a_bot_decides_like_the_player_itself():
    player, settings = "level-4:worlds=16", MatchSettings(unit="hands", seed=6, salt=SALT, limits=PATIENT)
    outside = play_match(bot(player), "simple", pairs=10, settings=settings)
    inside = play_match(player, "simple", pairs=10, settings=settings)
    assert not outside.faults
    assert (outside.games == inside.games).all() and (outside.stats == inside.stats).all()


def test_a_bot_with_a_memory_learns_like_the_level_itself(tmp_path):
    """Two series, each with an opponent of its own; then one opponent that a file remembers."""
    seed = salted(SALT, "players", 0, 31)
    inside = make_player("level-2:learn=true", seed)
    outside = OutsidePlayer(bot("level-2:learn=true").removeprefix("cmd:"), limits=PATIENT, salt=SALT)
    played = [play_series(player, make_player("simple"), series=2, hands=3, seed=4) for player in (inside, outside)]
    outside.close()
    assert (played[0] == played[1]).all()
    names = [tmp_path / "inside", tmp_path / "outside"]
    remembering = make_player(f"level-2:profile={names[0]},opponent=Ann", seed)
    command = bot("level-2", "--memory", str(names[1]), "--opponent", "Ann")
    for player in (remembering, other := OutsidePlayer(command.removeprefix("cmd:"), limits=PATIENT, salt=SALT)):
        played.append(play_series(player, make_player("simple"), series=1, hands=3, seed=5))
    # The news of the last hand goes out with the bye.
    other.close()
    assert (played[2] == played[3]).all()
    files = [(name / "levels" / "level-2.json").read_text(encoding="utf-8") for name in names]
    assert files[0] == files[1]


def test_what_is_hidden_changes_no_byte_of_a_question():
    rng = np.random.default_rng(2)
    match = Match(get_rules("ht1"), seed=3)
    player, count = make_player("knocker"), 0
    for _ in range(4):
        while not match.hand.is_over:
            view = match.hand.view(match.hand.turn)
            again = make_views(redeal_hidden(match.hand.state, match.hand.turn, rng), match.hand.turn)
            told = [(HandEvents(seen).events, question(seen)) for each in (view, again) for seen in read_views(each)]
            assert told[0] == told[1]
            match.push(int(player.act(view)[0]))
            count += 1
        match.next_hand()
    assert count > 30


DEAL = {"event": "deal", "starts": "you", "cards": "TS QS 4C AD 8D 9D QD AH JH QH".split(), "upcard": "7D"}
HELLO = {"type": "hello", "protocol": 2, "rules": "eaai"}


def talk(*messages: object) -> list[dict]:
    conversation = Conversation(lambda seed: make_player("simple", seed))
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
    return [answer for answer in map(conversation.reply, lines) if answer is not None]


def act(*events: dict, **more: object) -> dict:
    return {"type": "act", "id": 5, "games": [{"slot": 1, "events": list(events), **more}]}


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (b"[1, 2", ["JSON"]),
        (act(DEAL, phase="draw"), ["slot 1", "phase", "draw", "upcard"]),
        (act(DEAL, phase="upcard", legal=["take", "draw stock"]), ["draw stock", "take, pass"]),
        (act(DEAL | {"cards": DEAL["cards"][1:]}, phase="upcard"), ["cards", "10", "9"]),
        (act(DEAL, {"event": "take", "who": "opponent", "card": "7D"}), ["events.1", "turn", "opponent"]),
        (act(DEAL, {"event": "take", "who": "you", "card": "8D"}), ["events.1", "8D", "7D"]),
        (act(DEAL, hand=["TS"], phase="upcard"), ["hand", "TS"]),
        (act(DEAL | {"upcrad": "7D"}, phase="upcard"), ["upcrad"]),
    ],
)
def test_a_message_that_cannot_be_used_is_explained_and_changes_nothing(message, facts):
    ready, error, answer = talk(HELLO, message, act(DEAL, phase="upcard"))
    assert (ready["type"], error["type"]) == ("ready", "error")
    assert all(fact in error["message"] for fact in facts), error
    assert answer == {"type": "answers", "id": 5, "answers": [{"slot": 1, "action": "take"}]}


@pytest.mark.parametrize("refused", [HELLO | {"protocol": 1}, HELLO | {"rules": "eaaj"}, HELLO | {"sead": 1}])
def test_nothing_is_answered_before_a_hello_and_after_one_that_is_refused(refused):
    asks = act(DEAL, phase="upcard")
    types = [answer["type"] for answer in talk(asks, HELLO, asks, refused, asks, HELLO, asks)]
    assert types == ["error", "ready", "answers", "error", "error", "ready", "answers"]


def test_every_number_that_the_schema_allows_fits_into_a_hand():
    fields = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]["Deal"]["properties"]
    for name in ("hand", "score", "boxes", "drawn_hands"):
        about = fields[name]
        most = about.get("items", about)["maximum"]
        value = [most, most] if "items" in about else most
        assert talk(HELLO, act(DEAL | {name: value}, phase="upcard"))[1]["type"] == "answers", name


def test_a_message_that_fails_in_its_second_game_leaves_the_first_as_it_was():
    take = {"event": "take", "who": "you", "card": "7D"}
    good = {"slot": 1, "events": [take], "phase": "discard"}
    bad = {"slot": 2, "events": [take], "phase": "discard"}
    _, _, error, answer = talk(
        HELLO,
        act(DEAL, phase="upcard"),
        {"type": "act", "id": 6, "games": [good, bad]},
        {"type": "act", "id": 7, "games": [good]},
    )
    assert error["type"] == "error" and "slot 2" in error["message"]
    assert answer["answers"][0]["action"].startswith("discard")


def test_a_host_may_allow_less_than_the_rules():
    _, answer = talk(HELLO, act(DEAL, phase="upcard", legal=["pass"]))
    assert answer["answers"] == [{"slot": 1, "action": "pass"}]


def test_only_messages_are_on_the_standard_output_and_the_end_of_the_input_ends_the_program():
    asks = json.dumps(act(DEAL, phase="upcard")).encode()
    # The first one is no host's to answer: it comes before the hello.
    lines = [asks, json.dumps(HELLO).encode(), asks, b"\xff"]
    done = subprocess.run(
        [*shlex.split(GIN), "bot", "level-1"], input=b"\n".join(lines), capture_output=True, timeout=120
    )
    assert done.returncode == 0 and b"Traceback" not in done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        VALIDATOR.validate(answer)
    assert [answer["type"] for answer in answers] == ["error", "ready", "answers", "error"]


def test_the_schema_that_ships_is_that_of_the_models():
    shipped = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert shipped == json_schema(), "python -m agents.programs.messages writes it"
