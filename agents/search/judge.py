"""Worlds judged by a trained critic instead of being played to the end.

The critic sees both hands of a world and what its stock will bring, as it did in training, so its value of a world has a hundredth of a
playout's luck in it. Before it judges, both sides may play a few half-moves by the network's policy, in all worlds of all candidates and
games at once.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from agents.advice import Adviser
from agents.checkpoint import load_critic
from agents.equity import bank_chance
from agents.losses import expand_cards
from agents.network_player import PLAYED, load_network
from agents.networks import NUM_FUTURE, FrozenCritic, has_bfloat16_units
from agents.rollout import GAME, POINT, observe_states
from agents.search.kernels import price
from agents.search.playout import copy_state
from agents.style_kernels import choose_lay_off, choose_spread
from ginenv.actions import PHASE_LAYOFF, PHASE_OVER, PHASE_SPREAD
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.engine import STATE, apply
from ginenv.jit import kernel
from ginenv.rules import R_TARGET
from ginenv.view import VIEW, look

# Worlds that are judged in one pass.
_PASS = 8192


@kernel
def _going(states, index, count, seats, bank, layout, tables, values):
    """Prices the hands that are over and returns how many others ``index`` now names."""
    left = 0
    for k in range(count):
        i = index[k]
        s = states[i]
        if s.phase == PHASE_OVER:
            values[i] = price(s, seats[i], 1, bank, layout, tables[i])
        else:
            index[left] = i
            left += 1
    return left


@kernel
def _look_all(states, index, views):
    for k in range(views.shape[0]):
        s = states[index[k]]
        look(s, np.int64(s.turn), views[k])


@kernel
def _apply_all(states, index, views, actions, bounds):
    for k in range(views.shape[0]):
        s = states[index[k]]
        seat = np.int64(s.turn)
        if views[k].phase == PHASE_SPREAD:
            apply(s, choose_spread(views[k]))
        elif views[k].phase == PHASE_LAYOFF:
            apply(s, choose_lay_off(views[k]))
        else:
            if views[k].legal[1] and actions[k] < 52:
                bounds[index[k], seat] = 1
            apply(s, actions[k])


@kernel
def _gather(states, index, bounds, out, out_bounds):
    for k in range(index.shape[0]):
        copy_state(out[k], states[index[k]])
        for seat in range(2):
            out_bounds[k, seat] = bounds[index[k], seat]


class Judge:
    """Values of worlds by a checkpoint's critic.

    Args:
        path: of the checkpoint; it must hold a critic.
        half_moves: half-moves that both sides play by its policy before it judges.
        seed: of that play.

    Raises:
        CheckpointError: if it cannot be used.
    """

    def __init__(self, path: str, half_moves: int = 0, seed: int = 0) -> None:
        self.critic = FrozenCritic(load_critic(Path(path)), has_bfloat16_units())
        self.half_moves = half_moves
        self.player = load_network(path, seed, PLAYED) if half_moves else None
        self.adviser = Adviser()
        self.views = np.zeros(_PASS, VIEW)
        self.states = np.zeros(_PASS, STATE)

    def __call__(
        self,
        states: np.ndarray,
        bounds: np.ndarray,
        seats: np.ndarray,
        bank: np.ndarray,
        layout: np.ndarray,
        tables: np.ndarray,
    ) -> np.ndarray:
        """What each world is worth to a seat: the chance to win the game, or points / 100 where there is none.

        Args:
            states: ``STATE[n]``, changed.
            bounds: ``uint8[n, 2]``, who plays for gin.
            seats: ``int64[n]``, to whom.
            bank: equity tables, one after the other.
            layout: where each lies.
            tables: ``int64[n]`` which one prices each world.
        """
        values = np.zeros(len(states))
        index = np.arange(len(states))
        left = _going(states, index, len(index), seats, bank, layout, tables, values)
        for _ in range(self.half_moves):
            assert self.player is not None
            for start in range(0, left, _PASS):
                part = index[start : min(left, start + _PASS)]
                views = self.views[: len(part)]
                _look_all(states, part, views)
                _apply_all(states, part, views, self.player.act(views), bounds)
            left = _going(states, index, left, seats, bank, layout, tables, values)
        for start in range(0, left, _PASS):
            part = index[start : min(left, start + _PASS)]
            values[part] = self._judge(states, part, bounds, seats, bank, layout, tables)
        return values

    def _judge(
        self,
        states: np.ndarray,
        part: np.ndarray,
        bounds: np.ndarray,
        seats: np.ndarray,
        bank: np.ndarray,
        layout: np.ndarray,
        tables: np.ndarray,
    ) -> np.ndarray:
        n = len(part)
        worlds, views = self.states[:n], self.views[:n]
        flags = np.empty((n, 2), np.uint8)
        _gather(states, part, bounds, worlds, flags)
        obs, future = np.empty((n, OBSERVATION_SIZE), np.uint8), np.empty((n, NUM_FUTURE), np.uint8)
        conditions, turns = np.empty((n, 2), np.uint8), np.empty(n, np.uint8)
        legal, hidden = np.empty((n, 3), np.int64), np.empty(n, np.int64)
        observe_states(worlds, views, flags, obs, legal, hidden, future, conditions, turns)
        rows = [obs, conditions, expand_cards(torch.from_numpy(hidden)).view(torch.uint8).numpy(), future]
        inputs = np.concatenate([*rows, self.adviser(views)] if self.critic.advice else rows, 1)
        worth = self.critic(torch.from_numpy(inputs)).numpy().astype(np.float64)
        worth = np.where(turns == seats[part], worth, -worth)
        now = np.empty(n)
        _chances_now(worlds, seats[part], bank, layout, tables[part], now)
        return np.where(np.isnan(now), worth / POINT / 100, now + worth / GAME)


@kernel
def _chances_now(states, seats, bank, layout, tables, out):
    """The chance to win the game before the hand in play; NaN where a hand is all there is."""
    for i in range(states.shape[0]):
        s = states[i]
        out[i] = np.nan
        if s.rules[R_TARGET] > 0:
            mine, other = seats[i], 1 - seats[i]
            out[i] = bank_chance(
                bank,
                layout,
                tables[i],
                np.int64(s.score[mine]),
                np.int64(s.score[other]),
                s.boxes[mine],
                s.boxes[other],
            )
