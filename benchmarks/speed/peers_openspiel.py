"""Random hands of OpenSpiel's gin rummy, driven from Python as in its own examples.

Run with `python -m benchmarks.speed.peers_openspiel`, after `make peers`. The rules are OpenSpiel's defaults: one hand to a
game, knocks at 10, melds and lay-offs chosen by hand. So a hand has more decisions than where knocks are settled automatically
(see `decisions` beside `hands`). A uniform policy seldom knocks, so most hands run to the end of the stock.
"""

import random
from collections.abc import Callable

import pyspiel

from benchmarks.speed.throughput import Throughput, compare, measure


def play_out(state: pyspiel.State, rng: random.Random) -> int:
    """Play a hand to its end, uniformly at random; return the number of decisions.

    All chance outcomes of this game are equally likely and `legal_actions` lists them, so the slower `chance_outcomes` is not
    needed.
    """
    decisions = 0
    while not state.is_terminal():
        if not state.is_chance_node():
            decisions += 1
        state.apply_action(rng.choice(state.legal_actions()))
    return decisions


def play_out_observed(state: pyspiel.State, rng: random.Random) -> int:
    """Like `play_out`, but before every decision ask for what a learner needs: observation and mask."""
    decisions = 0
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
            continue
        decisions += 1
        state.observation_tensor()
        state.legal_actions_mask()
        state.apply_action(rng.choice(state.legal_actions()))
    return decisions


def _measure(
    name: str,
    new_state: Callable[[], pyspiel.State],
    play: Callable[[pyspiel.State, random.Random], int],
    seconds: float,
    seed: int,
) -> Throughput:
    rng = random.Random(seed)
    return measure(f"OpenSpiel, {name}", lambda: (1, play(new_state(), rng)), seconds)


def random_hands(seconds: float = 3.0, seed: int = 0) -> Throughput:
    """The plain loop: `new_initial_state`, then chance and `legal_actions` to the end."""
    game = pyspiel.load_game("gin_rummy")
    return _measure("random hands", game.new_initial_state, play_out, seconds, seed)


def random_hands_observed(seconds: float = 3.0, seed: int = 0) -> Throughput:
    """The plain loop with `observation_tensor` and `legal_actions_mask` at every decision."""
    game = pyspiel.load_game("gin_rummy")
    return _measure("with observation and mask", game.new_initial_state, play_out_observed, seconds, seed)


def random_hands_cloned(seconds: float = 3.0, seed: int = 0) -> Throughput:
    """The plain loop from copies of one fresh state.

    A new state builds two tables of melds, which is more work than the hand that follows; a copy does not. This is the fastest
    loop that OpenSpiel's Python interface allows, so its ratio favours this project least.
    """
    root = pyspiel.load_game("gin_rummy").new_initial_state()
    return _measure("random hands from a cloned root", root.clone, play_out, seconds, seed)


def main() -> None:
    """Print all three measurements."""
    for result in compare([random_hands, random_hands_observed, random_hands_cloned]):
        print(result)


if __name__ == "__main__":
    main()
