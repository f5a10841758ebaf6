"""Arrays that a caller built wrongly: every public function that takes views or states refuses them in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ginenv
from ginenv.bots.heuristics import StylePlayer, style
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.text import format_position, format_view, parse_position, parse_view
from ginenv.view.encoding import encode_views
from ginenv.view.history import move_arrays, read_moves
from ginenv.view.view import action_masks, make_views
from tests.support.refusals import refuses

HAND = Hand.deal("eaai", seed=1)
VIEWS = HAND.view()
TAKES_VIEWS: dict[str, Callable[[Any], Any]] = {
    "format_view": format_view,
    "encode_views": encode_views,
    "action_masks": action_masks,
    "read_moves": read_moves,
    "move_arrays": move_arrays,
    **{name: ginenv.make_player(name).act for name in ("random", "simple", "formula", "network")},
    "style": StylePlayer(style("simple")).act,
}
TAKES_STATES: dict[str, Callable[[Any], Any]] = {
    "make_views": lambda states: make_views(states, 0),
    "Hand": Hand,
    "format_position": format_position,
}
TAKES_TEXT: dict[str, Callable[[Any], Any]] = {
    "parse_view": parse_view,
    "parse_position": parse_position,
}


def wrong(right: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    return {
        "nested": right[None],
        "of the other kind": other,
        "numbers": np.zeros((3, 3), int),
        "ragged": [[1], [1, 2]],
        "objects": np.array([[right]], object),
        "nothing": None,
    }


@pytest.mark.parametrize("name", [*TAKES_VIEWS, *TAKES_STATES, *TAKES_TEXT])
def test_arrays_of_another_kind_are_refused_in_a_sentence(name: str) -> None:
    states = name in TAKES_STATES
    call = (TAKES_VIEWS | TAKES_STATES | TAKES_TEXT)[name]
    for kind, given in wrong(*(HAND.state, VIEWS) if states else (VIEWS, HAND.state)).items():
        with pytest.raises(GinError) as caught:
            call(given)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 700, (kind, str(caught.value))


def test_there_is_no_view_of_a_third_seat() -> None:
    for seat in (2, -1, 256, 0.5):
        with refuses(GinError, 0, 1):
            make_views(HAND.state, seat)  # type: ignore[arg-type]


def test_a_single_record_is_a_batch_of_one() -> None:
    assert format_view(VIEWS[0]) == format_view(VIEWS)
    assert np.array_equal(encode_views(VIEWS[0]), encode_views(VIEWS))
    with refuses(GinError, "[2]"):
        format_view(np.concatenate([VIEWS, VIEWS]))
