"""Positions for tests: hands of every preset, played so that all phases and ends come up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ginenv.hand import Hand
from ginenv.jit import kernel
from ginenv.perft import eager_action
from ginenv.rules import PRESETS, Rules

# Small decks and odd combinations of rules, beside the presets.
ODD_RULES = {
    "small": Rules(ranks=8, suits=3, hand_size=6, knock_limit=5, layoff="by-hand", spread="chosen"),
    "tiny-pile": Rules(ranks=13, suits=4, hand_size=9, stock_end="wall", gin="automatic", illegal_knock="discard"),
    "eleven-chosen": Rules(
        deal="eleven-ten", spread="chosen", layoff="by-hand", oklahoma=True, eleven_ten_oklahoma="first-discard"
    ),
    "either": Rules(first_upcard="either", first_starter="seat0", next_starter="seat0", stock_end="last-upcard"),
    "chosen-wall": Rules(spread="chosen", stock_end="wall", undercut_on_tie=True, oklahoma=True, spade_doubles=True),
}
ALL_RULES = {**PRESETS, **ODD_RULES}


@kernel
def _eager(states, word):
    return eager_action(states[0], word)


def play_on(hand: Hand, rng: np.random.Generator) -> None:
    """One action that tends towards knocks."""
    hand.push(int(_eager(hand.state, rng.integers(0, 2**64, dtype=np.uint64))))


def positions(rules: str, count: int, seed: int, chance: float = 0.05) -> Iterator[Hand]:
    """Positions of many hands of a preset (or odd rules), every end of a hand included."""
    rng = np.random.default_rng(seed)
    made = 0
    while True:
        hand = Hand.deal(ALL_RULES[rules], seed=int(rng.integers(2**31)))
        while True:
            if hand.is_over or rng.random() < chance or hand.phase in ("spread", "layoff", "wall"):
                yield hand.copy()
                made += 1
                if made == count:
                    return
            if hand.is_over:
                break
            play_on(hand, rng)
