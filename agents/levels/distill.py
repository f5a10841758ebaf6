"""Distils a level's network into one that reads the observation alone, as other languages can make it.

The level plays itself and bots under all presets. In every position the student's logits approach the level's, in relation to each other,
and most exactly where the level's behaviour (temperature, gap, biases) lets them decide.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.levels.app import WIDTHS
from agents.levels.choice import choose
from agents.levels.player import LevelPlayer
from agents.network.nets import Actor
from ginenv.engine.actions import NUM_ACTIONS, PHASE_LAYOFF, PHASE_SPREAD
from ginenv.engine.rules import PRESETS
from ginenv.envs.selfplay import SelfPlayBatch
from ginenv.tables.players import make_player
from ginenv.view.encoding import OBSERVATION_SIZE
from ginenv.view.view import action_masks

# Positions that the level plays through, tables of each preset, and positions collected between two phases of learning.
POSITIONS, _TABLES, _CHUNK = 2_400_000, 32, 12_000
# How often each position is learned from, on average; positions that are remembered; positions of a step.
_TIMES, _REMEMBERED, _BATCH = 2, 240_000, 1024
# Of learning, highest; it ends at a fiftieth of that.
_RATE = 5e-3
_BOTS = ("formula", "simple", "camper", "knocker")
# Least weight of a legal action, however far it is from being played.
_MIN_WEIGHT = 0.05
# Keeps the logits from drifting all together, which no choice depends on and which would cost digits.
_ANCHOR = 1e-3

# Inputs ``uint8[n, 520]``, logits ``float32[n, 107]``, weights of their errors ``float32[n, 107]``.
_Examples = tuple[np.ndarray, ...]
_EXAMPLES = ((OBSERVATION_SIZE, np.uint8), (NUM_ACTIONS, np.float32), (NUM_ACTIONS, np.float32))


def distill(
    level: LevelPlayer, seconds: float, seed: int, progress: Callable[[float], None]
) -> tuple[Actor, dict[str, Any]]:
    """Distils a level.

    Args:
        level: the level's player; it does not learn.
        seconds: the most that it may take. The result depends on the seed alone unless they run out.
        seed: of deals, choices and the student.
        progress: called with the share that is done, of the positions or of the time, whichever ends it first.

    Returns:
        The student, the number of ``positions`` that it learned from, and whether it ``finished`` before its time ran out.
    """
    torch.manual_seed(seed)
    actor = Actor(WIDTHS, heuristic_features=0)
    optimiser = torch.optim.AdamW(actor.parameters(), _RATE, weight_decay=1e-4)
    remembered = tuple(np.empty((_REMEMBERED, n), kind) for n, kind in _EXAMPLES)
    rng, began, count = np.random.default_rng(seed), time.monotonic(), 0
    for examples in _play(level, seed):
        rows = np.arange(count, count + len(examples[0])) % _REMEMBERED
        for old, new in zip(remembered, examples, strict=True):
            old[rows] = new
        count += len(rows)
        done = min(1.0, max(count / POSITIONS, (time.monotonic() - began) / seconds))
        # Not after the first positions, whose time may have gone into compiling.
        slower = 0.02 + 0.98 * math.cos(math.pi / 2 * done) ** 2 if count > _CHUNK else 1
        for group in optimiser.param_groups:
            group["lr"] = _RATE * slower
        for _ in range(_TIMES * len(rows) // _BATCH):
            _step(actor, optimiser, remembered, rng.integers(min(count, _REMEMBERED), size=_BATCH))
        progress(done)
        if done >= 1:
            break
    return actor.eval(), {"positions": count, "finished": count >= POSITIONS}


def _play(level: LevelPlayer, seed: int) -> Iterator[_Examples]:
    """Positions of games under all presets; at half of the tables a bot has one of the seats."""
    tables = [SelfPlayBatch(_TABLES, rules, "game") for rules in PRESETS]
    for k, table in enumerate(tables):
        table.reset(seed=seed * 100_003 + k * _TABLES)
    bots = [make_player(name, seed) for name in _BOTS]
    numbers = np.tile(np.arange(_TABLES), len(tables))
    found: list[_Examples] = []
    while True:
        views = np.concatenate([table.views for table in tables])
        seats = np.concatenate([table.seats for table in tables])
        actions, examples = _label(level, views)
        for k, bot in enumerate(bots):
            rows = np.flatnonzero((numbers % (2 * len(bots)) == k) & (seats == 1))
            if len(rows):
                actions[rows] = bot.act(views[rows])
        found.append(examples)
        for k, table in enumerate(tables):
            table.step(actions[k * _TABLES : (k + 1) * _TABLES])
        if sum(len(inputs) for inputs, *_ in found) >= _CHUNK:
            yield tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
            found = []


def _label(level: LevelPlayer, views: np.ndarray) -> tuple[np.ndarray, _Examples]:
    """The level's actions, and what it wants the student to learn, of positions that its network decides."""
    choices = level.describe(views)
    biased, wanted = choices.copy(), level.logits(views, choices)
    # On the scale on which it chooses, its biases included, but neither the hand's taste nor the bound on deadwood.
    biased["behaviour"]["hand_taste"], biased["behaviour"]["max_extra_deadwood"] = 0, 1000
    choose(biased, wanted)
    preferred = wanted.copy()
    choices["biases"] = 0
    actions, _ = choose(choices, preferred, softens=False)
    decided = np.flatnonzero(~np.isin(views["phase"], (PHASE_SPREAD, PHASE_LAYOFF)))
    preferred = np.where(action_masks(views[decided]) > 0, preferred[decided], -np.inf)
    behind = preferred.max(1, keepdims=True) - preferred
    weights = np.maximum(np.exp(-np.maximum(behind - level.behaviour["max_logit_gap"][0] - 0.5, 0)), _MIN_WEIGHT)
    weights = np.where(behind < 1e6, weights, 0).astype(np.float32)
    return actions, (choices["inputs"]["observation"]["cells"][decided], wanted[decided], weights)


def _step(actor: Actor, optimiser: torch.optim.Optimizer, examples: _Examples, rows: np.ndarray) -> None:
    inputs, logits, weights = (torch.from_numpy(part[rows]) for part in examples)
    # What the student might read besides the observation is 0.
    student = actor.logits(functional.pad(inputs.float(), (0, 1)))
    loss = _loss(student, logits, weights)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def _loss(student: Tensor, level: Tensor, weights: Tensor) -> Tensor:
    """Weighted error of the logits. A number that is added to all of a row changes no choice, so it hardly counts."""
    total = weights.sum(1, keepdim=True)
    error = student - level
    offset = (weights * error).sum(1, keepdim=True) / total
    error = error - offset
    near = functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none")
    return ((weights * near).sum(1) / total[:, 0]).mean() + _ANCHOR * offset.square().mean()
