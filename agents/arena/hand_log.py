"""Hands played under the eyes of a witness who sees both: for measuring what a seat believes, never for playing.

Players see views only. The witness is told, beside every view, the hand that was hidden from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agents.arena import steps
from agents.deals import Domain, deal_keys, luck_words
from ginenv.engine import STATE
from ginenv.errors import IllegalActionError
from ginenv.players import Player
from ginenv.rules import Rules
from ginenv.view import VIEW


@dataclass(frozen=True)
class Decisions:
    """Decisions of one side, a few for each tick of the play.

    Attributes:
        side: 0 or 1.
        pairs: ``int64[n]`` number of the deal; a deal is played twice, with seats exchanged.
        views: ``VIEW[n]``, valid during the call.
        hidden: ``int64[n]`` the other side's hand.
        actions: ``int64[n]``.
    """

    side: int
    pairs: np.ndarray
    views: np.ndarray
    hidden: np.ndarray
    actions: np.ndarray


def watch_hands(
    players: tuple[Player, Player],
    rules: Rules,
    pairs: int,
    seed: int,
    domain: Domain,
    witness: Callable[[Decisions], None],
    scores: np.ndarray | None = None,
) -> np.ndarray:
    """Plays single hands on mirrored deals, all at once.

    Args:
        players: side 0 and side 1.
        rules: what is played.
        pairs: deals, each played twice with seats exchanged.
        seed: of deals and luck.
        domain: which stream the deals come from.
        witness: told every decision before it is played.
        scores: ``int[2 * pairs, 2]`` at which the hands begin, by hand and seat; all 0 when left out.

    Returns:
        ``STYLE[2]``: how both sides played.

    Raises:
        IllegalActionError: if a player answers with an action that is not legal.
    """
    total = 2 * pairs
    states, jobs = np.zeros(total, STATE), np.full(total, -1, np.int64)
    views, lanes, counts = np.zeros((2, total), VIEW), np.zeros((2, total), np.int64), np.zeros(2, np.int64)
    games, style = np.zeros(total, steps.GAME), np.zeros(2, steps.STYLE)
    keys, lucks = deal_keys(domain, seed, 0, pairs), luck_words(domain, seed, 0, total)
    steps.open_jobs(states, np.arange(total), jobs, 0, total, keys, lucks, rules.block)
    if scores is not None:
        states["score"] = scores
    done = 0
    while done < total:
        steps.gather(states, jobs, views, lanes, counts)
        for side, player in enumerate(players):
            count = int(counts[side])
            if not count:
                continue
            seen, places = views[side, :count], lanes[side, :count]
            numbers = jobs[places]
            actions = np.asarray(player.act(seen, 2 * numbers + side), np.int64)
            hidden = states["hands"][places, 1 - seen["seat"].astype(np.int64)]
            witness(Decisions(side, numbers // 2, seen, hidden, actions))
            bad = steps.advance(states, seen, places, actions, count, style[side : side + 1], 0)
            if bad >= 0:
                raise IllegalActionError(f"player {player.name!r} answered action {actions[bad]}, which is not legal")
        over = steps.close_hands(states, jobs, views, lanes[0], games, style)
        for side, player in enumerate(players):
            player.observe_hands(views[side, :over], 2 * jobs[lanes[0, :over]] + side)
        done += steps.go_on(states, jobs, lanes[0], over, games, True, False)
    return style
