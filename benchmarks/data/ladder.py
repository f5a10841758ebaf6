"""Measures the ladder of ``gin rate``: ratings by whole games, and points per hand between its players. Takes an hour.

python -m benchmarks.data.ladder

Finished pairings are kept in the file, and the same command continues.
"""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np

from agents.arena import MatchSettings, play_match
from agents.files import write_json
from agents.rating import DATA, bradley_terry

# From the weakest to the strongest: with each, so many of its actions are drawn at random.
BLUNDERS = ("0.9", "0.8", "0.7", "0.6", "0.5", "0.4", "0.3", "0.22", "0.15", "0.1", "0.05")
QUICK = (
    "random",
    *(f"style:base=simple,blunder={share}" for share in BLUNDERS),
    *("easy", "simple", "formula", "camper", "knocker"),
)
# Beginners with habits: what points are worth should not be read off players of one kind.
NOVICES = tuple(
    f"style:base={habit}"
    for habit in ("takes-all", "takes-none", "hoards-pairs", "prefers-runs", "keeps-high", "early-knocker")
)
NETWORKS = ("network",)
PLAYERS = (*QUICK, *NOVICES, *NETWORKS)
# The quick players meet those within this many places, the others all from these on.
_PLACES, _FROM_NOVICES, _FROM_NETWORKS = 6, 7, 12
# Pairs of games and of hands.
PAIRS = dict.fromkeys(QUICK, (2000, 1000)) | dict.fromkeys(NOVICES, (1000, 500)) | dict.fromkeys(NETWORKS, (100, 150))
SEED = 91
# The scale's zero is where this player has this rating: that of the levels' tournament of 2026-11-26 (docs/log/levels.md).
ANCHOR, ANCHOR_RATING = "simple", -110.7


def pairings() -> list[tuple[str, str]]:
    """Who meets whom."""
    quick = [(a, b) for a, b in combinations(QUICK, 2) if QUICK.index(b) - QUICK.index(a) <= _PLACES]
    novices = [(a, b) for a in QUICK[_FROM_NOVICES:] for b in NOVICES]
    return [*quick, *novices, *((a, b) for a in QUICK[_FROM_NETWORKS:] for b in NETWORKS)]


def measure(a: str, b: str) -> dict[str, object]:
    """A pairing: shares of pairs of games, as counts of 0, 1/4, ... 1, and the first player's points per hand with luck subtracted."""
    games, hands = PAIRS[b]
    won = play_match(a, b, pairs=games, settings=MatchSettings(seed=SEED, luck=False)).pair_scores
    played = play_match(a, b, pairs=hands, unit="hands", settings=MatchSettings(seed=SEED))
    return {
        "players": [a, b],
        "shares": np.bincount(np.rint(4 * won).astype(int), minlength=5).tolist(),
        "pairs": played.pairs,
        "points": round(played.points.mean, 4),
        # Of the points per hand in a pair of mirrored hands.
        "deviation": round(float((played.margins / 2).std(ddof=1)), 3),
    }


def rated(found: list[dict[str, object]]) -> dict[str, dict[str, float]]:
    """The ratings of all players by their games."""
    names = list(PLAYERS)
    scores = {}
    for pairing in found:
        i, j = (names.index(name) for name in pairing["players"])  # type: ignore[attr-defined]
        shares = np.repeat(np.arange(5) / 4, pairing["shares"])  # type: ignore[call-overload]
        scores[i, j] = np.stack([shares, np.ones(len(shares))], axis=1)
    rated = bradley_terry(scores, len(names), 200, SEED)
    table = np.array([[each.mean, each.low, each.high] for each in rated])
    table += ANCHOR_RATING - table[names.index(ANCHOR), 0]
    return {
        name: dict(zip(("rating", "low", "high"), np.round(row, 1).tolist(), strict=True))
        for name, row in zip(names, table, strict=True)
    }


def main() -> None:
    """Measures what is missing, and writes."""
    found = json.loads(DATA.read_text(encoding="utf-8"))["pairings"] if DATA.exists() else []
    done = {tuple(pairing["players"]) for pairing in found}
    missing = [pair for pair in pairings() if pair not in done]
    head = {"command": "python -m benchmarks.data.ladder", "rules": "eaai", "seed": SEED}
    for number, (a, b) in enumerate(missing, 1):
        found.append(measure(a, b))
        print(f"{number} of {len(missing)}: {found[-1]}", flush=True)
        write_json(DATA, {**head, "pairings": found})
    write_json(DATA, {**head, "opponents": [*QUICK, *NETWORKS], "players": rated(found), "pairings": found})


if __name__ == "__main__":
    main()
