"""Writes levels.js: the levels that play on the page, from those that are installed. ``python examples/app/make_levels.py``"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np

from agents.levels.action_choice import BEHAVIOUR
from agents.levels.level import Level, load_level
from agents.network.numpy_actor import NumpyActor

LEVELS = ("level-1", "level-2", "level-3")
_LAYERS = ("trunk.layers.0", "trunk.layers.1", "policy.layer")
_PARTS = {"own": "own.weight", "pooled": "pooled.weight", "bias": "pooled.bias"}


def _encoded(values: np.ndarray) -> str:
    """Weights are bfloat16, the upper half of float32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    assert not (bits & 0xFFFF).any(), "the network is not stored as bfloat16"
    return base64.b64encode((bits >> 16).astype("<u2").tobytes()).decode()


def _layers(level: Level) -> list[dict[str, str]]:
    assert isinstance(level.actor, NumpyActor) and level.actor.share_suits and not level.actor.context
    weights = level.actor.weights
    return [{part: _encoded(weights[f"{layer}.{name}"]) for part, name in _PARTS.items()} for layer in _LAYERS]


def levels_script() -> str:
    """The script. Levels that share a network share its weights."""
    levels = [load_level(name, numpy=True) for name in LEVELS]
    stored = [
        {
            "name": level.name,
            "title": level.settings.title,
            "network": level.weights_sha256,
            "behaviour": {name: getattr(level.settings, name) for name in BEHAVIOUR.names or ()},
        }
        for level in levels
    ]
    networks = {level.weights_sha256: _layers(level) for level in levels}
    return f"gin.addLevels({json.dumps({'levels': stored, 'networks': networks})});\n"


if __name__ == "__main__":
    Path(__file__).with_name("levels.js").write_text(levels_script(), encoding="utf-8")
