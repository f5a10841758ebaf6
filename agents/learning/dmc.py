"""Deep Monte Carlo: the second learner, on the same games, networks and files as ``agents.learning.ppo``.

The method of DouZero (Zha et al. 2021): a network predicts, for every action, the result of the hand; it plays what looks best with some
exploration, and is fitted to what hands brought in the end. No critic, no bootstrapping, no importance weights; only hands that ended
within the batch are learned from.

The actor's logits are read as results divided by ``TEMPERATURE``, so that its softmax explores and every player of checkpoints plays it
as it is. In the first ``clone_decisions`` a teacher plays: its results are fitted, and the softmax is brought to choose as it does.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from agents.learning.losses import Weights, expand_legal
from agents.learning.ppo import Trainer
from agents.network.nets import ILLEGAL
from ginenv.jit import kernel

# A result better by this much (in rewards; 2 points of a hand) is e times as likely to be explored.
TEMPERATURE = 0.04
# Weight of imitation beside the results while a teacher plays.
IMITATION = 0.1


@kernel
def finished_rows(done, learns):
    """Leaves in ``learns`` only half-moves of hands that end within the batch (both ``uint8[T, N]``)."""
    ticks, games = done.shape
    for i in range(games):
        ended = False
        for t in range(ticks - 1, -1, -1):
            ended = ended or done[t, i] == 1
            if not ended:
                learns[t, i] = 0


class DeepMonteCarlo(Trainer):
    """Fits the results of hands instead of following a policy gradient; everything else is the trainer's."""

    def _values(self, committed: np.ndarray | None = None) -> np.ndarray:
        """Nothing is subtracted from results: what are advantages elsewhere are the plain results here."""
        return np.zeros((self.rollout.ticks + 1, self.rollout.games), np.float32)

    def collect(self) -> dict[str, np.ndarray]:
        """Plays a batch and keeps the hands that ended in it."""
        batch = super().collect()
        finished_rows(self.rollout.done, self.rollout.learns)
        return batch

    def _step(self, flat: dict[str, np.ndarray], rows: np.ndarray, weights: Weights) -> dict[str, float]:
        """One gradient step towards the results."""
        part = self._part(flat, rows)
        legal = expand_legal(part["legal"])
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            logits, _, _ = self.actor(self.inputs_of(rows)[0], 1)
        logits = logits.float()
        predicted = logits.gather(1, part["actions"][:, None]).squeeze(1) * TEMPERATURE
        results = functional.smooth_l1_loss(predicted, part["returns"])
        loss = results
        if weights.cloning:
            loss = results + IMITATION * functional.cross_entropy(logits.masked_fill(~legal, ILLEGAL), part["actions"])
        self.optimisers["actor"].zero_grad()
        loss.backward()
        self._descend("actor", self.actor)
        self._average_weights()
        with torch.no_grad():
            logps = functional.log_softmax(logits.masked_fill(~legal, ILLEGAL), 1)
            log_ratio = logps.gather(1, part["actions"][:, None]).squeeze(1) - part["logps"]
            return {
                "value_loss": results.item(),
                "entropy": (-(logps.exp() * logps).sum(1) / legal.sum(1).float().log()).mean().item(),
                "kl": (log_ratio.exp() - 1 - log_ratio).mean().item(),
            }
