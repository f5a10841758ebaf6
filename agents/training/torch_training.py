"""Training with automatic differentiation, on any device (``agents.training.cpu_training`` is quicker on the CPU)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.network.nets import Actor, Critic, FrozenActor
from agents.training.batch_inputs import BatchInputs
from agents.training.losses import Weights, actor_loss, guessing_rows

# Rows valued at once.
_CHUNK = 16384
_LOSS_FIELDS = ("hidden", "legal", "action", "logp", "advantage", "returns", "next_action", "waiting")


class Networks(NamedTuple):
    """The networks that learn, and the policy that they are held to, if there is one."""

    actor: Actor
    critic: Critic
    anchor: Actor | None


class TorchBackend:
    """Runs networks, which are on ``device``, on rows of a batch; ``cpu_training.CpuBackend`` does the same on the CPU."""

    def __init__(self, networks: Networks, inputs: BatchInputs, bfloat16: bool, device: torch.device) -> None:
        self.actor, self.critic, self.anchor = networks
        self.inputs, self.bfloat16, self.device = inputs, bfloat16, device
        self.refresh()

    def refresh(self) -> None:
        """Copies the policy's present weights."""
        self.policy = FrozenActor(self.actor, self.bfloat16)

    def _read(self, rows: np.ndarray, committed: bool = False) -> tuple[Tensor, Tensor]:
        kind = torch.bfloat16 if self.bfloat16 else torch.float32
        actor, critic = self.inputs.read(rows, committed, self.device)
        return actor.to(kind), critic.to(kind)

    def autocast(self) -> torch.autocast:
        """Products in bfloat16, if the backend uses it."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16)

    def part(self, rows: np.ndarray) -> dict[str, Tensor]:
        """The fields that losses need, for some rows; ``obs`` has only the first of them, those that ``guessing_rows`` counts."""
        batch = self.inputs.batch
        found = {name: batch.steps[name][rows] for name in _LOSS_FIELDS}
        found["obs"] = batch.obs[rows[: guessing_rows(len(rows))]]
        return {name: torch.from_numpy(array).to(self.device) for name, array in found.items()}

    def logits(self, rows: np.ndarray, thread: int = 0) -> np.ndarray:
        """The policy's logits ``float32[B, 107]``."""
        return self.policy(self._read(rows)[0]).cpu().numpy()

    @torch.no_grad()
    def values(self, rows: np.ndarray, committed: bool = False) -> np.ndarray:
        """The critic's values ``float32[B]``; with ``committed``, as if the movers were committed to gin."""
        values = np.empty(len(rows), np.float32)
        with self.autocast():
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                values[start : start + len(part)] = self.critic(self._read(part, committed)[1]).float().cpu().numpy()
        return values

    def outputs(self, rows: np.ndarray, guesses: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
        """Outputs of the actor (its guesses for the first ``guesses`` rows) and of the critic, with gradients."""
        with self.autocast():
            actor_inputs, critic_inputs = self._read(rows)
            return self.actor(actor_inputs, guesses), self.critic(critic_inputs)

    def gradients(self, rows: np.ndarray, weights: Weights) -> dict[str, float]:
        """Sets the gradients of both networks' parameters for a minibatch; returns the mean losses."""
        part = self.part(rows)
        if self.anchor and weights.anchor:
            with torch.no_grad(), self.autocast():
                part["anchor"] = self.anchor.logits(self._read(rows)[0]).float()
        outputs, values = self.outputs(rows, guessing_rows(len(rows)))
        loss, figures = actor_loss(outputs, part, weights)
        value_loss = functional.smooth_l1_loss(values.float(), part["returns"])
        for parameter in (*self.actor.parameters(), *self.critic.parameters()):
            parameter.grad = None
        loss.backward()
        value_loss.backward()
        figures["value_loss"] = value_loss
        # One wait for the device, not one for each figure.
        return dict(zip(figures, torch.stack(list(figures.values())).tolist(), strict=True))
