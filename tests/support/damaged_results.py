"""Damaged files of results for ``gin model-card``, and damaged words of a checkpoint about itself."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from agents.network.checkpoint import METADATA, save_checkpoint
from agents.network.model_card import write_card
from agents.network.nets import Actor
from ginenv.engine.rules import get_rules
from tests.support.mutations import Report, changed_bytes, changed_values, check_reader

ABOUT = {
    "command": "train.py", "decisions": 1000, "minutes": 3.5, "rules": {"eaai": 1.0}, "versions": {"torch": "2"},
    "panel": {"simple": {"games_won": 0.5, "half_width": 0.1}}, "config": {"eval_games": 400},
}  # fmt: skip


def results(directory: Path) -> dict[str, Any]:
    """A right file of results of a match of the checkpoint."""
    interval = {"mean": 0.5, "low": 0.4, "high": 0.6}
    match = {
        "players": [str(directory), "random"],
        "rules": get_rules("eaai").to_json(),
        **{"unit": "games", "jobs": 20, "seed": 3, "pairs": 10, "verdict": ""},
        **{"share": interval, "points_per_hand": interval},
    }
    return {"matches": [match, match | {"share": dict.fromkeys(interval)}]}


def check(directory: Path, seed: int, count: int) -> Report:
    """Writes cards from damaged results; a third of the cases have a damaged checkpoint.json."""
    rng = np.random.default_rng(seed)
    network = directory / "small"
    save_checkpoint(network, Actor((8,)), (8,), ABOUT)
    right, path = results(network), directory / "results.json"
    about = json.loads((network / METADATA).read_text())
    path.write_text(json.dumps(right))
    write_card(network, [path])
    measured = json.loads((network / METADATA).read_text())

    def cases() -> Iterator[tuple[str, tuple[bytes, Any]]]:
        for number in range(count):
            if number % 3 == 0:
                messages, changed = changed_values(measured, rng)
                yield f"checkpoint: {messages}", (b"", changed)
            elif number % 3 == 1:
                messages, changed = changed_values(right, rng)
                yield f"results: {messages}", (json.dumps(changed).encode(), about)
            else:
                yield "bytes", (changed_bytes(json.dumps(right).encode(), rng), about)

    def read(case: tuple[bytes, Any]) -> None:
        (network / METADATA).write_text(json.dumps(case[1]))
        path.write_bytes(case[0])
        write_card(network, [path] if case[0] else None)

    return check_reader(cases(), read)
