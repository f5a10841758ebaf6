"""Practice: positions at the intervals of the library, any good move accepted, nothing lost by a kill; and the set for everybody."""

import datetime
import re
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fsrs import Card, Rating, Scheduler

from agents.analysis import Analyst
from agents.analysis.marks import ERRORS, THRESHOLDS
from agents.arena.series import play_series
from agents.files import read_json
from agents.levels.level import MATCHED, load_level
from agents.levels.matched import MatchedPlayer, person_rating
from agents.levels.memory import Profile
from agents.play.practice import EVERYBODY, KINDS, MINE, POSITIONS, Exercise, Practice
from agents.play.review import analyse_games, mistakes
from agents.play.skill import skill, standing
from agents.play.store import Home, StoreError
from agents.play.terminal import practise
from ginenv.engine.actions import actions_of, parse_action
from ginenv.errors import GinError, IllegalActionError
from ginenv.hands.text import parse_view
from ginenv.tables.players import make_player
from tests.support.refusals import refuses
from tests.support.session_scenes import Talk, store_random_game
from tests.support.web_scenes import Guest, plain

NOON = datetime.datetime(2026, 11, 27, 12, tzinfo=datetime.UTC)
LEAST = dict(THRESHOLDS)["doubtful"]


@pytest.fixture(scope="module")
def analyst() -> Analyst:
    return Analyst(worlds=16)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create("Ann").close()
    return home


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime.datetime:
        return self.now


def play(home: Home, seed: int = 3) -> None:
    """A game of random play, stored as Ann's."""
    store_random_game(home, f"20260101-000000-{seed:04}", seed)


def legal(exercise: Exercise) -> list[int]:
    return actions_of(exercise.view["legal"][0])


def test_the_schedule_is_that_of_the_library(home: Home, analyst: Analyst) -> None:
    clock, rng = Clock(), np.random.default_rng(4)
    practice = Practice(home, "Ann", lambda: analyst, clock)
    practice.add_new()
    # Most discards are wrong, whatever the network that judges them.
    number = next(n for n in count(1) if practice.exercise(n).kind == "discard")
    wanted, seen = Card(card_id=1, due=NOON), set()
    for _ in range(8):
        exercise = practice.exercise(number)
        answer = practice.answer(exercise, int(rng.choice(legal(exercise))))
        rating = Rating.Good if answer.right else Rating.Again
        wanted, _ = Scheduler(enable_fuzzing=False).review_card(wanted, rating, clock.now)
        assert Practice(Home(home.path), "ann", lambda: analyst, clock).schedule(number) == wanted
        assert answer.due == wanted.due
        # It comes when it is due, and not before.
        clock.now = wanted.due - datetime.timedelta(seconds=1)
        assert practice.next().id != number  # type: ignore[union-attr]
        clock.now = wanted.due
        assert practice.next().id == number  # type: ignore[union-attr]
        seen.add(answer.right)
    assert seen == {True, False}


def test_every_move_within_the_doubt_is_right_and_no_other(home: Home, analyst: Analyst) -> None:
    practice = Practice(home, "Ann", lambda: analyst, Clock())
    practice.add_new()
    rights = set()
    for kind in KINDS:
        exercise = practice.next(kind)
        assert exercise is not None and exercise.kind == kind and not exercise.mine
        for action in legal(exercise):
            answer = practice.answer(practice.exercise(exercise.id), action)
            decided = analyst.decision(exercise.view, action)
            assert answer.decision == decided and decided.reason
            scale = 1 if exercise.view["rules"]["target"][0] else 100
            loss, error = (decided.loss or 0.0) / scale, decided.error / scale
            assert answer.right == (loss < LEAST or loss <= ERRORS * error)
            rights.add((answer.right, decided.best == decided.played))
    assert {(True, True), (False, False)} <= rights


def test_own_mistakes_come_first_by_cost(home: Home, analyst: Analyst) -> None:
    play(home)
    analyse_games(home, "Ann", analyst)
    own = mistakes(home, "Ann")
    practice = Practice(home, "Ann", lambda: analyst, Clock())
    practice.add_new()
    practice.add_new()
    places = []
    for each in own:
        exercise = practice.next(whose=MINE)
        assert exercise is not None and exercise.mine
        view = home.record(each.game).hands[each.hand - 1].after(each.move - 1).view()
        assert exercise.view.tobytes() == parse_view(exercise.position).tobytes()
        assert exercise.view["hand"][0] == view["hand"][0]
        places.append((each.game, each.hand, each.move))
        # The move that was a mistake is one again, the better one is right.
        assert not practice.answer(exercise, parse_action(each.played)).right or len(own) > 3
    assert len(set(places)) == len(own) > 3 and practice.next(whose=MINE) is None
    following = practice.next()
    assert following is not None and not following.mine
    assert practice.progress().reviews == len(own)
    for wrong in ({"kind": "draws"}, {"whose": "yours"}):
        with refuses(GinError, *wrong, *wrong.values()):
            practice.next(**wrong)
    assert practice.next(whose=EVERYBODY) == following


def test_what_is_no_answer_changes_nothing(home: Home, analyst: Analyst) -> None:
    practice = Practice(home, "Ann", lambda: analyst, Clock())
    practice.add_new()
    exercise = practice.next()
    assert exercise is not None
    with pytest.raises(IllegalActionError):
        practice.answer(exercise, next(action for action in range(107) if action not in legal(exercise)))
    practice.answer(exercise, legal(exercise)[0])
    with pytest.raises(StoreError):
        practice.answer(exercise, legal(exercise)[0])
    with refuses(StoreError, "Ann", 12345):
        practice.exercise(12345)
    assert practice.progress().reviews == 1


