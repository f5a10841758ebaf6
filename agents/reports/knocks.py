"""What knocks earn, by own turn and by deadwood left.

Gin is left out, because going gin is not a choice.
"""

from __future__ import annotations

import numpy as np

TURN_RANGES = ((1, 2), (3, 4), (5, 6), (7, 8), (9, 10), (11, 12))
DEADWOOD = ((1, 3), (4, 6), (7, 10))


def knock_points(ended: np.ndarray, points: np.ndarray) -> list[list[tuple[int, float | None]]]:
    """What a player earned in the hands that it ended by a knock, by the same groups.

    Args:
        ended: ``int[turns, deadwood]``, hands, by own turn (from 0) and deadwood left.
        points: ``int[turns, deadwood]``, their points, less those lost by an undercut.

    Returns:
        For each range of turns, and within it for each range of deadwood: hands, and points per hand (``None`` where there were none).
    """
    rows = []
    for first, last in TURN_RANGES:
        parts = [(slice(first - 1, last), slice(low, high + 1)) for low, high in DEADWOOD]
        counts = [int(ended[part].sum()) for part in parts]
        rows.append([(n, float(points[part].sum()) / n if n else None) for n, part in zip(counts, parts, strict=True)])
    return rows
