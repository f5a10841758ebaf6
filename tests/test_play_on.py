"""Recorded hands that are played on: the same cards, the result beside what happened then, and nothing kept of it."""

import re

import pytest

from agents.play.play_on import play_on
from agents.play.store import Home
from ginenv.engine.cards import card_name, cards_of
from ginenv.errors import GinError
from ginenv.hands.records import Record
from ginenv.tables.players import make_player
from tests.support.refusals import refuses
from tests.support.session_scenes import store_random_game
from tests.support.web_scenes import attribute, command_of, plain


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.create("Ann").close()
    store_random_game(home, "20260101-000000-0001", 3)
    return home


def recorded(home: Home) -> Record:
    return home.record(home.games("Ann")[0].id)


def play(session, person) -> None:
    session.go_on()
    while not session.hand.is_over:
        session.play(int(person.act(session.hand.view(session.seat))[0]))
        session.go_on()


def test_every_position_goes_on_with_the_same_cards(home):
    file, record = home.open("Ann"), recorded(home)
    for number, hand in enumerate(record.hands, 1):
        for move in range(1, len(hand.history) + 1, 5):
            session = play_on(file, record, number, move, 0, "formula")
            session.resume()
            before = hand.after(move - 1)
            assert (session.hand.state["deck"] == before.state["deck"]).all() and session.hand.turn == before.turn
            assert (session.view == before.view(0)[0]).all() and len(session.match.played) == number - 1
            play(session, make_player("formula"))
            assert session.hand.history[: move - 1] == hand.history[: move - 1]
            assert session.match.outcomes[-1] == session.match.played[-1].outcome
    # Whoever does the same as then comes to the same end.
    last = record.hands[-1]
    session = play_on(file, record, len(record.hands), 4, 0, "formula")
    session.resume()
    session.go_on()
    while not session.hand.is_over:
        session.play(last.history[len(session.hand.history)])
        session.go_on()
    assert session.match.outcomes[-1] == last.outcome


def test_nothing_is_kept_and_no_level_learns(home):
    file, record = home.open("Ann"), recorded(home)
    before = [file.home.record_text(game.id) for game in file.games()], file.statistics.model_dump(), file.game
    session = play_on(file, record, 1, 1, None, "level-1")
    session.resume()
    assert session.seat == record.hands[0].after(0).turn
    play(session, make_player("formula"))
    session.set_option("cloth", "wine")
    again = Home(home.path)
    file.close()
    file = again.open("Ann")
    assert ([again.record_text(game.id) for game in file.games()], file.statistics.model_dump(), file.game) == before
    assert file.options.cloth == "green" and not list(home.path.glob("levels/**/*.json"))


def test_a_hand_or_a_move_that_does_not_exist_is_refused(home):
    file, record = home.open("Ann"), recorded(home)
    with refuses(GinError, 99, f"1 to {len(record.hands)}"):
        play_on(file, record, 99, 1, 0, "formula")
    with pytest.raises(GinError):
        play_on(file, record, 1, len(record.hands[0].history) + 1, 0, "formula")


def test_a_replay_is_played_on_in_the_browser_beside_the_game_in_play(guest):
    ann = guest(rules="eaai")
    ann.play_game()
    ann.post("/new", sure="1")
    table, games = ann.person.table, ann.person.session.file.games()
    mark, record = table.mark, ann.people.home.record(games[0].id)
    shown = ann.get("/replay?record=1&at=4")
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', shown))
    assert form["hand"] == "1" and form["move"] == "5" and 'value="level-4"' in shown
    form = {name: value.replace("&amp;", "&") for name, value in form.items()}
    ann.refused("/play-on/new", **form | {"opponent": "formula"})
    ann.refused("/play-on/new", **form | {"opponent": "level-1", "game": 77})
    shown = ann.post("/play-on/new", **form, opponent="level-1")
    side = ann.person.side_table
    (back,) = re.findall(r'<a href="([^"]*)" id="to-recorded"', shown)
    assert back == "/replay?record=1&amp;at=4" and "played on, counts nowhere" in plain(shown)
    assert "counts nowhere" not in ann.get("/table")
    assert 'action="/play-on"' in shown and side is not None and 'id="hand"' in shown
    open_cards = set(re.findall(r'data-name="(\w\w)"', shown))
    hidden = int(side.session.hand.state["hands"][0, 1]) & ~int(side.session.view["known_cards"][1])
    assert open_cards and open_cards.isdisjoint(map(card_name, cards_of(hidden)))
    person = make_player("formula")
    while not side.session.hand.is_over:
        do, values = command_of(side.session, int(person.act(side.session.view.reshape(1))[0]))
        shown = ann.post(
            "/play-on",
            do="just discard" if do == "card" and side.session.turn.phase == "discard" else do,
            at=side.mark,
            **values,
        )
    assert f"In the record: {record.hands[0].outcome.describe(('Ann', 'Formula'))}" in plain(shown)
    assert (
        "do-next" not in shown
        and attribute(shown.split("Back to the recorded")[0].rpartition("<a")[2], "href") == "/replay?record=1&amp;at=4"
    )
    assert (table.mark, len(ann.person.session.file.games())) == (mark, len(games))
    assert 'action="/table"' in ann.get("/table") and ann.person.session.file.game is not None


def test_the_next_hand_of_a_game_in_play_is_not_dealt_beside_it(guest):
    ann = guest(rules="eaai,target=500")
    ann.post("/new", sure="1")
    while not ann.person.session.hand.is_over:
        ann.move()
    [game] = ann.person.session.file.games()
    assert not game.over
    ann.post("/play-on/new", game=game.id, hand=1, move=1, opponent="level-1")
    side = ann.person.side_table
    play(side.session, make_player("formula"))
    for do in ("next", "another game"):
        ann.post("/play-on", do=do, at=side.mark)
        assert side.session.hand.is_over and len(side.session.match.played) == 1
