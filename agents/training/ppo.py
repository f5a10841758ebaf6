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
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.network.inputs import expand_cards
from agents.network.nets import ILLEGAL
from agents.training.action_values import action_advantages
from agents.training.learner import Learner
from agents.training.selfplay import generalised_advantages, write_next_actions
from ginenv.engine.actions import KNOCK, STOCK
from ginenv.errors import GinError

# Log-odds of knocking are not pushed beyond this, so that 3 per cent of the decisions explore the other choice.
MAX_KNOCK_ODDS = 3.5
# One row in this many trains the heads that predict the opponent's cards and next action.
PREDICTION_ROWS = 4
MAX_GRAD_NORM = 0.5
# Lambda of generalised advantage estimation over all half-moves.
GAE_LAMBDA = 0.9
# Weights of the losses of the heads that predict the opponent's cards and its next action.
BELIEF_COEF, NEXT_ACTION_COEF = 0.1, 0.02
AfterBatch = Callable[[dict[str, float]], bool]


class Coefficients(NamedTuple):
    """Weights of the losses that change during a run, and whether the actions of an imitated player are learned instead."""

    entropy: float
    knock: float
    imitating: bool


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
    learner.imitating = learner.is_to_imitate
    for engine, inference in learner.in_threads(partial(_play_games, learner), range(learner.threads)):
        learner.budget["engine"] += engine / learner.threads
        learner.budget["inference"] += inference / learner.threads


def _play_games(learner: Learner, thread: int) -> tuple[float, float]:
    """Plays one thread's games and returns the seconds of the engine and of inference; kernels and products let other threads run."""
    config, rollout, opponents = learner.config, learner.rollouts[thread], learner.opponents
    rollout.set_commitment(learner.commitment())
    first, spent = learner.columns[thread].start, [0.0, 0.0]
    rollout.tally[:] = 0
    for step in range(config.num_steps):
        began = time.perf_counter()
        rollout.observe(step)
        rows = rollout.choosing(step)
        seen = time.perf_counter()
        logits = learner.logits(step * config.num_envs + first + rows)
        rollout.sample(step, rows, logits)
        if learner.imitating:
            learner.others[step, learner.columns[thread]] = (-1, 0, 0)
        elif config.q_weight:
            # A declined knock may commit its seat to gin, so its value is not that of a free choice; such decisions have their own loss.
            knocks = not learner.commitment()
            learner.action_values[thread].gather(step, rows, logits, knocks, learner.frozen_critic)
        opponents.act(rollout, step)
        if learner.imitating:
            opponents.imitate(rollout, step, thread)
        chosen = time.perf_counter()
        rollout.advance(step)
        spent[0] += time.perf_counter() - chosen + seen - began
        spent[1] += chosen - seen
    rollout.observe(config.num_steps)
    return spent[0], spent[1]


# --- advantages ---------------------------------------------------------------------------------------------------------------------


def compute_advantages(learner: Learner) -> None:
    """Writes values, advantages, returns and the advantage of knocking over waiting into the batch."""
    config, batch, steps = learner.config, learner.batch.steps, learner.steps
    batch["value"] = learner.values(np.arange(batch.size)).reshape(batch.shape)
    if config.q_weight:
        action_advantages(batch, learner.others)
    generalised_advantages(batch, GAE_LAMBDA)
    write_next_actions(steps)
    # How much better knocking at once is than playing on for gin: the worth of a knock is known, and that of waiting is the critic's
    # value of the same state under the commitment to gin.
    flat = steps.reshape(-1)
    flat["waiting"] = np.nan
    rows = np.flatnonzero(~np.isnan(flat["knock_worth"]))
    if config.commit and not learner.imitating and rows.size:
        flat["waiting"][rows] = flat["knock_worth"][rows] - learner.values(rows, committed=True)


