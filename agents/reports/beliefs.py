"""What a network knows about its opponent's hand beyond counting cards: log-loss by turn.

It is measured over the unseen cards: those not in the seat's own hand, not in the discard pile, and not taken from the pile by the
opponent and still held. Some unseen cards are in the opponent's hand, the others in the stock. Counting gives each the same chance to be
in the hand, which is the best estimate without reading the opponent's choices.

Deals are those kept for reports; intervals are 95 %, clustered by deal (each is played twice, with seats exchanged).
"""

from __future__ import annotations

import numpy as np
import torch

from agents.arena.hand_log import SideDecisions
from agents.estimates import Estimate, ratio
from agents.network.inputs import observe_views
from agents.network.nets import FrozenActor
from ginenv.engine.actions import PHASE_DISCARD

NUM_TURNS = 12
_CARDS = np.arange(52)


def card_rows(masks: np.ndarray) -> np.ndarray:
    """Card masks ``int64[n]`` as booleans ``[n, 52]``."""
    return ((masks[:, None] >> _CARDS) & 1).astype(bool)


def belief_logits(actor: FrozenActor, views: np.ndarray) -> np.ndarray:
    """An actor's belief about the opponent's hand: ``VIEW[n]`` to logits ``float32[n, 52]``."""
    return actor(torch.from_numpy(observe_views(views, actor.heuristic_features)), "belief").numpy()


def counting_chances(views: np.ndarray) -> np.ndarray:
    """The probability that an unseen card is in the opponent's hand, by counting alone: ``float64[n]``."""
    unseen = card_rows(views["unseen"]).sum(1)
    return (unseen - views["stock"]) / unseen


def log_losses(chances: np.ndarray, views: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Log-loss of the true hand, summed over the unseen cards of each view: ``float64[n]``, in nats.

    Args:
        chances: probability that the opponent holds each card, ``[n, 52]``, or ``[n, 1]`` if it is the same for all.
        views: ``VIEW[n]``.
        hidden: ``int64[n]``, the opponent's true hand.
    """
    chances = np.clip(chances.astype(np.float64), 1e-9, 1 - 1e-9)
    losses = -np.where(card_rows(hidden), np.log(chances), np.log1p(-chances))
    return np.where(card_rows(views["unseen"]), losses, 0.0).sum(1)


class BeliefMeter:
    """Adds up the losses of side 0 by its own turn and by deal: once a turn, when it is to discard.

    Args:
        actor: the actor whose beliefs are measured.
        pairs: number of deals that will be played.
    """

    def __init__(self, actor: FrozenActor, pairs: int) -> None:
        self.actor = actor
        self.network, self.counting, self.cards = (np.zeros((NUM_TURNS, pairs)) for _ in range(3))
        self.views = np.zeros(NUM_TURNS, np.int64)

    def __call__(self, decisions: SideDecisions) -> None:
        """Adds the decisions of a tick."""
        turns = card_rows(decisions.views["thrown"][:, 0]).sum(1)
        rows = np.flatnonzero((decisions.views["phase"] == PHASE_DISCARD) & (turns < NUM_TURNS))
        if decisions.side or not rows.size:
            return
        views, hidden = decisions.views[rows], decisions.hidden[rows]
        place = turns[rows], decisions.pairs[rows]
        chances = 1 / (1 + np.exp(-belief_logits(self.actor, views).astype(np.float64)))
        np.add.at(self.network, place, log_losses(chances, views, hidden))
        np.add.at(self.counting, place, log_losses(counting_chances(views)[:, None], views, hidden))
        np.add.at(self.cards, place, card_rows(views["unseen"]).sum(1))
        np.add.at(self.views, place[0], 1)

    def loss(self, turn: int) -> Estimate:
        """The network's loss per card in a turn (from 1)."""
        return ratio(self.network[turn - 1], self.cards[turn - 1])

    def counted(self, turn: int) -> Estimate:
        """The loss per card of counting alone."""
        return ratio(self.counting[turn - 1], self.cards[turn - 1])

    def below(self, turn: int) -> Estimate:
        """How far the network's loss is below that of counting, as a fraction of the latter."""
        return ratio(self.network[turn - 1], self.counting[turn - 1]).of_rest()
