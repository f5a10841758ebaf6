"""The half-moves of a batch: what self-play writes, what advantages are computed from, and what the losses read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from agents.network.inputs import (
    INPUTS,
    NUM_HEURISTIC_FEATURES,
    NUM_RANKS,
    NUM_SUITS,
    suit_columns,
)
from agents.network.suits import BySuit, sum_suits
from ginenv.engine.jit import kernel, popcount
from ginenv.view.encoding import OBSERVATION_SIZE

# Of the probable actions that were not taken, so many are valued.
VALUED = 3
# A half-move besides what the networks read of it (``agents.network.inputs``).
STEP = np.dtype(
    [
        ("legal", np.int64, (3,)),
        ("action", np.int64),
        ("logp", np.float32),
        ("reward", np.float32),  # to seat 0
        ("knock_worth", np.float32),  # of knocking at once, where the learner may also wait; NaN elsewhere
        ("waiting", np.float32),  # how much better that is than playing on; NaN elsewhere
        ("value", np.float32),  # to the mover, as the next four are
        ("advantage", np.float32),
        ("returns", np.float32),
        ("choice", np.float32),  # the action's advantage by ``action_values``; NaN where no other was valued
        ("sampled", np.float32),  # the part of the outcome that is due to the draw of this action
        ("turn", np.uint8),  # the seat
        ("learns", np.uint8),  # 1 where the learner chose among more than one action
        ("done", np.uint8),  # 1 where the hand ended
    ],
    align=True,
)
# An action that was not taken, or -1; its log-probability; and its advantage to the mover (first, its value).
OTHER = np.dtype([("action", np.int64), ("logp", np.float32), ("advantage", np.float32)], align=True)
# Widths are padded to a multiple of this, since matrix products of odd widths take slower paths.
_ALIGNED = 16


class Minibatch(NamedTuple):
    """Some rows of a batch as tensors on the networks' device.

    Attributes:
        actor: what the actor reads.
        critic: what the critic reads.
        actions: ``int64[B, K]``, the legal actions: first the chosen one, then the others, then -1s.
        logp: ``[B]``, the chosen action's log-probability when it was played; the next four are fields of ``STEP`` too.
        advantage: ``[B]``.
        returns: ``[B]``.
        waiting: ``[B]``.
        choice: ``[B]``.
        others: the fields of ``OTHER``, each ``[B, VALUED]``; empty where no other actions are valued.
        hidden: ``[G, 52]`` of the first G rows, 1 where the opponent holds a card.
        unknown: ``[G, 52]``, 1 where the seat does not know a card's place.
    """

    actor: BySuit
    critic: BySuit
    actions: Tensor
    logp: Tensor
    advantage: Tensor
    returns: Tensor
    waiting: Tensor
    choice: Tensor
    others: dict[str, Tensor]
    hidden: Tensor
    unknown: Tensor


@dataclass
class Batch:
    """The half-moves of a batch and, in the last row, the states after them.

    Attributes:
        steps: ``STEP[num_steps + 1, num_envs]``.
        inputs: ``INPUTS[num_steps + 1, num_envs]``.
        others: ``OTHER[num_steps, num_envs, VALUED]``, probable actions that were not taken; ``[..., 0]`` if none are valued.
        device: where they are.
        dtype: in which they multiply.
    """

    steps: np.ndarray
    inputs: np.ndarray
    others: np.ndarray
    device: torch.device
    dtype: torch.dtype

    def __post_init__(self) -> None:
        self.columns = suit_columns(NUM_HEURISTIC_FEATURES, False), suit_columns(NUM_HEURISTIC_FEATURES, True)

    @classmethod
    def empty(
        cls,
        shape: tuple[int, int],
        device: torch.device,
        dtype: torch.dtype,
        others: bool = False,
    ) -> Batch:
        """A batch of ``(num_steps, num_envs)`` half-moves; with ``others`` there is room for actions that were not taken."""
        rows = shape[0] + 1, shape[1]
        valued = np.zeros((*shape, VALUED if others else 0), OTHER)
        return cls(np.zeros(rows, STEP), np.zeros(rows, INPUTS), valued, device, dtype)

    def part(self, games: slice) -> Batch:
        """The same arrays for some of the games."""
        arrays = {name: getattr(self, name)[:, games] for name in ("steps", "inputs", "others")}
        return replace(self, **arrays)

    @property
    def played(self) -> np.ndarray:
        """The half-moves that were played, ``STEP[num_steps * num_envs]``: a row's number counts them by steps, then games."""
        return self.steps[:-1].reshape(-1)

    def read(self, rows: np.ndarray, committed: bool = False) -> tuple[BySuit, BySuit]:
        """The actor's and the critic's inputs for ``int64[B]`` rows; with ``committed``, as if the movers were committed to gin."""
        of_actor, of_critic = self.columns
        suits, shared = of_critic
        padded = (-(-width // _ALIGNED) * _ALIGNED for width in (suits.shape[1], len(shared)))
        cards = torch.empty((len(rows), NUM_SUITS, next(padded)), dtype=torch.uint8)
        others = torch.empty((len(rows), next(padded)), dtype=torch.uint8)
        inputs = self.inputs.reshape(-1).view(np.uint8).reshape(-1, INPUTS.itemsize)
        _fill(inputs, rows, suits[0, ::NUM_RANKS], shared, cards.numpy(), others.numpy())
        if committed:
            others[:, np.flatnonzero(shared == OBSERVATION_SIZE)] = 1
        cards, others = (array.to(self.device).to(self.dtype) for array in (cards, others))
        total = sum_suits(cards)
        actor, critic = (
            BySuit(cards[:, :, : s.shape[1]], torch.cat([total[:, : s.shape[1]], others[:, : len(k)]], 1))
            for s, k in (of_actor, of_critic)
        )
        return actor, critic

    def minibatch(self, rows: np.ndarray, guesses: int) -> Minibatch:
        """``int64[B]`` rows for the losses; ``guesses`` of them for those of guesses about the opponent."""
        steps = self.played[rows]
        others = self.others.reshape(len(self.played), self.others.shape[-1])[rows]
        inputs = self.inputs.reshape(-1)[rows[:guesses]]
        seen = inputs["observation"]["cells"]
        unknown = seen[:, :52] + seen[:, 156:208] + seen[:, 208:260] == 0
        fields = {name: self._tensor(steps[name]) for name in Minibatch._fields if name in STEP.fields}  # type: ignore[operator]
        return Minibatch(
            *self.read(rows),
            actions=self._tensor(_list_legal(steps["legal"], steps["action"])),
            others={name: self._tensor(others[name]) for name in OTHER.names or ()},
            hidden=self._tensor(inputs["hidden"]).float(),
            unknown=self._tensor(unknown).float(),
            **fields,
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


@kernel
def _fill(inputs, rows, decks, singles, suits, shared):
    """Writes inputs by suit of some rows of ``uint8[M, N]``: ``[B, 4, S]`` of decks of 52 columns, and ``[B, K]`` of single ones."""
    for i in range(rows.shape[0]):
        row = inputs[rows[i]]
        for suit in range(4):
            out = suits[i, suit]
            for deck in range(decks.shape[0]):
                first = decks[deck] + suit * 13
                for rank in range(13):
                    out[deck * 13 + rank] = row[first + rank]
        for k in range(singles.shape[0]):
            shared[i, k] = row[singles[k]]


@kernel
def _list_legal(legal, actions):
    """The legal actions ``int64[B, K]`` of masks ``int64[B, 3]``: first the chosen ``actions`` (``[B]``), then the others, then -1s."""
    most = 1
    for i in range(legal.shape[0]):
        most = max(most, popcount(legal[i, 0]) + popcount(legal[i, 1]) + popcount(legal[i, 2]))
    found = np.full((legal.shape[0], most), np.int64(-1))
    for i in range(legal.shape[0]):
        found[i, 0] = actions[i]
        at = 1
        for deck in range(3):
            left = legal[i, deck]
            while left:
                action = deck * 52 + popcount((left & -left) - 1)
                left &= left - 1
                if action != actions[i]:
                    found[i, at] = action
                    at += 1
    return found


# --- advantages ---------------------------------------------------------------------------------------------------------------------


@kernel
def generalised_advantages(steps, decay):
    """Writes each mover's advantages and returns in ``STEP[T + 1, N]``, zero-sum sequences; ``decay`` is GAE's lambda.

    What the draw of an action brought (``sampled``) is taken out of what its state and all earlier half-moves are told.
    """
    num_steps = steps.shape[0] - 1
    for i in range(steps.shape[1]):
        last = steps[num_steps, i]
        following = np.float64(last.value if last.turn == 0 else -last.value)
        running = 0.0
        for t in range(num_steps - 1, -1, -1):
            step = steps[t, i]
            sign = 1.0 if step.turn == 0 else -1.0
            value = step.value * sign
            if step.done:
                running = step.reward - value
            else:
                running = step.reward + following - value + decay * running
            step.advantage = running * sign
            running -= step.sampled * sign
            step.returns = (running + value) * sign
            following = value


@kernel
def action_advantages(steps, others):
    """Turns values of actions into advantages: over the policy's mean of the actions that were valued, that which was taken included.

    Args:
        steps: ``STEP[T + 1, N]`` with values. The advantage of the action taken is written as ``choice``, NaN where no other was valued,
            and as ``sampled``, since what the draw brought is no merit of the state or of earlier actions.
        others: ``OTHER[T, N, VALUED]``, rewritten.
    """
    for t in range(steps.shape[0] - 1):
        for i in range(steps.shape[1]):
            step, after = steps[t, i], steps[t + 1, i]
            step.choice = np.nan
            step.sampled = 0.0
            if others[t, i, 0].action < 0:
                continue
            sign = 1.0 if step.turn == 0 else -1.0
            taken = step.reward * sign
            if not step.done:
                taken += after.value if after.turn == step.turn else -after.value
            chance = np.exp(step.logp)
            mean, total = chance * taken, chance
            for j in range(others.shape[2]):
                if others[t, i, j].action >= 0:
                    chance = np.exp(others[t, i, j].logp)
                    mean += chance * others[t, i, j].advantage
                    total += chance
            mean /= total
            step.choice = step.sampled = taken - mean
            for j in range(others.shape[2]):
                if others[t, i, j].action >= 0:
                    others[t, i, j].advantage -= mean
