"""Self-play by proximal policy optimisation, read from top to bottom: collect a batch, compute advantages, update the networks.

What is specific to this game (docs/log has the experiments behind it):

* Both seats are one zero-sum sequence; the critic values every half-move.
* Policies of gin rummy collapse into always knocking, since waiting one turn is worse than knocking at once. So declining a knock mostly
  commits a seat to gin for the rest of the hand, and some hands are played for gin from the start; the network reads which.
* The critic sees both hands and what the stock will bring to them (``agents.network.inputs``), since most of a result is luck.
* The learning rate follows a target divergence per batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.config import TrainConfig
from agents.network.nets import ILLEGAL
from agents.training.batch import Batch, Minibatch, action_advantages, generalised_advantages
from agents.training.learner import Learner, Networks, Schedule
from ginenv.engine.actions import KNOCK, STOCK
from ginenv.errors import GinError

# Log-odds of knocking are not pushed beyond this, so that 3 per cent of the decisions explore the other choice.
MAX_KNOCK_ODDS = 3.5
# Passes over each batch.
EPOCHS = 1
# One row in this many trains the head that guesses the opponent's cards.
GUESSED_ROWS = 4
# Lambda of generalised advantage estimation over all half-moves.
GAE_LAMBDA = 0.9
# Weight of that head's loss.
BELIEF_COEF = 0.1
AfterBatch = Callable[[dict[str, float]], bool]


def train(learner: Learner, after_batch: AfterBatch) -> None:
    """Trains until the decisions are spent or ``after_batch`` returns ``False`` in any process.

    Args:
        learner: networks, games and optimisers.
        after_batch: called with each batch's losses and statistics.

    Raises:
        GinError: if batches break the networks again and again.
    """
    going = learner.decisions < learner.config.decisions
    while going:
        began = time.perf_counter()
        collect(learner)
        with learner.clock("inference"):
            compute_advantages(learner)
        with learner.clock("learning"):
            figures = update(learner)
        learner.roll_back_if_broken(figures)
        learner.batches += 1
        learner.seconds += time.perf_counter() - began
        stopped = learner.workers.any(not after_batch(figures))
        going = not stopped and learner.decisions < learner.config.decisions


# --- playing ------------------------------------------------------------------------------------------------------------------------


@torch.no_grad()
def collect(learner: Learner) -> None:
    """Plays ``num_steps`` half-moves of every game into the batch with the present policy."""
    learner.begin_batch()
    for engine, inference in learner.in_threads(partial(_play_games, learner), range(learner.threads)):
        learner.budget["engine"] += engine / learner.threads
        learner.budget["inference"] += inference / learner.threads


def _play_games(learner: Learner, thread: int) -> tuple[float, float]:
    """Plays one thread's games and returns the seconds of the engine and of inference; kernels and products let other threads run."""
    config, rollout, games = learner.config, learner.rollouts[thread], learner.columns[thread]
    spent = [0.0, 0.0]
    for step in range(config.num_steps):
        began = time.perf_counter()
        rows = rollout.observe(step)
        seen = time.perf_counter()
        logits = learner.logits(step * config.num_envs + games.start + rows)
        rollout.sample(step, rows, logits)
        if learner.imitating:
            learner.batch.others[step, games] = (-1, 0, 0)
        elif config.q_weight:
            # A declined knock may commit its seat to gin, so its value is not that of a free choice; such decisions have their own loss.
            knocks = not learner.commitment()
            learner.action_values[thread].gather(step, rows, logits, knocks, learner.frozen_critic)
        rollout.ask_opponents(step)
        if learner.imitating:
            rollout.imitate(step)
        chosen = time.perf_counter()
        rollout.advance(step)
        spent[0] += time.perf_counter() - chosen + seen - began
        spent[1] += chosen - seen
    rollout.observe(config.num_steps)
    return spent[0], spent[1]


# --- advantages ---------------------------------------------------------------------------------------------------------------------


def compute_advantages(learner: Learner) -> None:
    """Writes values, advantages, returns and the advantage of knocking over waiting into the batch."""
    config, batch, steps = learner.config, learner.batch, learner.batch.steps
    steps["value"] = learner.values(np.arange(steps.size)).reshape(steps.shape)
    if config.q_weight:
        action_advantages(steps, batch.others)
    generalised_advantages(steps, GAE_LAMBDA)
    # How much better knocking at once is than playing on for gin: the worth of a knock is known, and that of waiting is the critic's
    # value of the same state under the commitment to gin.
    played = batch.played
    played["waiting"] = np.nan
    rows = np.flatnonzero(~np.isnan(played["knock_worth"]))
    if config.commit[0] and not learner.imitating and rows.size:
        played["waiting"][rows] = played["knock_worth"][rows] - learner.values(rows, committed=True)


