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
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from agents.config import TrainConfig
from agents.network.nets import Actor, Critic, FrozenActor, FrozenCritic, copy_folded, folded_copy, has_bfloat16_units
from agents.network.player import NetworkPlayer
from agents.training.action_values import ActionValues
from agents.training.batch import Batch
from agents.training.distributed import Workers
from agents.training.resume import ResumeFiles
from agents.training.selfplay import Rollout
from ginenv.errors import GinError

# A batch that moves the policy this far has broken it.
COLLAPSE_KL = 0.5
MAX_GRAD_NORM = 0.5
# The part of a run over which the commitment to gin moves from its first to its last value.
COMMITMENT_FADES = 0.1, 0.4
# Rows computed at once: on a CPU as many as stay in a core's cache.
CPU_CHUNK, DEVICE_CHUNK = 1024, 16384
# Batches between two copies of the policy that stay as opponents, and how many stay.
SNAPSHOT_EVERY, NUM_PAST_POLICIES = 40, 6
# Batches between two copies of what was learned; a broken run goes back to the latest copy.
_COPY_EVERY = 20
# Attributes that ``state_dict`` holds, each under its own name.
_NETWORKS = ("actor", "critic", "ema", "start")
_COUNTERS = ("decisions", "batches", "seconds", "lr_factor", "updates")
Given = TypeVar("Given")
Found = TypeVar("Found")


class Networks(NamedTuple):
    """What a loss is computed with: copies of the networks that learn, and the policy to which they are held, if there is one."""

    actor: Actor
    critic: Critic
    start: FrozenActor | None


class Schedule(NamedTuple):
    """The learning rate and the weights of the losses at a point of the run, and whether an imitated player's actions are learned."""

    learning_rate: float
    entropy: float
    knock: float
    imitating: bool


# The mean loss over some rows of the batch, and its terms.
Loss = Callable[[Networks, np.ndarray], tuple[Tensor, dict[str, Tensor]]]


