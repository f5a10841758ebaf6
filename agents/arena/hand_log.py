"""Logs hands with both sides' cards: for learning what a seat may believe, never for playing.

Players see only views. For every view, the log also gets the hand that was hidden from it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.arena.lockstep import Lockstep, Observer, mirrored_jobs
from agents.arena.statistics import Statistics
from agents.deal_streams import Domain
from ginenv.engine.rules import Rules
from ginenv.tables.kernels import HAND
from ginenv.tables.players import Player

# Called with a side, its views ``VIEW[n]`` (valid only during the call), and the other side's hand in each, ``int64[n]``.
Log = Callable[[int, np.ndarray, np.ndarray], None]


class _Log(Observer):
    def __init__(self, log: Log):
        self.log = log

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        self.log(side, views, play.states["hands"][rows, 1 - views["seat"].astype(np.int64)])


def watch_hands(
    players: tuple[Player, Player],
    rules: Rules,
    pairs: int,
    seed: int,
    domain: Domain,
    log: Log | None = None,
    scores: np.ndarray | None = None,
) -> np.ndarray:
    """Plays single hands on mirrored deals, all at once.

    Args:
        players: side 0 and side 1.
        rules: the rules.
        pairs: number of deals, each played twice with seats exchanged.
        seed: seed of the deals and of the players' luck.
        domain: which stream the deals come from.
        log: called with all decisions before they are played.
        scores: ``int[2 * pairs, 2]``, scores at the start of each hand, by hand and seat; all 0 when left out.

    Returns:
        ``PLAY_STATS[2]``: how both sides played.

    Raises:
        IllegalActionError: if a player answers with an action that is not legal.
    """
    jobs = mirrored_jobs(domain, seed, 0, pairs)
    statistics = Statistics(len(jobs))
    observers = [statistics] if log is None else [_Log(log), statistics]
    play = Lockstep(players, rules, jobs, len(jobs), HAND, observers=observers)
    if scores is not None:
        play.states["score"] = scores
    play.run()
    return statistics.stats
