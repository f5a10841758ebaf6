"""Self-play by proximal policy optimisation, in one process or several.

``train`` plays a batch of half-moves of thousands of games in lock-step, computes advantages with a critic that sees both hands and the
stock, takes gradient steps and averages the weights. Specific to this game (docs/log has the experiments behind it):

* Both seats are one zero-sum sequence; the critic values every half-move.
* Policies of gin rummy collapse into always knocking, since waiting one turn is worse than knocking at once. So declining a knock mostly
  commits a seat to gin for the rest of the hand, and some hands are played for gin from the start; the network is told.
* The critic sees what the stock will bring to both hands (``agents.network.inputs``), since most of a result is luck.
* The learning rate follows a target divergence per batch.
"""

from __future__ import annotations

import math
import time

import numpy as np

from agents.training.learner import AfterBatch, Learner
from agents.training.losses import Weights
from agents.training.rollout import generalised_advantages, write_next_actions
from ginenv.engine.actions import KNOCK, STOCK


def train(learner: Learner, after_batch: AfterBatch) -> None:
    """Trains until the decisions are spent or ``after_batch`` returns ``False`` in any process."""
    going = learner.decisions < learner.config.decisions
    while going:
        began = time.perf_counter()
        learner.play()
        with learner.clock("inference"):
            judge(learner)
        with learner.clock("learning"):
            figures = learn(learner)
        going = learner.end_batch(began, figures, after_batch)


def judge(learner: Learner) -> None:
    """Writes values, advantages, returns and the advantage of knocking over waiting into the batch."""
    config, batch, steps = learner.config, learner.batch.steps, learner.steps
    batch["value"] = learner.backend.values(np.arange(batch.size)).reshape(batch.shape)
    generalised_advantages(batch, config.gae_lambda)
    write_next_actions(steps)
    # How much better knocking at once is than playing on for gin: the worth of a knock is known, and that of waiting is the critic's
    # value of the same state under the commitment to gin.
    flat = steps.reshape(-1)
    flat["waiting"] = np.nan
    rows = np.flatnonzero(~np.isnan(flat["knock_worth"]))
    if config.knock and not learner.cloning and rows.size:
        flat["waiting"][rows] = flat["knock_worth"][rows] - learner.backend.values(rows, committed=True)


def learn(learner: Learner) -> dict[str, float]:
    """Takes gradient steps over a batch; returns mean losses and statistics of the batch."""
    config, workers = learner.config, learner.workers
    steps = learner.steps.reshape(-1)
    rows = np.flatnonzero(steps["learns"])
    number = workers.total(len(rows))[0]
    learner.decisions += int(number)
    rate = learner.set_learning_rate()
    entropy = config.entropy + (config.entropy_end - config.entropy) * learner.progress()
    about_knocks = _knock_figures(learner)
    _normalise(learner, rows)
    knock = config.knock * (learner.commitment() / config.commit if config.commit else 1.0)
    weights = Weights(config.clip, knock, entropy, config.belief, config.next_action, learner.cloning, config.anchor)
    sums: dict[str, float] = {}
    last_kl, count = 0.0, 0
    for epoch, part in learner.minibatches(_teaching(learner, rows)):
        losses = learner.backend.gradients(part, weights)
        learner.descend("critic")
        if learner.decisions > config.settle_decisions:
            learner.descend("actor")
            learner.average_weights()
        sums = {name: sums.get(name, 0.0) + value for name, value in losses.items()}
        last_kl += losses["kl"] * (epoch == config.epochs - 1)
        count += 1
    figures = {name: total / count for name, total in sums.items()}
    # The divergence in the last epoch tells how far the batch moved the policy.
    figures["kl"] = last_kl * config.epochs / count
    returns = steps["returns"][rows]
    figures["explained_variance"] = float(1 - (returns - steps["value"][rows]).var() / (returns.var() + 1e-9))
    figures = workers.mean(figures)
    learner.steer(figures)
    about_run = {"learning_rate": rate, "entropy_weight": entropy, "rows": number}
    return figures | about_knocks | about_run | learner.hand_figures()


def _teaching(learner: Learner, rows: np.ndarray) -> np.ndarray:
    """The rows to train on: all while a teacher is imitated, then those of large advantage and all knock decisions."""
    count = round(learner.config.rows * len(rows))
    if learner.cloning or count == len(rows):
        return rows
    steps = learner.steps.reshape(-1)[rows]
    largest = np.argpartition(-np.abs(steps["advantage"]), count)[:count]
    kept = np.isfinite(steps["waiting"])
    kept[largest] = True
    return rows[kept]


def _normalise(learner: Learner, rows: np.ndarray) -> None:
    """Normalises advantages to mean 0 and standard deviation 1 over all processes' rows, and scales ``waiting`` alike."""
    steps = learner.steps.reshape(-1)
    chosen = steps["advantage"][rows].astype(np.float64)
    sums = float(chosen.sum()), float(np.square(chosen).sum())
    number, total, squares = learner.workers.total(len(rows), *sums)
    mean = total / max(1, number)
    deviation = math.sqrt(max(0.0, squares - number * mean * mean) / max(1, number - 1)) + 1e-6
    steps["advantage"] = (steps["advantage"] - np.float32(mean)) / np.float32(deviation)
    steps["waiting"] /= np.float32(deviation)


def _knock_figures(learner: Learner) -> dict[str, float]:
    """How often the learner knocked where it could also wait, and how much worse waiting was on average."""
    steps = learner.steps[np.isfinite(learner.steps["waiting"])]
    knocked = int(((steps["action"] >= KNOCK) & (steps["action"] < STOCK)).sum())
    choices, knocked, cost = learner.workers.total(len(steps), knocked, float(steps["waiting"].sum()))
    return {"knock_share": knocked / choices, "waiting_cost": cost / choices} if choices else {}