class Learner:
    """The parts of a training run.

    Args:
        config: of the run.
        out: directory for resume files; ``None`` writes none.
        start: network to begin from instead of a fresh one.
    """

    def __init__(self, config: TrainConfig, out: Path | None = None, start: Actor | None = None) -> None:
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
        self._make_networks(start)
        self.bfloat16 = self.device.type != "cpu" or has_bfloat16_units()
        shape = config.num_steps, config.num_envs
        self.batch = Batch.empty(shape, self.device, torch.float32, config.q_weight > 0)
        # Every thread of every process plays its own games.
        ends = np.linspace(0, config.num_envs, self.threads + 1).astype(int).tolist()
        self.columns = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self.rollouts = [
            Rollout(config, self.batch.part(games), self.rank * self.threads + thread, thread)
            for thread, games in enumerate(self.columns)
        ]
        self.action_values = [ActionValues(rollout) for rollout in self.rollouts if config.q_weight]
        self.past_policies: list[Actor] = []
        self._set_arithmetic()
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
        self.actor = Actor(network.actor).to(self.device)
        if start is not None:
            self.actor.load_state_dict(start.state_dict())
        self.critic = Critic(network.critic).to(self.device)
        self.ema = copy.deepcopy(self.actor)
        # The policy is held to what it begins from.
        self.start = copy.deepcopy(self.actor) if config.kl_to_start_coef else None
        self.optimisers = {
            name: torch.optim.AdamW(
                getattr(self, name).parameters(), config.learning_rate[0], weight_decay=0, fused=True
            )
            for name in ("actor", "critic")
        }

    def _set_arithmetic(self) -> None:
        dtype = torch.bfloat16 if self.bfloat16 else torch.float32
        for batch in (self.batch, *(values.batch for values in self.action_values)):
            batch.dtype = dtype
        # What gradients are computed with: the learning networks, cast once for each gradient step.
        self.copies = folded_copy(self.actor, dtype), folded_copy(self.critic, dtype)
        self._freeze()

    def _freeze(self) -> None:
        """Copies the networks as they are now, for play and values."""
        self.frozen_actor = FrozenActor(self.actor, self.bfloat16)
        self.frozen_critic = FrozenCritic(self.critic, self.bfloat16)
        self.frozen_start = None if self.start is None else FrozenActor(self.start, self.bfloat16)

    @property
    def steps(self) -> np.ndarray:
        """The batch's half-moves that were played, ``STEP[num_steps, num_envs]``."""
        return self.batch.steps[:-1]

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

    def _chunks(self, rows: np.ndarray) -> list[np.ndarray]:
        """Some rows in chunks that are computed at once; on the CPU there is one for each thread or more."""
        size = DEVICE_CHUNK
        if self.device.type == "cpu":
            size = max(1, min(CPU_CHUNK, -(-len(rows) // self.threads)))
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """The logits ``float32[B, 107]`` of the policy that plays the batch, computed in the calling thread."""
        return self.frozen_actor(self.batch.read(rows)[0]).cpu().numpy()

    def values(self, rows: np.ndarray, committed: bool = False) -> np.ndarray:
        """The values ``float32[B]`` of the critic as it was when the batch began; ``committed`` as in ``Batch.read``."""
        found = self.in_threads(
            lambda part: self.frozen_critic(self.batch.read(part, committed)[1]), self._chunks(rows)
        )
        return torch.cat(found).cpu().numpy()

    def backward(self, loss: Loss, rows: np.ndarray) -> dict[str, float]:
        """Sets the gradients of both networks for some rows of the batch; returns the loss's terms.

        Threads take chunks of the rows, and the chunks' gradients are added in a fixed order: a result depends on the number of threads,
        never on their timing.
        """
        for network, made in zip((self.actor, self.critic), self.copies, strict=True):
            copy_folded(network, made)
        parameters = [parameter for network in self.copies for parameter in network.parameters()]
        networks = Networks(*self.copies, self.frozen_start)

        def of_chunk(part: np.ndarray) -> tuple[list[Tensor], dict[str, Tensor]]:
            total, terms = loss(networks, part)
            share = len(part) / len(rows)
            gradients = [gradient.float() for gradient in torch.autograd.grad(total * share, parameters)]
            return gradients, {name: value.detach() * share for name, value in terms.items()}

        (gradients, terms), *others = self.in_threads(of_chunk, self._chunks(rows))
        for more, more_terms in others:
            gradients = [one + other for one, other in zip(gradients, more, strict=True)]
            terms = {name: value + more_terms[name] for name, value in terms.items()}
        for parameter, gradient in zip(self.parameters(), gradients, strict=True):
            parameter.grad = gradient
        for weight, scale in self.actor.trunk.scaled() + self.critic.trunk.scaled():
            assert weight.grad is not None
            weight.grad *= scale
        # One wait for the device, not one for each term.
        return dict(zip(terms, torch.stack(list(terms.values())).tolist(), strict=True))

    def step(self, name: str) -> None:
        """Takes an optimiser step of ``actor`` or ``critic`` with the gradients that were set; the actor's moves the averaged weights."""
        parameters = list(getattr(self, name).parameters())
        self.workers.average_gradients(parameters)
        nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
        self.optimisers[name].step()
        if name == "actor":
            self._update_ema()

    def parameters(self) -> list[nn.Parameter]:
        """The parameters of both networks that learn."""
        return [*self.actor.parameters(), *self.critic.parameters()]

    @torch.no_grad()
    def _update_ema(self) -> None:
        """Moves the averaged weights towards the actor, faster early in a run."""
        self.updates += 1
        decay = min(self.config.ema_decay, self.updates / (self.updates + 10))
        for ours, theirs in zip(self.ema.parameters(), self.actor.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    # --- course of the run ------------------------------------------------------------------------------------------------------

    def begin_batch(self) -> None:
        """Takes copies of the networks to play with, and at intervals to go back to or to play against."""
        if self.config.past_policy_share and self.batches and self.batches % SNAPSHOT_EVERY == 0:
            self.past_policies.append(copy.deepcopy(self.ema).cpu())
            if len(self.past_policies) > NUM_PAST_POLICIES:
                # One of the older half goes. Games against it go on against its successor in the list.
                older = len(self.past_policies) // 2 + 1
                del self.past_policies[int(torch.randint(older, (1,), generator=self.generator))]
            self._seat_past_policies()
        if self.batches % _COPY_EVERY == 0:
            self._safe = self.learned()
        self._freeze()
        self.imitating = self.is_to_imitate
        for rollout in self.rollouts:
            rollout.set_commitment(self.commitment())
            rollout.tally[:] = 0

    def _seat_past_policies(self) -> None:
        """Every past policy plays in one thread alone, if there are enough of them: the more rows a network has, the less each costs."""
        frozen = [FrozenActor(actor, self._plays_bfloat16) for actor in self.past_policies]
        for thread, rollout in enumerate(self.rollouts):
            seeds = range(1000 * (thread + 1), 1000 * (thread + 1) + len(frozen))
            players = [
                NetworkPlayer(actor, seed, name="past policy") for actor, seed in zip(frozen, seeds, strict=True)
            ]
            few = len(frozen) < self.threads
            rollout.set_past_policies(players, [few or k % self.threads == thread for k in range(len(frozen))])

    @property
    def _plays_bfloat16(self) -> bool:
        """Whether networks that play on the CPU multiply in bfloat16."""
        return self.bfloat16 and (self.device.type == "cpu" or has_bfloat16_units())

    def progress(self) -> float:
        """The fraction of the run that is over."""
        return min(1.0, self.decisions / self.config.decisions)

    @property
    def is_to_imitate(self) -> bool:
        """Whether the next batch is played by an imitated player."""
        return self.decisions < self.config.imitation_decisions

    def commitment(self) -> float:
        """The chance at this point of the run that declining a knock commits a seat to gin."""
        begun, over = COMMITMENT_FADES
        faded = min(1.0, max(0.0, (self.progress() - begun) / (over - begun)))
        start, end = self.config.commit
        return start + (end - start) * faded

    def follow_schedule(self) -> Schedule:
        """The schedule at this point of the run; sets the optimisers' learning rate."""
        config, progress = self.config, self.progress()
        start, end = config.learning_rate
        rate = start * self.lr_factor * (1 - (1 - end / start) * progress)
        for optimiser in self.optimisers.values():
            for group in optimiser.param_groups:
                group["lr"] = rate
        first, last = config.entropy_coef
        knock = self.commitment() / config.commit[0] if config.commit[0] else 0.0
        return Schedule(rate, first + (last - first) * progress, knock, self.imitating)

    def averaged(self) -> FrozenActor:
        """The actor with averaged weights as it is now, to play on the CPU."""
        return FrozenActor(copy.deepcopy(self.ema).cpu(), self._plays_bfloat16)

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
            "past_policies": [copy.deepcopy(actor.state_dict()) for actor in self.past_policies],
            "generator": self.generator.get_state(),
            "torch": torch.get_rng_state(),
            **{name: getattr(self, name) for name in _COUNTERS},
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continues from a saved ``state_dict``."""
        self._restore(saved)
        if self.bfloat16 != saved["bfloat16"]:
            # A run keeps the arithmetic that it began with.
            self.bfloat16 = saved["bfloat16"]
            self._set_arithmetic()
        self.past_policies = [copy.deepcopy(self.ema).cpu() for _ in saved["past_policies"]]
        for actor, weights in zip(self.past_policies, saved["past_policies"], strict=True):
            actor.load_state_dict(weights)
        self._seat_past_policies()
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
