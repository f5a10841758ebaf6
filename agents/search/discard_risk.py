"""What a discard may give the opponent, in sampled worlds: how often it takes the card, and may then knock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from agents.network.inputs import INPUTS, bytes_of, observe_states
from agents.search.candidates import CANDIDATE
from agents.search.player import Findings, SearchPlayer
from agents.search.world_values import BRANCH, branch
from agents.search.worlds import draw_worlds
from ginenv.engine.actions import STOCK, UPCARD
from ginenv.engine.engine import STATE
from ginenv.view.sampling import write_policy
from ginenv.view.view import VIEW, make_views

# Enough for a standard error of 4 %.
_WORLDS = 128


def discard_risks(search: SearchPlayer, view: np.ndarray, found: Findings, discards: Sequence[int]) -> np.ndarray:
    """What the opponent does with discards, if it plays the policy of the search's network.

    Args:
        search: the search.
        view: ``VIEW[1]`` of the seat that discards.
        found: what the search found about it.
        discards: the discards.

    Returns:
        ``float64[k, 2]``: the probability that the opponent takes each, and that it takes it and may then knock or go gin.
    """
    worlds = np.zeros(_WORLDS, STATE)
    draw_worlds(view[0], found.hands, found.weights, worlds, view["luck"][0])
    after = _after(view, discards, worlds)
    views, inputs = np.zeros(len(after), VIEW), np.zeros(len(after), INPUTS)
    observe_states(after["state"], after["gin_only"], views, inputs)
    search.world_values.features.write(views, inputs)
    logits = search.prior.actor(torch.from_numpy(bytes_of(inputs))).numpy()
    policy = np.zeros_like(logits)
    write_policy(logits, views["legal"], policy)
    may_take = views["legal"][:, 2] >> (UPCARD - STOCK) & 1 == 1
    risks = np.zeros((len(after), 2))
    risks[may_take, 0] = policy[may_take, UPCARD]
    taken = _after(view, [UPCARD], np.ascontiguousarray(after["state"][may_take]))["state"]
    may_knock = make_views(taken, 1 - view["seat"].repeat(len(taken)))["legal"][:, 1] != 0
    risks[may_take, 1] = risks[may_take, 0] * may_knock
    return risks.reshape(len(discards), _WORLDS, 2).mean(1)


def _after(view: np.ndarray, actions: Sequence[int], worlds: np.ndarray) -> np.ndarray:
    """The worlds after each action: ``BRANCH[k * W]``, action by action."""
    chosen = np.zeros(len(actions), CANDIDATE)
    chosen["action"] = actions
    branches = np.zeros(len(actions) * len(worlds), BRANCH)
    branch(view[0], chosen, worlds, 0, branches)
    return branches
