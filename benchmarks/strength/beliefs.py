"""What a network knows about its opponent's hand beyond what anyone learns by counting cards (``agents.reports.beliefs``).

python -m benchmarks.strength.beliefs agents/data/network
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from agents.arena.results import versions
from agents.files import write_json
from agents.network.checkpoint import load_checkpoint
from agents.network.nets import FrozenActor, has_bfloat16_units
from agents.reports.beliefs import NUM_TURNS, BeliefMeter, measure_belief
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError

# The bar: this far below counting, in this turn.
BAR, BAR_TURN = 0.05, 6


@dataclass
class Arguments:
    """Command line.

    Attributes:
        checkpoint: directory of the network.
        out: JSON file to write.
        opponents: styles, besides itself; the table says which were met in training.
        rules: preset.
        pairs: number of deals, each played twice.
        seed: seed of the deals.
    """

    checkpoint: tyro.conf.Positional[Path]
    out: Path = Path("benchmarks/results/belief.json")
    opponents: tuple[str, ...] = ("simple", "knocker", "easy")
    rules: str = "eaai"
    pairs: int = 2000
    seed: int = 1


def _entry(meter: BeliefMeter) -> dict[str, Any]:
    below = meter.below(BAR_TURN)
    bar = {"turn": BAR_TURN, "below": BAR, "reached": bool(below.mean >= BAR), "surely": bool(below.low >= BAR)}
    return {"turns": meter.rows(), "bar": bar}


def main() -> None:
    """Measures, writes the JSON, prints a table."""
    arguments = tyro.cli(Arguments)
    if arguments.pairs < 2:
        raise GinError(f"pairs is {arguments.pairs}; allowed is a whole number from 2")
    network, metadata = load_checkpoint(arguments.checkpoint)
    actor = FrozenActor(network, has_bfloat16_units())
    rules = get_rules(arguments.rules)
    meters = {
        opponent or "itself": measure_belief(actor, opponent, rules, arguments.pairs, arguments.seed)
        for opponent in (None, *arguments.opponents)
    }
    document = {
        "checkpoint": {
            "weights_sha256": metadata["weights_sha256"],
            "decisions": metadata["about"].get("decisions"),
        },
        "command": f"python -m benchmarks.strength.beliefs {' '.join(sys.argv[1:])}",
        "rules": arguments.rules,
        "hands": 2 * arguments.pairs,
        "unit": "nats a card that the seat cannot place; measured once a turn, before the discard",
        "opponents": {name: _entry(meter) for name, meter in meters.items()},
        "versions": versions(),
    }
    write_json(arguments.out, document)
    table = Table(title=f"Log-loss a card below counting, {arguments.checkpoint}", title_justify="left")
    table.add_column("own turn", justify="right")
    for name in meters:
        table.add_column(f"against {name}", justify="right")
    for turn in range(1, NUM_TURNS + 1):
        gains = [meter.below(turn) for meter in meters.values()]
        table.add_row(str(turn), *(f"{100 * gain.mean:.1f} ± {100 * gain.half:.1f} %" for gain in gains))
    Console().print(table)


if __name__ == "__main__":
    try:
        main()
    except GinError as error:
        sys.exit(f"beliefs: {error}")
