"""What is hidden dealt again, seen through the faces for others: not a byte that a seat is given may change, in any phase."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import ginenv
from ginenv.engine.actions import PHASE_NAMES, STOCK
from ginenv.tables.players import make_player
from tests.support.hidden import redeal_hidden

# Cards are spread and laid off by hand, from the other's knock or one's own.
# The phases of the hands, and those in which a seat may go on after its own move.
RULES = {
    "ht1": ({"upcard", "draw", "discard", "spread", "layoff"}, {"upcard", "draw", "discard", "layoff"}),
    "ht2-traditional": ({"draw", "discard"}, {"draw"}),
}


class ThroughSelfPlay:
    """A table of ``SelfPlay``."""

    def __init__(self, rules: str) -> None:
        self.game = ginenv.SelfPlay(rules)

    def reset(self, seed: int) -> None:
        self.game.reset(seed=seed)

    def step(self, action: int) -> None:
        self.game.step(action)

    def observations_of(self, seat: int) -> list[bytes]:
        """All that somebody in this seat can ask for."""
        observation, mask = self.game.observe(seat)
        return [observation.tobytes(), mask.tobytes(), self.game.view(seat).tobytes(), repr(self.game.rewards).encode()]


class ThroughPettingZoo:
    """A table of PettingZoo's."""

    def __init__(self, rules: str) -> None:
        from ginenv.adapters import pettingzoo as adapter

        self.table = adapter.env(rules=rules, render_mode="ansi")

    def reset(self, seed: int) -> None:
        self.table.reset(seed=seed)

    @property
    def game(self) -> ginenv.SelfPlay:
        inner: Any = self.table.unwrapped
        return inner._game

    def step(self, action: int) -> None:
        self.table.step(action)

    def observations_of(self, seat: int) -> list[bytes]:
        """All that this agent can ask for."""
        agent = f"player_{seat}"
        observation = self.table.observe(agent)
        assert isinstance(observation, dict)
        given = [observation["observation"].tobytes(), observation["action_mask"].tobytes()]
        given += [repr((self.table.infos[agent], self.table.rewards[agent], self.table.terminations[agent])).encode()]
        if self.table.agent_selection == agent:
            given += [str(self.table.render()).encode(), repr(self.table.last()).encode()]
        return given


needs_pettingzoo = pytest.mark.skipif(
    importlib.util.find_spec("pettingzoo") is None, reason="pettingzoo is not installed"
)


def deal_anew(table: Any, seat: int, rng: np.random.Generator) -> bool:
    """Deals everything again that a seat cannot see; returns whether a hand changed."""
    states = table.game._tables._batch.states
    before = states["hands"].copy()
    states[:] = redeal_hidden(states, seat, rng)
    return bool((states["hands"] != before).any())


def put_back(table: Any, original: Any) -> None:
    """Makes a table the same as another one."""
    mine, other = table.game._tables, original.game._tables
    for name in ("states", "tables", "episodes"):
        getattr(mine._batch, name)[:] = getattr(other._batch, name)
    mine._rows[:], mine._masks[:] = other._rows, other._masks


@pytest.mark.parametrize("face", [ThroughSelfPlay, pytest.param(ThroughPettingZoo, marks=needs_pettingzoo)])
@pytest.mark.parametrize("rules", RULES)
def test_what_is_hidden_changes_nothing_that_is_given(rules: str, face: type) -> None:
    rng, player = np.random.default_rng(6), make_player("knocker")
    looked, moved = dict.fromkeys(PHASE_NAMES, 0), set()
    one, twin = face(rules), face(rules)
    for number in range(25):
        one.reset(number)
        twin.reset(number)
        while not one.game.over:
            view, seat = one.game.view(), one.game.seat
            phase = PHASE_NAMES[view["phase"][0]]
            if number < 3 or phase in ("spread", "layoff"):
                for other in (0, 1):
                    looked[phase] += deal_anew(twin, other, rng)
                    assert twin.observations_of(other) == one.observations_of(other), (phase, other)
                    put_back(twin, one)
            action = int(player.act(view)[0])
            one.step(action)
            # What is given to a seat that goes on after its own move is made from what is on the table by then.
            goes_on = not one.game.over and one.game.seat == seat and action != STOCK
            if goes_on:
                deal_anew(twin, seat, rng)
                moved.add(phase)
            twin.step(action)
            if goes_on:
                assert twin.observations_of(seat) == one.observations_of(seat), phase
                put_back(twin, one)
    phases, goes_on_in = RULES[rules]
    assert {phase for phase in looked if looked[phase]} == phases and moved == goes_on_in
