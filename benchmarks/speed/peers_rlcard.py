"""Random hands of RLCard's gin rummy.

Run with `python -m benchmarks.speed.peers_rlcard`, after `make peers`. Knocks at 10, no lay-offs. Every hand ends with two forced
actions that score it. They count as decisions, because RLCard asks the players for them.
"""

import random
from typing import Any

import rlcard

from benchmarks.speed.throughput import Throughput, compare, measure


def play_out_game(game: Any, rng: random.Random) -> int:
    """Play a random hand with the game object, without the environment; return the number of decisions."""
    game.init_game()
    decisions = 0
    while not game.is_over():
        game.step(rng.choice(game.judge.get_legal_actions()))
        decisions += 1
    return decisions


def play_out_observed(env: Any, rng: random.Random) -> int:
    """Like `play_out_game`, with the environment: each step also builds a 5 × 52 observation and the legal actions."""
    state, _ = env.reset()
    decisions = 0
    while not env.is_over():
        state, _ = env.step(rng.choice(list(state["legal_actions"])))
        decisions += 1
    return decisions


def random_hands(seconds: float = 3.0, seed: int = 0) -> Throughput:
    """The game object alone, without observations."""
    game = rlcard.make("gin-rummy", config={"seed": seed}).game
    rng = random.Random(seed)
    return measure("RLCard, random hands", lambda: (1, play_out_game(game, rng)), seconds)


def random_hands_observed(seconds: float = 3.0, seed: int = 0) -> Throughput:
    """The environment, which builds an observation and the legal actions at every step."""
    env = rlcard.make("gin-rummy", config={"seed": seed})
    rng = random.Random(seed)
    return measure("RLCard, with observation and legal actions", lambda: (1, play_out_observed(env, rng)), seconds)


def main() -> None:
    """Print both measurements."""
    for result in compare([random_hands, random_hands_observed]):
        print(result)


if __name__ == "__main__":
    main()
