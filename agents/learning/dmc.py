"""Deep Monte Carlo: the second learner, on the same games, networks and files as ``agents.learning.ppo``.

The method of DouZero (Zha et al. 2021): a network predicts, for every action, the result of the hand; it plays what looks best with some
exploration, and is fitted to what hands brought in the end. No critic, no bootstrapping, no importance weights; only hands that ended
within the batch are learned from.

The actor's logits are read as results divided by ``TEMPERATURE``, so that its softmax explores and every player of checkpoints plays it
as it is. In the first ``clone_decisions`` a teacher plays: its results are fitted, and the softmax is brought to choose as it does.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch.nn import functional

from agents.learning.learner import AfterBatch, Learner
from agents.learning.rollout import finished, generalised_advantages
from agents.network.inputs import expand_legal
from agents.network.nets import ILLEGAL

# A result better by this much (in rewards; 2 points of a hand) is e times as likely to be explored.
TEMPERATURE = 0.04
# Weight of imitation beside the results while a teacher plays.
IMITATION = 0.1


def train(learner: Learner, after_batch: AfterBatch) -> None:
    """Trains until the decisions are spent or ``after_batch`` (called with the batch's figures) returns ``False`` in a process."""
    steps = learner.rollout.steps
    going = learner.decisions < learner.config.decisions
    while going:
        began = time.perf_counter()
        learner.play()
        # Nothing is subtracted and nothing foreseen, so returns are the hands' plain results.
        learner.rollout.batch.steps["value"] = 0
        generalised_advantages(learner.rollout.batch.steps, 1.0)
        steps["learns"] &= finished(steps["done"])
        with learner.clock("learning"):
            figures = learn(learner)
        going = learner.end_batch(began, figures, after_batch)


def learn(learner: Learner) -> dict[str, float]:
    """Gradient steps towards the results of a batch; returns the means of the losses, and how the batch was played."""
    rows = np.flatnonzero(learner.rollout.steps["learns"].reshape(-1))
    number = learner.workers.total(len(rows))[0]
    learner.decisions += int(number)
    rate = learner.set_learning_rate()
    losses = [_step(learner, part) for _, part in learner.minibatches(rows)]
    figures = learner.workers.mean({name: float(np.mean([each[name] for each in losses])) for name in losses[0]})
    if learner.cloning:
        # The actions were another's, so nothing can be said of a divergence.
        figures["kl"] = 0.0
    else:
        learner.steer(figures["kl"])
    return figures | {"learning_rate": rate, "rows": number} | learner.hand_figures()


def _step(learner: Learner, rows: np.ndarray) -> dict[str, float]:
    """One gradient step towards the results of some rows of the batch."""
    part = learner.torch_backend.part(rows)
    legal = expand_legal(part["legal"])
    logits = learner.torch_backend.outputs(rows, 1)[0][0].float()
    predicted = logits.gather(1, part["action"][:, None]).squeeze(1) * TEMPERATURE
    results = functional.smooth_l1_loss(predicted, part["returns"])
    loss = results
    if learner.cloning:
        loss = results + IMITATION * functional.cross_entropy(logits.masked_fill(~legal, ILLEGAL), part["action"])
    learner.optimisers["actor"].zero_grad()
    loss.backward()
    learner.descend("actor")
    learner.average_weights()
    with torch.no_grad():
        logps = functional.log_softmax(logits.masked_fill(~legal, ILLEGAL), 1)
        log_ratio = logps.gather(1, part["action"][:, None]).squeeze(1) - part["logp"]
        return {
            "value_loss": results.item(),
            "entropy": (-(logps.exp() * logps).sum(1) / legal.sum(1).float().log()).mean().item(),
            "kl": (log_ratio.exp() - 1 - log_ratio).mean().item(),
        }
