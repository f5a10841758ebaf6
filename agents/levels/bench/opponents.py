"""The opponents of the adaptation benchmark: those held out from training, and those against which learning might do harm.

Ten are drawn from the generator of the training population with a seed of their own, and two are of kinds that nothing is trained on
(``agents.levels.bench.unfamiliar_opponents``). Levels and settings are chosen on other styles.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from agents.levels.bench.unfamiliar_opponents import KINDS
from ginenv.bots.heuristics import StylePlayer, style
from ginenv.bots.style_kernels import STYLE, act_batch
from ginenv.errors import GinError, unknown_name
from ginenv.tables.players import BasePlayer, Player

# Styles drawn from a seed, with what they lose to ``network`` (docs/log/adaptation.md).
HELD_OUT = Path(__file__).with_name("held_out.json")


class PlayersBySeries(BasePlayer):
    """Several players, each with its own series: series ``i`` is played by player ``i // series``.

    Args:
        players: the players.
        series: number of series of each.
    """

    name = "players by series"

    def __init__(self, players: Sequence[Player], series: int) -> None:
        super().__init__()
        self.players, self.series = players, series

    def _shares(self, slots: np.ndarray | None) -> list[tuple[Player, np.ndarray]]:
        """Each player with the rows of a batch that are its own."""
        if slots is None:
            raise GinError("slots are missing; players by series need the series of each view")
        numbers = np.asarray(slots) // self.series
        shares = [(player, np.flatnonzero(numbers == k)) for k, player in enumerate(self.players)]
        return [(player, rows) for player, rows in shares if rows.size]

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Asks each player about its own series."""
        actions = np.empty(len(views), np.int64)
        for player, rows in self._shares(slots):
            actions[rows] = player.act(views[rows], slots[rows])  # type: ignore[index]
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Shows each player its own hands."""
        for player, rows in self._shares(slots):
            player.observe_hands(views[rows], slots[rows])  # type: ignore[index]


class Switcher(BasePlayer):
    """Plays one style, and another from some hand of each series on.

    Args:
        first: style before the switch.
        then: style from the switch on.
        at: number of the first hand of the second style.
        seed: of its luck.
    """

    def __init__(self, first: np.ndarray, then: np.ndarray, at: int, seed: int = 0, name: str = "switcher") -> None:
        super().__init__(seed)
        self.styles, self.at, self.name = np.concatenate([first, then]), at, name
        self.hands: dict[int, int] = {}

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed and begins every series again."""
        super().reset(seed)
        self.hands.clear()

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        tables = np.zeros(len(views), np.int64) if slots is None else np.asarray(slots)
        index = np.array([self.hands.get(slot, 0) >= self.at for slot in tables.tolist()], np.int64)
        actions = np.empty(len(views), np.int64)
        act_batch(views, self.styles, index, np.uint64(self.seed % 2**64), actions)
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Counts the hands of each series."""
        if slots is not None:
            for slot in np.asarray(slots).tolist():
                self.hands[slot] = self.hands.get(slot, 0) + 1


@cache
def _held_out() -> dict[str, Any]:
    return json.loads(HELD_OUT.read_text(encoding="utf-8"))


def held_out_names() -> list[str]:
    """The held-out opponents: ten styles and two kinds of their own."""
    return [*_held_out()["styles"], *KINDS]


def held_out(name: str, seed: int = 0) -> Player:
    """A held-out opponent by its name.

    Raises:
        GinError: if there is none of that name.
    """
    if name in KINDS:
        return KINDS[name](seed)
    styles = _held_out()["styles"]
    if name not in styles:
        raise GinError(unknown_name("held-out opponent", name, held_out_names()))
    record = np.zeros(1, STYLE)
    for field, value in styles[name].items():
        record[field] = value
    player = StylePlayer(record, seed)
    player.name = name
    return player


def switcher(hands: int, seed: int = 0) -> Switcher:
    """Knocks at once in the first half of the hands, then plays for gin."""
    return Switcher(style("simple"), style("camper"), hands // 2, seed, "switcher")


def baiter(hands: int, seed: int = 0) -> Switcher:
    """Plays only for gin until the level may have learned that, then knocks as early as the best bot."""
    return Switcher(style("camper"), style("knocker"), min(60, hands // 3), seed, "baiter")