def normalise_advantages(learner: Learner, rows: np.ndarray) -> None:
    """Normalises advantages to mean 0 and standard deviation 1 over all processes' rows, and scales other differences of values alike."""
    steps = learner.steps.reshape(-1)
    chosen = steps["advantage"][rows].astype(np.float64)
    sums = float(chosen.sum()), float(np.square(chosen).sum())
    number, total, squares = learner.workers.total(len(rows), *sums)
    mean = total / max(1, number)
    deviation = math.sqrt(max(0.0, squares - number * mean * mean) / max(1, number - 1)) + 1e-6
    steps["advantage"] = (steps["advantage"] - np.float32(mean)) / np.float32(deviation)
    for differences in (steps["waiting"], steps["choice"], learner.others["advantage"]):
        differences /= np.float32(deviation)


def select_training_rows(learner: Learner, rows: np.ndarray) -> np.ndarray:
    """The rows to train on: all during imitation; then decisions whether to knock, and valued choices or those of large advantages."""
    count = round(learner.config.trained_fraction * len(rows))
    if learner.imitating or count == len(rows):
        return rows
    steps = learner.steps.reshape(-1)[rows]
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
    steps = learner.steps.reshape(-1)
    rows = np.flatnonzero(steps["learns"])
    number = workers.total(len(rows))[0]
    learner.decisions += int(number)
    rate = learner.set_learning_rate()
    about_knocks = _knock_figures(learner)
    normalise_advantages(learner, rows)
    entropy = config.entropy_coef + (config.entropy_coef_end - config.entropy_coef) * learner.progress()
    knock = learner.commitment() / config.commit if config.commit else 0.0
    coefficients = Coefficients(entropy, knock, learner.imitating)
    sums: dict[str, float] = {}
    last_kl, count = 0.0, 0
    for epoch, part in minibatches(learner, select_training_rows(learner, rows)):
        losses = set_gradients(learner, part, coefficients)
        optimizer_step(learner, "critic")
        if learner.decisions > config.critic_warmup:
            optimizer_step(learner, "actor")
            learner.update_ema()
        sums = {name: sums.get(name, 0.0) + value for name, value in losses.items()}
        last_kl += losses["kl"] * (epoch == config.epochs - 1)
        count += 1
    figures = {name: total / count for name, total in sums.items()}
    # The divergence in the last epoch tells how far the batch moved the policy.
    figures["kl"] = last_kl * config.epochs / count
    returns = steps["returns"][rows]
    figures["explained_variance"] = float(1 - (returns - steps["value"][rows]).var() / (returns.var() + 1e-9))
    figures = workers.mean(figures)
    adapt_learning_rate(learner, figures)
    about_run = {"learning_rate": rate, "entropy_coef": entropy, "rows": number}
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
    for epoch in range(learner.config.epochs):
        order = rows[torch.randperm(len(rows), generator=learner.generator).numpy()][:count]
        for start in range(0, count - size // 2, size):
            yield epoch, order[start : start + size]


def set_gradients(learner: Learner, rows: np.ndarray, coefficients: Coefficients) -> dict[str, float]:
    """Sets the gradients of both networks for a minibatch; returns its mean losses.

    Threads take chunks of the rows, and the chunks' gradients are added in a fixed order: a result depends on the number of threads,
    never on their timing.
    """
    learner.refresh_copies()
    parameters = [parameter for network in learner.copies for parameter in network.parameters()]

    def of_chunk(part: np.ndarray) -> tuple[list[Tensor], dict[str, Tensor]]:
        total, figures = loss(learner, part, coefficients)
        share = len(part) / len(rows)
        gradients = [gradient.float() for gradient in torch.autograd.grad(total * share, parameters)]
        return gradients, {name: value.detach() * share for name, value in figures.items()}

    (gradients, figures), *others = learner.in_threads(of_chunk, learner.chunks(rows))
    for more, more_figures in others:
        gradients = [one + other for one, other in zip(gradients, more, strict=True)]
        figures = {name: value + more_figures[name] for name, value in figures.items()}
    learner.set_gradients(gradients)
    # One wait for the device, not one for each figure.
    return dict(zip(figures, torch.stack(list(figures.values())).tolist(), strict=True))


def loss(learner: Learner, rows: np.ndarray, coefficients: Coefficients) -> tuple[Tensor, dict[str, Tensor]]:
    """The mean loss of actor and critic over some rows, and its terms."""
    config, predicted = learner.config, max(1, len(rows) // PREDICTION_ROWS)
    steps = learner.fields(rows)
    actor_inputs, critic_inputs = learner.inputs.read(rows)
    actor, critic = learner.copies
    all_logits, cards, following = (x.float() for x in actor(actor_inputs, predicted))
    values = critic(critic_inputs).float()
    # Of 107 actions some ten are legal; the chosen one comes first.
    actions = learner.legal_actions(rows)
    legal, columns = actions >= 0, actions.clamp(min=0)
    logits = all_logits.gather(1, columns)
    logps = log_probabilities(logits, legal)
    logp = logps[:, 0]
    log_ratio = logp - steps["logp"]
    ratio = log_ratio.exp()
    if coefficients.imitating:
        policy_loss = -logp.mean()
    else:
        gain = clipped_gain(ratio, steps["advantage"], config.clip)
        if config.q_weight:
            every = all_actions_gain(learner, rows, all_logits, logits[:, 0] - logp, steps, ratio)
            gain = torch.where(steps["choice"].isfinite(), gain.lerp(every, config.q_weight), gain)
        policy_loss = -gain.mean()
    entropy = relative_entropy(logps, legal).mean()
    value_loss = functional.smooth_l1_loss(values, steps["returns"])
    belief_loss = _belief_loss(cards, steps["hidden"][:predicted], learner.observations(rows[:predicted]))
    targets = steps["next_action"][:predicted]
    next_action_loss = functional.cross_entropy(following, targets, ignore_index=-1, reduction="sum")
    next_action_loss = next_action_loss / (targets >= 0).sum().clamp(min=1)
    total = (
        policy_loss
        + value_loss
        + coefficients.knock * knock_loss(logits, actions, steps["waiting"])
        - coefficients.entropy * entropy
        + BELIEF_COEF * belief_loss
        + NEXT_ACTION_COEF * next_action_loss
    )
    if learner.frozen_start is not None:
        start = log_probabilities(learner.frozen_start(actor_inputs).gather(1, columns), legal)
        total = total + config.kl_to_start_coef * (logps.exp() * (logps - start)).sum(1).mean()
    return total, {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "belief_loss": belief_loss,
        "next_action_loss": next_action_loss,
        "entropy": entropy,
        "kl": (ratio - 1 - log_ratio).mean(),
        "clip_fraction": ((ratio - 1).abs() > config.clip).float().mean(),
    }


def clipped_gain(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's objective: how much more often actions of some advantages are taken, up to the clip range."""
    return torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def all_actions_gain(
    learner: Learner, rows: np.ndarray, logits: Tensor, normaliser: Tensor, steps: dict[str, Tensor], ratio: Tensor
) -> Tensor:
    """PPO's objective ``[B]`` summed over all actions that were valued, each as often as it is drawn; 0 where none was."""
    clip, others = learner.config.clip, learner.other_actions(rows)
    total = steps["logp"].exp() * clipped_gain(ratio, steps["choice"].nan_to_num(), clip)
    valued, before = others["action"] >= 0, others["logp"]
    logp = logits.gather(1, others["action"].clamp(min=0)) - normaliser[:, None]
    gain = before.exp() * clipped_gain((logp - before).where(valued, 0).exp(), others["advantage"], clip)
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


def _belief_loss(logits: Tensor, hidden: Tensor, observed: Tensor) -> Tensor:
    """Cross-entropy of the opponent's cards, over those whose place the seat does not know."""
    unknown = (observed[:, :52] + observed[:, 156:208] + observed[:, 208:260] == 0).float()
    misses = functional.binary_cross_entropy_with_logits(logits, expand_cards(hidden).float(), unknown, reduction="sum")
    return misses / unknown.sum().clamp(min=1)


def optimizer_step(learner: Learner, name: str) -> None:
    """Takes an optimiser step of ``actor`` or ``critic`` with the gradients that were set."""
    parameters = list(getattr(learner, name).parameters())
    learner.workers.average_gradients(parameters)
    nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
    learner.optimisers[name].step()


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
