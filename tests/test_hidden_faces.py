"""What is hidden dealt anew, seen through the faces for others: not a byte that a seat is given may change, in any phase."""

from __future__ import annotations

import copy
import importlib.util
from typing import Any

import numpy as np
import pytest

import ginenv
from ginenv.actions import PHASE_NAMES, STOCK
from tests.support.hidden import deal_hidden_anew

# Cards are spread and laid off by hand, from the other's knock or one's own.
RULES = ("ht1", "ht2-traditional")


class ThroughSelfPlay:
    """A table of ``SelfPlay``."""

    def __init__(self, rules: str) -> None:
        self.game = ginenv.SelfPlay(rules)
        self.game.reset(seed=3)

    def step(self, action: int) -> None:
        self.game.step(action)

    def told(self, seat: int) -> list[bytes]:
        """All that somebody in this seat can ask for."""
        observation, mask = self.game.observe(seat)
        return [observation.tobytes(), mask.tobytes(), self.game.view(seat).tobytes(), repr(self.game.rewards).encode()]


class ThroughPettingZoo:
    """A table of PettingZoo's."""

    def __init__(self, rules: str) -> None:
        from ginenv.adapters import pettingzoo as adapter

        self.table = adapter.env(rules=rules, render_mode="ansi")
        self.table.reset(seed=3)

    @property
    def game(self) -> ginenv.SelfPlay:
        inner: Any = self.table.unwrapped
        return inner._game

    def step(self, action: int) -> None:
        self.table.step(action)

    def told(self, seat: int) -> list[bytes]:
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


@pytest.mark.parametrize("face", [ThroughSelfPlay, pytest.param(ThroughPettingZoo, marks=needs_pettingzoo)])
@pytest.mark.parametrize("rules", RULES)
def test_what_is_hidden_changes_nothing_that_is_given(rules: str, face: type) -> None:
    rng = np.random.default_rng(6)
    one = face(rules)
    looked, seen = dict.fromkeys(PHASE_NAMES, 0), set()
    for number in range(60):
        one.game.reset(seed=number)
        if hasattr(one, "table"):
            one.table.reset(seed=number)
        while not one.game.over:
            view = one.game.view()[0]
            phase, seat = PHASE_NAMES[view["phase"]], one.game.seat
            legal = np.flatnonzero(one.game.observe()[1])
            # Knocks as soon as they come, so that there is something to spread and lay off.
            action = int(legal[-1] if phase == "discard" and legal[-1] >= 52 else rng.choice(legal))
            if number < 8 or phase in ("spread", "layoff"):
                for other in (0, 1):
                    twin = copy.deepcopy(one)
                    states = twin.game._tables._batch.states
                    states[:] = deal_hidden_anew(states, other, rng)
                    changed = (states["hands"] != one.game._tables._batch.states["hands"]).any()
                    assert twin.told(other) == one.told(other), (phase, other)
                    looked[phase] += changed
                    if other == seat and action != STOCK:
                        # What it is given after its own move has been made from what is on the table now.
                        after = copy.deepcopy(one)
                        after.step(action)
                        twin.step(action)
                        if not after.game.over:
                            assert twin.told(other) == after.told(other), (phase, other)
                            seen.add(phase)
            one.step(action)
    assert all(looked[phase] for phase in ("upcard", "draw", "discard", "spread", "layoff"))
    assert {"upcard", "draw", "discard", "spread"} <= seen
