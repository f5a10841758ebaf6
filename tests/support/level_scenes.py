"""A level of a small untrained network, and hands that it or others play."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import torch

import ginenv  # noqa: F401  (registers the environments)
from agents.arena.series import play_series
from agents.config import parse_config
from agents.levels.level import LevelSettings, build_level
from agents.network.checkpoint import save_checkpoint
from agents.network.nets import Actor
from ginenv.bots.heuristics import StylePlayer, make_formula, style
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.tables.players import Player

SETTINGS = {
    "title": "test",
    "remembered_discards": 3,
    "noticed_actions": 0,
    "temperature": 1.5,
    "hand_taste": 1.0,
    "max_logit_gap": 6.0,
    "habits": {"any upcard": 1.0, "any knock": 2.0},
}


def small_network(path: Path) -> None:
    """Writes the checkpoint of a small untrained network, with a policy that is far from even."""
    actor = Actor((16,))
    with torch.no_grad():
        for weight in actor.policy.parameters():
            weight.mul_(100)
    save_checkpoint(path, actor, (16,), {"command": "a test"})


def write_small_level(path: Path) -> None:
    """Writes a level of such a network."""
    torch.manual_seed(4)
    with tempfile.TemporaryDirectory() as network:
        small_network(Path(network))
        build_level(path, parse_config(SETTINGS, LevelSettings), Path(network))


def hands_of(player: Player, opponent: Player, hands: int, seed: int = 1, series: int = 1) -> list[np.void]:
    """Final views of some hands, the first player's."""
    shown: list[np.void] = []
    play_series(
        player, opponent, series=series, hands=hands, seed=seed,
        after=lambda views, slots, numbers: shown.extend(views.copy()),
    )  # fmt: skip
    return shown


@cache
def decisions() -> np.ndarray:
    """Views of draws, discards and knocks in hands between bots: ``VIEW[n]``."""
    seen: list[np.ndarray] = []

    class Watcher(StylePlayer):
        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            seen.append(views[views["phase"] <= PHASE_DISCARD].copy())
            return super().act(views, slots)

    play_series(Watcher(style("camper")), make_formula(1), series=30, hands=1, seed=8)
    return np.concatenate(seen)
