"""Golden counts: what a seed plays under every preset, to the last card.

They change only when the rules, the deal or the order of legal actions do; then `python -m tests.test_golden` writes them
again, and the commit says why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ginenv.engine.perft import Counts, Policy, perft
from ginenv.engine.rules import PRESETS

DEALS, GAMES, SEED = 2000, 60, 2026


def golden(rules: str) -> str:
    """The counts of a preset as one line: hands and whole games, played eagerly; hands played at random."""
    eager = perft(rules, DEALS, SEED, Policy.EAGER)
    games = perft(rules, GAMES, SEED, Policy.EAGER, games=True)
    random = perft(rules, DEALS, SEED, Policy.RANDOM)
    return " ; ".join(_line(counts) for counts in (eager, games, random))


def _line(counts: Counts) -> str:
    ends = " ".join(f"{end.name.lower()}={count}" for end, count in counts.ends.items())
    games = f"games={counts.games} totals={counts.totals[0]}:{counts.totals[1]} " if counts.games else ""
    return (
        f"hands={counts.hands} decisions={counts.decisions} laid={counts.laid_off} "
        f"points={counts.points[0]}:{counts.points[1]} {games}{ends}"
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
