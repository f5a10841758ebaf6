"""Steps a second of the environments, beside OpenSpiel's decisions with observation and mask, on one core.

Run with `python -m benchmarks.speed.env_speed`, after `make peers`. The learner plays uniformly at random; the compiled function that
chooses its actions is part of the measured time. Its opponent is `random` and moves inside the step, so each of the learner's steps
holds about two decisions. The output is the learner's steps and their ratio to OpenSpiel's decisions.
"""

from typing import Any

import gymnasium as gym
import numpy as np

import ginenv
from benchmarks.speed.openspiel import hands_observed
from benchmarks.speed.throughput import Throughput, compare, measure, write_results
from ginenv.engine.bits import nth_bit
from ginenv.engine.jit import below, kernel, mix, popcount, row_record

NUM_ENVS = 1024
STEPS = 100
RULES = "eaai"


# The 107 bytes of an action mask as words, so that eight actions are counted at once.
_words_of = row_record(np.dtype([("words", np.uint64, (13,)), ("last", np.uint8, (3,))]))


@kernel
def _choose(masks, actions, seed):
    """Writes a uniformly random legal action for every row of masks."""
    for i in range(masks.shape[0]):
        mask = _words_of(masks, i)
        words = mask.words
        last = mask.last
        count = np.int64(last[0]) + last[1] + last[2]
        for k in range(13):
            count += popcount(words[k])
        left = below(mix(np.uint64(seed) * np.uint64(1_000_003) + np.uint64(i)), count)
        action = 0
        for k in range(13):
            here = popcount(words[k])
            if left < here:
                action = 8 * k + (nth_bit(words[k], left) >> 3)
                left = -1
                break
            left -= here
        if left >= 0:
            action = 104
            while last[action - 104] == 0 or left > 0:
                left -= last[action - 104]
                action += 1
        actions[i] = action


class _Player:
    """Steps environments at random; every call continues where the last one stopped."""

    def __init__(self, num_envs: int) -> None:
        self.actions = np.zeros(num_envs, np.int64)
        self.calls = 0

    def choose(self, masks: np.ndarray) -> np.ndarray:
        self.calls += 1
        _choose(masks, self.actions, self.calls)
        return self.actions


def vector_steps(seed: int = 0) -> Throughput:
    """The vector environment's `step`, with observation and mask."""
    envs: Any = gym.make_vec("Gin/Hand-v0", num_envs=NUM_ENVS, opponent="random", rules=RULES)
    _, infos = envs.reset(seed=seed)
    player = _Player(NUM_ENVS)
    masks = infos["action_mask"]

    def play() -> tuple[int, int]:
        nonlocal masks
        hands = 0
        for _ in range(STEPS):
            _, _, done, _, infos = envs.step(player.choose(masks))
            masks = infos["action_mask"]
            hands += int(done.sum())
        return hands, STEPS * NUM_ENVS

    return measure(f"Gin/Hand-v0, {NUM_ENVS} games, opponent random", play)


def single_steps(seed: int = 0) -> Throughput:
    """The single environment's `step`, with observation and mask."""
    env = ginenv.HandEnv(opponent="random", rules=RULES)
    _, info = env.reset(seed=seed)
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

    return measure("Gin/Hand-v0, single, opponent random", play)


def main() -> None:
    """Measures everything and its ratios to OpenSpiel's loop, and writes them."""
    results = compare((hands_observed, vector_steps, single_steps))
    write_results("env_speed", results, results[0])


if __name__ == "__main__":
    main()
