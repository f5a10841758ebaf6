"""Damage for readers of files: bytes and plain values changed at random, and a check that every case is read or refused in a sentence."""

import copy
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ginenv.errors import GinError

# The longest sentence: one that lists all columns of a table, or all known names.
LONGEST = 1500
# Seconds that one case may take on a busy machine.
SOON = 5.0
NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 255, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, 1e308, float("nan"),
    float("-inf"), "", "x", "nan", "\x00", "é" * 300, "../x", "{}", "y" * 100_000, [], [None], [[1], "a"], {},
    {"": {}}, {"mean": "x"}, [1] * 3000,
)  # fmt: skip


@dataclass
class Report:
    """What became of some cases.

    Attributes:
        cases: how many there were.
        refused: how many of them were refused in a sentence.
        failures: what else was raised, or what was wrong with the sentence.
    """

    cases: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)


def check_reader(cases: Iterable[tuple[str, Any]], read: Callable[[Any], object]) -> Report:
    """Reads cases, of which each has a name; a reader may accept a case, but not raise anything but a ``GinError`` of one line."""
    report = Report()
    for name, case in cases:
        report.cases += 1
        began = time.perf_counter()
        try:
            read(case)
        except GinError as error:
            report.refused += 1
            words = str(error)
            if "\n" in words or not 10 < len(words) < LONGEST:
                report.failures.append(f"{name}: refused in {len(words)} characters: {words[:300]!r}")
        except Exception as error:
            steps = traceback.extract_tb(error.__traceback__)
            inner = [step for step in steps if "/agents/" in step.filename or "/ginenv/" in step.filename]
            at = " < ".join(f"{step.name}:{step.lineno}" for step in [steps[-1], *inner[::-1][:3]])
            report.failures.append(f"{name}: {type(error).__name__} {str(error)[:200]!r} at {at}")
        if time.perf_counter() - began > SOON:
            report.failures.append(f"{name}: took {time.perf_counter() - began:.1f} s")
    return report


def changed_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes with one to three changes: bits flipped, a part cut out, doubled or zeroed, numbers made large, the end lost."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        if not data:
            break
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
        kind = rng.integers(7)
        if kind <= 1:
            for place in rng.integers(0, len(data), rng.integers(1, 6)):
                data[place] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length]
        elif kind == 4:
            data[at : at + length] = bytes(length)
        elif kind == 5:
            data[at : at + 8] = b"\xff" * 8
        else:
            del data[at:]
    return bytes(data)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*path, key))


def changed_values(value: Any, rng: np.random.Generator) -> tuple[str, Any]:
    """A JSON value with one to three changes, and what they were: a part replaced by a nasty value, lost, doubled or moved."""
    value, messages = copy.deepcopy(value), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        places = list(_places(value))
        # All depths alike, else the longest list would take most of the changes.
        depth = rng.integers(0, max(map(len, places)) + 1)
        places = [place for place in places if len(place) == depth]
        *path, key = places[rng.integers(len(places))] or (None,)
        if key is None:
            value = copy.deepcopy(NASTY[rng.integers(len(NASTY))])
            messages.append(f"all = {str(value)[:20]!r}")
            continue
        holder = value
        for step in path:
            holder = holder[step]
        kind = rng.integers(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(0, holder[key])
        elif kind == 1:
            holder[f"{key}x"] = holder[key]
        elif kind == 2:
            holder[key] = [holder[key]]
        else:
            # A copy, since the next change may be inside it.
            holder[key] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])
        messages.append(
            f"{'.'.join(map(str, [*path, key]))}: {('lost', 'doubled', 'nested')[kind] if kind < 3 else str(holder[key])[:20]!r}"
        )
    return "; ".join(messages), value
