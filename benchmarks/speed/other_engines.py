"""Random hands of OpenSpiel's and of RLCard's gin rummy, driven from Python as in their own examples (after `make peers`).

OpenSpiel's rules are its defaults: one hand to a game, knocks at 10, melds and lay-offs chosen by hand. So a hand has more decisions than
where knocks are settled automatically. A uniform policy seldom knocks, so most hands run to the end of the stock. RLCard has no lay-offs,
and every hand ends with two forced actions that score it; they count as decisions, because RLCard asks the players for them.
"""

import random
from collections.abc import Callable
from typing import Any

import pyspiel
import rlcard

from benchmarks.speed.throughput import Throughput, measure


def play_openspiel(state: pyspiel.State, rng: random.Random, observe: bool = False) -> int:
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


def play_rlcard(game: Any, rng: random.Random) -> int:
    """Plays a random hand with the game object, without the environment; returns the number of decisions."""
    game.init_game()
    decisions = 0
    while not game.is_over():
        game.step(rng.choice(game.judge.get_legal_actions()))
        decisions += 1
    return decisions


def _openspiel(
    name: str, new_state: Callable[[], pyspiel.State], seconds: float, seed: int, observe: bool = False
) -> Throughput:
    rng = random.Random(seed)
    return measure(f"OpenSpiel, {name}", lambda: (1, play_openspiel(new_state(), rng, observe)), seconds)


def openspiel_hands(seconds: float, seed: int = 0) -> Throughput:
    """The plain loop: `new_initial_state`, then chance and `legal_actions` to the end."""
    return _openspiel("random hands", pyspiel.load_game("gin_rummy").new_initial_state, seconds, seed)


def openspiel_hands_observed(seconds: float, seed: int = 0) -> Throughput:
    """The plain loop with `observation_tensor` and `legal_actions_mask` at every decision."""
    new_state = pyspiel.load_game("gin_rummy").new_initial_state
    return _openspiel("with observation and mask", new_state, seconds, seed, observe=True)


def openspiel_hands_cloned(seconds: float, seed: int = 0) -> Throughput:
    """The plain loop from copies of one fresh state.

    A new state builds two tables of melds, which is more work than the hand that follows; a copy does not. This is the fastest
    loop that OpenSpiel's Python interface allows, so its ratio favours this project least.
    """
    root = pyspiel.load_game("gin_rummy").new_initial_state()
    return _openspiel("random hands from a cloned root", root.clone, seconds, seed)


def rlcard_hands(seconds: float, seed: int = 0) -> Throughput:
    """RLCard's game object alone, without observations."""
    game, rng = rlcard.make("gin-rummy", config={"seed": seed}).game, random.Random(seed)
    return measure("RLCard, random hands", lambda: (1, play_rlcard(game, rng)), seconds)