def normalise_advantages(learner: Learner, rows: np.ndarray) -> None:
    """Normalises advantages to mean 0 and standard deviation 1 over all processes' rows, and scales other differences of values alike."""
    steps = learner.batch.played
    chosen = steps["advantage"][rows].astype(np.float64)
    sums = float(chosen.sum()), float(np.square(chosen).sum())
    number, total, squares = learner.workers.total(len(rows), *sums)
    mean = total / max(1, number)
    deviation = math.sqrt(max(0.0, squares - number * mean * mean) / max(1, number - 1)) + 1e-6
    steps["advantage"] = (steps["advantage"] - np.float32(mean)) / np.float32(deviation)
    for differences in (steps["waiting"], steps["choice"], learner.batch.others["advantage"]):
        differences /= np.float32(deviation)


def select_training_rows(learner: Learner, rows: np.ndarray) -> np.ndarray:
    """The rows to train on: all during imitation; then decisions whether to knock, and valued choices or those of large advantages."""
    count = round(learner.config.trained_fraction * len(rows))
    if learner.imitating or count == len(rows):
        return rows
    steps = learner.batch.played[rows]
    chosen = np.isfinite(steps["waiting"])
    if learner.config.q_weight:
        # Elsewhere advantages are luck alone (docs/log/training.md); rows at random do not mislead the critic.
        chosen |= np.isfinite(steps["choice"])
        rest = np.flatnonzero(~chosen)
        order = torch.randperm(len(rest), generator=learner.generator).numpy()
        chosen[rest[order[: max(0, count - len(rows) + len(rest))]]] = True
    else:
        chosen[np.argpartition(-np.abs(steps["advantage"]), count)[:count]] = True
    return rows[chosen]


# --- learning -----------------------------------------------------------------------------------------------------------------------


def update(learner: Learner) -> dict[str, float]:
    """Takes gradient steps over a batch; returns mean losses and statistics of the batch."""
    config, workers = learner.config, learner.workers
    steps = learner.batch.played
    rows = np.flatnonzero(steps["learns"])
    number = workers.total(len(rows))[0]
    learner.decisions += int(number)
    schedule = learner.follow_schedule()
    about_knocks = _knock_figures(learner)
    normalise_advantages(learner, rows)
    sums: dict[str, float] = {}
    last_kl, count = 0.0, 0
    for epoch, part in minibatches(learner, select_training_rows(learner, rows)):
        losses = learner.backward(partial(loss, learner.batch, config, schedule), part)
        learner.step("critic")
        if learner.decisions > config.critic_warmup:
            learner.step("actor")
        sums = {name: sums.get(name, 0.0) + value for name, value in losses.items()}
        last_kl += losses["kl"] * (epoch == EPOCHS - 1)
        count += 1
    figures = {name: total / count for name, total in sums.items()}
    # The divergence in the last epoch tells how far the batch moved the policy.
    figures["kl"] = last_kl * EPOCHS / count
    returns = steps["returns"][rows]
    figures["explained_variance"] = float(1 - (returns - steps["value"][rows]).var() / (returns.var() + 1e-9))
    figures = workers.mean(figures)
    adapt_learning_rate(learner, figures)
    about_run = {"learning_rate": schedule.learning_rate, "entropy_coef": schedule.entropy, "rows": number}
    return figures | about_knocks | about_run | _hand_figures(learner)


