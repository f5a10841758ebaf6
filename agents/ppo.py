"""Self-play by proximal policy optimisation, in one process or several.

The loop reads from top to bottom in ``Trainer.run``: collect a batch of half-moves from thousands of games in lock-step, compute
advantages with a critic that sees both hands and the stock, take gradient steps, average the weights, measure, save.

What is particular to this game (LOG.md has the experiments behind it):

* Both seats are one zero-sum sequence; the critic values every half-move.
* Policies of gin rummy fall into always knocking, since waiting one turn is worse than knocking at once. So declining a knock commits a
  seat to gin for the rest of the hand (mostly), and some hands are played for gin from the start; the network is told.
* The critic is told what the stock will bring to both hands (``agents.rollout``), since most of a result is luck.
* Step size decides: the learning rate follows a target divergence per batch.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.advice import NUM_ADVICE
from agents.config import TrainConfig
from agents.files import write_atomic
from agents.losses import expand_cards, expand_legal, knock_decision_loss
from agents.network_player import NetworkPlayer
from agents.networks import ILLEGAL, NUM_CONDITIONS, NUM_FUTURE, Actor, Critic, FrozenActor, has_bfloat16_units
from agents.rollout import Rollout, generalised_advantages, next_actions
from agents.workers import Workers
from ginenv.actions import KNOCK, STOCK
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.errors import GinError
from ginenv.players import Player, make_player

RESUME = "resume.pt"
KEPT_RESUMES = 3
NO_BATCHES = -1
# A batch that moves the policy this far has broken it.
COLLAPSE_KL = 0.5
# One row in this many trains the heads that guess.
GUESSING_PART = 4


class Trainer:
    """A training run: networks, optimisers, games, and what is needed to continue it bit for bit.

    Args:
        config: everything that decides the run.
        out: directory for resume files; ``None`` keeps nothing.
        start: weights to begin from instead of a fresh network.
    """

    habits = 0  # numbers about the opponent that the networks read besides (see ``agents.levels.training``)

    def __init__(self, config: TrainConfig, out: Path | None = None, start: Actor | None = None) -> None:
        self.config, self.out = config, out
        self.workers = Workers(config.device)
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
        frozen = FrozenActor(self.actor, self.bfloat16)
        width = OBSERVATION_SIZE + NUM_CONDITIONS + self.habits + self.advice
        inputs = torch.zeros((config.games, width), dtype=frozen.dtype, device=self.device)
        shaping = config.shaping * max(0.0, 1 - self.decisions / config.shaping_decisions)
        rollout.tally[:] = 0
        for tick in range(config.ticks):
            clock = time.perf_counter()
            rollout.observe(tick, shaping)
            self.limit_observations(tick)
            self.shares["engine"] += time.perf_counter() - clock
            clock = time.perf_counter()
            inputs[:, :OBSERVATION_SIZE] = torch.from_numpy(rollout.obs[tick])
            inputs[:, OBSERVATION_SIZE] = torch.from_numpy(rollout.conditions[tick, :, 0])
            if self.habits:
                start = OBSERVATION_SIZE + NUM_CONDITIONS
                inputs[:, start : start + self.habits] = self.habits_of(tick)
            if self.advice:
                inputs[:, -self.advice :] = torch.from_numpy(rollout.advice[tick])
            rollout.sample(tick, frozen(inputs).cpu().numpy())
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

    def habits_of(self, tick: int) -> Tensor:
        """Numbers about the opponents of the seats to move, ``[games, habits]``, also for the state after the last tick."""
        raise NotImplementedError

    def policy_loss(self, part: dict[str, Tensor], ratio: Tensor, logp: Tensor) -> Tensor:
        """The clipped surrogate; while cloning, the surprise at the teacher's actions."""
        if self.cloning:
            return -logp.mean()
        clipped = ratio.clamp(1 - self.config.clip, 1 + self.config.clip)
        return -torch.min(ratio * part["advantages"], clipped * part["advantages"]).mean()

    def _flat_extras(self, ticks: int) -> dict[str, Tensor]:
        """What the networks read besides observations, flattened: numbers about the opponents, advice, or nothing."""
        extras = {}
        if self.habits:
            extras["habits"] = torch.cat([self.habits_of(tick) for tick in range(ticks)])
        if self.advice:
            extras["advice"] = torch.from_numpy(self.rollout.advice[:ticks].reshape(-1, self.advice))
        return extras

    def _inputs(self, part: dict[str, Tensor], hand: Tensor) -> tuple[Tensor, Tensor]:
        """What the actor reads ``[B, 521 + extras]`` and what the critic reads ``[B, 586 + extras]``, converted once for both."""
        kind = torch.bfloat16 if self.bfloat16 else torch.float32
        critic = torch.cat((part["obs"], part["conditions"], hand.view(torch.uint8), part["future"]), 1)
        critic = critic.to(self.device, kind)
        actor = critic[:, : OBSERVATION_SIZE + NUM_CONDITIONS]
        more = [part[name].to(critic) for name in ("habits", "advice") if name in part]
        if more:
            actor, critic = torch.cat((actor, *more), 1), torch.cat((critic, *more), 1)
        return actor, critic

    def inputs_of(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """What the actor and the critic read in some rows of the last batch, flattened."""
        rollout = self.rollout
        part = {
            "obs": torch.from_numpy(rollout.obs[:-1].reshape(-1, OBSERVATION_SIZE)[rows]),
            "conditions": torch.from_numpy(rollout.conditions[:-1].reshape(-1, 2)[rows]),
            "future": torch.from_numpy(rollout.future[:-1].reshape(-1, NUM_FUTURE)[rows]),
        } | {name: value[torch.from_numpy(rows)] for name, value in self._flat_extras(rollout.ticks).items()}
        return self._inputs(part, expand_cards(torch.from_numpy(rollout.hidden[:-1].reshape(-1)[rows])))

    def _values(self, committed: np.ndarray | None = None) -> np.ndarray:
        """The critic's values of all half-moves and of the states after them, ``[ticks + 1, games]``.

        Args:
            committed: rows (of the flattened batch) to value instead, as if their mover had to play for gin; then ``[rows]``.
        """
        rollout = self.rollout
        flat = {
            "obs": torch.from_numpy(rollout.obs.reshape(-1, OBSERVATION_SIZE)),
            "conditions": torch.from_numpy(rollout.conditions.reshape(-1, 2)),
            "future": torch.from_numpy(rollout.future.reshape(-1, NUM_FUTURE)),
            "hidden": torch.from_numpy(rollout.hidden.reshape(-1)),
        } | self._flat_extras(rollout.ticks + 1)
        if committed is not None:
            index = torch.from_numpy(committed)
            flat = {name: value[index] for name, value in flat.items()}
            flat["conditions"][:, 0] = 1
        values = np.empty(flat["obs"].shape[0], np.float32)
        with torch.no_grad(), torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            for start in range(0, len(values), 16384):
                rows = slice(start, start + 16384)
                part = {name: value[rows] for name, value in flat.items()}
                _, inputs = self._inputs(part, expand_cards(part["hidden"]))
                values[rows] = self.critic(inputs).float().cpu().numpy()
        return values if committed is not None else values.reshape(rollout.ticks + 1, rollout.games)

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
        flat = {
            "obs": torch.from_numpy(rollout.obs[:-1].reshape(-1, OBSERVATION_SIZE)),
            "legal": torch.from_numpy(rollout.legal[:-1].reshape(-1, 3)),
            "hidden": torch.from_numpy(rollout.hidden[:-1].reshape(-1)),
            "conditions": torch.from_numpy(rollout.conditions[:-1].reshape(-1, 2)),
            "future": torch.from_numpy(rollout.future[:-1].reshape(-1, NUM_FUTURE)),
            "actions": torch.from_numpy(rollout.actions.reshape(-1)),
            "logps": torch.from_numpy(rollout.logps.reshape(-1)),
        }
        flat |= {
            name: torch.from_numpy(batch[name].reshape(-1)) for name in ("advantages", "returns", "next", "waiting")
        }
        flat |= self._flat_extras(rollout.ticks)
        chosen = flat["advantages"][torch.from_numpy(rows)].double()
        number, total, squares = self.workers.total(len(rows), chosen.sum().item(), chosen.square().sum().item())
        mean = total / max(1, number)
        deviation = math.sqrt(max(0.0, squares - number * mean * mean) / max(1, number - 1)) + 1e-6
        sums: dict[str, float] = {}
        steps = 0
        for epoch in range(config.epochs):
            order = torch.from_numpy(rows)[torch.randperm(len(rows), generator=self.generator)][:count]
            for start in range(0, count - config.minibatch // 2, config.minibatch):
                index = order[start : start + config.minibatch]
                part = {name: value[index].to(self.device) for name, value in flat.items()}
                part["advantages"] = (part["advantages"] - mean) / deviation
                part["waiting"] = part["waiting"] / deviation
                for name, value in self._step(part, entropy_weight).items():
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

    def _step(self, part: dict[str, Tensor], entropy_weight: float) -> dict[str, float]:
        """One gradient step of both networks."""
        config = self.config
        legal = expand_legal(part["legal"])
        hand = expand_cards(part["hidden"])
        guesses = max(1, len(hand) // GUESSING_PART)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            actor_inputs, critic_inputs = self._inputs(part, hand)
            logits, belief, following = self.actor(actor_inputs, guesses)
            values = self.critic(critic_inputs)
        logps = functional.log_softmax(logits.float().masked_fill(~legal, ILLEGAL), 1)
        logp = logps.gather(1, part["actions"][:, None]).squeeze(1)
        log_ratio = logp - part["logps"]
        ratio = log_ratio.exp()
        policy_loss = self.policy_loss(part, ratio, logp)
        knock_loss = knock_decision_loss(logits.float(), legal, part["waiting"])
        # Illegal actions have probabilities below 1e-20 and add nothing.
        entropy = (-(logps.exp() * logps).sum(1) / legal.sum(1).float().log()).mean()
        # Only cards that the seat cannot place are worth guessing: not its own, not in the pile, not known.
        seen = part["obs"][:guesses]
        unknown = (seen[:, :52] + seen[:, 156:208] + seen[:, 208:260] == 0).float()
        misses = functional.binary_cross_entropy_with_logits(belief.float(), hand[:guesses].float(), reduction="none")
        belief_loss = (misses * unknown).sum() / unknown.sum().clamp(min=1)
        targets = part["next"][:guesses]
        next_loss = functional.cross_entropy(following.float(), targets, ignore_index=-1, reduction="sum")
        next_loss = next_loss / (targets >= 0).sum().clamp(min=1)
        actor_loss = (
            policy_loss
            + config.knock * knock_loss
            - entropy_weight * entropy
            + config.belief * belief_loss
            + config.next_action * next_loss
        )
        value_loss = functional.smooth_l1_loss(values.float(), part["returns"])
        self._descend("actor", self.actor, actor_loss)
        self._descend("critic", self.critic, value_loss)
        self._average_weights()
        with torch.no_grad():
            return {
                "policy_loss": policy_loss.item(),
                "value_loss": value_loss.item(),
                "belief_loss": belief_loss.item(),
                "next_action_loss": next_loss.item(),
                "entropy": entropy.item(),
                "kl": (ratio - 1 - log_ratio).mean().item(),
                "clip_fraction": ((ratio - 1).abs() > config.clip).float().mean().item(),
            }

    @torch.no_grad()
    def _average_weights(self) -> None:
        """Moves the average towards the actor: early in a run quickly, so that it is no older than what there is to average."""
        self.steps += 1
        decay = min(self.config.average, self.steps / (self.steps + 10))
        for ours, theirs in zip(self.average.parameters(), self.actor.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    def _descend(self, name: str, network: nn.Module, loss: Tensor) -> None:
        self.optimisers[name].zero_grad()
        loss.backward()
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
        if self.out is None:
            return
        name = self._resume_name
        for age in range(KEPT_RESUMES - 1, 0, -1):
            older = self.out / f"{name}.{age}"
            newer = self.out / (f"{name}.{age - 1}" if age > 1 else name)
            if newer.exists():
                newer.replace(older) if age > 1 else older.unlink(missing_ok=True) or os.link(newer, older)
        write_atomic(self.out / name, lambda temporary: torch.save(self.state_dict(), temporary))

    @property
    def _resume_name(self) -> str:
        return RESUME if self.rank == 0 else f"resume-{self.rank}.pt"

    def _common_resume(self) -> Path | None:
        """This process's file of the latest batch that every process has kept; a crash may have come between two files of a batch.

        Raises:
            GinError: if files are there but no batch is common to all.
        """
        assert self.out is not None
        paths = [self.out / f"{self._resume_name}{age}" for age in ("", *(f".{k}" for k in range(1, KEPT_RESUMES)))]
        kept = self.workers.gather([_batches_of(path) for path in paths])
        common = set.intersection(*(set(batches) for batches in kept)) - {NO_BATCHES}
        if common:
            return paths[kept[self.rank].index(max(common))]
        if any(batches != [NO_BATCHES] * KEPT_RESUMES for batches in kept):
            raise GinError(
                f"the resume files of {self.workers.world} processes have no batch in common; "
                "allowed is as many processes as the run had before, or a fresh start"
            )
        return None

    def resume(self) -> bool:
        """Continues from the resume file in ``out`` if there is one.

        Raises:
            GinError: if the file is damaged or belongs to another network.
        """
        if self.out is None:
            return False
        path = self.out / self._resume_name
        if self.workers.world > 1:
            path = self._common_resume()
        if path is None or not path.exists():
            return False
        try:
            self.load_state_dict(torch.load(path, map_location=self.device, weights_only=True))
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise GinError(
                f"{path.name} cannot be resumed ({reason}); older ones stand beside it as {path.name}.1 and {path.name}.2"
            ) from None
        return True


def _batches_of(path: Path) -> int:
    """How many batches a resume file holds, or ``NO_BATCHES`` for a file that is missing or damaged."""
    try:
        return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["batches"])
    except Exception:
        return NO_BATCHES
