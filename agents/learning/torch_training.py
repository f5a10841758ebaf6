"""Training with automatic differentiation, on any device (``agents.learning.cpu_training`` is quicker on the CPU)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.learning.batch_inputs import BatchInputs
from agents.learning.losses import Weights, actor_loss, guessing_rows
from agents.network.nets import Actor, Critic, FrozenActor

# Rows that are valued at once.
_CHUNK = 16384
_LOSS_FIELDS = ("hidden", "legal", "action", "logp", "advantage", "returns", "next_action", "waiting")


class TorchBackend:
    """Both networks on rows of a batch.

    Args:
        actor: the policy.
        critic: its critic.
        inputs: of the batch.
        bfloat16: whether to multiply in bfloat16.
        device: where the networks live.
    """

    def __init__(self, actor: Actor, critic: Critic, inputs: BatchInputs, bfloat16: bool, device: torch.device) -> None:
        self.actor, self.critic, self.inputs, self.bfloat16, self.device = actor, critic, inputs, bfloat16, device
        self.refresh()

    def refresh(self) -> None:
        """Takes the policy's present weights."""
        self.policy = FrozenActor(self.actor, self.bfloat16)

    def _read(self, rows: np.ndarray, committed: bool = False) -> tuple[Tensor, Tensor]:
        kind = torch.bfloat16 if self.bfloat16 else torch.float32
        actor, critic = self.inputs.read(rows, committed)
        return actor.to(self.device, kind), critic.to(self.device, kind)

    def autocast(self) -> torch.autocast:
        """Products in bfloat16, where they are wanted."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16)

    def part(self, rows: np.ndarray) -> dict[str, Tensor]:
        """Some rows of what losses need, as tensors."""
        batch = self.inputs.batch
        found = {name: torch.from_numpy(batch.steps[name][rows]) for name in _LOSS_FIELDS}
        return {
            name: tensor.to(self.device)
            for name, tensor in (found | {"obs": torch.from_numpy(batch.obs[rows])}).items()
        }

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """The policy's logits ``float32[B, 107]``."""
        return self.policy(self._read(rows)[0]).cpu().numpy()

    @torch.no_grad()
    def values(self, rows: np.ndarray, committed: bool = False) -> np.ndarray:
        """The critic's values ``float32[B]``, perhaps as if the movers had to play for gin."""
        values = np.empty(len(rows), np.float32)
        with self.autocast():
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                values[start : start + len(part)] = self.critic(self._read(part, committed)[1]).float().cpu().numpy()
        return values

    def outputs(self, rows: np.ndarray, guesses: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
        """What the actor says (guessing in so many of the rows) and what the critic does, with gradients."""
        with self.autocast():
            actor_inputs, critic_inputs = self._read(rows)
            return self.actor(actor_inputs, guesses), self.critic(critic_inputs)

    def gradients(self, rows: np.ndarray, weights: Weights) -> dict[str, float]:
        """Sets the gradients of both networks' parameters for a minibatch; returns the means of all losses."""
        part = self.part(rows)
        outputs, values = self.outputs(rows, guessing_rows(len(rows)))
        loss, figures = actor_loss(outputs, part, weights)
        value_loss = functional.smooth_l1_loss(values.float(), part["returns"])
        for parameter in (*self.actor.parameters(), *self.critic.parameters()):
            parameter.grad = None
        loss.backward()
        value_loss.backward()
        return {name: value.item() for name, value in (figures | {"value_loss": value_loss}).items()}
