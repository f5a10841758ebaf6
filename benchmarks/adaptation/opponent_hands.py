"""Hands of many styles against one player, kept with all cards: for fitting opponent models and measuring what they know."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.arena.lockstep import Lockstep, Observer
from agents.arena.lockstep_kernels import SERIES, SLOT
from agents.deal_streams import Domain, deal_keys, luck_words
from ginenv.bots.heuristics import StylePlayer
from ginenv.engine.rules import get_rules
from ginenv.tables.players import make_player


class Hands(NamedTuple):
    """Finished hands, ``[styles, hands]`` each.

    Attributes:
        views: final ``VIEW`` of the player that the styles met.
        decks: ``uint8[..., 52]``, the cards in the order dealt.
        positions: ``int64``, index of the next stock card at the end.
    """

    views: np.ndarray
    decks: np.ndarray
    positions: np.ndarray

    def flat(self) -> Hands:
        """One row for each hand."""
        return Hands(self.views.reshape(-1), self.decks.reshape(-1, 52), self.positions.reshape(-1))

    @property
    def rows(self) -> np.ndarray:
        """The style of each hand of ``flat``."""
        return np.repeat(np.arange(len(self.views)), self.views.shape[1])


class _Keeper(Observer):
    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, ...]] = []

    def after_hands(self, play: Lockstep, views: np.ndarray, rows: np.ndarray) -> None:
        states, slots = play.states[rows], play.slots[rows]
        kept = (slots["job"], slots["hand"], views[0], states["deck"], states["position"].astype(np.int64))
        self.parts.append(tuple(part.copy() for part in kept))


def play_hands(
    styles: np.ndarray, hands: int, seed: int, player: str = "network", rules: str = "eaai", lanes: int = 1
) -> Hands:
    """Plays ``hands`` hands of each style; ``lanes`` of them at a time, which is faster."""
    count = len(styles)
    jobs = np.zeros(count * lanes, SLOT)
    jobs["job"] = np.arange(len(jobs))
    jobs["ids"] = jobs["job"][:, None]
    jobs["key"] = deal_keys(Domain.SELECT, seed, 0, len(jobs))
    jobs["luck"] = luck_words(Domain.SELECT, seed, 0, len(jobs))
    keeper, each = _Keeper(), -(-hands // lanes)
    sides = (make_player(player, seed), StylePlayer(styles, seed))
    Lockstep(sides, get_rules(rules), jobs, len(jobs), SERIES, each, observers=[keeper]).run()
    job, hand, views, decks, positions = (np.concatenate(parts) for parts in zip(*keeper.parts, strict=True))
    order = np.lexsort((hand, job // count, job % count))
    shape = (count, lanes * each)
    return Hands(views[order].reshape(shape), decks[order].reshape(*shape, 52), positions[order].reshape(shape))
