"""Values worlds after each candidate: by the rules if the hand is over, otherwise by a trained critic.

As in training, the critic sees both hands of a world and the coming cards of its stock. Its values therefore have a hundredth of the
variance of playing worlds to the end.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch

from agents.network.checkpoint import CheckpointError, load_critic, read_metadata
from agents.network.inputs import INPUTS, HeuristicFeatures, bytes_of, observe_states
from agents.network.nets import GAME_REWARD, POINT_REWARD, FrozenCritic, has_bfloat16_units
from agents.win_probability import EquityBank, chance_to_win, equity_bank, plays_for_points
from ginenv.engine.actions import KNOCK, PHASE_OVER
from ginenv.engine.engine import NOBODY, STATE, apply
from ginenv.engine.game import score_hand
from ginenv.engine.jit import kernel, record_copy
from ginenv.engine.melds import deadwood
from ginenv.engine.rules import RULES, Rules
from ginenv.view.view import VIEW

# A world after a candidate.
BRANCH = np.dtype(
    [
        ("state", STATE),
        ("gin_only", np.uint8, (2,)),  # which seats play for gin
        ("seat", np.int64),  # for which it is valued
        ("equity", np.int64),  # index of the equity table that prices the game
    ],
    align=True,
)
# Worlds valued in one pass.
_PASS = 8192
_copy_state = record_copy(STATE, "hands", STATE, "hands", "history")


class EquityTables:
    """The equity tables of all rules seen so far, indexed by the rules' blocks."""

    def __init__(self) -> None:
        self.indices: dict[bytes, int] = {}
        self.bank = EquityBank(np.zeros(1, np.float32), np.zeros((1, 3), np.int64))

    def index(self, views: np.ndarray) -> np.ndarray:
        """Index of the bank's table that prices each view: ``int64[n]``."""
        blocks = [block.tobytes() for block in views["rules"]]
        for block in blocks:
            if block not in self.indices:
                self.indices[block] = len(self.indices)
                self.bank = _bank(tuple(self.indices))
        return np.array([self.indices[block] for block in blocks], np.int64)


@lru_cache(maxsize=4)
def _bank(blocks: tuple[bytes, ...]) -> EquityBank:
    return equity_bank([Rules.from_block(np.frombuffer(block, RULES)[0]) for block in blocks])


@kernel
def branch(v, found, worlds, equity, branches):
    """Writes the state of every world after each candidate.

    Args:
        v: the view.
        found: ``CANDIDATE[k]``.
        worlds: ``STATE[W]``.
        equity: index of the game's equity table.
        branches: ``BRANCH[k * W]``, written; candidate by candidate.
    """
    seat = np.int64(v.seat)
    for k in range(branches.shape[0]):
        b = branches[k]
        s = b.state
        action = found[k // worlds.shape[0]].action
        _copy_state(s, worlds[k % worlds.shape[0]])
        b.seat = seat
        b.equity = equity
        b.gin_only[seat] = v.declined > 0 or (v.legal[1] != 0 and action < KNOCK)
        # An opponent with so little deadwood that did not knock has declined to.
        other = 1 - seat
        b.gin_only[other] = s.thrown[other] != 0 and deadwood(s.hands[other]) <= s.limit
        apply(s, action)


@kernel
def _price(b, bank):
    """What the end of a hand is worth: the chance to win the game, or points / 100 where a single hand is played."""
    s = b.state
    if plays_for_points(s):
        if s.winner == NOBODY:
            return 0.0
        return s.points / 100.0 if s.winner == b.seat else -s.points / 100.0
    score_hand(s)
    return chance_to_win(bank, b.equity, s, b.seat)


@kernel
def _price_all(branches, bank, values, in_play):
    """Prices the hands that are over; for the others, writes the chance to win before the hand and their indices (``in_play``).

    That chance is NaN where a single hand is played. Returns how many hands are in play.
    """
    count = 0
    for i in range(branches.shape[0]):
        b = branches[i]
        if b.state.phase == PHASE_OVER:
            values[i] = _price(b, bank)
        else:
            values[i] = np.nan if plays_for_points(b.state) else chance_to_win(bank, b.equity, b.state, b.seat)
            in_play[count] = i
            count += 1
    return count


class WorldValues:
    """Values worlds by a checkpoint's critic; threads may share it.

    Args:
        path: the checkpoint; its critic must have been trained on the chance to win the game.

    Raises:
        CheckpointError: if the checkpoint cannot be used.
    """

    def __init__(self, path: str) -> None:
        critic = load_critic(path)
        reward = read_metadata(path)["critic"].get("reward")
        if reward != "game":
            raise CheckpointError(
                f"checkpoint {path}: its critic was trained on the reward {reward!r}; the search adds values to chances to win the "
                "game, so the reward must be 'game'"
            )
        self.critic = FrozenCritic(critic, has_bfloat16_units())
        self.features = HeuristicFeatures()

    def __call__(self, branches: np.ndarray, bank: EquityBank) -> np.ndarray:
        """The value of each world to its seat.

        Args:
            branches: ``BRANCH[n]``; hands that are over are scored in place.
            bank: equity tables.

        Returns:
            ``float64[n]``, the chance to win the game, or points / 100 where there is no game.
        """
        values = np.zeros(len(branches))
        in_play = np.empty(len(branches), np.int64)
        in_play = in_play[: _price_all(branches, bank, values, in_play)]
        for start in range(0, len(in_play), _PASS):
            part = in_play[start : start + _PASS]
            worth = self._evaluate(branches, part)
            values[part] = np.where(
                np.isnan(values[part]), worth / POINT_REWARD / 100, values[part] + worth / GAME_REWARD
            )
        return values

    def _evaluate(self, branches: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The critic's values, for their seats, of the worlds at ``index``, whose hands are in play."""
        n = len(index)
        views, inputs = np.zeros(n, VIEW), np.zeros(n, INPUTS)
        observe_states(branches["state"][index], branches["gin_only"][index], views, inputs)
        self.features.write(views, inputs)
        rows = bytes_of(inputs, is_critic=True)
        worth = self.critic(torch.from_numpy(rows)).numpy().astype(np.float64)
        return np.where(views["seat"] == branches["seat"][index], worth, -worth)
