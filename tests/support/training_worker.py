"""One process of a run under torchrun, for ``test_workers.py``: OUT, and batches in all."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from agents.config import parse_config
from agents.training import learner as learner_module
from agents.training import ppo
from agents.training.learner import Learner

CONFIG = {
    "num_envs": 16,
    "num_steps": 40,
    "minibatch": 1024,
    "decisions": 10_000_000,
    "network": {"actor": [16], "critic": [16]},
    "pool": [{"player": "simple"}],
    "pool_share": 0.3,
    "threads": 1,
}


def equal_rows(learner, most: int) -> None:
    """Leaves at most so many rows to learn from, so that all processes have as many."""
    learns = learner.steps["learns"].reshape(-1)
    learns[np.flatnonzero(learns)[most:]] = 0


def main() -> None:
    """Trains, and writes down what every process saw first and what it knows at the end."""
    # The head that guesses cards trains on a part of each minibatch.
    ppo.BELIEF_COEF = 0.0
    learner_module.SNAPSHOT_EVERY = 2
    out, count = Path(sys.argv[1]), int(sys.argv[2])
    learner = Learner(parse_config(CONFIG), out)
    rank = learner.rank
    ppo.collect(learner)
    ppo.compute_advantages(learner)
    steps = learner.steps
    equal_rows(learner, learner.workers.least(int(steps["learns"].sum())))
    np.savez(out / f"first-{rank}.npz", steps=learner.batch.steps, inputs=learner.batch.inputs)
    # One minibatch in which all rows are.
    learner.config = learner.config.model_copy(update={"minibatch": int(steps["learns"].sum())})
    ppo.update(learner)
    moments = [learner.optimisers[name].state[p]["exp_avg"].reshape(-1) for name in ("actor", "critic") for p in
               getattr(learner, name).parameters() if p in learner.optimisers[name].state]  # fmt: skip
    torch.save(torch.cat(moments), out / f"gradient-{rank}.pt")
    learner.batches += 1
    learner.save()
    learner.config = learner.config.model_copy(update={"minibatch": 64})

    def after(figures: dict[str, float]) -> bool:
        learner.save()
        return learner.batches < count

    ppo.train(learner, after)
    networks = {name: getattr(learner, name).state_dict() for name in ("actor", "critic", "ema")}
    counts = {"decisions": learner.decisions, "lr_factor": learner.lr_factor, "batches": learner.batches}
    torch.save(networks | counts, out / f"end-{rank}.pt")
    learner.workers.close()


if __name__ == "__main__":
    main()
