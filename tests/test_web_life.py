"""What makes the table alive: the opponent's remark, the last turns, sounds, and the daily deal with the levels' results."""

import datetime
import re
from types import SimpleNamespace

import numpy as np
import pytest

from agents.deal_streams import Domain
from agents.play import daily
from agents.play.events import last_turns, remark
from agents.web import daily as page
from agents.web.daily import _results
from ginenv.engine.engine import End
from ginenv.engine.outcome import Outcome
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player
from tests.support.hidden import redeal_hidden
from tests.support.session_scenes import FITS, KNOCKS, NO_MELD, deck, prepared
from tests.support.web_scenes import Guest, plain

DAY = datetime.date(2026, 11, 29)


@pytest.mark.parametrize(
    ("outcome", "to_seat_0", "to_seat_1"),
    [
        (
            Outcome(End.KNOCK, 0, 0, 24, (7, 31)),
            "You knocked with 7; I still had 31.",
            "I knocked with 7; you still had 31.",
        ),
        (
            Outcome(End.KNOCK, 1, 1, 5, (8, 3), laid_off=(6, 10)),
            "I knocked with 3; you laid off the 7S and the JS and still had 8.",
            "You knocked with 3; I laid off the 7S and the JS and still had 8.",
        ),
        (Outcome(End.GIN, 0, 0, 55, (0, 30)), "You went gin; I still had 30.", "I went gin; you still had 30."),
        (
            Outcome(End.BIG_GIN, 1, 1, 61, (30, 0)),
            "I went big gin; you still had 30.",
            "You went big gin; I still had 30.",
        ),
        (
            Outcome(End.UNDERCUT, 1, 0, 28, (9, 6)),
            "You knocked with 9, but I had only 6.",
            "I knocked with 9, but you had only 6.",
        ),
        (
            Outcome(End.TIE, None, 1, 0, (4, 4)),
            "I knocked with 4, but you had 4 too.",
            "You knocked with 4, but I had 4 too.",
        ),
    ],
)
def test_the_opponent_says_how_the_hand_ended(outcome, to_seat_0, to_seat_1):
    assert (remark(outcome, 0), remark(outcome, 1)) == (to_seat_0, to_seat_1)


@pytest.mark.parametrize("end", [End.STOCK, End.UPCARD_LIMIT, End.REPEATED_UPCARD])
def test_a_drawn_hand_has_a_remark_too(end):
    assert re.fullmatch(r"[A-Z].* .*\.", remark(Outcome(end), 0))


def test_the_last_turns_are_what_both_sides_have_seen():
    hand = Hand.deal("eaai", deck=deck(KNOCKS, NO_MELD, "KD", "KC"), starter=0)
    hand.push("pass")
    hand.push("pass")
    assert last_turns(hand.view(0)[0], "Pip") == ["You pass", "Pip passes", "You draw"]
    hand.push("discard KC")
    hand.push("take")
    hand.push("discard QC")
    assert last_turns(hand.view(0)[0], "Pip", 2) == ["You draw, discard the KC", "Pip takes the KC, discards the QC"]
    assert last_turns(hand.view(1)[0], "Ann", 2) == ["Ann draws, discards the KC", "You take the KC, discard the QC"]
    hand.push("stock")
    seen = last_turns(hand.view(1)[0], "Ann")
    hand.state[:] = redeal_hidden(hand.state, 1, np.random.default_rng(1))
    assert seen[-1] == "Ann draws" and last_turns(hand.view(1)[0], "Ann") == seen


def test_the_table_shows_faces_turns_and_a_remark_and_switches_sounds(guest):
    ann = guest(prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1))
    shown = ann.get("/table")
    assert 'class="portrait"' in shown and "data-sounds" in shown and 'data-key="o" aria-pressed="true"' in shown
    shown = ann.do(do="sounds", at="elsewhere")
    assert "data-sounds" not in shown and 'data-key="o" aria-pressed="false"' in shown
    assert not ann.person.session.options.sounds
    ann.do(do="pass")
    ann.do(do="done")
    assert "“I knocked with 6; you still had 57.”" in plain(ann.get("/table"))
    ann.do(do="next")
    ann.do(do="pass") if ann.person.session.hand.phase == "upcard" else None
    turns = re.findall(r'<ol class="turns".*?</ol>', ann.get("/table"), flags=re.DOTALL)
    assert last_turns(ann.person.session.view, "Formula")[-1].split()[0] in plain(turns[0])


def test_the_deal_of_a_day_is_the_same_for_everybody_and_another_one_the_next_day():
    one, same, next_day = (daily.daily_game(day) for day in (DAY, DAY, DAY + datetime.timedelta(1)))
    state = one.match.hand.state
    assert state.tobytes() == same.match.hand.state.tobytes() and one.seed == same.seed
    assert (state["deck"] != next_day.match.hand.state["deck"]).any()
    assert int(state["key"][0]) >> 60 == Domain.DAILY not in {Domain.TRAIN, Domain.SELECT, Domain.EVAL}