def test_skill_is_the_loss_per_decision_of_analysed_hands(home: Home, analyst: Analyst) -> None:
    assert skill(home, "Ann") is None
    for seed in (3, 4):
        play(home, seed)
    count = analyse_games(home, "Ann", analyst)
    total = skill(home, "Ann")
    hands = [hand for game in home.games("Ann") for hand in home.record(game.id).hands]
    sides = [side for hand in hands for side in [analyst.hand(hand).sides[0]] if side.decisions]
    assert total is not None and (total.hands, total.decisions) == (len(sides), sum(each.decisions for each in sides))
    wanted = sum(each.loss for each in sides) / sum(each.decisions for each in sides)
    assert (
        len(sides) <= count and total.loss.mean == pytest.approx(wanted) and total.loss.low < wanted < total.loss.high
    )


def test_the_set_for_everybody_is_clear() -> None:
    made: Any = read_json(POSITIONS)
    assert made["command"].startswith("python -m benchmarks.data.practice_positions")
    answers = Counter(f"{each['kind']}: {each['best'].partition(' ')[0]}" for each in made["positions"])
    assert made["counts"] == answers and {answer.partition(":")[0] for answer in answers} == set(KINDS)
    assert len({each["position"] for each in made["positions"]}) == len(made["positions"])
    docs = Path(__file__).parents[1] / "docs" / "play.md"
    assert f"a set of {len(made['positions'])} for everybody" in docs.read_text(encoding="utf-8")
    analyst = Analyst(worlds=512, seed=7)
    for each in made["positions"]:
        view = parse_view(each["position"])
        assert parse_action(each["best"]) in actions_of(view["legal"][0])
    for each in made["positions"][:: max(1, len(made["positions"]) // 8)]:
        decision = analyst.decision(parse_view(each["position"]), parse_action(each["best"]))
        assert decision.mark in ("", "unclear"), each


def test_practice_at_the_terminal(talk, monkeypatch) -> None:
    monkeypatch.setattr("agents.play.review.WORLDS", 16)
    practice = Practice(talk.home, "Ann", lambda: pytest.fail())
    practice.add_new()
    exercise = practice.next("discard")
    assert exercise is not None
    best = next(each["best"] for each in read_json(POSITIONS)["positions"] if each["position"] == exercise.position)
    talk.answers = ["frobnicate", "take", best, "q"]
    practise(talk.terminal, talk.home, "Ann", "discard")
    shown = " ".join(talk.screen.getvalue().split())
    assert "frobnicate" in shown and "you cannot take the upcard now" in shown
    assert re.search(r"Right.* The expert: discard ", shown) and "It comes again in 10 minutes" in shown
    assert "1 answer so far, 1 right" in shown
    with refuses(GinError, "gin"):
        practise(talk.terminal, talk.home, "Ann", "gin")


def test_skill_and_rating_stand_beside_each_other_at_both_tables(home: Home, analyst: Analyst) -> None:
    assert standing(home, "Ann") == []
    for seed in (3, 4):
        play(home, seed)
    analyse_games(home, "Ann", analyst)
    level = load_level(MATCHED)
    person = MatchedPlayer(level, 1, profile=Profile(home.path, level, "Ann"))
    play_series(person, make_player("simple", 2), series=1, hands=3, seed=7)
    words = cost, rated = standing(home, "ann")
    assert "analysed hands" in cost and str(person_rating(home.path, "Ann")) in rated and "after 3 hands" in rated
    talk = Talk(home.path)
    practise(talk.terminal, home, "Ann")
    shown = [" ".join(talk.screen.getvalue().split())]
    talk.session.close()
    ann = Guest(home.path)
    shown += [plain(ann.get(path)) for path in ("/practice", "/statistics")]
    assert all(line in page for page in shown for line in words)
    # Practice goes on where the rating's file is damaged.
    (home.path / "levels" / f"{MATCHED}.json").write_text("{}")
    assert "cannot be read" in standing(home, "Ann")[-1] and "Your skill" in ann.get("/practice")
    ann.close()


def test_practice_in_pages(guest, monkeypatch) -> None:
    monkeypatch.setattr("agents.play.review.WORLDS", 16)
    ann = guest()
    shown = ann.get("/practice?kind=knock")
    fields = dict(re.findall(r'name="(exercise|reviews|kind|whose)" value="([^"]*)"', shown))
    moves = re.findall(r'name="move" value="([^"]+)"', shown)
    assert "Knock, from the set" in shown and len(moves) > 2
    assert "0 answers so far" in shown
    after = ann.post("/practice", **fields, move=moves[-1])
    assert "The expert:" in after and "It comes again in" in after and "1 answer so far" in after
    # A second click, and what is no move.
    assert "answered already" in ann.post("/practice", **fields, move=moves[0])
    assert "frobnicate" in ann.post("/practice", **fields | {"reviews": "1"}, move="frobnicate")
    on_buttons = plain(ann.get("/practice?next=1&kind=draw"))
    assert re.search(r"Take the \S+ from the pile", on_buttons) and re.search("Draw from the stock|Pass on", on_buttons)
    following = ann.get("/practice?next=1&kind=knock")
    assert dict(re.findall(r'name="(exercise)" value="(\d+)"', following))["exercise"] != fields["exercise"]
    assert ann.client.get("/practice?next=1&kind=foo").status_code == 400
