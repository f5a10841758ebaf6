"""How freely the search chooses among what is nearly as good."""

from collections.abc import Callable

import numpy as np
import pytest
from test_search import SMALL_SEARCH, mid_hand

from agents.config import parse_config
from agents.search import make_search
from agents.search.candidates import CANDIDATE, choose
from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine.cards import cards_of
from ginenv.view.view import make_views


def candidates() -> tuple[np.ndarray, np.ndarray]:
    """Three discards and two knocks, with the values that two worlds give them."""
    found = np.zeros(5, CANDIDATE)
    found["action"] = [3, 7, 9, KNOCK + 3, KNOCK + 7]
    values = np.array([[0.50, 0.52], [0.50, 0.50], [0.30, 0.32], [0.40, 0.42], [0.40, 0.41]])
    return found, values.reshape(-1)


def shares(slack: float, found: np.ndarray, values: np.ndarray, draws: int = 20000) -> np.ndarray:
    counts = np.zeros(len(found))
    for word in np.random.default_rng(1).integers(0, 2**64, draws, dtype=np.uint64):
        counts[choose(found, values, 0.0, slack, word)] += 1
    return counts / draws


def test_discards_equal_to_the_best_are_chosen_as_often() -> None:
    found, values = candidates()
    assert shares(0.0, found, values).tolist() == [1, 0, 0, 0, 0]
    # The second is worse by 0.01, with a standard error of 0.01; the third is worse for certain.
    assert shares(0.9, found, values).tolist() == [1, 0, 0, 0, 0]
    assert shares(1.1, found, values)[:3] == pytest.approx([0.5, 0.5, 0], abs=0.015)


def test_what_is_reported_is_against_the_choice() -> None:
    found, values = candidates()
    for word in range(20):
        chosen = choose(found, values, 0.0, 1.1, np.uint64(1000 * word))
        assert found["error"][chosen] == 0 and found["error"][1 - chosen] == pytest.approx(0.01)


def test_neither_draws_nor_whether_to_knock_are_left_to_chance() -> None:
    found, values = candidates()
    assert shares(10.0, found, values)[3:].sum() == 0
    best_knocks = values.reshape(5, 2).copy()
    best_knocks[3] += 0.3
    drawn = shares(10.0, found, best_knocks.reshape(-1))
    assert drawn.tolist() == [0, 0, 0, 1, 0]
    draws = np.zeros(2, CANDIDATE)
    draws["action"] = [STOCK, UPCARD]
    assert shares(10.0, draws, np.array([0.5, 0.5, 0.49, 0.5]), 200).tolist() == [1, 0]


def test_a_search_that_varies_looks_at_what_its_policy_hardly_ever_plays() -> None:
    """A policy that is sure of a discard leaves nothing to search; where chance is to decide, it does."""
    states = mid_hand(60)
    views = make_views(states, states["turn"])
    views = views[(views["phase"] == PHASE_DISCARD) & (views["legal"][:, 1] == 0)][:8]

    def sure(views: np.ndarray, slots: np.ndarray | None) -> np.ndarray:
        logits = np.zeros((len(views), NUM_ACTIONS), np.float32)
        logits[np.arange(len(views)), firsts] = 15
        return logits

    firsts = np.array([cards_of(int(discards))[0] for discards in views["legal"][:, 0]])
    config = parse_config(SMALL_SEARCH, SearchConfig, "a test")
    varied = config.model_copy(update={"slack": 10.0, "policy_weight": 0.0})
    assert len(views) == 8
    np.testing.assert_array_equal(SearchPlayer(config, 1, sure).act(views), firsts)
    assert (SearchPlayer(varied, 1, sure).act(views) != firsts).sum() > 3


def test_a_search_that_varies_draws_as_its_policy_is_sure_to() -> None:
    """What is true of discards is not of draws: the policy's word counts where it leaves nothing to search."""
    states = mid_hand(60)
    views = make_views(states, states["turn"])
    draws = views[np.isin(views["phase"], (PHASE_DRAW, PHASE_UPCARD))][:16]

    def sure_of(action: int) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
        logits = np.zeros(NUM_ACTIONS, np.float32)
        logits[action] = 15
        return lambda views, slots: np.repeat(logits[None], len(views), 0)

    varied = parse_config(SMALL_SEARCH | {"slack": 10.0, "policy_weight": 0.0}, SearchConfig, "a test")
    assert len(draws) == 16
    assert (SearchPlayer(varied, 1, sure_of(UPCARD)).act(draws) == UPCARD).all()


def test_a_search_that_varies_chooses_otherwise_with_other_luck_alone() -> None:
    states = mid_hand(12)
    views = make_views(states, states["turn"])
    player = make_search(1, **SMALL_SEARCH, slack=2)
    chosen = []
    for word in range(12):
        again = views.copy()
        again["luck"] = views["luck"] + np.uint64(word)
        chosen.append(player.act(again).tolist())
    assert len({tuple(actions) for actions in chosen}) > 3
    assert (player.act(views) == chosen[0]).all()
