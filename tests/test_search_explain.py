"""Explaining a decision of the search: what it says, and of which texts it takes a position."""

import json

import numpy as np
import pytest
from test_search import SMALL_SEARCH, mid_hand, views_of

from agents.search import make_search
from agents.search.explain import explain, main, read_view, tables
from ginenv.engine.state import same_records
from ginenv.errors import GinError, TextError
from ginenv.hands.hand import Hand
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


def test_explain_prints_json_or_tables(capsys: pytest.CaptureFixture[str]) -> None:
    view = views_of(9)[8:9]
    # A shell makes many arguments of a line that is not quoted.
    main([*format_view(view).split(), "--json", "--player", SEARCH])
    assert json.loads(capsys.readouterr().out) == explain(view, make_search(0, **SMALL_SEARCH))
    main([format_view(view), "--player", SEARCH])
    assert "the opponent holds" in capsys.readouterr().out


def test_a_position_is_read_as_the_view_of_the_seat_to_move() -> None:
    for state in mid_hand(12):
        hand = Hand(state.reshape(1))
        assert same_records(read_view(format_position(hand)), hand.view())
        assert same_records(read_view(format_view(hand.view())), hand.view())


def over() -> Hand:
    hand, player = Hand.deal("eaai", seed=4), make_player("simple", seed=1)
    while not hand.is_over:
        hand.push(int(player.act(hand.view())[0]))
    return hand


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ginview1", "nonsense"], "cannot read"),
        (["gin1 rules=eaai deck=7C"], "cannot read"),
        ([], "''"),
        (["no/such/file"], "'no/such/file'"),
        (["OVER"], "over"),
        (["VIEW", "--player", "simple"], "player 'simple' cannot be explained; it must be search"),
    ],
)
def test_what_is_no_position_is_refused_in_one_sentence(arguments, sentence):
    texts = {"OVER": format_position(over()), "VIEW": format_view(views_of(1))}
    with refuses(GinError, sentence):
        main([texts.get(argument, argument) for argument in arguments])


def test_a_view_of_a_seat_that_waits_is_refused() -> None:
    state = mid_hand(1)
    waiting = Hand(state).view(1 - int(state["turn"][0]))
    with refuses(ValueError):
        explain(waiting, make_search(0, **SMALL_SEARCH))
    with refuses(TextError):
        read_view("gin2 rules=eaai")
