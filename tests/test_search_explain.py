"""Explaining a decision of the search."""

import numpy as np
from test_search import SMALL_SEARCH, mid_hand, views_of

from agents.search import make_search
from agents.search.explain import explain
from ginenv.hands.hand import Hand
from tests.support.refusals import refuses


def test_explain_says_what_the_search_found() -> None:
    view = views_of(9)[8:9]
    about = explain(view, make_search(0, **SMALL_SEARCH))
    assert about["candidates"][0]["action"] == about["action"]
    assert np.isclose(np.sum(about["belief"]), 10, atol=0.01)
    assert np.isclose(sum(line["policy"] for line in about["candidates"]), 1, atol=0.001)


def test_a_view_of_a_seat_that_waits_is_refused() -> None:
    state = mid_hand(1)
    waiting = Hand(state).view(1 - int(state["turn"][0]))
    with refuses(ValueError):
        explain(waiting, make_search(0, **SMALL_SEARCH))
