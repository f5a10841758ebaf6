"""Random hands of OpenSpiel's gin rummy, driven from Python as in its own examples (after `make peers`).

Its rules are its defaults: one hand to a game, knocks at 10, melds and lay-offs chosen by hand. So a hand has more decisions than where
knocks are settled automatically. A uniform policy seldom knocks, so most hands run to the end of the stock.
"""

import random
from collections.abc import Callable

import pyspiel

from benchmarks.speed.throughput import Throughput, measure


def play(state: pyspiel.State, rng: random.Random, observe: bool = False) -> int:
    """Plays a hand to its end, uniformly at random; returns the number of decisions.

    All chance outcomes of this game are equally likely and `legal_actions` lists them, so the slower `chance_outcomes` is not needed.

    Args:
        state: at the beginning of the hand.
        rng: chooses.
        observe: before every decision, ask for what a learner needs: observation and mask.
    """
    decisions = 0
    while not state.is_terminal():
        if not state.is_chance_node():
            decisions += 1
            if observe:
                state.observation_tensor()
                state.legal_actions_mask()
        state.apply_action(rng.choice(state.legal_actions()))
    return decisions


def _hands(name: str, new_state: Callable[[], pyspiel.State], seed: int, observe: bool = False) -> Throughput:
    rng = random.Random(seed)
    return measure(f"OpenSpiel, {name}", lambda: (1, play(new_state(), rng, observe)))


def hands(seed: int = 0) -> Throughput:
    """The plain loop: `new_initial_state`, then chance and `legal_actions` to the end."""
    return _hands("random hands", pyspiel.load_game("gin_rummy").new_initial_state, seed)


def hands_observed(seed: int = 0) -> Throughput:
    """The plain loop with `observation_tensor` and `legal_actions_mask` at every decision."""
    new_state = pyspiel.load_game("gin_rummy").new_initial_state
    return _hands("with observation and mask", new_state, seed, observe=True)


def hands_cloned(seed: int = 0) -> Throughput:
    """The plain loop from copies of one fresh state.

    A new state builds two tables of melds, which is more work than the hand that follows; a copy does not. This is the fastest
    loop that OpenSpiel's Python interface allows, so its ratio favours this project least.
    """
    root = pyspiel.load_game("gin_rummy").new_initial_state()
    return _hands("random hands from a cloned root", root.clone, seed)
