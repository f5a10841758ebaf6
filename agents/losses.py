"""Masks as tensors, and the loss that weighs knocking against playing on."""

from __future__ import annotations

import torch
from torch import Tensor

from agents.networks import ILLEGAL
from ginenv.actions import KNOCK, STOCK

# Log-odds of knocking are not pushed beyond this: 3 per cent of the decisions go the other way and keep both arms known.
MOST_ODDS = 3.5
_CARDS = torch.arange(52)


def expand_cards(masks: Tensor) -> Tensor:
    """Masks ``int64[B]`` as booleans ``[B, 52]``."""
    return ((masks[:, None] >> _CARDS.to(masks.device)) & 1).bool()


def expand_legal(legal: Tensor) -> Tensor:
    """Legal actions ``int64[B, 3]`` as booleans ``[B, 107]``."""
    others = ((legal[:, 2:3] >> _CARDS[:3].to(legal.device)) & 1).bool()
    return torch.cat([expand_cards(legal[:, 0]), expand_cards(legal[:, 1]), others], 1)


def knock_decision_loss(logits: Tensor, legal: Tensor, waiting: Tensor) -> Tensor:
    """Pushes the choice between knocking and playing on for gin towards the better arm, with a force that does not fade.

    A softmax that always knocks no longer feels its own gradient, and every self-play run ends there. So the difference of both arms
    acts on the log-odds themselves (as in neural replicator dynamics, Hennes et al. 2020), which are kept within bounds.

    Args:
        logits: ``[B, 107]``.
        legal: ``[B, 107]``.
        waiting: ``[B]`` how much better knocking is, NaN where there is no choice.
    """
    rows = torch.isfinite(waiting).nonzero().squeeze(1)
    kept = logits[rows].masked_fill(~legal[rows], ILLEGAL)
    odds = kept[:, KNOCK:STOCK].logsumexp(1) - kept[:, :KNOCK].logsumexp(1)
    cost = waiting[rows]
    free = torch.where(cost > 0, odds < MOST_ODDS, odds > -MOST_ODDS)
    return -(cost * odds * free).sum() / len(waiting)
