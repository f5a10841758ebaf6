"""The networks' inputs for rows of a batch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from agents.network.inputs import expand_cards
from agents.network.nets import NUM_CONDITIONS, NUM_SECRETS, Inputs
from agents.network.suits import NUM_RANKS, NUM_SUITS, BySuit, sum_suits
from agents.training.selfplay import Batch
from ginenv.engine.jit import kernel
from ginenv.view.encoding import PLANES

# Widths are padded to a multiple of this, since matrix products of odd widths take slower paths.
_ALIGNED = 16


@kernel
def fill_suits(batch, rows, committed, suits, shared):
    """Writes inputs by suit of ``int64[B]`` rows of a flat batch: ``[B, 4, S]`` and ``[B, K]``.

    Of a suit: planes, heuristic features, the opponent's hand. Of none: facts, heuristic feature, condition, and what only the critic
    sees: the other seat's condition, the stock and who plays. With ``committed``, as if the movers were committed to gin.
    """
    decks = batch.features.shape[1] // 52
    for i in range(rows.shape[0]):
        row = rows[i]
        step = batch.steps[row]
        seen = batch.obs[row]
        for suit in range(4):
            out = suits[i, suit]
            for plane in range(9):
                for rank in range(13):
                    out[plane * 13 + rank] = seen[plane * 52 + suit * 13 + rank]
            at = 9 * 13
            for deck in range(decks):
                for rank in range(13):
                    out[at + rank] = batch.features[row, deck * 52 + suit * 13 + rank]
                at += 13
            cards = step.hidden >> (suit * 13)
            for rank in range(13):
                out[at + rank] = (cards >> rank) & 1
        out = shared[i]
        for k in range(52):
            out[k] = seen[468 + k]
        at = 52
        if decks:
            out[at] = batch.features[row, 104]
            at += 1
        out[at] = 1 if committed else step.conditions[0]
        at += 1
        out[at] = step.conditions[1]
        for k in range(NUM_SECRETS):
            out[at + 1 + k] = step.secrets[k]


class BatchInputs:
    """The inputs of actor and critic for rows of a batch.

    Args:
        batch: as ``Rollout`` writes it.
        share_suits: whether the networks read inputs by suit.
        device: where the networks are.
        bfloat16: whether they multiply in bfloat16.

    Attributes:
        batch: the same arrays, flat.
    """

    def __init__(self, batch: Batch, share_suits: bool, device: torch.device, bfloat16: bool) -> None:
        self.batch, self.share_suits, self.device = batch.flat(), share_suits, device
        self.dtype = torch.bfloat16 if bfloat16 else torch.float32
        features = self.batch.features.shape[1]
        # What the actor reads of a suit and of none; the critic reads more of both.
        self.actor = NUM_RANKS * (len(PLANES) + features // 52), 52 + (features > 0) + NUM_CONDITIONS
        self.critic = self.actor[0] + NUM_RANKS, self.actor[1] + NUM_CONDITIONS + NUM_SECRETS

    def read(self, rows: np.ndarray, committed: bool = False) -> tuple[Inputs, Inputs]:
        """The actor's and the critic's inputs for ``int64[B]`` rows; with ``committed``, as if the movers were committed to gin."""
        if not self.share_suits:
            return self._read_flat(rows, committed)
        suits, shared = (-(-width // _ALIGNED) * _ALIGNED for width in self.critic)
        arrays = (
            torch.empty((len(rows), NUM_SUITS, suits), dtype=torch.uint8),
            torch.empty((len(rows), shared), dtype=torch.uint8),
        )
        fill_suits(self.batch, rows, committed, arrays[0].numpy(), arrays[1].numpy())
        cards, others = (array.to(self.device).to(self.dtype) for array in arrays)
        total = sum_suits(cards)
        actor, critic = (
            BySuit(cards[:, :, :suits], torch.cat([total[:, :suits], others[:, :none]], 1))
            for suits, none in (self.actor, self.critic)
        )
        return actor, critic

    def _read_flat(self, rows: np.ndarray, committed: bool) -> tuple[Tensor, Tensor]:
        steps = self.batch.steps[rows]
        conditions = steps["conditions"].copy()
        if committed:
            conditions[:, 0] = 1
        obs, features, policy_planes, unseen, hidden = (
            torch.from_numpy(array).to(self.device)
            for array in (
                self.batch.obs[rows],
                self.batch.features[rows],
                conditions,
                steps["secrets"],
                steps["hidden"],
            )
        )
        secrets = policy_planes, expand_cards(hidden), unseen
        parts = (obs, policy_planes[:, :1], features), (obs, *secrets, features)
        return tuple(torch.cat([part.to(self.dtype) for part in each], 1) for each in parts)  # type: ignore
