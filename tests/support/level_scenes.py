"""A level of a small untrained network, and hands that it or others play."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ginenv  # noqa: F401  (registers the environments)
from agents.arena.series import play_series
from agents.config import parse_config
from agents.levels.level import TOLD, LevelSettings, write_level_json
from agents.network.checkpoint import save_checkpoint
from agents.network.nets import Actor
from agents.opponent_model.posterior import CONTEXT_WIDTH
from ginenv.players import Player

SETTINGS = {
    "title": "test",
    "memory": 3,
    "notices": 0,
    "temperature": 1.5,
    "leaning": 1.0,
}


def small_network(path: Path, context: int = 0) -> None:
    """Writes the checkpoint of a small untrained network, with a policy that is far from even and heeds its context."""
    actor = Actor((16,), context)
    with torch.no_grad():
        actor.policy.weight.mul_(100)
        if context:
            actor.trunk.linear_layers()[0].weight[:, -context:] = torch.randn(16, context)
    save_checkpoint(path, actor, (16,), {"command": "a test"})


def write_small_level(path: Path) -> None:
    torch.manual_seed(4)
    small_network(path)
    small_network(path / TOLD, CONTEXT_WIDTH)
    digest = json.loads((path / "checkpoint.json").read_text())["weights_sha256"]
    write_level_json(path, "small", parse_config(SETTINGS, LevelSettings), digest, {})


def hands_of(player: Player, opponent: Player, hands: int, seed: int = 1, series: int = 1) -> list[np.void]:
    """Final views of some hands, the first player's."""
    shown: list[np.void] = []
    play_series(
        player, opponent, series=series, hands=hands, seed=seed,
        after=lambda views, slots, numbers: shown.extend(views.copy()),
    )  # fmt: skip
    return shown


def checksum(values: dict[str, Any]) -> str:
    """What a profile's file says under ``checksum`` of everything else in it."""
    content = {key: value for key, value in values.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
