"""Training end to end, in decisions a second, beside sb3-contrib's MaskablePPO on an environment that costs nothing.

Run with `python -m benchmarks.speed.training_speed` on an otherwise idle machine, with sb3-contrib installed. All measurements take turns
within one run, because figures from different hours cannot be compared. Wall-clock time, two threads, the fastest round of each.

* *MaskablePPO*: separate actor and critic of 2 × 256, three passes over the batch, 4,096 decisions per gradient step, 520 numbers
  observed, 107 actions; its environment returns the same arrays at every step.
* *The recipe*: `configs/strong.yaml` without imitation. It plays gin rummy, and only the learner's decisions between two or more actions
  are counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from agents.config import load_config
from agents.network.nets import has_bfloat16_units
from agents.training import ppo
from agents.training.learner import Learner
from benchmarks.speed.timing import write_rows
from ginenv import HandVectorEnv
from ginenv.adapters.sb3 import GinVecEnv
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.view.encoding import OBSERVATION_SIZE

CORES = 2
EPOCHS = 3
MINIBATCH = 4096
WIDTHS = [256, 256]
# Batch of both sides: games (environments) and steps of each.
GAMES, NUM_STEPS = 1024, 48
# Rounds, and batches in each.
ROUNDS, BATCHES = 2, 2
# A uniform policy chooses among about this many actions.
_LEGAL_SHARE = 0.07


class FreeEnvs(GinVecEnv):
    """Environments whose every step returns the same arrays, at no cost."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(HandVectorEnv(num_envs, "random", observation="flat"))
        rng = np.random.default_rng(0)
        self.observations = rng.random((num_envs, OBSERVATION_SIZE), np.float32)
        self.masks = rng.random((num_envs, NUM_ACTIONS)) < _LEGAL_SHARE
        self.masks[:, 0] = True
        self.rewards = rng.normal(size=num_envs).astype(np.float32)
        self.done = np.zeros(num_envs, bool)
        self.infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]

    def reset(self) -> np.ndarray:
        """The observations."""
        return self.observations

    def step_wait(self) -> Any:
        """The same arrays at every step."""
        return self.observations, self.rewards, self.done, self.infos

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """The masks, in one array."""
        return self.masks


class _Clock(BaseCallback):
    """Records when each batch begins."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[float] = []

    def _on_rollout_start(self) -> None:
        self.starts.append(time.perf_counter())

    def _on_step(self) -> bool:
        return True


def maskable_ppo() -> dict[str, float]:
    """MaskablePPO's decisions a second, from the start of its second batch on."""
    model = MaskablePPO(
        "MlpPolicy",
        FreeEnvs(GAMES),
        n_steps=NUM_STEPS,
        batch_size=MINIBATCH,
        n_epochs=EPOCHS,
        policy_kwargs={"net_arch": {"pi": WIDTHS, "vf": WIDTHS}, "activation_fn": torch.nn.ReLU},
        device="cpu",
        seed=0,
    )
    clock = _Clock()
    model.learn((BATCHES + 1) * GAMES * NUM_STEPS, callback=clock)
    seconds = time.perf_counter() - clock.starts[1]
    decisions = BATCHES * GAMES * NUM_STEPS
    return {"decisions": decisions, "seconds": seconds, "per_second": decisions / seconds}


def ours() -> Callable[[], dict[str, float]]:
    """Measures this project's trainer as in `configs/strong.yaml`: decisions a second."""
    learner = Learner(load_config("configs/strong.yaml", [f"threads={CORES}", "imitation_decisions=0"]))

    def play(batches: int) -> None:
        target = learner.batches + batches
        ppo.train(learner, lambda figures: learner.batches < target)

    def measured() -> dict[str, float]:
        began, before = time.perf_counter(), learner.decisions
        play(BATCHES)
        seconds, decisions = time.perf_counter() - began, learner.decisions - before
        return {"decisions": decisions, "seconds": seconds, "per_second": decisions / seconds}

    play(2)  # compiles, and fills caches
    return measured


def main() -> None:
    """Measures everything in turns; prints ratios, writes the JSON."""
    torch.set_num_threads(CORES)
    batch = {"num_envs": GAMES, "num_steps": NUM_STEPS, "minibatch": MINIBATCH}
    units = has_bfloat16_units()
    reference = "MaskablePPO on nothing, 2 x 256, 3 epochs"
    measurements: dict[str, Callable[[], dict[str, float]]] = {
        reference: maskable_ppo,
        "the recipe": ours(),
    }
    load = os.getloadavg()[0]
    rounds = [{name: measure() for name, measure in measurements.items()} for _ in range(ROUNDS)]
    best = {name: max((each[name] for each in rounds), key=lambda r: r["per_second"]) for name in measurements}
    rows = []
    for name, figures in sorted(best.items(), key=lambda item: item[1]["per_second"]):
        ratio = figures["per_second"] / best[reference]["per_second"]
        print(f"{name:<44} {figures['per_second']:>10,.0f} decisions/s  {ratio:.2f}")
        rows.append({"name": name, "per_second": round(figures["per_second"]), "ratio": round(ratio, 2)})
    settings = {"cores": CORES, "bfloat16_units": units, "load_before": load, **batch}
    write_rows("training_speed", "training_speed", rows, settings=settings, rounds=rounds)


if __name__ == "__main__":
    main()