def minibatches(learner: Learner, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Every epoch's minibatches of some rows in random order, with the number of the epoch.

    All processes take the same number of steps of the same size; surplus rows of a process are dropped.

    Raises:
        GinError: if there are too few rows for a step.
    """
    size, count = learner.config.minibatch, learner.workers.least(len(rows))
    if count <= size // 2:
        raise GinError(
            f"the batch has {count} decisions to learn from, too few for a gradient step; num_envs times num_steps must give more than "
            f"half of minibatch, {size // 2}"
        )
    for epoch in range(EPOCHS):
        order = rows[torch.randperm(len(rows), generator=learner.generator).numpy()][:count]
        for start in range(0, count - size // 2, size):
            yield epoch, order[start : start + size]


def loss(
    batch: Batch, config: TrainConfig, schedule: Schedule, networks: Networks, rows: np.ndarray
) -> tuple[Tensor, dict[str, Tensor]]:
    """The mean loss of actor and critic over some rows, and its terms."""
    guesses = max(1, len(rows) // GUESSED_ROWS)
    b = batch.minibatch(rows, guesses)
    all_logits, cards = (x.float() for x in networks.actor(b.actor, guesses))
    values = networks.critic(b.critic).float()
    # Of 107 actions some ten are legal; the chosen one comes first.
    legal, columns = b.actions >= 0, b.actions.clamp(min=0)
    logits = all_logits.gather(1, columns)
    logps = log_probabilities(logits, legal)
    logp = logps[:, 0]
    log_ratio = logp - b.logp
    ratio = log_ratio.exp()
    if schedule.imitating:
        policy_loss = -logp.mean()
    else:
        gain = clipped_gain(ratio, b.advantage, config.clip)
        if config.q_weight:
            every = all_actions_gain(b, all_logits, logits[:, 0] - logp, ratio, config.clip)
            gain = torch.where(b.choice.isfinite(), gain.lerp(every, config.q_weight), gain)
        policy_loss = -gain.mean()
    entropy = relative_entropy(logps, legal).mean()
    value_loss = functional.smooth_l1_loss(values, b.returns)
    belief_loss = functional.binary_cross_entropy_with_logits(cards, b.hidden, b.unknown, reduction="sum")
    belief_loss = belief_loss / b.unknown.sum().clamp(min=1)
    total = (
        policy_loss
        + value_loss
        + schedule.knock * knock_loss(logits, b.actions, b.waiting)
        - schedule.entropy * entropy
        + BELIEF_COEF * belief_loss
    )
    if networks.start is not None:
        start = log_probabilities(networks.start(b.actor).gather(1, columns), legal)
        total = total + config.kl_to_start_coef * (logps.exp() * (logps - start)).sum(1).mean()
    return total, {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "belief_loss": belief_loss,
        "entropy": entropy,
        "kl": (ratio - 1 - log_ratio).mean(),
        "clip_fraction": ((ratio - 1).abs() > config.clip).float().mean(),
    }


def clipped_gain(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's objective: how much more often actions of some advantages are taken, up to the clip range."""
    return torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def all_actions_gain(b: Minibatch, logits: Tensor, normaliser: Tensor, ratio: Tensor, clip: float) -> Tensor:
    """PPO's objective ``[B]`` summed over all actions that were valued, each as often as it is drawn; 0 where none was."""
    total = b.logp.exp() * clipped_gain(ratio, b.choice.nan_to_num(), clip)
    valued, before = b.others["action"] >= 0, b.others["logp"]
    logp = logits.gather(1, b.others["action"].clamp(min=0)) - normaliser[:, None]
    gain = before.exp() * clipped_gain((logp - before).where(valued, 0).exp(), b.others["advantage"], clip)
    return total + gain.where(valued, 0).sum(1)


def log_probabilities(logits: Tensor, legal: Tensor) -> Tensor:
    """Log-probabilities of a policy from logits ``[B, K]`` of K actions; those of illegal ones are below -40."""
    return functional.log_softmax(torch.where(legal, logits, ILLEGAL), 1)


def relative_entropy(logps: Tensor, legal: Tensor) -> Tensor:
    """Entropy ``[B]`` of log-probabilities, divided by the log of the number of legal actions."""
    return -(logps.exp() * logps).sum(1) / legal.sum(1).float().log()


def knock_loss(logits: Tensor, actions: Tensor, waiting: Tensor) -> Tensor:
    """Pushes the choice between knocking and playing on for gin towards the better one, with a force that does not fade.

    The gradient of a softmax that always knocks vanishes, and every self-play run ends there. So the difference between the two choices,
    ``waiting`` (``[B]``, NaN where there is no choice), acts within bounds on the log-odds themselves (as in neural replicator dynamics,
    Hennes et al. 2020). ``logits`` are those of the legal ``actions`` ``[B, K]``.
    """
    rows = torch.isfinite(waiting).nonzero().squeeze(1)
    actions, logits = actions[rows], logits[rows]
    knocks = (actions >= KNOCK) & (actions < STOCK)
    others = (actions >= 0) & (actions < KNOCK)
    odds = torch.where(knocks, logits, ILLEGAL).logsumexp(1) - torch.where(others, logits, ILLEGAL).logsumexp(1)
    cost = waiting[rows]
    free = torch.where(cost > 0, odds < MAX_KNOCK_ODDS, odds > -MAX_KNOCK_ODDS)
    return -(cost * odds * free).sum() / len(waiting)


def adapt_learning_rate(learner: Learner, figures: dict[str, float]) -> None:
    """Adapts the learning rate's factor to a batch's divergence ``kl``, which is set to 0 during imitation."""
    target = learner.config.target_kl
    if learner.imitating:
        figures["kl"] = 0.0
    elif figures["kl"] > 1.5 * target:
        learner.lr_factor = max(0.05, learner.lr_factor / 1.2)
    elif figures["kl"] < target / 1.5:
        learner.lr_factor = min(2.0, learner.lr_factor * 1.1)


# --- statistics ---------------------------------------------------------------------------------------------------------------------


def _knock_figures(learner: Learner) -> dict[str, float]:
    """How often the learner knocked where it could also wait, and how much worse waiting was on average."""
    steps = learner.steps[np.isfinite(learner.steps["waiting"])]
    knocked = int(((steps["action"] >= KNOCK) & (steps["action"] < STOCK)).sum())
    choices, knocked, cost = learner.workers.total(len(steps), knocked, float(steps["waiting"].sum()))
    return {"knock_share": knocked / choices, "waiting_cost": cost / choices} if choices else {}


def _hand_figures(learner: Learner) -> dict[str, float]:
    """Statistics of the batch's hands, over all processes."""
    tallies = np.sum([rollout.tally for rollout in learner.rollouts], 0)
    hands, gins, knocks, length, undercuts, deadwood = learner.workers.total(*tallies.tolist())
    return {
        "hands": hands,
        "gin_rate": gins / max(1, hands),
        "knock_rate": knocks / max(1, hands),
        "undercut_rate": undercuts / max(1, knocks),
        "knock_deadwood": deadwood / max(1, knocks),
        "hand_length": length / max(1, hands),
    }
