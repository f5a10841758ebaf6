"""A player that Python has to ask, for tests of what players are asked and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ginenv.tables.players import BasePlayer, make_player
from ginenv.view.view import action_masks


def first_legal(views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
    """The first legal action of each view."""
    return action_masks(views).argmax(axis=1)


class CountingPlayer(BasePlayer):
    """Plays as a built-in player or a function does, and writes down what it hears.

    Attributes:
        calls: how many views it was asked about, by call.
        slots: all that it was asked about.
        ended: views of finished hands, by call.
        forgotten: slots that it was to forget.
    """

    def __init__(self, act: str | Callable[..., Any] = first_legal, name: str = "asked", **attributes: Any) -> None:
        super().__init__()
        self.name, self.inner = name, make_player(act).act if isinstance(act, str) else act
        self.calls: list[int] = []
        self.slots: set[int] = set()
        self.ended: list[np.ndarray] = []
        self.forgotten: list[int] = []
        vars(self).update(attributes)

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        assert slots is not None and (views["to_move"] == 1).all()
        self.calls.append(len(views))
        self.slots.update(slots.tolist())
        return self.inner(views, slots)

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        self.ended.append(views.copy())

    def forget(self, slots: np.ndarray | None = None) -> None:
        self.forgotten += [] if slots is None else slots.tolist()
