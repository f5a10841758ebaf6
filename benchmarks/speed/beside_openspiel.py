"""Random hands and a learner's steps a second on one core, beside OpenSpiel's Python loop, in one run.

`python -m benchmarks.speed.beside_openspiel` (after `make peers`) writes `engine_speed.json` and `env_speed.json`, in `benchmarks/results`.
Play is uniformly random, under the `openspiel` preset and under `eaai`, with complete rules and exact spreads and lay-offs. OpenSpiel's
rules are its defaults: one hand to a game, knocks at 10, melds and lay-offs chosen by hand, so a hand has more decisions; a uniform policy
seldom knocks, so most hands run to the end of the stock.

An environment's learner moves at random; the compiled function that chooses its actions is part of the time. Its opponent is `random` and
moves inside the step, so each of the learner's steps holds about two decisions. They are compared with OpenSpiel's decisions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pyspiel

import ginenv
from benchmarks.speed.timing import Play, speeds, write_speeds
from ginenv.engine.bits import nth_bit
from ginenv.engine.engine import STATE
from ginenv.engine.jit import below, kernel, mix, popcount, row_record
from ginenv.engine.perft import NUM_COUNTS, Policy, play_hands
from ginenv.engine.rules import PRESETS

COMMAND = "beside_openspiel"
HANDS_PER_CALL = 2000
NUM_ENVS, STEPS, RULES = 1024, 100, "eaai"


def engine(rules: str) -> Play:
    """Uniformly random hands of the compiled engine, one after the other in one state record."""
    states, counts = np.zeros(1, STATE), np.zeros(NUM_COUNTS, np.int64)
    states["rules"] = PRESETS[rules].block
    first = 0

    def play() -> tuple[int, int]:
        nonlocal first
        hands, decisions = int(counts[0]), int(counts[1])
        play_hands(states, np.uint64(0), first, first + HANDS_PER_CALL, int(Policy.RANDOM), False, counts)
        first += HANDS_PER_CALL
        return int(counts[0]) - hands, int(counts[1]) - decisions

    return play


def openspiel(new_state: Callable[[], pyspiel.State], observe: bool = False) -> Play:
    """OpenSpiel's loop, as in its own examples; with ``observe`` it asks for observation and mask before every decision.

    All chance outcomes of this game are equally likely and ``legal_actions`` lists them, so the slower ``chance_outcomes`` is not needed.
    """
    rng = random.Random(0)

    def play() -> tuple[int, int]:
        state, decisions = new_state(), 0
        while not state.is_terminal():
            if not state.is_chance_node():
                decisions += 1
                if observe:
                    state.observation_tensor()
                    state.legal_actions_mask()
            state.apply_action(rng.choice(state.legal_actions()))
        return 1, decisions

    return play


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


class _Learner:
    """Chooses at random; every call continues where the last one stopped."""

    def __init__(self, num_envs: int) -> None:
        self.actions, self.calls = np.zeros(num_envs, np.int64), 0

    def choose(self, masks: np.ndarray) -> np.ndarray:
        self.calls += 1
        _choose(masks, self.actions, self.calls)
        return self.actions


def vector_steps() -> Play:
    """The vector environment's `step`, with observation and mask."""
    envs: Any = gym.make_vec("Gin/Hand-v0", num_envs=NUM_ENVS, opponent="random", rules=RULES)
    _, infos = envs.reset(seed=0)
    learner, masks = _Learner(NUM_ENVS), infos["action_mask"]

    def play() -> tuple[int, int]:
        nonlocal masks
        hands = 0
        for _ in range(STEPS):
            _, _, done, _, infos = envs.step(learner.choose(masks))
            masks = infos["action_mask"]
            hands += int(done.sum())
        return hands, STEPS * NUM_ENVS

    return play


def single_steps() -> Play:
    """The single environment's `step`, with observation and mask."""
    env = ginenv.HandEnv(opponent="random", rules=RULES)
    _, info = env.reset(seed=0)
    learner, mask = _Learner(1), info["action_mask"]

    def play() -> tuple[int, int]:
        nonlocal mask
        over, steps = False, 0
        while not over:
            _, _, over, _, info = env.step(learner.choose(mask[None])[0])
            steps += 1
            if over:
                _, info = env.reset()
            mask = info["action_mask"]
        return 1, steps

    return play


def main() -> None:
    """Measures everything and its ratios to OpenSpiel's loops, and writes them."""
    game = pyspiel.load_game("gin_rummy")
    # A new state builds two tables of melds, which is more work than the hand that follows; a copy does not. This is the fastest loop
    # that OpenSpiel's Python interface allows, so its ratio favours this project least.
    root = game.new_initial_state()
    rows = speeds(
        {
            "this engine, random hands, openspiel": engine("openspiel"),
            "this engine, random hands, eaai": engine("eaai"),
            "OpenSpiel, random hands from a cloned root": openspiel(root.clone),
            "OpenSpiel, random hands": openspiel(game.new_initial_state),
        }
    )
    write_speeds("engine_speed", COMMAND, rows, rows[-1])
    rows = speeds(
        {
            "OpenSpiel, with observation and mask": openspiel(game.new_initial_state, observe=True),
            f"Gin/Hand-v0, {NUM_ENVS} games, opponent random": vector_steps(),
            "Gin/Hand-v0, single, opponent random": single_steps(),
        }
    )
    write_speeds("env_speed", COMMAND, rows, rows[0])


if __name__ == "__main__":
    main()
