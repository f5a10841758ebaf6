"""Worlds judged by a trained critic instead of being played to the end.

The critic sees both hands of a world and what its stock will bring, as it did in training, so its value of a world has a hundredth of a
playout's luck in it. Before it judges, both sides may play a few half-moves by the network's policy, in all worlds of all candidates and
games at once.
"""

from __future__ import annotations

import numpy as np
import torch

from agents.bots.style_kernels import choose_lay_off, choose_spread
from agents.equity import EquityBank, bank_chance
from agents.network.checkpoint import CheckpointError, load_critic, read_metadata
from agents.network.inputs import SEEN, HeuristicFeatures, expand_cards, observe_states
from agents.network.nets import GAME, POINT, FrozenCritic, has_bfloat16_units
from agents.network.player import PLAYED, load_network
from agents.search.branches import Branches
from agents.search.kernels import price
from ginenv.actions import PHASE_LAYOFF, PHASE_OVER, PHASE_SPREAD
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.engine import apply
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


class Judge:
    """Values of worlds by a checkpoint's critic; threads may share one, since a call keeps nothing.

    Args:
        path: of the checkpoint; it must hold a critic that was trained on the chance to win the game.
        half_moves: half-moves that both sides play by its policy before it judges.
        seed: of that play.

    Raises:
        CheckpointError: if it cannot be used.
    """

    def __init__(self, path: str, half_moves: int = 0, seed: int = 0) -> None:
        critic = load_critic(path)
        reward = read_metadata(path)["critic"].get("reward")
        if reward != "game":
            raise CheckpointError(
                f"checkpoint {path}: its critic was trained on the reward {reward!r}; the search, which adds its values to chances to "
                "win the game, takes 'game' alone"
            )
        self.critic = FrozenCritic(critic, has_bfloat16_units())
        self.half_moves = half_moves
        self.player = load_network(path, seed, PLAYED) if half_moves else None
        self.features = HeuristicFeatures()

    def reset(self, seed: int) -> None:
        """Takes a new seed for the half-moves."""
        if self.player is not None:
            self.player.reset(seed)

    def __call__(self, branches: Branches, bank: EquityBank) -> np.ndarray:
        """What each world is worth to a seat: ``float64[n]``, the chance to win the game, or points / 100 where there is none."""
        values = np.zeros(len(branches.states))
        index = np.arange(len(values))
        left = _going(
            branches.states, index, len(index), branches.seats, bank.values, bank.layout, branches.tables, values
        )
        for _ in range(self.half_moves):
            assert self.player is not None
            for part in _passes(index[:left]):
                views = np.zeros(len(part), VIEW)
                _look_all(branches.states, part, views)
                _apply_all(branches.states, part, views, self.player.act(views), branches.bounds)
            left = _going(
                branches.states, index, left, branches.seats, bank.values, bank.layout, branches.tables, values
            )
        for part in _passes(index[:left]):
            values[part] = self._judge(branches.only(part), bank)
        return values

    def _judge(self, branches: Branches, bank: EquityBank) -> np.ndarray:
        """Values of worlds that still go on, in one pass."""
        n = len(branches.states)
        views = np.zeros(n, VIEW)
        obs, seen = np.empty((n, OBSERVATION_SIZE), np.uint8), np.zeros(n, SEEN)
        observe_states(branches.states, branches.bounds, views, obs, seen)
        cards = expand_cards(torch.from_numpy(seen["hidden"].copy())).view(torch.uint8).numpy()
        # Nothing is known beside the view, so a context is all 0.
        rows = [obs, seen["conditions"], cards, seen["future"], np.zeros((n, self.critic.context), np.uint8)]
        inputs = np.concatenate([*rows, self.features(views)] if self.critic.heuristic_features else rows, 1)
        worth = self.critic(torch.from_numpy(inputs)).numpy().astype(np.float64)
        worth = np.where(seen["turn"] == branches.seats, worth, -worth)
        now = np.empty(n)
        _chances_now(branches.states, branches.seats, bank.values, bank.layout, branches.tables, now)
        return np.where(np.isnan(now), worth / POINT / 100, now + worth / GAME)


def _passes(index: np.ndarray) -> list[np.ndarray]:
    return [index[start : start + _PASS] for start in range(0, len(index), _PASS)]


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
