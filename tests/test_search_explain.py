"""Explaining a decision of the search: what it says, and of which texts and files it takes a position."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_search import SMALL_SEARCH, mid_hand, views_of

from agents.search import make_search
from agents.search.explain import explain, main, picture, read_view, tables
from ginenv.engine.state import same_records
from ginenv.errors import GinError, TextError
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import format_record
from ginenv.hands.text import format_position, format_view
from ginenv.tables.players import make_player
from tests.support.refusals import refuses

SEARCH = "search:" + ",".join(f"{key}={value}" for key, value in SMALL_SEARCH.items())


def test_explain_says_what_the_search_found() -> None:
    view = views_of(9)[8:9]
    about = explain(view, make_search(0, **SMALL_SEARCH))
    assert about["candidates"][0]["action"] == about["action"]
    assert np.isclose(np.sum(about["belief"]), 10, atol=0.01)
    assert np.isclose(sum(line["policy"] for line in about["candidates"]), 1, atol=0.001)
    assert [table.row_count for table in tables(about)] == [len(about["candidates"]), 4]
    assert [len(axes.patches) > 0 or len(axes.images) > 0 for axes in picture(about).axes] == [True, True]


def test_explain_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = views_of(9)[8:9]
    png = tmp_path / "why.png"
    # A shell makes many arguments of a line that is not quoted.
    main([*format_view(view).split(), "--json", "--png", str(png), "--player", SEARCH])
    assert json.loads(capsys.readouterr().out) == explain(view, make_search(0, **SMALL_SEARCH))
    assert png.read_bytes().startswith(b"\x89PNG")
    main([format_view(view), "--player", SEARCH])
    assert "the opponent holds" in capsys.readouterr().out


def test_a_position_is_read_as_the_view_of_the_seat_to_move() -> None:
    for state in mid_hand(12):
        hand = Hand(state.reshape(1))
        assert same_records(read_view(format_position(hand)), hand.view())
        assert same_records(read_view(format_view(hand.view())), hand.view())


@pytest.fixture(scope="module")
def game() -> Match:
    """Two hands that are over and a third in play."""
    match, player = Match("eaai", seed=4), make_player("simple", seed=1)
    for number in range(3):
        while not match.hand.is_over and not (number == 2 and len(match.hand.history) == 6):
            match.push(int(player.act(match.hand.view())[0]))
        if number < 2:
            match.next_hand()
    return match


@pytest.fixture
def record(game: Match, tmp_path: Path) -> str:
    path = tmp_path / "game.gin"
    path.write_text(format_record(game), encoding="utf-8")
    return str(path)


def test_a_moment_of_a_record_is_read_by_hand_and_move(game: Match, record: str) -> None:
    again = Match("eaai", seed=4)
    hands = [*(hand.history for hand in game.played), game.hand.history]
    for number, history in enumerate(hands, 1):
        for move, action in enumerate(history, 1):
            assert same_records(read_view(record, number, move), again.hand.view())
            again.push(action)
        if number < len(hands):
            again.next_hand()
    # The position now, and the last decision of a hand that is over.
    assert same_records(read_view(record), again.hand.view())
    last = read_view(record, 1)
    assert last["to_move"][0] and last["num_history"][0] == len(hands[0]) - 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ginview1", "nonsense"], "cannot read"),
        (["gin1 rules=eaai deck=7C"], "cannot read"),
        ([], "''"),
        (["no/such/file"], "'no/such/file'"),
        (["RECORD", "--hand", "4"], "has no hand 4; its hands are 1 to 3"),
        (["RECORD", "--hand", "3", "--move", "99"], "has no move 99; its moves are 1 to 7"),
        (["BROKEN"], "line 1"),
        (["OVER"], "over"),
        (["VIEW", "--move", "3"], "record"),
        (["VIEW", "--player", "simple"], "player 'simple' cannot be explained; it must be search"),
    ],
)
def test_unreadable_files_are_reported_in_one_sentence(arguments, sentence, game, record, tmp_path):
    broken = tmp_path / "broken.gin"
    broken.write_text("dear diary\n", encoding="utf-8")
    texts = {
        "RECORD": record,
        "BROKEN": str(broken),
        "OVER": format_position(game.played[0]),
        "VIEW": format_view(views_of(1)),
    }
    with refuses(GinError, sentence):
        main([texts.get(argument, argument) for argument in arguments])


def test_a_view_of_a_seat_that_waits_is_refused() -> None:
    state = mid_hand(1)
    waiting = Hand(state).view(1 - int(state["turn"][0]))
    with refuses(ValueError):
        explain(waiting, make_search(0, **SMALL_SEARCH))
    with refuses(TextError):
        read_view("gin2 rules=eaai")
