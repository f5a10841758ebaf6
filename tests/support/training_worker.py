"""One process of a run under torchrun, for ``test_workers.py``: OUT, batches in all, and the batch before which worker 1 dies once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import torch

from agents.config import parse_config
from agents.learning.ppo import Trainer

CONFIG = {
    "games": 16,
    "ticks": 40,
    "minibatch": 1024,
    "decisions": 10_000_000,
    "network": {"actor": [16], "critic": [16]},
    "pool": [{"player": "simple"}],
    "pool_share": 0.3,
    "selves_every": 2,
    "belief": 0,
    "next_action": 0,
    "threads": 1,
    "bfloat16": "no",
}
# What a batch is learned from, beside what was computed of it.
ROWS = (
    "obs",
    "legal",
    "hidden",
    "future",
    "conditions",
    "turns",
    "learns",
    "actions",
    "logps",
    "rewards",
    "done",
    "knock_worth",
)


def equal_rows(rollout, most: int) -> None:
    """Leaves at most so many rows to learn from, so that all processes have as many."""
    flat = rollout.learns.reshape(-1)
    flat[np.flatnonzero(flat)[most:]] = 0


def main() -> None:
    """Trains, and writes down what every process saw first and what it knows at the end."""
    out, count, deadly = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    trainer = Trainer(parse_config(CONFIG), out)
    rank = trainer.rank
    if not trainer.resume():
        batch = trainer.collect()
        equal_rows(trainer.rollout, trainer.workers.least(int(trainer.rollout.learns.sum())))
        rows = {name: getattr(trainer.rollout, name).copy() for name in ROWS}
        np.savez(out / f"first-{rank}.npz", **rows, **{f"batch_{name}": value for name, value in batch.items()})
        # One minibatch in which all rows are.
        trainer.config = trainer.config.model_copy(update={"minibatch": int(rows["learns"].sum())})
        trainer.learn(batch)
        moments = [trainer.optimisers[name].state[p]["exp_avg"].reshape(-1) for name in ("actor", "critic") for p in
                   getattr(trainer, name).parameters() if p in trainer.optimisers[name].state]  # fmt: skip
        torch.save(torch.cat(moments), out / f"gradient-{rank}.pt")
        trainer.config = trainer.config.model_copy(update={"minibatch": 64})
        trainer.batches += 1
        trainer.save()
    trainer.config = trainer.config.model_copy(update={"minibatch": 64})

    def after(figures: dict[str, float]) -> bool:
        if trainer.batches == deadly and rank == 1 and not (out / "died").exists():
            (out / "died").touch()
            os._exit(1)
        trainer.save()
        return trainer.batches < count

    trainer.run(after)
    networks = {name: getattr(trainer, name).state_dict() for name in ("actor", "critic", "average")}
    known = {"decisions": trainer.decisions, "speed": trainer.speed, "batches": trainer.batches}
    torch.save(networks | known, out / f"end-{rank}.pt")
    trainer.workers.close()


if __name__ == "__main__":
    main()
