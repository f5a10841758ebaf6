import pytest

from agents.arena import play_match
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError
from ginenv.tables.players import BasePlayer
from ginenv.view.view import action_masks
from tests.support.exact import REDUCED, ExactResponse
from tests.support.refusals import refuses


class FirstLegal(BasePlayer):
    """Knocks when it can, else plays the first legal action: fixed, and without luck."""

    name = "first-legal"

    def act(self, views, slots=None):
        masks = action_masks(views)
        masks[:, :52] &= masks[:, 52:104].max(axis=1, keepdims=True) ^ 1
        return masks.argmax(axis=1)


@pytest.fixture(scope="module")
def response():
    return ExactResponse(FirstLegal())


def test_the_exact_value_is_what_the_response_wins_in_the_arena(response):
    """The machinery of matches, deals and intervals, checked against a number that owes nothing to sampling."""
    result = play_match(response, FirstLegal(), rules=REDUCED, unit="hands", pairs=6000, seed=1)
    assert result.points.half < 0.5
    assert abs(result.points.mean - response.value) < 1.3 * result.points.half


def test_nobody_does_better_than_the_exact_response(response):
    # Copying the fixed player is one of the responses, and it wins nothing on average.
    assert response.value > 0 and len(response.policy) > 1000
    for name in ("simple", "formula", "camper", "random"):
        result = play_match(name, FirstLegal(), rules=REDUCED, unit="hands", pairs=500, seed=2)
        assert result.points.low < response.value
    assert play_match("random", FirstLegal(), rules=REDUCED, unit="hands", pairs=500).points.high < response.value


def test_a_deck_that_is_too_large_is_refused():
    with refuses(GinError, 52, 10):
        ExactResponse(FirstLegal(), get_rules("eaai"))
