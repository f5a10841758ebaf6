"""Gin rummy for learning and benchmarking: an exact, fast engine behind Gymnasium environments.

Importing the package registers ``Gin/Hand-v0`` and ``Gin/Game-v0``. The names in ``__init__.pyi`` are imported on
first use.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

from gymnasium.envs.registration import register, registry

__version__ = "0.2.0"

_STUB = ast.parse((Path(__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_LAZY = {alias.name: str(node.module) for node in _IMPORTS for alias in node.names}
__all__ = sorted([*_LAZY, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'ginenv' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])


for _kind in ("Hand", "Game"):
    if f"Gin/{_kind}-v0" not in registry:
        register(
            id=f"Gin/{_kind}-v0",
            entry_point=f"ginenv.envs.env:{_kind}Env",
            vector_entry_point=f"ginenv.envs.vector:{_kind}VectorEnv",
        )
