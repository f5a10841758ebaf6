"""The parts of a training run: networks, optimisers, games, opponents, and the state that resumes it bit for bit.

The algorithms are loops over these parts: ``agents.training.ppo``, ``agents.training.dmc``.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from agents.config import TrainConfig
from agents.network.inputs import NUM_HEURISTIC_FEATURES
from agents.network.nets import Actor, Critic, FrozenActor, has_bfloat16_units, load_wider
from agents.training.batch_inputs import BatchInputs
from agents.training.cpu_training import CpuBackend, faster_in_bfloat16
from agents.training.distributed import Workers
from agents.training.opponent_context import Told
from agents.training.opponents import Opponents
from agents.training.resume import ResumeFiles
from agents.training.rollout import Batch, ContextSource, Rollout, make_batch
from agents.training.torch_training import Networks, TorchBackend
from ginenv.errors import GinError

# A batch that moves the policy this far has broken it.
COLLAPSE_KL = 0.5
# The part of a run over which the commitment to gin moves from its first to its last value.
COMMITMENT_FADES = 0.1, 0.4
# Batches between two copies of what was learned; a broken run goes back to the latest copy.
_COPY_EVERY = 20
# Attributes that ``state_dict`` holds, each under its own name.
_NETWORKS = ("actor", "critic", "average", "anchor")
_COUNTERS = ("decisions", "batches", "seconds", "speed", "updates")
AfterBatch = Callable[[dict[str, float]], bool]


class Learner:
    """The parts of a training run.

    Args:
        config: of the run.
        out: directory for resume files; ``None`` writes none.
        start: network to begin from instead of a fresh one.
        context: source of the networks' context; by default what the configuration says they are told.
    """

    def __init__(
        self,
        config: TrainConfig,
        out: Path | None = None,
        start: Actor | None = None,
        context: ContextSource | None = None,
    ) -> None:
        self.config = config
        self.workers = Workers(config.device)
        self.files = None if out is None else ResumeFiles(out, self.workers)
        self.rank = self.workers.rank
        self.threads = min(config.games, config.threads or torch.get_num_threads())
        torch.manual_seed(config.seed)
        self.device = self.workers.device
        if self.device.type == "cpu":
            # The pool's threads share the work. Torch's own would occupy the cores that the pool needs while they wait between operations.
            torch.set_num_threads(1)
        # Every thread of every process plays its own games.
        self.opponents = Opponents(config, self.threads)
        if context is None and config.told != "nothing":
            context = Told(self.opponents)
        features = NUM_HEURISTIC_FEATURES * config.network.heuristic_features
        extras = (context.width if context else 0, features, config.network.share_suits)
        self.actor = Actor(config.network.actor, *extras).to(self.device)
        if start is not None:
            load_wider(self.actor, start)
        self.critic = Critic(config.network.critic, *extras).to(self.device)
        self.average = copy.deepcopy(self.actor)
        # The policy is held to what it begins from.
        self.anchor = copy.deepcopy(self.actor).requires_grad_(False) if config.anchor else None
        self.optimisers = {
            name: torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=0, fused=True)
            for name, network in (("actor", self.actor), ("critic", self.critic))
        }
        self.batch = make_batch(config, context.width if context else 0)
        self.steps = self.batch.steps[:-1]
        self.inputs = BatchInputs(self.batch)
        self.pool = ThreadPoolExecutor(self.threads, initializer=torch.set_num_threads, initargs=(1,))
        bfloat16 = config.bfloat16 == "yes" or (config.bfloat16 == "auto" and faster_in_bfloat16(self.device))
        self._set_arithmetic(bfloat16)
        bounds = np.linspace(0, config.games, self.threads + 1).astype(int)
        self.columns = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        self.rollouts = [
            Rollout(
                config,
                Batch(*(array[:, games] for array in self.batch)),
                self.rank * self.threads + thread,
                context,
                self.opponents.seated(thread),
            )
            for thread, games in enumerate(self.columns)
        ]
        # Permutations of minibatches are drawn from it.
        self.generator = torch.Generator().manual_seed(config.seed + 17 * self.rank)
        self.decisions = 0
        self.batches = 0
        self.seconds = 0.0
        self.speed = 1.0  # factor on the learning rate that follows the target divergence
        self.rollbacks = 0
        self.updates = 0  # gradient steps
        self.budget: dict[str, float] = dict.fromkeys(("engine", "inference", "learning"), 0.0)
        self.cloning = False  # whether teachers played the present batch
        self._safe: dict[str, Any] | None = None

    def _set_arithmetic(self, bfloat16: bool) -> None:
        self.bfloat16 = bfloat16
        # Whoever does not learn plays on the CPU.
        self.opponents.bfloat16 = bfloat16 and (self.device.type == "cpu" or has_bfloat16_units())
        networks = Networks(self.actor, self.critic, self.anchor)
        self.torch_backend = TorchBackend(networks, self.inputs, bfloat16, self.device)
        self.backend: CpuBackend | TorchBackend = self.torch_backend
        if self.device.type == "cpu":
            self.backend = CpuBackend(networks, self.inputs, bfloat16, self.pool, self.threads)

    @contextmanager
    def clock(self, name: str) -> Iterator[None]:
        """Adds the seconds spent within to the ``budget``."""
        began = time.perf_counter()
        yield
        self.budget[name] += time.perf_counter() - began

    # --- playing ----------------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def play(self) -> None:
        """Plays ``ticks`` half-moves of every game into the rollout's batch, with the present policy."""
        config, opponents = self.config, self.opponents
        if config.selves and config.selves_share and self.batches and self.batches % config.selves_every == 0:
            opponents.add_self(self.average, self.generator)
            self._share_games()
        if self.batches % _COPY_EVERY == 0:
            self._safe = self.learned()
        self.cloning = self.decisions < config.clone_decisions
        self.backend.refresh()
        shaping = config.shaping * max(0.0, 1 - self.decisions / config.shaping_decisions)
        each = self.pool.map if self.threads > 1 else map
        for engine, inference in each(partial(self._play_games, shaping), range(self.threads)):
            self.budget["engine"] += engine / self.threads
            self.budget["inference"] += inference / self.threads

    @torch.no_grad()
    def _play_games(self, shaping: float, thread: int) -> tuple[float, float]:
        """Plays one thread's games and returns the seconds of the engine and of inference; kernels and products let other threads run."""
        config, rollout = self.config, self.rollouts[thread]
        rollout.set_commitment(self.commitment())
        first, spent = np.arange(config.games)[self.columns[thread]][0], [0.0, 0.0]
        rollout.tally[:] = 0
        for tick in range(config.ticks):
            began = time.perf_counter()
            rollout.observe(tick, shaping)
            rows = rollout.choosing(tick)
            seen = time.perf_counter()
            rollout.sample(tick, rows, self.backend.logits(tick * config.games + first + rows, thread))
            self.opponents.act(rollout, tick)
            if self.cloning:
                self.opponents.teach(rollout, tick, thread)
            chosen = time.perf_counter()
            rollout.advance(tick, shaping)
            spent[0] += time.perf_counter() - chosen + seen - began
            spent[1] += chosen - seen
        rollout.observe(config.ticks)
        return spent[0], spent[1]

    def _share_games(self) -> None:
        for thread, rollout in enumerate(self.rollouts):
            rollout.set_opponents(*self.opponents.seated(thread))

    # --- learning ---------------------------------------------------------------------------------------------------------------

    def progress(self) -> float:
        """The fraction of the run that is over."""
        return min(1.0, self.decisions / self.config.decisions)

    def commitment(self) -> float:
        """The chance at this point of the run that declining a knock commits a seat to gin."""
        config = self.config
        begun, over = COMMITMENT_FADES
        faded = min(1.0, max(0.0, (self.progress() - begun) / (over - begun)))
        end = config.commit if config.commit_end is None else config.commit_end
        return config.commit + (end - config.commit) * faded

    def set_learning_rate(self) -> float:
        """Sets the optimisers' learning rate for this point of the run and returns it."""
        config = self.config
        rate = config.learning_rate * self.speed * (1 - (1 - config.learning_rate_end) * self.progress())
        for optimiser in self.optimisers.values():
            for group in optimiser.param_groups:
                group["lr"] = rate
        return rate

    def steer(self, figures: dict[str, float]) -> None:
        """Adapts the learning rate's factor to a batch's divergence ``kl``, which is set to 0 where teachers played."""
        if self.cloning:
            figures["kl"] = 0.0
        elif figures["kl"] > 1.5 * self.config.target_kl:
            self.speed = max(0.05, self.speed / 1.2)
        elif figures["kl"] < self.config.target_kl / 1.5:
            self.speed = min(2.0, self.speed * 1.1)

    def minibatches(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Every epoch's minibatches of some rows in random order, with the number of the epoch.

        All processes take the same number of steps of the same size; surplus rows of a process are dropped.

        Raises:
            GinError: if there are too few rows for a step.
        """
        size, count = self.config.minibatch, self.workers.least(len(rows))
        if count <= size // 2:
            raise GinError(
                f"the batch has {count} decisions to learn from, too few for a gradient step; games times ticks must give more than "
                f"half of minibatch, {size // 2}"
            )
        for epoch in range(self.config.epochs):
            order = rows[torch.randperm(len(rows), generator=self.generator).numpy()][:count]
            for start in range(0, count - size // 2, size):
                yield epoch, order[start : start + size]

    def descend(self, name: str) -> None:
        """Takes an optimiser step of ``actor`` or ``critic`` with the gradients that were set."""
        parameters = [parameter for parameter in getattr(self, name).parameters() if parameter.grad is not None]
        self.workers.average_gradients(parameters)
        nn.utils.clip_grad_norm_(parameters, self.config.gradient_norm)
        self.optimisers[name].step()

    @torch.no_grad()
    def average_weights(self) -> None:
        """Moves the average towards the actor, faster early in a run."""
        self.updates += 1
        decay = min(self.config.average, self.updates / (self.updates + 10))
        for ours, theirs in zip(self.average.parameters(), self.actor.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    def hand_figures(self) -> dict[str, float]:
        """Statistics of the batch's hands, over all processes."""
        hands, gins, knocks, length, undercuts, deadwood = self.workers.total(
            *np.sum([rollout.tally for rollout in self.rollouts], 0).tolist()
        )
        return {
            "hands": hands,
            "gin_rate": gins / max(1, hands),
            "knock_rate": knocks / max(1, hands),
            "undercut_rate": undercuts / max(1, knocks),
            "knock_deadwood": deadwood / max(1, knocks),
            "hand_length": length / max(1, hands),
        }

    def end_batch(self, began: float, figures: dict[str, float], after_batch: AfterBatch) -> bool:
        """Counts a batch, reports its figures, and returns whether to go on.

        Args:
            began: when the batch began, by ``time.perf_counter``.
            figures: its losses and statistics.
            after_batch: called with them; returns whether to go on in this process.

        Raises:
            GinError: if batches break the networks again and again.
        """
        self._check(figures)
        self.batches += 1
        self.seconds += time.perf_counter() - began
        return not self.workers.any(not after_batch(figures)) and self.decisions < self.config.decisions

    def averaged(self) -> FrozenActor:
        """The averaged actor as it is now, to play on the CPU."""
        return FrozenActor(copy.deepcopy(self.average).cpu(), self.opponents.bfloat16)

    # --- trust ------------------------------------------------------------------------------------------------------------------

    def learned(self) -> dict[str, Any]:
        """A copy of all weights and of the optimisers' states."""
        learned = {name: network.state_dict() for name in _NETWORKS if (network := getattr(self, name))}
        return copy.deepcopy(
            learned | {"optimisers": {name: optimiser.state_dict() for name, optimiser in self.optimisers.items()}}
        )

    def _restore(self, learned: dict[str, Any]) -> None:
        for name in _NETWORKS:
            if network := getattr(self, name):
                network.load_state_dict(learned[name])
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(learned["optimisers"][name])

    def _check(self, figures: dict[str, float]) -> None:
        """Rolls back batches that broke the networks, and raises when that does not help."""
        broken = [name for name, value in figures.items() if not math.isfinite(value)]
        if not broken and figures["kl"] < COLLAPSE_KL:
            self.rollbacks = 0 if self.batches % 40 == 39 else self.rollbacks
            return
        reason = f"{broken[0]} is not finite" if broken else f"divergence {figures['kl']:.2f} above {COLLAPSE_KL}"
        self.rollbacks += 1
        if self._safe is None or self.rollbacks > 3:
            raise GinError(
                f"training broke at {self.decisions:,} decisions: {reason}, also after {self.rollbacks - 1} rollbacks"
            )
        self._restore(copy.deepcopy(self._safe))
        self.speed /= 2
        if self.rank == 0:
            rolled = f"rolled back by up to {_COPY_EVERY} batches, learning rate halved"
            print(f"batch {self.batches}: {reason}; {rolled}", flush=True)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue bit for bit: tensors and plain values only."""
        return self.learned() | {
            "bfloat16": self.bfloat16,
            "rollouts": [rollout.state_dict() for rollout in self.rollouts],
            "selves": self.opponents.state_dict(),
            "generator": self.generator.get_state(),
            "torch": torch.get_rng_state(),
            **{name: getattr(self, name) for name in _COUNTERS},
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continues from a saved ``state_dict``."""
        self._restore(saved)
        if self.config.bfloat16 == "auto" and self.bfloat16 != saved["bfloat16"]:
            # A run keeps the arithmetic that it began with.
            self._set_arithmetic(saved["bfloat16"])
        self.opponents.load_state_dict(saved["selves"], self.average)
        self._share_games()
        if len(saved["rollouts"]) == self.threads:
            for rollout, state in zip(self.rollouts, saved["rollouts"], strict=True):
                rollout.load_state_dict(state)
        else:
            print(
                f"the run had {len(saved['rollouts'])} threads and has {self.threads} now: it goes on with new games",
                flush=True,
            )
        self.generator.set_state(saved["generator"])
        torch.set_rng_state(saved["torch"])
        for name in _COUNTERS:
            setattr(self, name, saved[name])

    def save(self) -> None:
        """Writes a resume file and keeps the last three."""
        if self.files is not None:
            self.files.save(self.state_dict())

    def resume(self) -> bool:
        """Continues from the resume file in ``out`` if there is one.

        Raises:
            GinError: if the file is damaged or of another run.
        """
        if self.files is None or (path := self.files.find()) is None:
            return False
        saved = self.files.read(path)
        try:
            self.load_state_dict(saved)
        except Exception as error:
            raise GinError(f"{path} is of another run ({str(error).splitlines()[0]})") from None
        return True
