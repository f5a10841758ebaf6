"""Damage for readers of files: bytes changed at random, and a check that every case is read or refused in a sentence."""

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
