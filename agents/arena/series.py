"""Long series of hands between two players, thousands of series in lock-step.

Hand ``h`` of series ``i`` has the same deal, the same starter (the seats take turns) and the same luck of both players whoever plays:
so two versions of a player meet the same opponents on the same cards. Scores stand at 0:0 before every hand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.deals import Domain, deal_keys, luck_words
from ginenv.actions import PHASE_OVER
from ginenv.engine import NOBODY, STATE, apply, deal, is_legal, shuffle
from ginenv.errors import IllegalActionError
from ginenv.jit import kernel, mix
from ginenv.players import Player
from ginenv.rules import Rules, get_rules
from ginenv.view import VIEW, look


@kernel
def _open(states, lanes, count, keys, lucks, hand, block):
    for k in range(count):
        i = lanes[k]
        s = states[i]
        for r in range(block.shape[0]):
            s.rules[r] = block[r]
        word = mix(np.uint64(hand[i]))
        s.key = mix(keys[i] ^ word)
        s.luck[0] = mix(lucks[i, 0] ^ word)
        s.luck[1] = mix(lucks[i, 1] ^ word)
        s.hand_no = 0
        shuffle(s)
        deal(s, np.int64(hand[i] & 1))


@kernel
def _gather(states, views, lanes, counts, hand, hands):
    counts[0] = 0
    counts[1] = 0
    for i in range(states.shape[0]):
        if hand[i] < hands:
            seat = np.int64(states[i].turn)
            k = counts[seat]
            look(states[i], seat, views[seat, k])
            lanes[seat, k] = i
            counts[seat] = k + 1


@kernel
def _play(states, lanes, actions, count):
    for k in range(count):
        s = states[lanes[k]]
        if not is_legal(s, actions[k]):
            return k
        apply(s, actions[k])
    return -1


@kernel
def _close(states, views, lanes, hand, hands, points):
    count = 0
    for i in range(states.shape[0]):
        s = states[i]
        if hand[i] >= hands or s.phase != PHASE_OVER:
            continue
        look(s, np.int64(0), views[0, count])
        look(s, np.int64(1), views[1, count])
        if s.winner != NOBODY:
            points[i, hand[i]] = s.points if s.winner == 0 else -s.points
        lanes[count] = i
        count += 1
    return count


def play_series(
    player: Player,
    opponent: Player,
    *,
    series: int,
    hands: int,
    seed: int,
    rules: str | Rules = "eaai",
    domain: Domain = Domain.SESSION,
    after: Callable[[np.ndarray, np.ndarray, np.ndarray], None] | None = None,
    first: int = 0,
    same_deal: bool = False,
) -> np.ndarray:
    """Plays series of hands; each player is told of every hand that ends, with the series as slot.

    Args:
        player: sits in seat 0.
        opponent: sits in seat 1.
        series: how many, all at once.
        hands: of each.
        seed: of the deals; series ``i`` is the same whatever the others.
        rules: what is played.
        domain: which stream the deals come from.
        after: called with the player's final views, the series and the numbers of the hands that ended.
        first: number of the first series.
        same_deal: every series gets the deals of the first and the same luck of the opponent; only the player's own luck differs.

    Returns:
        ``int16[series, hands]``, points of every hand to the player.

    Raises:
        IllegalActionError: if a player answers with an action that is not legal.
    """
    block = get_rules(rules).block
    keys = deal_keys(domain, seed, first, series)
    lucks = luck_words(domain, seed, first, series)
    if same_deal:
        keys[:], lucks[:, 1] = keys[0], lucks[0, 1]
    states = np.zeros(series, STATE)
    views = np.zeros((2, series), VIEW)
    lanes = np.zeros((2, series), np.int64)
    counts = np.zeros(2, np.int64)
    hand = np.zeros(series, np.int64)
    points = np.zeros((series, hands), np.int16)
    _open(states, np.arange(series), series, keys, lucks, hand, block)
    while (hand < hands).any():
        _gather(states, views, lanes, counts, hand, hands)
        for seat, side in enumerate((player, opponent)):
            count = int(counts[seat])
            if not count:
                continue
            actions = np.asarray(side.act(views[seat, :count], lanes[seat, :count]), np.int64)
            bad = _play(states, lanes[seat], actions, count)
            if bad >= 0:
                raise IllegalActionError(f"player {side.name!r} answered {actions[bad]}, which is not legal")
        ended = lanes[0]
        count = _close(states, views, ended, hand, hands, points)
        if not count:
            continue
        over = ended[:count].copy()
        player.observe_hands(views[0, :count], over)
        opponent.observe_hands(views[1, :count], over)
        if after is not None:
            after(views[0, :count], over, hand[over])
        hand[over] += 1
        more = over[hand[over] < hands]
        _open(states, more, len(more), keys, lucks, hand, block)
    return points
