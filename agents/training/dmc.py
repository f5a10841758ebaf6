"""Deep Monte Carlo: the second learner, on the same games, networks and files as ``agents.training.ppo``.

The method of DouZero (Zha et al. 2021): a network predicts the hand's result for every action, plays mostly the best one, and is fitted
to the actual results. There is no critic, no bootstrapping and no importance weight; only hands that ended within the batch count.

The actor's logits are predicted results divided by ``TEMPERATURE``, so that its softmax explores and its checkpoints play like any
others. During the first ``clone_decisions`` a teacher plays; its results are fitted and its choices imitated.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch.nn import functional

from agents.network.inputs import expand_legal
from agents.training.learner import AfterBatch, Learner
from agents.training.losses import log_probabilities, relative_entropy
from agents.training.rollout import finished, generalised_advantages

# An action whose result is better by this much (in rewards; 2 points of a hand) is played e times as often.
TEMPERATURE = 0.04
# Weight of imitation relative to the results while a teacher plays.
IMITATION = 0.1


def train(learner: Learner, after_batch: AfterBatch) -> None:
    """Trains until the decisions are spent or ``after_batch`` returns ``False`` in any process."""
    steps = learner.steps
    going = learner.decisions < learner.config.decisions
    while going:
        began = time.perf_counter()
        learner.play()
        # With values of 0 and no discounting, returns are the hands' results.
        learner.batch.steps["value"] = 0
        generalised_advantages(learner.batch.steps, 1.0)
        steps["learns"] &= finished(steps["done"])
        with learner.clock("learning"):
            figures = learn(learner)
        going = learner.end_batch(began, figures, after_batch)


def learn(learner: Learner) -> dict[str, float]:
    """Takes gradient steps towards a batch's results; returns mean losses and statistics of the batch."""
    rows = np.flatnonzero(learner.steps["learns"].reshape(-1))
    number = learner.workers.total(len(rows))[0]
    learner.decisions += int(number)
    rate = learner.set_learning_rate()
    losses = [_step(learner, part) for _, part in learner.minibatches(rows)]
    figures = learner.workers.mean({name: float(np.mean([each[name] for each in losses])) for name in losses[0]})
    learner.steer(figures)
    return figures | {"learning_rate": rate, "rows": number} | learner.hand_figures()


def _step(learner: Learner, rows: np.ndarray) -> dict[str, float]:
    """One gradient step towards the results of some rows of the batch."""
    part = learner.torch_backend.part(rows)
    legal, action = expand_legal(part["legal"]), part["action"][:, None]
    logits = learner.torch_backend.outputs(rows, 1)[0][0].float()
    logps = log_probabilities(logits, legal)
    logp = logps.gather(1, action).squeeze(1)
    results = functional.smooth_l1_loss(logits.gather(1, action).squeeze(1) * TEMPERATURE, part["returns"])
    loss = results - IMITATION * logp.mean() if learner.cloning else results
    learner.optimisers["actor"].zero_grad()
    loss.backward()
    learner.descend("actor")
    learner.average_weights()
    with torch.no_grad():
        log_ratio = logp - part["logp"]
        return {
            "value_loss": results.item(),
            "entropy": relative_entropy(logps, legal).mean().item(),
            "kl": (log_ratio.exp() - 1 - log_ratio).mean().item(),
        }
