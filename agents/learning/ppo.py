"""Self-play by proximal policy optimisation, in one process or several.

The loop reads from top to bottom in ``Trainer.run``: collect a batch of half-moves from thousands of games in lock-step, compute
advantages with a critic that sees both hands and the stock, take gradient steps, average the weights, measure, save.

What is particular to this game (LOG.md has the experiments behind it):

* Both seats are one zero-sum sequence; the critic values every half-move.
* Policies of gin rummy fall into always knocking, since waiting one turn is worse than knocking at once. So declining a knock commits a
  seat to gin for the rest of the hand (mostly), and some hands are played for gin from the start; the network is told.
* The critic is told what the stock will bring to both hands (``agents.learning.rollout``), since most of a result is luck.
* Step size decides: the learning rate follows a target divergence per batch.
"""

from __future__ import annotations

import copy
import functools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.config import TrainConfig
from agents.learning.cpu_training import InputColumns, Passes, gather, read_columns
from agents.learning.distributed import Workers
from agents.learning.losses import Weights, actor_loss, guessing_rows
from agents.learning.resume import ResumeFiles
from agents.learning.rollout import Rollout, generalised_advantages, next_actions
from agents.network.heuristic_features import NUM_ADVICE
from agents.network.nets import NUM_FUTURE, Actor, Critic, FrozenActor, has_bfloat16_units
from agents.network.player import NetworkPlayer
from ginenv.actions import KNOCK, STOCK
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.errors import GinError
from ginenv.players import Player, make_player

# A batch that moves the policy this far has broken it.
COLLAPSE_KL = 0.5


