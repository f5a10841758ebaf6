"""Compiled code that comes with the package: a place to look in, where nothing is written, before a kernel is compiled.

A wheel for one platform holds ``ginenv/compiled/LEVEL/`` for some levels of processors: a file for every kernel and signature, and an
index of their hashes. The best level that this machine has is used, and only if its code was made of these very sources by this Python
and this Numba; everything else is compiled. To load a file is to execute it, as it is with the modules beside it, which whoever can
write there can change, too; the hash finds files that are damaged or left over, not malice.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from ginenv.engine.kernel_cache import source_digest

COMPILED = Path(__file__).resolve().parents[1] / "compiled"
_INDEX = "index.json"
_FORMAT = 1


class Level(NamedTuple):
    """A level of processors: its name for LLVM, and features, as LLVM names them, that tell a machine that has it."""

    cpu: str
    features: frozenset[str]


_V2 = frozenset("cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3".split())
_V3 = _V2 | frozenset("avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave".split())
# From the best; those of x86-64 as its ABI defines them.
LEVELS = {
    "x86-64-v3": Level("x86-64-v3", _V3),
    "x86-64-v2": Level("x86-64-v2", _V2),
    "armv8-a": Level("generic", frozenset(("fp-armv8", "neon"))),
}
# The level whose code deposits bits by an instruction, and processors that do this in microcode, slower than by the table of a lower level.
WITH_DEPOSIT = "x86-64-v3"
SLOW_DEPOSIT = ("bdver4", "znver1", "znver2")


@cache
def machine_levels() -> tuple[str, ...]:
    """The levels whose code this machine runs well, from the best."""
    has = {name for name, is_there in llvm.get_host_cpu_features().items() if is_there}
    slow = WITH_DEPOSIT if llvm.get_host_cpu_name() in SLOW_DEPOSIT else ""
    return tuple(name for name, level in LEVELS.items() if level.features <= has and name != slow)


def made_with() -> str:
    """What compiled code depends on beside its sources and the processor."""
    # A later NumPy of the same series has the same types.
    numpy = ".".join(np.__version__.split(".")[:2])
    return f"{sysconfig.get_config_var('EXT_SUFFIX')} numba {numba.__version__} llvmlite {llvmlite.__version__} numpy {numpy}"


def _key(function: Callable[..., Any], signature: Any) -> str:
    source = source_digest(Path(function.__code__.co_filename).resolve())
    place = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
    return hashlib.sha256(f"{source} {place} {signature}".encode()).hexdigest()[:32]


@cache
def _shipped() -> tuple[Path, dict[str, str]]:
    """The directory of the best level that this machine has, and the hash of each of its files."""
    config: Any = numba.config  # type: ignore[attr-defined]
    if config.CPU_NAME is None and config.CPU_FEATURES is None:
        for level in machine_levels():
            try:
                index = json.loads((COMPILED / level / _INDEX).read_text(encoding="utf-8"))
                if (index["format"], index["made_with"]) == (_FORMAT, made_with()):
                    return COMPILED / level, dict(index["kernels"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
    # Also where somebody has asked Numba for the code of another processor.
    return COMPILED, {}


def load_shipped(function: Callable[..., Any], signature: Any, target_context: Any) -> Any:
    """The compiled code of a kernel for a signature as it came with the package, or None."""
    directory, hashes = _shipped()
    key = _key(function, signature) if hashes else ""
    if key not in hashes:
        return None
    try:
        content = (directory / f"{key}.nbc").read_bytes()
        if hashlib.sha256(content).hexdigest() != hashes[key]:
            return None
        target_context.refresh()
        # The package's own file, machine code that its wheel brought: whoever can write it can write the package's modules too.
        loaded = CompileResult._rebuild(target_context, *pickle.loads(content))
    except Exception:
        # Whatever does not fit is compiled.
        return None
    return loaded if tuple(loaded.signature.args) == tuple(signature) else None


def write_shipped(directory: Path, kernels: Iterable[tuple[Callable[..., Any], Any, Any]]) -> None:
    """Writes the files of a level.

    Args:
        directory: of the level; made here.
        kernels: functions, signatures and results of their compilation.
    """
    directory.mkdir(parents=True)
    hashes = {}
    for function, signature, compiled in kernels:
        key, content = _key(function, signature), dumps(compiled._reduce())
        (directory / f"{key}.nbc").write_bytes(content)
        hashes[key] = hashlib.sha256(content).hexdigest()
    index = {"format": _FORMAT, "made_with": made_with(), "kernels": hashes}
    (directory / _INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
