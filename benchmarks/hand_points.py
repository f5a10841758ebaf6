"""How many points hands bring, by play between the built-in styles under every preset: what ``agents.equity`` solves games with.

Run with `python -m benchmarks.hand_points`; it writes `agents/data/hand_points.json`.
"""

from __future__ import annotations

import numpy as np

from agents.arena.deals import Domain
from agents.arena.matches import play_match
from agents.equity import DATA, equity_table
from agents.files import write_json
from ginenv.rules import PRESETS, get_rules

STYLES = ("simple", "formula", "camper", "knocker")
PAIRS = 2000


def measure_points(pairs: int, seed: int = 0) -> dict[str, dict[str, int]]:
    """Points of scored hands between the built-in styles, each against each, under every preset."""
    measured: dict[str, dict[str, int]] = {}
    for name in PRESETS:
        counts = np.zeros(1024, np.int64)
        for i, a in enumerate(STYLES):
            for b in STYLES[i:]:
                result = play_match(
                    a, b, rules=get_rules(name), pairs=pairs, unit="hands", seed=seed, domain=Domain.TRAIN
                )
                points = result.games["points"].max(axis=1)
                counts += np.bincount(points[points > 0], minlength=1024)
        measured[name] = {str(k): int(counts[k]) for k in np.flatnonzero(counts)}
    return measured


def main() -> None:
    """Measures the frequencies of points under every preset and writes them."""
    command = "python -m benchmarks.hand_points"
    write_json(DATA, {"command": command, "styles": STYLES, "pairs": PAIRS, "points": measure_points(PAIRS)})
    ahead = equity_table(get_rules("eaai"))[50, 0, 0, 0]
    print(f"wrote {DATA.name}; eaai: 50-0 ahead wins {100 * ahead:.1f} % of games")


if __name__ == "__main__":
    main()
