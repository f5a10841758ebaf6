"""Positions and damaged texts for tests and checks: hands of every preset, played so that all phases and ends come up."""

import contextlib
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from ginenv.engine.jit import kernel
from ginenv.engine.perft import eager_action
from ginenv.engine.rules import PRESETS, Rules
from ginenv.errors import RulesError
from ginenv.hands.hand import Hand, Match

# Small decks and odd combinations of rules, beside the presets.
ODD_RULES = {
    "small": Rules(ranks=8, suits=3, hand_size=6, knock_limit=5, layoff="by-hand", spread="chosen"),
    "tiny-pile": Rules(ranks=13, suits=4, hand_size=9, stock_end="wall", gin="automatic", illegal_knock="discard"),
    "eleven-chosen": Rules(
        deal="eleven-ten", spread="chosen", layoff="by-hand", oklahoma=True, eleven_ten_oklahoma="first-discard"
    ),
    "either": Rules(first_upcard="either", first_starter="seat0", next_starter="seat0", stock_end="last-upcard"),
    "seven": Rules(hand_size=7, big_gin_bonus=31, gin_boxes=2, layoff="by-hand", layoff_on_gin=True),
    "chosen-wall": Rules(spread="chosen", stock_end="wall", undercut_on_tie=True, oklahoma=True, spade_doubles=True),
}
ALL_RULES = {**PRESETS, **ODD_RULES}


@kernel
def _eager(states, word):
    return eager_action(states[0], word)


def eager(hand: Hand, rng: np.random.Generator) -> int:
    """An action that tends towards low deadwood and knocks."""
    return int(_eager(hand.state, rng.integers(0, 2**64, dtype=np.uint64)))


def play_on(table: Hand | Match, rng: np.random.Generator) -> None:
    """One action that tends towards knocks."""
    hand = table.hand if isinstance(table, Match) else table
    table.push(eager(hand, rng))


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


def mutate(text: str, rng: np.random.Generator) -> str:
    """A text with one to three small things changed: characters lost, doubled, swapped or replaced, a part cut out or moved."""
    for _ in range(rng.integers(1, 4)):
        if not text:
            break
        kind, i, j = rng.integers(7), *sorted(rng.integers(0, len(text), 2))
        other = text[rng.integers(len(text))]
        if kind == 0:
            text = text[:i] + text[i + 1 :]
        elif kind == 1:
            text = text[:i] + other + text[i + 1 :]
        elif kind == 2:
            text = text[:i] + other + text[i:]
        elif kind == 3:
            text = text[:i] + text[j : j + 1] + text[i + 1 : j] + text[i : i + 1] + text[j + 1 :]
        elif kind == 4:
            text = text[:i] + text[min(j, i + 20) :]
        elif kind == 5:
            text = text[: max(1, i)]
        else:
            text = text[:i] + chr(rng.integers(32, 0x2FF)) + text[i + 1 :]
    return text


def random_rules(rng: np.random.Generator) -> Rules:
    """Valid rules with every option drawn again; half of the numbers are the least or the most that they can be."""
    rules = Rules()
    deck = ("ranks", "suits", "hand_size")
    for names in [(name,) for name in _HINTS if name not in deck] + [deck] * 20:
        # Most sizes of deck and hand do not go together, and some rules have no effect beside those drawn before.
        with contextlib.suppress(RulesError):
            rules = rules.replace(**{name: _random_value(_HINTS[name], rng) for name in names})
    return rules


_HINTS = get_type_hints(Rules, include_extras=True)


def _random_value(hint: Any, rng: np.random.Generator) -> Any:
    if hint is bool:
        return bool(rng.integers(2))
    if get_origin(hint) is Literal:
        return get_args(hint)[rng.integers(len(get_args(hint)))]
    least, most = hint.__metadata__
    return int(rng.choice([least, most, *rng.integers(least, most + 1, 2)]))
