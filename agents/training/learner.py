"""What a training run consists of: networks, optimisers, games and opponents, and the state that resumes it bit for bit.

The algorithm that works on it is ``agents.training.ppo``.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from agents.config import TrainConfig
from agents.network.features import NUM_HEURISTIC_FEATURES
from agents.network.inputs import list_legal
from agents.network.nets import (
    Actor,
    Critic,
    FrozenActor,
    FrozenCritic,
    copy_folded,
    folded_copy,
    has_bfloat16_units,
)
from agents.training.action_values import OTHER, VALUED, ActionValues
from agents.training.batch_inputs import BatchInputs
from agents.training.distributed import Workers
from agents.training.opponents import Opponents
from agents.training.resume import ResumeFiles
from agents.training.selfplay import Batch, Rollout, make_batch
from ginenv.errors import GinError

# A batch that moves the policy this far has broken it.
COLLAPSE_KL = 0.5
# The part of a run over which the commitment to gin moves from its first to its last value.
COMMITMENT_FADES = 0.1, 0.4
# Rows computed at once: on a CPU as many as stay in a core's cache.
CPU_CHUNK, DEVICE_CHUNK = 1024, 16384
# Batches between two copies of the policy that stay as opponents.
SNAPSHOT_EVERY = 40
# Batches between two copies of what was learned; a broken run goes back to the latest copy.
_COPY_EVERY = 20
# Attributes that ``state_dict`` holds, each under its own name.
_NETWORKS = ("actor", "critic", "ema", "start")
_COUNTERS = ("decisions", "batches", "seconds", "lr_factor", "updates")
_LOSS_FIELDS = ("hidden", "logp", "advantage", "returns", "next_action", "waiting", "choice")
Given = TypeVar("Given")
Found = TypeVar("Found")


class Learner:
    """The parts of a training run.

    Args:
        config: of the run.
        out: directory for resume files; ``None`` writes none.
        start: network to begin from instead of a fresh one.
    """

    def __init__(
        self,
        config: TrainConfig,
        out: Path | None = None,
        start: Actor | None = None,
    ) -> None:
        self.config = config
        self.workers = Workers(config.device)
        self.files = None if out is None else ResumeFiles(out, self.workers)
        self.rank = self.workers.rank
        self.threads = min(config.num_envs, config.threads or torch.get_num_threads())
        torch.manual_seed(config.seed)
        self.device = self.workers.device
        if self.device.type == "cpu":
            # The pool's threads share the work. Torch's own would occupy the cores that the pool needs while they wait between operations.
            torch.set_num_threads(1)
        self.pool = ThreadPoolExecutor(self.threads, initializer=torch.set_num_threads, initargs=(1,))
        # Every thread of every process plays its own games.
        self.opponents = Opponents(config, self.threads)
        self._make_networks(start)
        self.batch = make_batch(config)
        self.steps = self.batch.steps[:-1]
        self.action_values: list[ActionValues] = []
        faster = self.device.type != "cpu" or has_bfloat16_units()
        self._set_arithmetic(config.bfloat16 == "yes" or (config.bfloat16 == "auto" and faster))
        bounds = np.linspace(0, config.num_envs, self.threads + 1).astype(int).tolist()
        self.columns = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        self.rollouts = [
            Rollout(
                config,
                Batch(*(array[:, games] for array in self.batch)),
                self.rank * self.threads + thread,
                self.opponents.seated(thread),
            )
            for thread, games in enumerate(self.columns)
        ]
        # Probable actions that were not taken, if their values are wanted.
        self.others = np.zeros((*self.steps.shape, VALUED if config.q_weight else 0), OTHER)
        self.action_values = [
            ActionValues(rollout, self.others[:, games], self._inputs_of)
            for rollout, games in zip(self.rollouts, self.columns, strict=True)
            if config.q_weight
        ]
        # Permutations of minibatches are drawn from it.
        self.generator = torch.Generator().manual_seed(config.seed + 17 * self.rank)
        self.decisions = 0
        self.batches = 0
        self.seconds = 0.0
        self.lr_factor = 1.0  # follows the target divergence
        self.rollbacks = 0
        self.updates = 0  # gradient steps
        self.budget: dict[str, float] = dict.fromkeys(("engine", "inference", "learning"), 0.0)
        self.imitating = False  # whether an imitated player played the present batch
        self._safe: dict[str, Any] | None = None

    def _make_networks(self, start: Actor | None) -> None:
        config, network = self.config, self.config.network
        extras = NUM_HEURISTIC_FEATURES * network.heuristic_features, network.share_suits
        self.actor = Actor(network.actor, *extras).to(self.device)
        if start is not None:
            self.actor.load_state_dict(start.state_dict())
        self.critic = Critic(network.critic, *extras).to(self.device)
        self.ema = copy.deepcopy(self.actor)
        # The policy is held to what it begins from.
        self.start = copy.deepcopy(self.actor) if config.kl_to_start_coef else None
        self.optimisers = {
            name: torch.optim.AdamW(getattr(self, name).parameters(), config.learning_rate, weight_decay=0, fused=True)
            for name in ("actor", "critic")
        }

    def _set_arithmetic(self, bfloat16: bool) -> None:
        self.bfloat16 = bfloat16
        # Players that do not learn are on the CPU.
        self.opponents.bfloat16 = bfloat16 and (self.device.type == "cpu" or has_bfloat16_units())
        self.inputs = self._inputs_of(self.batch)
        for values in self.action_values:
            values.inputs = self._inputs_of(values.batch)
        # What gradients are computed with: the learning networks, cast once for each gradient step.
        self.copies = folded_copy(self.actor, self.inputs.dtype), folded_copy(self.critic, self.inputs.dtype)
        self._freeze()

    def _inputs_of(self, batch: Batch) -> BatchInputs:
        return BatchInputs(batch, self.config.network.share_suits, self.device, self.bfloat16)

    def _freeze(self) -> None:
        """Copies the networks as they are now, for play and values."""
        self.frozen_actor = FrozenActor(self.actor, self.bfloat16)
        self.frozen_critic = FrozenCritic(self.critic, self.bfloat16)
        self.frozen_start = None if self.start is None else FrozenActor(self.start, self.bfloat16)

    # --- computing --------------------------------------------------------------------------------------------------------------

    @contextmanager
    def clock(self, name: str) -> Iterator[None]:
        """Adds the seconds spent within to the ``budget``."""
        began = time.perf_counter()
        yield
        self.budget[name] += time.perf_counter() - began

    def in_threads(self, work: Callable[[Given], Found], parts: Iterable[Given]) -> list[Found]:
        """Calls ``work`` for every part, in the threads of the pool if there is more than one; returns the results in their order."""
        return list((self.pool.map if self.threads > 1 else map)(work, parts))

    def chunks(self, rows: np.ndarray) -> list[np.ndarray]:
        """Some rows in chunks that are computed at once; on the CPU there is one for each thread or more."""
        size = DEVICE_CHUNK
        if self.device.type == "cpu":
            size = max(1, min(CPU_CHUNK, -(-len(rows) // self.threads)))
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def fields(self, rows: np.ndarray) -> dict[str, Tensor]:
        """The fields of a batch's rows that the losses need."""
        steps = self.inputs.batch.steps
        return {name: torch.from_numpy(steps[name][rows]).to(self.device) for name in _LOSS_FIELDS}

    def other_actions(self, rows: np.ndarray) -> dict[str, Tensor]:
        """The fields of ``OTHER`` of a batch's rows, each ``[B, VALUED]``."""
        others = self.others.reshape(-1, self.others.shape[-1])[rows]
        return {name: torch.from_numpy(others[name]).to(self.device) for name in OTHER.names or ()}

    def legal_actions(self, rows: np.ndarray) -> Tensor:
        """The legal actions ``int64[B, K]`` of a batch's rows: first the chosen one, then the others, then -1s."""
        steps = self.inputs.batch.steps
        return torch.from_numpy(list_legal(steps["legal"][rows], steps["action"][rows])).to(self.device)

    def observations(self, rows: np.ndarray) -> Tensor:
        """The observations of a batch's rows."""
        return torch.from_numpy(self.inputs.batch.obs[rows]).to(self.device)

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """The logits ``float32[B, 107]`` of the policy that plays the batch, computed in the calling thread."""
        return self.frozen_actor(self.inputs.read(rows)[0]).cpu().numpy()

    def values(self, rows: np.ndarray, committed: bool = False) -> np.ndarray:
        """The values ``float32[B]`` of the critic as it was when the batch began; ``committed`` as in ``BatchInputs.read``."""
        found = self.in_threads(
            lambda part: self.frozen_critic(self.inputs.read(part, committed)[1]), self.chunks(rows)
        )
        return torch.cat(found).cpu().numpy()

    def refresh_copies(self) -> None:
        """Brings ``copies`` up to date."""
        copy_folded(self.actor, self.copies[0])
        copy_folded(self.critic, self.copies[1])

    def set_gradients(self, gradients: list[Tensor]) -> None:
        """Sets the networks' gradients, given those of ``copies`` in float32."""
        for parameter, gradient in zip(self.parameters(), gradients, strict=True):
            parameter.grad = gradient
        for weight, scale in self.actor.trunk.scaled() + self.critic.trunk.scaled():
            assert weight.grad is not None
            weight.grad *= scale

    def parameters(self) -> list[nn.Parameter]:
        """The parameters of both networks that learn."""
        return [*self.actor.parameters(), *self.critic.parameters()]

    # --- course of the run ------------------------------------------------------------------------------------------------------

    def begin_batch(self) -> None:
        """Takes copies of the networks to play with, and at intervals to go back to or to play against."""
        config, opponents = self.config, self.opponents
        if config.past_policy_share and self.batches and self.batches % SNAPSHOT_EVERY == 0:
            opponents.add_past_policy(self.ema, self.generator)
            self._share_games()
        if self.batches % _COPY_EVERY == 0:
            self._safe = self.learned()
        self._freeze()

    def _share_games(self) -> None:
        for thread, rollout in enumerate(self.rollouts):
            rollout.set_opponents(*self.opponents.seated(thread))

    def progress(self) -> float:
        """The fraction of the run that is over."""
        return min(1.0, self.decisions / self.config.decisions)

    @property
    def is_to_imitate(self) -> bool:
        """Whether the next batch is played by an imitated player."""
        return self.decisions < self.config.imitation_decisions

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
        rate = config.learning_rate * self.lr_factor * (1 - (1 - config.learning_rate_end) * self.progress())
        for optimiser in self.optimisers.values():
            for group in optimiser.param_groups:
                group["lr"] = rate
        return rate

    @torch.no_grad()
    def update_ema(self) -> None:
        """Moves the averaged weights towards the actor, faster early in a run."""
        self.updates += 1
        decay = min(self.config.ema_decay, self.updates / (self.updates + 10))
        for ours, theirs in zip(self.ema.parameters(), self.actor.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    def averaged(self) -> FrozenActor:
        """The actor with averaged weights as it is now, to play on the CPU."""
        return FrozenActor(copy.deepcopy(self.ema).cpu(), self.opponents.bfloat16)

    # --- state ------------------------------------------------------------------------------------------------------------------

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
        self._freeze()

    def roll_back_if_broken(self, figures: dict[str, float]) -> None:
        """Rolls back batches that broke the networks, as their losses and divergence show.

        Raises:
            GinError: if that does not help.
        """
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
        self.lr_factor /= 2
        if self.rank == 0:
            rolled = f"rolled back by up to {_COPY_EVERY} batches, learning rate halved"
            print(f"batch {self.batches}: {reason}; {rolled}", flush=True)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue bit for bit: tensors and plain values only."""
        return self.learned() | {
            "bfloat16": self.bfloat16,
            "rollouts": [rollout.state_dict() for rollout in self.rollouts],
            "past_policies": self.opponents.state_dict(),
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
        self.opponents.load_state_dict(saved["past_policies"], self.ema)
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