class Trainer:
    """A training run: networks, optimisers, games, and what is needed to continue it bit for bit.

    Args:
        config: everything that decides the run.
        out: directory for resume files; ``None`` keeps nothing.
        start: weights to begin from instead of a fresh network.
    """

    habits = 0  # numbers about the opponent that the networks read besides (see ``agents.levels.training``)

    def __init__(self, config: TrainConfig, out: Path | None = None, start: Actor | None = None) -> None:
        self.config = config
        self.workers = Workers(config.device)
        self.files = None if out is None else ResumeFiles(out, self.workers)
        self.rank = self.workers.rank
        if config.threads:
            torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        self.device = self.workers.device
        units = config.device != "cpu" or has_bfloat16_units()
        self.bfloat16 = config.bfloat16 == "yes" or (config.bfloat16 == "auto" and units)
        self.advice = NUM_ADVICE if config.network.advice else 0
        self.actor = Actor(config.network.actor, self.habits, self.advice).to(self.device)
        if start is not None:
            self.actor.load_wider(start)
        self.critic = Critic(config.network.critic, self.habits, self.advice).to(self.device)
        self.average = copy.deepcopy(self.actor)
        self.optimisers = {
            "actor": torch.optim.AdamW(self.actor.parameters(), lr=config.learning_rate, weight_decay=0, fused=True),
            "critic": torch.optim.AdamW(self.critic.parameters(), lr=config.learning_rate, weight_decay=0, fused=True),
        }
        # Every process plays its own games; the permutations of minibatches are drawn from torch's generator.
        self.teachers = [make_player(name, seed=config.seed) for name in (config.teacher, config.gin_teacher)]
        self.pool = [make_player(member.player, seed=config.seed + k) for k, member in enumerate(config.pool)]
        self.rollout = Rollout(
            config.games,
            config.ticks,
            config.rules,
            config.seed * 1009 + self.rank,
            self._kind_shares(),
            config.gin_only,
            config.commit,
            config.reward == "game",
            config.network.advice,
        )
        self.columns = InputColumns(self.habits, self.advice)
        # What is known of the opponents of the seats to move, also for the state after the last tick.
        self.known = np.zeros((config.ticks + 1, config.games, self.habits), np.float32)
        self.passes = None
        if self.device.type == "cpu":
            threads = config.threads or torch.get_num_threads()
            self.passes = Passes(self.actor, self.critic, self.columns, self.bfloat16, threads)
        self.generator = torch.Generator().manual_seed(config.seed + 17 * self.rank)
        self.selves: list[Actor] = []
        self.self_players: list[Player] = []
        self.decisions = 0
        self.batches = 0
        self.seconds = 0.0
        self.speed = 1.0  # factor on the learning rate that follows the target divergence
        self.rollbacks = 0
        self.steps = 0  # gradient steps
        self.shares = {"engine": 0.0, "inference": 0.0, "learning": 0.0}
        self._safe: dict[str, Any] | None = None
        self._cloning = False

    # --- the loop ---------------------------------------------------------------------------------------------------------------

    def run(self, after_batch: Callable[[dict[str, float]], bool]) -> None:
        """Trains until the decisions are spent or ``after_batch`` (called with the batch's figures) returns ``False`` in a process."""
        while self.decisions < self.config.decisions:
            started = time.perf_counter()
            self._keep_selves()
            if self.batches % 20 == 0:
                self._safe = self._learned()
            batch = self.collect()
            figures = self.learn(batch)
            self._check(figures)
            self.batches += 1
            self.seconds += time.perf_counter() - started
            if self.workers.any(not after_batch(figures)):
                break

    @torch.no_grad()
    def collect(self) -> dict[str, np.ndarray]:
        """Plays ``ticks`` half-moves of every game and computes advantages; arrays are ``[ticks, games]``."""
        config, rollout = self.config, self.rollout
        self._cloning = self.decisions < config.clone_decisions
        logits_of = self._policy()
        shaping = config.shaping * max(0.0, 1 - self.decisions / config.shaping_decisions)
        rollout.tally[:] = 0
        for tick in range(config.ticks):
            clock = time.perf_counter()
            rollout.observe(tick, shaping)
            self.limit_observations(tick)
            self.shares["engine"] += time.perf_counter() - clock
            clock = time.perf_counter()
            rollout.sample(tick, logits_of(np.arange(tick * config.games, (tick + 1) * config.games)))
            for kind, player in enumerate(self.pool + self.self_players):
                waiting = rollout.waiting_for(kind)
                if waiting.size:
                    rollout.actions[tick, waiting] = player.act(rollout.views[waiting], waiting)
            self.shares["inference"] += time.perf_counter() - clock
            self.choose_for(tick)
            clock = time.perf_counter()
            rollout.advance(tick, shaping)
            self.shares["engine"] += time.perf_counter() - clock
        clock = time.perf_counter()
        rollout.observe(config.ticks)
        self.limit_observations(config.ticks)
        values = self._values().astype(np.float32)
        self.shares["inference"] += time.perf_counter() - clock
        shape = (config.ticks, config.games)
        advantages, returns = np.empty(shape, np.float32), np.empty(shape, np.float32)
        generalised_advantages(
            rollout.rewards, rollout.done, rollout.turns[:-1], values[:-1], values[-1], rollout.turns[-1],
            config.gae_lambda, advantages, returns,
        )  # fmt: skip
        targets = np.empty(shape, np.int64)
        next_actions(rollout.turns[:-1], rollout.done, rollout.actions, targets)
        waiting = {"waiting": self._waiting_costs()}
        return {"advantages": advantages, "returns": returns, "next": targets, "values": values[:-1]} | waiting

    def _waiting_costs(self) -> np.ndarray:
        """How much better knocking at once is than playing on for gin, ``[ticks, games]``; NaN where there is no such choice.

        The knock's worth is known; that of waiting is the critic's value of the same state under the commitment to gin.
        """
        rollout = self.rollout
        costs = rollout.knock_worth.reshape(-1).copy()
        rows = np.flatnonzero(~np.isnan(costs))
        if self.config.knock == 0 or self.cloning:
            costs[:] = np.nan
        elif rows.size:
            costs[rows] -= self._values(rows)
        return costs.reshape(rollout.ticks, rollout.games)

    # What a learner that adapts to its opponents does besides; this one does not.

    def limit_observations(self, tick: int) -> None:
        """May blank what the seats to move do not notice or remember, in row ``tick`` of the rollout's observations."""

    @property
    def cloning(self) -> bool:
        """Whether the batch at hand imitates a teacher."""
        return self._cloning

    def choose_for(self, tick: int) -> None:
        """While cloning, a teacher's actions stand in the learner's place: one plays freely, one for gin alone."""
        if not self.cloning:
            return
        rollout = self.rollout
        for bound, teacher in enumerate(self.teachers):
            rows = np.flatnonzero((rollout.learns[tick] == 1) & (rollout.conditions[tick, :, 0] == bound))
            if rows.size:
                rollout.actions[tick, rows] = teacher.act(rollout.views[rows])

    # --- what the networks are given, and what they answer ---------------------------------------------------------------------

    @property
    def _flat(self) -> dict[str, np.ndarray]:
        """The arrays that the networks' inputs come from, one row for each half-move and for each state after the last tick."""
        rollout = self.rollout
        rows = (rollout.ticks + 1) * rollout.games
        return {
            "obs": rollout.obs.reshape(rows, OBSERVATION_SIZE),
            "conditions": rollout.conditions.reshape(rows, 2),
            "habits": self.known.reshape(rows, self.habits),
            "advice": rollout.advice.reshape(rows, self.advice),
            "hidden": rollout.hidden.reshape(rows),
            "future": rollout.future.reshape(rows, NUM_FUTURE),
        }

    def inputs_of(self, rows: np.ndarray, committed: bool = False) -> tuple[Tensor, Tensor]:
        """What the actor ``[B, 521 + extras]`` and the critic ``[B, 586 + extras]`` read in some rows of the flattened batch.

        Args:
            rows: ``int64[B]``.
            committed: as if the movers had to play for gin.
        """
        inputs = torch.empty((len(rows), self.columns.width))
        gather(self._flat, rows, inputs.numpy(), committed)
        inputs = inputs.to(self.device, torch.bfloat16 if self.bfloat16 else torch.float32)
        return read_columns(inputs, self.columns.actor), read_columns(inputs, self.columns.critic)

    def _policy(self) -> Callable[[np.ndarray], np.ndarray]:
        """The present policy: from rows of the batch to logits ``float32[B, 107]``."""
        if self.passes is not None:
            self.passes.refresh()
            return functools.partial(self.passes.logits, self._flat)
        frozen = FrozenActor(self.actor, self.bfloat16)
        return lambda rows: frozen(self.inputs_of(rows)[0]).cpu().numpy()

    def _values(self, committed: np.ndarray | None = None) -> np.ndarray:
        """The critic's values of all half-moves and of the states after them, ``[ticks + 1, games]``.

        Args:
            committed: rows (of the flattened batch) to value instead, as if their mover had to play for gin; then ``[rows]``.
        """
        rollout = self.rollout
        rows = np.arange((rollout.ticks + 1) * rollout.games) if committed is None else committed
        if self.passes is not None:
            self.passes.refresh()
            values = self.passes.values(self._flat, rows, committed is not None)
        else:
            values = np.empty(len(rows), np.float32)
            with torch.no_grad(), torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
                for start in range(0, len(rows), 16384):
                    part = rows[start : start + 16384]
                    _, inputs = self.inputs_of(part, committed is not None)
                    values[start : start + len(part)] = self.critic(inputs).float().cpu().numpy()
        return values if committed is not None else values.reshape(rollout.ticks + 1, rollout.games)

    # --- learning ---------------------------------------------------------------------------------------------------------------

    def learn(self, batch: dict[str, np.ndarray]) -> dict[str, float]:
        """Gradient steps over a batch; returns the means of all losses."""
        config, rollout = self.config, self.rollout
        clock = time.perf_counter()
        rows = np.flatnonzero(rollout.learns.reshape(-1))
        # Every process must take as many steps of the same size; the few rows that one has more than another wait in vain.
        count = self.workers.least(len(rows))
        self.decisions += int(self.workers.total(len(rows))[0])
        progress = min(1.0, self.decisions / config.decisions)
        rate = config.learning_rate * self.speed * (1 - (1 - config.learning_rate_end) * progress)
        entropy_weight = config.entropy + (config.entropy_end - config.entropy) * progress
        for optimiser in self.optimisers.values():
            for group in optimiser.param_groups:
                group["lr"] = rate
        flat = self._flat | {
            "legal": rollout.legal.reshape(-1, 3),
            "actions": rollout.actions.reshape(-1),
            "logps": rollout.logps.reshape(-1),
        }
        flat |= {name: batch[name].reshape(-1) for name in ("advantages", "returns", "next", "waiting")}
        chosen = flat["advantages"][rows].astype(np.float64)
        number, total, squares = self.workers.total(len(rows), float(chosen.sum()), float(np.square(chosen).sum()))
        mean = total / max(1, number)
        deviation = math.sqrt(max(0.0, squares - number * mean * mean) / max(1, number - 1)) + 1e-6
        flat["advantages"] = (flat["advantages"] - np.float32(mean)) / np.float32(deviation)
        flat["waiting"] = flat["waiting"] / np.float32(deviation)
        weights = Weights(config.clip, config.knock, entropy_weight, config.belief, config.next_action, self.cloning)
        sums: dict[str, float] = {}
        steps = 0
        for epoch in range(config.epochs):
            order = rows[torch.randperm(len(rows), generator=self.generator).numpy()][:count]
            for start in range(0, count - config.minibatch // 2, config.minibatch):
                for name, value in self._step(flat, order[start : start + config.minibatch], weights).items():
                    sums[name] = sums.get(name, 0.0) + value
                    if epoch == config.epochs - 1:
                        sums[f"last_{name}"] = sums.get(f"last_{name}", 0.0) + value
                steps += 1
        figures = {name: total / max(1, steps) for name, total in sums.items() if not name.startswith("last_")}
        # Divergence of the last epoch is what the batch has moved the policy; steer the step size by it.
        figures["kl"] = sums.get("last_kl", 0.0) * config.epochs / max(1, steps)
        spread = batch["returns"].reshape(-1)[rows]
        missed = spread - batch["values"].reshape(-1)[rows]
        figures["explained_variance"] = float(1 - missed.var() / (spread.var() + 1e-9))
        figures = self.workers.mean(figures)
        if self.cloning:
            # The actions were another's, so nothing can be said of a divergence.
            figures["kl"] = 0.0
        elif figures["kl"] > 1.5 * config.target_kl:
            self.speed = max(0.05, self.speed / 1.2)
        elif figures["kl"] < config.target_kl / 1.5:
            self.speed = min(2.0, self.speed * 1.1)
        could = np.isfinite(batch["waiting"])
        taken, costs = rollout.actions[could], batch["waiting"][could]
        knocked = int(((taken >= KNOCK) & (taken < STOCK)).sum())
        choices, knocked, cost = self.workers.total(len(taken), knocked, float(costs.sum()))
        if choices:
            figures["knock_share"] = knocked / choices
            figures["waiting_cost"] = cost / choices
        figures["learning_rate"] = rate
        figures["entropy_weight"] = entropy_weight
        hands, gins, knocks, length, undercuts, deadwood = self.workers.total(*rollout.tally)  # pyright: ignore[reportArgumentType]
        figures |= {
            "hands": hands,
            "gin_rate": gins / max(1, hands),
            "knock_rate": knocks / max(1, hands),
            "undercut_rate": undercuts / max(1, knocks),
            "knock_deadwood": deadwood / max(1, knocks),
            "hand_length": length / max(1, hands),
            "rows": number,
        }
        self.shares["learning"] += time.perf_counter() - clock
        return figures

    def _step(self, flat: dict[str, np.ndarray], rows: np.ndarray, weights: Weights) -> dict[str, float]:
        """One gradient step of both networks on some rows of the flattened batch."""
        gradients = self._gradients if self.passes is None else self.passes.gradients
        figures = gradients(flat, rows, weights)
        self._descend("actor", self.actor)
        self._descend("critic", self.critic)
        self._average_weights()
        return figures

    def _part(self, flat: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, Tensor]:
        """Some rows of what the losses need, as tensors."""
        names = ("obs", "hidden", "legal", "actions", "logps", "advantages", "returns", "next", "waiting")
        return {name: torch.from_numpy(flat[name][rows]).to(self.device) for name in names}

    def _gradients(self, flat: dict[str, np.ndarray], rows: np.ndarray, weights: Weights) -> dict[str, float]:
        """Sets the gradients of both networks by automatic differentiation; what ``passes`` does on the CPU, on any device."""
        part = self._part(flat, rows)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            actor_inputs, critic_inputs = self.inputs_of(rows)
            outputs = self.actor(actor_inputs, guessing_rows(len(rows)))
            values = self.critic(critic_inputs)
        loss, figures = actor_loss(outputs, part, weights)
        value_loss = functional.smooth_l1_loss(values.float(), part["returns"])
        for optimiser in self.optimisers.values():
            optimiser.zero_grad()
        loss.backward()
        value_loss.backward()
        return {name: value.item() for name, value in (figures | {"value_loss": value_loss}).items()}

    @torch.no_grad()
    def _average_weights(self) -> None:
        """Moves the average towards the actor: early in a run quickly, so that it is no older than what there is to average."""
        self.steps += 1
        decay = min(self.config.average, self.steps / (self.steps + 10))
        for ours, theirs in zip(self.average.parameters(), self.actor.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    def _descend(self, name: str, network: nn.Module) -> None:
        """A step along the gradients that were set."""
        parameters = [parameter for parameter in network.parameters() if parameter.grad is not None]
        self.workers.average_gradients(parameters)
        nn.utils.clip_grad_norm_(parameters, self.config.gradient_norm)
        self.optimisers[name].step()

    # --- opponents --------------------------------------------------------------------------------------------------------------

    def _kind_shares(self, selves: int = 0) -> list[float]:
        """Shares of games against each fixed opponent: the pool's members, then earlier selves."""
        weights = np.array([member.weight for member in self.config.pool], float)
        pool = list(self.config.pool_share * weights / weights.sum()) if len(weights) else []
        return pool + [self.config.selves_share / max(1, selves)] * selves

    def _keep_selves(self) -> None:
        """Every so often the averaged actor joins the opponents; of too many, the older half is thinned."""
        config = self.config
        if not config.selves or config.selves_share == 0 or self.batches == 0 or self.batches % config.selves_every:
            return
        self.selves.append(copy.deepcopy(self.average))
        if len(self.selves) > config.selves:
            # Games in play against a dropped self go on against its successor in the list.
            del self.selves[int(torch.randint(len(self.selves) // 2 + 1, (1,), generator=self.generator))]
        self._rebuild_selves()

    def _rebuild_selves(self) -> None:
        self.self_players = [
            NetworkPlayer(FrozenActor(actor, self.bfloat16), seed=1000 + k, name="self")
            for k, actor in enumerate(self.selves)
        ]
        self.rollout.kinds_cumulative = np.cumsum(np.array(self._kind_shares(len(self.selves)) or [0.0]))

    # --- trust ------------------------------------------------------------------------------------------------------------------

    def _learned(self) -> dict[str, Any]:
        return copy.deepcopy(
            {
                "actor": self.actor.state_dict(),
                "critic": self.critic.state_dict(),
                "average": self.average.state_dict(),
                "optimisers": {name: optimiser.state_dict() for name, optimiser in self.optimisers.items()},
            }
        )

    def _restore(self, learned: dict[str, Any]) -> None:
        self.actor.load_state_dict(learned["actor"])
        self.critic.load_state_dict(learned["critic"])
        self.average.load_state_dict(learned["average"])
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(learned["optimisers"][name])

    def _check(self, figures: dict[str, float]) -> None:
        """Takes back batches that broke the networks, and gives up when that does not help."""
        broken = [name for name, value in figures.items() if not math.isfinite(value)]
        if not broken and figures["kl"] < COLLAPSE_KL:
            self.rollbacks = 0 if self.batches % 40 == 39 else self.rollbacks
            return
        reason = f"{broken[0]} is not a number" if broken else f"divergence {figures['kl']:.2f} above {COLLAPSE_KL}"
        self.rollbacks += 1
        if self._safe is None or self.rollbacks > 3:
            raise GinError(
                f"training broke at {self.decisions:,} decisions: {reason}, also after {self.rollbacks - 1} rollbacks"
            )
        self._restore(copy.deepcopy(self._safe))
        self.speed /= 2
        if self.rank == 0:
            print(f"batch {self.batches}: {reason}; rolled back by up to 20 batches, learning rate halved", flush=True)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue bit for bit: tensors and plain values only."""
        return self._learned() | {
            "rollout": {
                name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
                for name, value in self.rollout.state_dict().items()
            },
            "selves": [copy.deepcopy(actor.state_dict()) for actor in self.selves],
            "generator": self.generator.get_state(),
            "torch": torch.get_rng_state(),
            "decisions": self.decisions,
            "batches": self.batches,
            "seconds": self.seconds,
            "speed": self.speed,
            "steps": self.steps,
            "widths": list(self.config.network.actor),
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continues from a saved ``state_dict``."""
        self._restore(saved)
        # Files of runs begun with points as reward may lack what the other reward needs.
        self.rollout.load_state_dict(
            {name: value.numpy() if isinstance(value, Tensor) else value for name, value in saved["rollout"].items()}
        )
        self.selves = []
        for weights in saved["selves"]:
            actor = Actor(self.config.network.actor, self.habits, self.advice)
            actor.load_state_dict(weights)
            self.selves.append(actor)
        self._rebuild_selves()
        self.generator.set_state(saved["generator"])
        torch.set_rng_state(saved["torch"])
        self.decisions, self.batches = saved["decisions"], saved["batches"]
        self.seconds, self.speed, self.steps = saved["seconds"], saved["speed"], saved["steps"]

    def save(self) -> None:
        """Writes the resume file, keeping the last three."""
        if self.files is not None:
            self.files.save(self.state_dict())

    def resume(self) -> bool:
        """Continues from the resume file in ``out`` if there is one.

        Raises:
            GinError: if the file is damaged or belongs to another network.
        """
        path = None if self.files is None else self.files.find()
        if path is None:
            return False
        try:
            self.load_state_dict(torch.load(path, map_location=self.device, weights_only=True))
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise GinError(
                f"{path.name} cannot be resumed ({reason}); older ones stand beside it as {path.name}.1 and {path.name}.2"
            ) from None
        return True
