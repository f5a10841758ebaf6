"""What worlds are worth after each candidate: by the rules where the hand is over, else by a trained critic.

The critic sees both hands of a world and what its stock will bring, as it did in training, so its value of a world has a hundredth of
the luck that playing it to the end would add.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch

from agents.equity import EquityBank, bank_chance, equity_bank
from agents.network.checkpoint import CheckpointError, load_critic, read_metadata
from agents.network.inputs import SEEN, HeuristicFeatures, expand_cards, observe_states
from agents.network.nets import GAME, POINT, FrozenCritic, has_bfloat16_units
from ginenv.actions import KNOCK, PHASE_OVER
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.engine import NOBODY, STATE, apply
from ginenv.game import score_hand
from ginenv.jit import kernel, record_copy
from ginenv.melds import deadwood
from ginenv.rules import RULES, Rules
from ginenv.view import VIEW

# A world after a candidate, and to whom it is worth what is asked.
BRANCH = np.dtype(
    [
        ("state", STATE),
        ("gin_only", np.uint8, (2,)),  # which seats play for gin
        ("seat", np.int64),  # whose value is asked
        ("equity", np.int64),  # which equity table prices the game
    ],
    align=True,
)
# Worlds that are judged in one pass.
_PASS = 8192
_copy_state = record_copy(STATE, "hands", STATE, "hands", "history")


class EquityTables:
    """The equity tables of all rules that were met, found by the block of the rules."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        self.bank = EquityBank(np.zeros(1, np.float32), np.zeros((1, 3), np.int64))

    def index(self, views: np.ndarray) -> np.ndarray:
        """Which table of the bank prices each view: ``int64[n]``."""
        return np.array([self._index(block.tobytes()) for block in views["rules"]], np.int64)

    def _index(self, block: bytes) -> int:
        if block not in self.known:
            self.known[block] = len(self.known)
            self.bank = _bank(tuple(self.known))
        return self.known[block]


@lru_cache(maxsize=4)
def _bank(blocks: tuple[bytes, ...]) -> EquityBank:
    return equity_bank([Rules.from_block(np.frombuffer(block, RULES)[0]) for block in blocks])


@kernel
def branch(v, found, worlds, equity, branches):
    """Every world after each candidate.

    Args:
        v: the view that decides.
        found: ``CANDIDATE[k]``.
        worlds: ``STATE[W]``.
        equity: index of the game's equity table.
        branches: ``BRANCH[k * W]``, written candidate by candidate.
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
        # Whoever holds so little and did not knock has declined to.
        other = 1 - seat
        b.gin_only[other] = s.thrown[other] != 0 and deadwood(s.hands[other]) <= s.limit
        apply(s, action)


@kernel
def _chance(b, bank, layout):
    """The chance of a branch's seat to win the game from the score that its state holds."""
    s = b.state
    mine, other = b.seat, 1 - b.seat
    return bank_chance(
        bank, layout, b.equity, np.int64(s.score[mine]), np.int64(s.score[other]), s.boxes[mine], s.boxes[other]
    )


@kernel
def _price(b, bank, layout):
    """What the end of a hand is worth: the chance to win the game, or points / 100 where a hand is all there is."""
    s = b.state
    if s.rules.target == 0:
        if s.winner == NOBODY:
            return 0.0
        return s.points / 100.0 if s.winner == b.seat else -s.points / 100.0
    score_hand(s)
    if s.game_over:
        return 0.5 if s.game_winner == NOBODY else (1.0 if s.game_winner == b.seat else 0.0)
    return _chance(b, bank, layout)


@kernel
def _price_ended(branches, bank, layout, values, in_play):
    """Prices the hands that are over, writes the places of the others to ``in_play`` and returns how many these are."""
    count = 0
    for i in range(branches.shape[0]):
        if branches[i].state.phase == PHASE_OVER:
            values[i] = _price(branches[i], bank, layout)
        else:
            in_play[count] = i
            count += 1
    return count


@kernel
def _chances_now(branches, index, bank, layout, out):
    """The chance to win the game before the hand in play; NaN where a hand is all there is."""
    for k in range(index.shape[0]):
        b = branches[index[k]]
        out[k] = _chance(b, bank, layout) if b.state.rules.target > 0 else np.nan


class Judge:
    """Values of worlds by a checkpoint's critic; threads may share one, since a call keeps nothing.

    Args:
        path: of the checkpoint; it must hold a critic that was trained on the chance to win the game.

    Raises:
        CheckpointError: if it cannot be used.
    """

    def __init__(self, path: str) -> None:
        critic = load_critic(path)
        reward = read_metadata(path)["critic"].get("reward")
        if reward != "game":
            raise CheckpointError(
                f"checkpoint {path}: its critic was trained on the reward {reward!r}; the search, which adds its values to chances to "
                "win the game, takes 'game' alone"
            )
        self.critic = FrozenCritic(critic, has_bfloat16_units())
        self.features = HeuristicFeatures()

    def __call__(self, branches: np.ndarray, bank: EquityBank) -> np.ndarray:
        """What each world is worth to a seat.

        Args:
            branches: ``BRANCH[n]``; the scores of hands that are over are booked in them.
            bank: equity tables.

        Returns:
            ``float64[n]``, the chance to win the game, or points / 100 where there is none.
        """
        values = np.zeros(len(branches))
        in_play = np.empty(len(branches), np.int64)
        left = _price_ended(branches, bank.values, bank.layout, values, in_play)
        for start in range(0, left, _PASS):
            part = in_play[start : min(left, start + _PASS)]
            values[part] = self._judge(branches, part, bank)
        return values

    def _judge(self, branches: np.ndarray, index: np.ndarray, bank: EquityBank) -> np.ndarray:
        """Values of some worlds whose hand is in play, in one pass."""
        n = len(index)
        views = np.zeros(n, VIEW)
        obs, seen = np.empty((n, OBSERVATION_SIZE), np.uint8), np.zeros(n, SEEN)
        observe_states(branches["state"][index], branches["gin_only"][index], views, obs, seen)
        cards = expand_cards(torch.from_numpy(seen["hidden"].copy())).view(torch.uint8).numpy()
        # Nothing is known beside the view, so a context is all 0.
        rows = [obs, seen["conditions"], cards, seen["future"], np.zeros((n, self.critic.context), np.uint8)]
        inputs = np.concatenate([*rows, self.features(views)] if self.critic.heuristic_features else rows, 1)
        worth = self.critic(torch.from_numpy(inputs)).numpy().astype(np.float64)
        worth = np.where(seen["turn"] == branches["seat"][index], worth, -worth)
        now = np.empty(n)
        _chances_now(branches, index, bank.values, bank.layout, now)
        return np.where(np.isnan(now), worth / POINT / 100, now + worth / GAME)
