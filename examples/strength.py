"""Shared by the examples: a policy as a player, and its strength against some bots."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from agents.arena import play_match
from ginenv import BasePlayer, action_masks, encode_views

BOTS = ("random", "simple", "formula", "knocker", "style:base=camper,danger=0")
Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]


def clock() -> np.ndarray:
    """The time now: seconds by the clock, and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def speed(decisions: int, began: np.ndarray) -> str:
    """How quickly decisions were played and learned from, in words.

    Args:
        decisions: how many.
        began: what `clock` said before.
    """
    seconds, processor = clock() - began
    words = f"{decisions:,} decisions in {seconds:.0f} s ({processor:.0f} s of processor time)"
    return f"{words}: {decisions / seconds:,.0f} a second"


class PolicyPlayer(BasePlayer):
    """A policy as a player.

    Args:
        policy: maps observations ``uint8[n, 520]`` and action masks ``int8[n, 107]`` to legal actions ``int[n]``.
        name: shown in tables.
    """

    def __init__(self, policy: Policy, name: str) -> None:
        super().__init__()
        self.policy, self.name = policy, name

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses an action for every view: ``VIEW[n]`` to ``int64[n]``."""
        return np.asarray(self.policy(encode_views(views), action_masks(views)), np.int64)


def report(policy: Policy, name: str, games: int) -> dict[str, float]:
    """Plays held-out mirrored deals, prints a line for each opponent, and returns the shares of games won."""
    won = {}
    for opponent in BOTS:
        result = play_match(PolicyPlayer(policy, name), opponent, pairs=max(1, games // 2), seed=1)
        games_won, hands_won = result.share.text(percent=True), result.hand_share.text(percent=True)
        print(
            f"{name} against {opponent}: games won {games_won}, hands won {hands_won}, points per hand {result.points.text()}"
        )
        won[opponent] = result.share.mean
    return won
