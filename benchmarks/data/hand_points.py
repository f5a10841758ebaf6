"""Measures how many points hands score under every preset, for the chances to win a game (``agents.win_probability``). Takes minutes.

python -m benchmarks.data.hand_points
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from agents.arena import MatchSettings, play_match
from agents.deal_streams import Domain
from agents.files import write_json
from agents.win_probability import DATA, equity_table
from ginenv.engine.rules import PRESETS, get_rules

STYLES = ("simple", "formula", "camper", "knocker")
PAIRS = 2000


def hand_points(rules: str, pairs: int) -> dict[str, int]:
    """Counts of scored hands by their points, between the built-in styles, each against each."""
    counts = np.zeros(1024, np.int64)
    for a, b in combinations_with_replacement(STYLES, 2):
        settings = MatchSettings(get_rules(rules), unit="hands", domain=Domain.TRAIN, luck=False)
        points = play_match(a, b, pairs=pairs, settings=settings).games["points"].max(axis=1)
        counts += np.bincount(points[points > 0], minlength=1024)
    return {str(k): int(counts[k]) for k in np.flatnonzero(counts)}


def main() -> None:
    """Measures and writes."""
    points = {}
    for name in PRESETS:
        points[name] = hand_points(name, PAIRS)
        print(f"{name} done, {len(PRESETS) - len(points)} presets left")
    write_json(
        DATA,
        {"command": "python -m benchmarks.data.hand_points", "styles": STYLES, "pairs": PAIRS, "points": points},
    )
    chance = equity_table(get_rules("eaai"))[50, 0, 0, 0]
    print(f"wrote {DATA.name}; eaai: 50-0 ahead wins {100 * chance:.1f} % of games")


if __name__ == "__main__":
    main()