@pytest.fixture
def quick_levels(monkeypatch):
    """Two bots in the levels' place, and no results of other tests."""
    monkeypatch.setattr(daily, "LEVELS", ("simple", "random"))
    _results.clear()


def _play_daily(ann: Guest, player: str) -> int:
    """Plays today's deal as a player does; the points."""
    ann.decent = make_player(player, page.datetime.date.today().toordinal())
    assert "Formula" in ann.post("/daily")
    while not ann.person.session.hand.is_over:
        ann.move()
    score = ann.person.session.match.score
    return score[0] - score[1]


def test_the_result_of_the_day_stands_beside_the_levels_who_had_the_same_cards(guest, quick_levels):
    ann = guest()
    assert 'href="/daily"' in ann.get("/")
    points = _play_daily(ann, "simple")
    assert 'href="/daily"' in ann.get("/table")
    shown = ann.get("/daily")
    _results[datetime.date.today()].wait(60)
    rows = re.findall(r'class="text">(\w+)</th><td>([+−]\d+)', ann.get("/daily"))
    found = {name: int(number.replace("−", "-")) for name, number in rows}
    assert f"{points:+d}".replace("-", "−") in shown.replace("-", "−")
    assert found.keys() == {"Ann", "Simple", "Random"} and found["Ann"] == found["Simple"] == points
    assert list(found.values()) == sorted(found.values(), reverse=True)
    # Nobody plays it twice.
    ann.post("/daily", sure="1")
    assert ann.person.session.file.game is None and len(ann.person.session.file.games()) == 1


def test_a_deal_of_the_day_that_nobody_wins_is_over_with_its_hand(guest, quick_levels, monkeypatch):
    """``simple`` and its opponent play this day's cards to the wall."""
    day = datetime.date(2026, 1, 18)
    monkeypatch.setattr(page, "datetime", SimpleNamespace(date=SimpleNamespace(today=lambda: day)))
    ann = guest()
    assert _play_daily(ann, "simple") == 0 and ann.person.session.match.outcomes[-1].winner is None
    assert ann.person.session.file.game is None
    ann.get("/daily")
    _results[day].wait(60)
    assert dict(re.findall(r'class="text">(\w+)</th><td>(\+0|given up)', ann.get("/daily"))) == {
        "Ann": "+0",
        "Simple": "+0",
    }
    assert "given up" not in plain(ann.post("/new", sure="1"))


def test_levels_that_could_not_play_are_asked_again(guest, quick_levels, monkeypatch):
    ann = guest()
    _play_daily(ann, "simple")
    monkeypatch.setattr(daily, "LEVELS", ("no-such-level",))
    assert "The levels could not play" in plain(ann.get("/daily"))
    monkeypatch.setattr(daily, "LEVELS", ("simple",))
    ann.get("/daily")
    _results[datetime.date.today()].wait(60)
    assert "Simple" in plain(ann.get("/daily"))


def test_an_unfinished_game_is_not_lost_to_the_deal_of_the_day_without_a_word(guest, quick_levels):
    ann = guest(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0))
    assert "will be lost" in plain(ann.post("/daily"))
    assert ann.person.session.file.game.name == "prepared"
    ann.post("/daily", sure="1")
    assert ann.person.session.file.game.day
    assert 'id="table"' in ann.get("/daily"), "it is in play"


def test_a_deal_of_the_day_that_was_begun_is_not_dealt_again(guest, quick_levels):
    ann, today = guest(), datetime.date.today()
    ann.post("/daily")
    ann.move()
    played = ann.person.session.hand.history
    assert 'id="table"' in ann.post("/daily", sure="1") and ann.person.session.hand.history == played
    ann.person.session.game.begun = "2001-02-03T04:05:06"
    table, lobby = plain(ann.get("/table")), plain(ann.get("/"))
    assert "one hand: today’s deal" in table and "Standard, one hand (today’s deal)" in table
    assert "hand 1" not in table and "target 0" not in table
    assert "game: today’s deal, which" in lobby and "Today’s deal will be given up for good" in lobby
    assert "the same for everybody. Go on with it" in lobby and "Play it" not in lobby
    assert f"The deal of {today} is given up" in plain(ann.post("/new", sure="1"))
    ann.post("/daily", sure="1")
    assert ann.person.session.file.game.name != daily.daily_name(today), "another game is in play"
    _results[today].wait(60)
    shown = plain(ann.get("/daily"))
    assert re.search(r"Ann\W*given up", shown) and "Simple" in shown and "Analyse your" not in shown
    # There is nothing to analyse, but its cards can be looked at.
    assert "/analysis?game=" not in ann.get("/records") and "one hand, step 1" in plain(ann.get("/replay?record=1"))
    records = plain(ann.get("/records"))
    assert "Standard, one hand (today’s deal)" in records and "2001-02-03 04:05:06" in records
    assert "You gave it up; see" in plain(ann.get("/"))
    game = ann.person.session.file.games()[0].id
    assert "no hand of this game has ended" in ann.client.get(f"/analysis?game={game}").text
    ann.person.session.leave_game()
    ann.person.session.file.game = None
    assert "You have not finished a hand yet." in plain(ann.get("/analysis"))
