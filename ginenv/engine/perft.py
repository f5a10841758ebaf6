"""Golden counts: hands played at random and counted, as chess programs count positions ("perft") to verify their moves.

The counts of a preset and a seed are equal on every machine, in every run and at every batch size. Any change to the rules,
the deal, the melds or the order of legal actions changes them. The same kernel is the benchmark of random hands per second.
"""

from __future__ import annotations

import enum

import numpy as np

from ginenv.engine.actions import KNOCK, PHASE_OVER
from ginenv.engine.bits import nth_bit
from ginenv.engine.engine import NOBODY, End, apply, legal, next_word, random_action
from ginenv.engine.game import next_hand, score_hand, start_game
from ginenv.engine.jit import below, kernel, mix, popcount
from ginenv.engine.melds import deadwood


class Policy(enum.IntEnum):
    """How the counted hands are played."""

    RANDOM = 0  # uniform over the legal actions; few such hands come near a knock
    EAGER = 1  # knocks half the time it can; of four random discards plays the one that leaves the least deadwood


_HANDS, _DECISIONS, _GAMES, _LAID, _POINTS, _GAME_TOTAL, _END = 0, 1, 2, 3, 4, 6, 8
NUM_COUNTS = _END + len(End)
_CANDIDATES = 4
_EAGER = int(Policy.EAGER)


@kernel
def eager_action(s, word):
    """A legal action, chosen by a random word, that tends towards low deadwood and knocks."""
    discards, knocks, others = legal(s)
    if others or popcount(discards | knocks) < 2:
        return random_action(s, word)
    if knocks and (discards == 0 or word & np.uint64(1)):
        return KNOCK + nth_bit(knocks, below(word, popcount(knocks)))
    cards = s.hands[s.turn]
    count = popcount(discards)
    best = np.int64(-1)
    least = np.int64(999)
    for _ in range(_CANDIDATES):
        word = mix(word)
        card = nth_bit(discards, below(word, count))
        left = deadwood(cards & ~(np.int64(1) << card))
        if left < least:
            best = card
            least = left
    return best


@kernel
def _count_ended(s, counts):
    counts[_HANDS] += 1
    counts[_DECISIONS] += s.num_history
    counts[_LAID] += popcount(s.laid)
    counts[_END + s.end] += 1
    if s.winner != NOBODY:
        counts[_POINTS + s.winner] += s.points


@kernel
def play_hands(states, seed, first, last, policy, games, counts):
    """Plays deals ``first`` to ``last - 1`` of a seed, as many at a time as there are records, and adds up what happened.

    Args:
        states: ``STATE[n]`` with the rules set; everything else is written.
        seed: uint64; deal ``i`` has the key ``mix(seed ^ mix(i))``.
        first: first deal.
        last: deal after the last one.
        policy: a ``Policy``.
        games: whether every deal begins a whole game rather than a single hand.
        counts: ``int64[NUM_COUNTS]`` to add to: hands, decisions, games, cards laid off, points of hands by seat, totals of games by
            seat, and hands by their ``End``.
    """
    for start in range(first, last, states.shape[0]):
        size = min(states.shape[0], last - start)
        for i in range(size):
            s = states[i]
            s.key = mix(seed ^ mix(np.uint64(start + i)))
            s.luck[0] = mix(s.key)
            start_game(s)
        playing = size
        while playing:
            for i in range(size):
                s = states[i]
                if s.phase == PHASE_OVER:
                    continue
                s.luck[0], word = next_word(s.luck[0])
                apply(s, eager_action(s, word) if policy == _EAGER else random_action(s, word))
                if s.phase != PHASE_OVER:
                    continue
                _count_ended(s, counts)
                if games:
                    score_hand(s)
                    if not s.game_over:
                        next_hand(s)
                        continue
                    counts[_GAMES] += 1
                    counts[_GAME_TOTAL] += s.total[0]
                    counts[_GAME_TOTAL + 1] += s.total[1]
                playing -= 1
