"""The networks' inputs: an observation, whether the seat is committed to gin, and heuristic features of the view."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from agents.network.commitment import bind_to_gin
from agents.network.features import HeuristicFeatures, actor_rows
from agents.network.nets import NUM_FUTURE, NUM_SECRETS, FrozenActor
from ginenv.bots.hand_kernels import highest_cards, of_points
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.engine import STOCK_LEFT
from ginenv.engine.jit import kernel, popcount
from ginenv.engine.melds import melded_cards, points_of
from ginenv.view.encoding import encode
from ginenv.view.view import look

_CARDS = torch.arange(52)

# Inputs of the seat to move and of its critic besides the observation's bytes.
SEEN_FIELDS = [
    ("legal", np.int64, (3,)),
    ("hidden", np.int64),  # the opponent's hand
    ("secrets", np.uint8, (NUM_SECRETS,)),  # see ``look_ahead``, and which bots play (``agents.training.selfplay``)
    ("conditions", np.uint8, (2,)),  # whether the mover and the other seat are committed to gin
    ("turn", np.uint8),  # the seat
]
SEEN = np.dtype(SEEN_FIELDS, align=True)


@kernel
def _deadwood_of_best(cards, size):
    """Approximate deadwood of the best ``size`` of some cards: the best arrangement of all, without the highest loose cards."""
    loose = cards & ~melded_cards(cards)
    spare = popcount(cards) - size
    left = points_of(loose)
    while spare > 0 and loose:
        points = highest_cards(loose)
        highest = loose & of_points(points)
        loose &= ~(highest & -highest)
        left -= points
        spare -= 1
    return left


@kernel
def look_ahead(s, row):
    """Writes what the next cards of the stock will do to both hands: the first 12 of ``uint8[36]``.

    These are the deadwoods after 0 to 5 more turns if neither side takes an upcard and both keep their best cards: first the mover's, then
    the other seat's.
    """
    seat = np.int64(s.turn)
    size = np.int64(s.rules.hand_size)
    drawn = 1 if s.phase == PHASE_DISCARD else 0
    last = np.int64(s.rules.ranks) * s.rules.suits - STOCK_LEFT
    for side in range(2):
        cards = s.hands[seat if side == 0 else 1 - seat]
        position = np.int64(s.position) + ((1 - drawn) if side else drawn)
        for k in range(NUM_FUTURE // 2):
            row[side * (NUM_FUTURE // 2) + k] = min(np.int64(255), _deadwood_of_best(cards, size))
            if position < last:
                cards |= np.int64(1) << s.deck[position]
            position += 2


@kernel
def observe_state(s, gin_only, v, observations, i, seen):
    """Writes what the seat to move sees, and what its critic sees besides.

    Args:
        s: the state.
        gin_only: ``uint8[2]``, 1 for a seat that is committed to gin.
        v: its view, which is written without the knocks that a commitment rules out.
        observations: ``uint8[n, 520]``, of which row ``i`` is written.
        i: the row.
        seen: a record with the fields of ``SEEN``, written.
    """
    seat = np.int64(s.turn)
    look(s, seat, v)
    encode(v, observations, i)
    if gin_only[seat] and v.legal[1]:
        v.legal[1] = bind_to_gin(v.hand, v.legal[0], v.legal[1])
    for k in range(3):
        seen.legal[k] = v.legal[k]
    seen.hidden = s.hands[1 - seat]
    look_ahead(s, seen.secrets)
    seen.conditions[0] = gin_only[seat]
    seen.conditions[1] = gin_only[1 - seat]
    seen.turn = seat


@kernel
def observe_states(states, gin_only, views, observations, seen):
    """``observe_state`` for a batch: ``STATE[n]``, ``uint8[n, 2]``; writes ``VIEW[n]``, ``uint8[n, 520]`` and ``SEEN[n]``."""
    for i in range(states.shape[0]):
        observe_state(states[i], gin_only[i], views[i], observations, i, seen[i])


def actor_inputs(
    actor: FrozenActor,
    views: np.ndarray,
    observations: np.ndarray,
    conditions: np.ndarray,
    heuristic_features: HeuristicFeatures | None = None,
) -> Tensor:
    """An actor's inputs in play, in its dtype; arguments as in ``agents.network.features.actor_rows``."""
    rows = actor_rows(actor.heuristic_features, views, observations, conditions, heuristic_features)
    return torch.from_numpy(rows).to(actor.dtype)


class PlayingActor(FrozenActor):
    """An actor for play, asked with the numbers that a player has."""

    def logits(
        self,
        views: np.ndarray,
        observations: np.ndarray,
        conditions: np.ndarray,
        heuristic_features: HeuristicFeatures | None = None,
    ) -> np.ndarray:
        """The policy's logits ``float32[n, 107]``; arguments as in ``actor_inputs``."""
        return self(actor_inputs(self, views, observations, conditions, heuristic_features)).numpy()


def expand_cards(masks: Tensor) -> Tensor:
    """Masks of cards ``int64[B]`` as booleans ``[B, 52]``."""
    return ((masks[:, None] >> _CARDS.to(masks.device)) & 1).bool()


def expand_legal(legal: Tensor) -> Tensor:
    """Legal actions ``int64[B, 3]`` as booleans ``[B, 107]``."""
    others = ((legal[:, 2:3] >> _CARDS[:3].to(legal.device)) & 1).bool()
    return torch.cat([expand_cards(legal[:, 0]), expand_cards(legal[:, 1]), others], 1)


@kernel
def list_legal(legal, actions):
    """The legal actions ``int64[B, K]`` of masks ``int64[B, 3]``: first the chosen ``actions`` (``[B]``), then the others, then -1s."""
    most = 1
    for i in range(legal.shape[0]):
        most = max(most, popcount(legal[i, 0]) + popcount(legal[i, 1]) + popcount(legal[i, 2]))
    found = np.full((legal.shape[0], most), np.int64(-1))
    for i in range(legal.shape[0]):
        found[i, 0] = actions[i]
        at = 1
        for deck in range(3):
            left = legal[i, deck]
            while left:
                action = deck * 52 + popcount((left & -left) - 1)
                left &= left - 1
                if action != actions[i]:
                    found[i, at] = action
                    at += 1
    return found
