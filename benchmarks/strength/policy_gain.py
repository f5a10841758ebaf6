"""How much better do networks choose than the one that they grew from, where that one is in doubt?

python -m benchmarks.strength.policy_gain runs/one/last runs/other/last
python -m benchmarks.strength.policy_gain runs/one/last --start runs/strong/last --batches 60

The network that they grew from plays itself. In its decisions with several probable actions, each policy is worth the mean of the actions'
advantages. Two estimates: the critic's values of the true successors alone, and the same corrected by the generalised advantage of the
action that was played, weighted by how much more often the other policy takes it. The second one is not biased by how the critic values
successors, but noisier. In units of a hundredth of a point of the game's reward (250 of them are a won game) for each such decision; a
difference of a few of them is far below what a match of 10,000 hands shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch.nn import functional

from agents.arena.results import ratio, versions
from agents.config import load_config
from agents.files import write_json
from agents.network.checkpoint import load_checkpoint
from agents.network.nets import FrozenActor
from agents.network.player import network_directory
from agents.training import ppo
from agents.training.learner import Learner
from agents.training.run import begin

# Rarer actions are left as they are, since their weights would be large.
_MIN_PROBABLE = 0.03
_SETTINGS = ["pool_share=0", "past_policy_share=0", "q_weight=1", "num_envs=1024", "num_steps=128", "gin_only=0"]
_SCALE = 100


@dataclass
class Arguments:
    """Command line.

    Attributes:
        networks: checkpoints to measure.
        start: the one that they grew from, with its critic.
        config: whose networks and rules are used.
        batches: of 131,072 half-moves each.
        seed: of the deals.
        out: JSON file to write.
    """

    networks: tyro.conf.Positional[tuple[str, ...]]
    start: str = "network"
    config: Path = Path("configs/finish.yaml")
    batches: int = 40
    seed: int = 77
    out: Path = Path("runs/policy_gain.json")


def measure(arguments: Arguments) -> dict[str, np.ndarray]:
    """Both estimates of each network's gain, ``float64[rows, 2]``."""
    learner = begin(load_config(arguments.config, [*_SETTINGS, f"seed={arguments.seed}"]), None, arguments.start)
    policies = {
        name: FrozenActor(load_checkpoint(network_directory(name))[0], learner.bfloat16) for name in arguments.networks
    }
    found: dict[str, list[np.ndarray]] = {name: [] for name in policies}
    for _ in range(arguments.batches):
        ppo.collect(learner)
        with torch.no_grad():
            ppo.compute_advantages(learner)
        steps = learner.steps.reshape(-1)
        # The last steps of a batch are valued before what follows from them.
        rows = np.flatnonzero(np.isfinite(steps["choice"][: steps.size * 3 // 4]))
        for part in np.array_split(rows, max(1, len(rows) // 4096)):
            for name, policy in policies.items():
                found[name].append(_gains(learner, part, policy))
        learner.batches += 1
    return {name: np.concatenate(gains) for name, gains in found.items()}


def _gains(learner: Learner, rows: np.ndarray, policy: FrozenActor) -> np.ndarray:
    """Both estimates for some rows, ``float64[B, 2]``."""
    fields, others = learner.fields(rows), learner.other_actions(rows)
    taken = torch.from_numpy(learner.steps.reshape(-1)["action"][rows])[:, None]
    actions, valued = torch.cat([taken, others["action"]], 1), torch.cat([taken >= 0, others["action"] >= 0], 1)
    advantages = torch.cat([fields["choice"][:, None], others["advantage"]], 1).where(valued, 0)
    before = torch.cat([fields["logp"][:, None], others["logp"]], 1).exp().where(valued, 0)
    moves = valued & (before > _MIN_PROBABLE)
    logits = policy(learner.inputs.read(rows)[0]).gather(1, actions.clamp(min=0))
    after = functional.softmax(logits.where(moves, -1e4), 1) * (before * moves).sum(1, keepdim=True)
    after = after.where(moves & (moves.sum(1, keepdim=True) > 1), before)
    by_critic = ((after - before) * advantages).sum(1)
    weight = after[:, 0] / before[:, 0] - 1
    return torch.stack([by_critic, by_critic + weight * (fields["advantage"] - fields["choice"])], 1).double().numpy()


def main() -> None:
    """Measures, writes the JSON, prints the table."""
    arguments = tyro.cli(Arguments, description=__doc__)
    table = Table("network", "decisions in doubt", "gain by the critic", "corrected by what followed")
    document = {}
    for name, gains in measure(arguments).items():
        each = [ratio(_SCALE * gains[:, k], np.ones(len(gains))) for k in range(2)]
        document[name] = {
            "decisions": len(gains),
            "by_critic": each[0].to_dict(),
            "corrected": each[1].to_dict(),
        }
        table.add_row(
            name, f"{len(gains):,}", *(f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})" for one in each)
        )
    settings = {name: str(value) for name, value in vars(arguments).items() if name != "out"}
    write_json(arguments.out, {"gain": document, "settings": settings, "versions": versions()})
    Console().print(table)


if __name__ == "__main__":
    main()
