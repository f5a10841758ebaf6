"""Steps a second of the environments, beside OpenSpiel's decisions with observation and mask, on one core.

Run with `python -m benchmarks.env_speed`, after `make peers`. The learner plays uniformly at random, by a compiled
function that is part of what is measured; its opponent is `random` and moves inside the step, so each of the learner's steps
holds about two decisions. Printed are the learner's steps, and the ratio of these to OpenSpiel's decisions.
"""

from typing import Any

import gymnasium as gym
import numpy as np

import ginenv
from benchmarks.peers_openspiel import random_hands_observed
from benchmarks.throughput import Throughput, compare, measure
from ginenv.jit import below, kernel, mix, nth_bit, popcount

NUM_ENVS = 1024
STEPS = 100
RULES = "eaai"


@kernel
def _choose(packed, actions, seed):
    """A legal action for every row of packed masks, evenly."""
    for i in range(packed.shape[0]):
        low = np.int64(0)
        high = np.int64(0)
        for k in range(7):
            low |= np.int64(packed[i, k]) << (8 * k)
            high |= np.int64(packed[i, 7 + k]) << (8 * k)
        count = popcount(low)
        n = below(mix(np.uint64(seed) * np.uint64(1_000_003) + np.uint64(i)), count + popcount(high))
        actions[i] = nth_bit(low, n) if n < count else 56 + nth_bit(high, n - count)


class _Player:
    """Steps environments at random; every call goes on where the last one stopped."""

    def __init__(self, num_envs: int) -> None:
        self.actions = np.zeros(num_envs, np.int64)
        self.calls = 0

    def choose(self, masks: np.ndarray) -> np.ndarray:
        self.calls += 1
        _choose(np.packbits(masks, axis=1, bitorder="little"), self.actions, self.calls)
        return self.actions


def vector_steps(name: str = "random", num_envs: int = NUM_ENVS, seconds: float = 3.0) -> Throughput:
    """The vector environment's `step`, with observation and mask."""
    envs: Any = gym.make_vec("Gin/Hand-v0", num_envs=num_envs, opponent=name, rules=RULES)
    _, infos = envs.reset(seed=0)
    player = _Player(num_envs)
    masks = infos["action_mask"]

    def play() -> tuple[int, int]:
        nonlocal masks
        hands = 0
        for _ in range(STEPS):
            _, _, done, _, infos = envs.step(player.choose(masks))
            masks = infos["action_mask"]
            hands += int(done.sum())
        return hands, STEPS * num_envs

    return measure(f"Gin/Hand-v0, {num_envs} games, opponent {name}", play, seconds)


def single_steps(name: str = "random", seconds: float = 3.0) -> Throughput:
    """The single environment's `step`, with observation and mask."""
    env = ginenv.HandEnv(opponent=name, rules=RULES)
    _, info = env.reset(seed=0)
    player = _Player(1)
    mask = info["action_mask"]

    def play() -> tuple[int, int]:
        nonlocal mask
        hands = steps = 0
        while hands < 20:
            _, _, over, _, info = env.step(player.choose(mask[None])[0])
            steps += 1
            if over:
                hands += 1
                _, info = env.reset()
            mask = info["action_mask"]
        return hands, steps

    return measure(f"Gin/Hand-v0, single, opponent {name}", play, seconds)


def main() -> None:
    """Print all measurements and their ratios to OpenSpiel's loop."""
    results = compare([random_hands_observed, vector_steps, single_steps])
    reference = results[0].decisions_per_second
    for result in results:
        print(f"{result}  {result.decisions_per_second / reference:8.1f} x")


if __name__ == "__main__":
    main()
