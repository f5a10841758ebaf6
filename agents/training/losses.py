"""The losses of a gradient step in torch (``agents.training.cpu_kernels`` has their gradients for the CPU)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from agents.network.inputs import expand_cards, expand_legal
from agents.network.nets import ILLEGAL
from ginenv.engine.actions import KNOCK, STOCK

# Log-odds of knocking are not pushed beyond this, so that 3 per cent of the decisions explore the other arm.
MOST_ODDS = 3.5
# One row in this many trains the heads that guess the opponent's cards and next action.
GUESSING_PART = 4


class Weights(NamedTuple):
    """PPO's clip range, the weights of the losses (see ``TrainConfig``), and whether a teacher's actions are imitated.

    ``anchor`` weighs the divergence from the policy that the run began from.
    """

    clip: float
    knock: float
    entropy: float
    belief: float
    next_action: float
    cloning: bool
    anchor: float = 0.0


def log_probabilities(logits: Tensor, legal: Tensor) -> Tensor:
    """Log-probabilities ``[B, 107]`` of a policy; those of illegal actions are below -40."""
    return functional.log_softmax(logits.masked_fill(~legal, ILLEGAL), 1)


def relative_entropy(logps: Tensor, legal: Tensor) -> Tensor:
    """Entropy ``[B]`` of log-probabilities, divided by the log of the number of legal actions."""
    return -(logps.exp() * logps).sum(1) / legal.sum(1).float().log()


def guessing_rows(count: int) -> int:
    """How many of a minibatch's first rows train the heads that guess the opponent's cards and next action."""
    return max(1, count // GUESSING_PART)


def knock_decision_loss(logits: Tensor, legal: Tensor, waiting: Tensor) -> Tensor:
    """Pushes the choice between knocking and playing on for gin towards the better arm, with a force that does not fade.

    The gradient of a softmax that always knocks vanishes, and every self-play run ends there. So the difference between the two arms,
    ``waiting`` (``[B]``, NaN where there is no choice), acts within bounds on the log-odds themselves (as in neural replicator dynamics,
    Hennes et al. 2020). ``logits`` and ``legal`` are ``[B, 107]``.
    """
    rows = torch.isfinite(waiting).nonzero().squeeze(1)
    kept = logits[rows].masked_fill(~legal[rows], ILLEGAL)
    odds = kept[:, KNOCK:STOCK].logsumexp(1) - kept[:, :KNOCK].logsumexp(1)
    cost = waiting[rows]
    free = torch.where(cost > 0, odds < MOST_ODDS, odds > -MOST_ODDS)
    return -(cost * odds * free).sum() / len(waiting)


def actor_loss(
    outputs: tuple[Tensor, Tensor, Tensor], part: dict[str, Tensor], weights: Weights
) -> tuple[Tensor, dict[str, Tensor]]:
    """The actor's weighted loss over a minibatch ``part``, and its terms; ``outputs`` are ``Actor``'s logits.

    ``part["obs"]`` has only the rows whose cards and next action are guessed, the first ones.
    """
    logits, belief, following = (output.float() for output in outputs)
    guesses, legal = len(belief), expand_legal(part["legal"])
    logps = log_probabilities(logits, legal)
    logp = logps.gather(1, part["action"][:, None]).squeeze(1)
    log_ratio = logp - part["logp"]
    ratio = log_ratio.exp()
    if weights.cloning:
        policy_loss = -logp.mean()
    else:
        clipped = ratio.clamp(1 - weights.clip, 1 + weights.clip)
        policy_loss = -torch.min(ratio * part["advantage"], clipped * part["advantage"]).mean()
    knock_loss = knock_decision_loss(logits, legal, part["waiting"])
    entropy = relative_entropy(logps, legal).mean()
    # Only cards whose place the seat does not know are guessed.
    seen = part["obs"]
    unknown = (seen[:, :52] + seen[:, 156:208] + seen[:, 208:260] == 0).float()
    held = expand_cards(part["hidden"][:guesses]).float()
    misses = functional.binary_cross_entropy_with_logits(belief, held, reduction="none")
    belief_loss = (misses * unknown).sum() / unknown.sum().clamp(min=1)
    targets = part["next_action"][:guesses]
    next_loss = functional.cross_entropy(following, targets, ignore_index=-1, reduction="sum")
    next_loss = next_loss / (targets >= 0).sum().clamp(min=1)
    leaned = (logps.exp() * (logps - log_probabilities(part["anchor"], legal))).sum(1).mean() if weights.anchor else 0.0
    loss = (
        policy_loss
        + weights.anchor * leaned
        + weights.knock * knock_loss
        - weights.entropy * entropy
        + weights.belief * belief_loss
        + weights.next_action * next_loss
    )
    return loss, {
        "policy_loss": policy_loss,
        "belief_loss": belief_loss,
        "next_action_loss": next_loss,
        "entropy": entropy,
        "kl": (ratio - 1 - log_ratio).mean(),
        "clip_fraction": ((ratio - 1).abs() > weights.clip).float().mean(),
    }
