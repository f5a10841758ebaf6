"""Golden counts: what a seed plays under every preset, to the last card.

They change only when the rules, the deal or the order of legal actions do; then `python -m tests.test_golden` writes them
again, and the commit says why.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ginenv.engine.engine import STATE, End
from ginenv.engine.perft import NUM_COUNTS, Policy, play_hands
from ginenv.engine.rules import PRESETS

DEALS, GAMES, SEED = 2000, 60, 2026


def golden(rules: str) -> str:
    """The counts of a preset as one line: hands and whole games, played eagerly; hands played at random."""
    runs = ((DEALS, Policy.EAGER, False), (GAMES, Policy.EAGER, True), (DEALS, Policy.RANDOM, False))
    return " ; ".join(_line(rules, *run) for run in runs)


def _line(rules: str, deals: int, policy: Policy, whole_games: bool) -> str:
    states, counts = np.zeros(1, STATE), np.zeros(NUM_COUNTS, np.int64)
    states["rules"] = PRESETS[rules].block
    play_hands(states, np.uint64(SEED), 0, deals, int(policy), whole_games, counts)
    hands, decisions, games, laid, first, second, total, other, *ends = counts.tolist()
    return (
        f"hands={hands} decisions={decisions} laid={laid} points={first}:{second} "
        + f"games={games} totals={total}:{other} " * whole_games
        + " ".join(f"{end.name.lower()}={ends[end]}" for end in End if ends[end])
    )


GOLDEN_FILE = Path(__file__).parent / "data" / "golden_counts.txt"
GOLDEN = dict(line.split(": ", 1) for line in GOLDEN_FILE.read_text(encoding="utf-8").splitlines())


def test_every_preset_has_golden_counts():
    assert set(GOLDEN) == set(PRESETS)


@pytest.mark.parametrize("rules", GOLDEN)
def test_golden_counts(rules):
    assert golden(rules) == GOLDEN[rules]


if __name__ == "__main__":
    GOLDEN_FILE.write_text("".join(f"{name}: {golden(name)}\n" for name in PRESETS), encoding="utf-8")
