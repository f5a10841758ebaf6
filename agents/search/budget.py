"""How many worlds a decision looks at: a fixed number, or as many as its time allows."""

from __future__ import annotations

import time
from collections.abc import Iterator

# The least worlds of a first round: fewer say nothing of their own error.
LEAST = 16


def rounds(worlds: int, first: int, milliseconds: float = 0.0, began: float | None = None) -> Iterator[tuple[int, int]]:
    """Rounds of worlds, each as large as all before it; a round that would end too late is made smaller.

    The time of a world is taken from the round before, so a decision ends within a few worlds of its time. The first round is always
    searched, and what comes before it is always done: there is no decision without them.

    Args:
        worlds: how many there are at most.
        first: worlds of the first round.
        milliseconds: time for the decision; 0 keeps no time.
        began: ``time.perf_counter`` when the decision began; now where left out.

    Yields:
        The first world of a round, and the one after its last.
    """
    low, high = 0, min(worlds, max(LEAST, first))
    clock = time.perf_counter()
    began = clock if began is None else began
    while True:
        yield low, high
        size = high
        if milliseconds:
            now = time.perf_counter()
            left = milliseconds / 1000 - (now - began)
            size = min(size, int(left * (high - low) / max(1e-9, now - clock)))
            clock = now
        if high == worlds or size < 1:
            return
        low, high = high, min(worlds, high + size)
