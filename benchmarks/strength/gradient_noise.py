"""How much of the policy's gradient is signal, and how much is noise, from each estimate of advantages and each kind of decision?

python -m benchmarks.strength.gradient_noise
python -m benchmarks.strength.gradient_noise runs/finish/last --batches 30

A network and its critic play several batches of training games. Each part of the policy's loss gives a gradient for each batch. The product
of two batches' gradients is an unbiased estimate of the squared length of their mean, the signal; what a batch's own squared length has
beyond it is noise. The cosine is that of two parts' means: 1 says that both estimates of advantages point the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch import Tensor

from agents.arena.results import versions
from agents.config import load_config
from agents.files import write_json
from agents.training import ppo
from agents.training.learner import Learner
from agents.training.run import begin
from ginenv.engine.actions import KNOCK, STOCK

_SETTINGS = ["pool_share=0.2", "past_policy_share=0", "q_weight=1", "commit=0", "threads=1"]
_COMPARED = ("critic's values", "generalised advantages, in doubt")


@dataclass
class Arguments:
    """Command line.

    Attributes:
        network: checkpoint with a critic.
        config: whose networks, rules and games are used.
        batches: of ``num_envs`` times ``num_steps`` half-moves.
        seed: of the deals.
        out: JSON file to write.
    """

    network: tyro.conf.Positional[str] = "network"
    config: Path = Path("configs/finish.yaml")
    batches: int = 14
    seed: int = 91
    out: Path = Path("runs/gradient_noise.json")


def gradients(learner: Learner) -> dict[str, Tensor]:
    """The gradient of each part of the policy's gain over a batch, a flat vector for each."""
    ppo.collect(learner)
    with torch.no_grad():
        ppo.compute_advantages(learner)
    rows = np.flatnonzero(learner.steps.reshape(-1)["learns"])
    ppo.normalise_advantages(learner, rows)
    learner.refresh_copies()
    parameters = list(learner.copies[0].parameters())
    found: dict[str, Tensor] = {}
    for part in np.array_split(rows, max(1, len(rows) // 2048)):
        for name, gain in _gains(learner, part).items():
            each = torch.autograd.grad(gain, parameters, retain_graph=True, allow_unused=True)
            flat = torch.cat(
                [
                    (g if g is not None else torch.zeros_like(p)).reshape(-1)
                    for g, p in zip(each, parameters, strict=True)
                ]
            )
            found[name] = found.get(name, torch.zeros(())) + flat.double() / len(rows)
    return found


def _gains(learner: Learner, rows: np.ndarray) -> dict[str, Tensor]:
    """The parts of the policy's gain over some rows."""
    steps = learner.fields(rows)
    logits = learner.copies[0].logits(learner.inputs.read(rows)[0]).float()
    actions = learner.legal_actions(rows)
    legal = logits.gather(1, actions.clamp(min=0))
    logp = ppo.log_probabilities(legal, actions >= 0)[:, 0]
    ratio = (logp - steps["logp"]).exp()
    valued = ppo.all_actions_gain(learner, rows, logits, legal[:, 0] - logp, steps, ratio)
    generalised = ratio * steps["advantage"]
    doubt = steps["choice"].isfinite()
    return {
        _COMPARED[0]: (valued * doubt).sum(),
        "of discards": (valued * (doubt & (actions[:, 0] < KNOCK))).sum(),
        "of knocks": (valued * (doubt & (actions[:, 0] >= KNOCK) & (actions[:, 0] < STOCK))).sum(),
        "of draws": (valued * (doubt & (actions[:, 0] >= STOCK))).sum(),
        _COMPARED[1]: (generalised * doubt).sum(),
        "generalised advantages, elsewhere": (generalised * ~doubt).sum(),
    }


def _product(one: Tensor, other: Tensor) -> float:
    """The product of the means of two gradients ``[batches, parameters]``, from different batches only."""
    n = len(one)
    return float((one.sum(0) @ other.sum(0) - (one * other).sum()) / (n * (n - 1)))


def main() -> None:
    """Measures, writes the JSON, prints the table."""
    arguments = tyro.cli(Arguments, description=__doc__)
    learner = begin(load_config(arguments.config, [*_SETTINGS, f"seed={arguments.seed}"]), None, arguments.network)
    batches = []
    for _ in range(arguments.batches):
        batches.append(gradients(learner))
        learner.batches += 1
    parts = {name: torch.stack([batch[name] for batch in batches]) for name in batches[0]}
    table = Table("part of the gain", "signal", "noise of a batch", "ratio")
    document: dict[str, object] = {}
    for name, each in parts.items():
        signal = _product(each, each)
        noise = float(each.square().sum(1).mean()) - signal
        document[name] = {"signal": signal, "noise": noise}
        table.add_row(name, f"{signal:.2e}", f"{noise:.2e}", f"{signal / noise:+.3f}")
    one, other = (parts[name] for name in _COMPARED)
    lengths = _product(one, one) * _product(other, other)
    cosine = _product(one, other) / math.sqrt(lengths) if lengths > 0 else None
    settings = {name: str(value) for name, value in vars(arguments).items() if name != "out"}
    write_json(arguments.out, {"parts": document, "cosine": cosine, "settings": settings, "versions": versions()})
    Console().print(table, f"cosine of the first and of the generalised advantages in doubt: {cosine}")


if __name__ == "__main__":
    main()
